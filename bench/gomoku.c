/* SPDX-License-Identifier: MIT */
/* bench/gomoku - does the ai play as well as a casual player expects?
 *
 * It plays against one who plays anywhere and against one who looks a single move ahead
 * (test/support/gomoku_players.h), half of the games as black and half as white, half by each
 * rule; and it solves the puzzles of test/data/gomoku-puzzles.txt, against its own defence and
 * against the greedy one: a puzzle is solved when both games are won within its moves. Time is
 * that of the processor, so that others on the machine do not take from what it may think. Run
 * from the root of the repository. The figures are printed, held against the targets, and
 * written to build/bench/gomoku.json.
 */
#include <stdlib.h>

#include "args.h"
#include "harness.h"
#include "service/gomoku/ai.h"
#include "support/gomoku_cases.h"
#include "support/gomoku_players.h"

struct options {
    int games;
    int64_t move_ms;
    int64_t puzzle_ms;
    uint64_t seed;
    const char *puzzles_path;
    const char *json_path;
};

struct bench {
    struct options options;
    struct gomoku_ai *ai;
    struct gomoku_ai *defender;
    struct test_random random;
    struct bench_json json;
    double longest_ms;
};

static const char usage[] =
    "usage: bench-gomoku [options]\n"
    "  --games N        against each opponent, 100 unless given\n"
    "  --move-ms N      to think about a move of a game, 100 unless given\n"
    "  --puzzle-ms N    to think about a move of a puzzle, 1000 unless given\n"
    "  --seed N         1 unless given\n"
    "  --puzzles PATH   test/data/gomoku-puzzles.txt unless given\n"
    "  --json PATH      build/bench/gomoku.json unless given\n";

static struct options parse(struct args args)
{
    struct options options = {
        100, 100, 1000, 1, "test/data/gomoku-puzzles.txt", "build/bench/gomoku.json"};
    while (args_next(&args)) {
        if (args_value(&args, "--games"))
            options.games = (int)strtol(args.value, NULL, 10);
        else if (args_value(&args, "--move-ms"))
            options.move_ms = strtol(args.value, NULL, 10);
        else if (args_value(&args, "--puzzle-ms"))
            options.puzzle_ms = strtol(args.value, NULL, 10);
        else if (args_value(&args, "--seed"))
            options.seed = strtoull(args.value, NULL, 10);
        else if (!args_text(&args, "--puzzles", &options.puzzles_path) &&
                 !args_text(&args, "--json", &options.json_path))
            args_refuse(&args, "%s is unknown, or its value is missing", args.name);
    }
    return options;
}

static struct elapsed_time processor_time(void *arg)
{
    (void)arg;
    return (struct elapsed_time){(int64_t)bench_cpu_ns()};
}

static struct wall_time no_time(void *arg)
{
    (void)arg;
    return (struct wall_time){0};
}

static const struct clock processor_clock = {processor_time, no_time, NULL};

typedef int opponent_move(enum gomoku_rule rule, const struct gomoku_board *board,
                          enum gomoku_side side, struct test_random *random);

static int think(struct bench *bench, struct gomoku_ai *ai, enum gomoku_rule rule,
                 const struct gomoku_board *board, enum gomoku_side side, int64_t ms)
{
    int64_t from_ns = clock_elapsed(&processor_clock).ns;
    struct gomoku_effort effort = {.clock = &processor_clock, .until = {from_ns + ms * 1000000}};
    int point = GOMOKU_NOWHERE;
    (void)gomoku_ai_choose(ai, rule, board, side, &effort, test_random_next(&bench->random),
                           &point);
    double took_ms = (double)(clock_elapsed(&processor_clock).ns - from_ns) / 1e6;
    if (ai == bench->ai && took_ms > bench->longest_ms)
        bench->longest_ms = took_ms;
    return point;
}

struct game {
    enum gomoku_rule rule;
    enum gomoku_side ai_side;
    struct gomoku_board board;
    enum gomoku_side to_move;
    opponent_move *opponent; /* NULL: the ai itself */
    int64_t move_ms;
    int moves_max; /* of the ai; it has not won when it needs more */
};

enum outcome { LOST, DRAWN, WON };

static enum outcome play(struct bench *bench, struct game *game)
{
    int moves = 0;
    for (;; game->to_move = gomoku_other(game->to_move)) {
        bool is_ai = game->to_move == game->ai_side;
        if (is_ai && moves++ == game->moves_max)
            return DRAWN;
        int point;
        if (is_ai)
            point = think(bench, bench->ai, game->rule, &game->board, game->to_move, game->move_ms);
        else if (game->opponent != NULL)
            point = game->opponent(game->rule, &game->board, game->to_move, &bench->random);
        else
            point = think(bench, bench->defender, game->rule, &game->board, game->to_move,
                          game->move_ms / 4);
        switch (gomoku_judge(game->rule, &game->board, game->to_move, point)) {
        case GOMOKU_GOES_ON:
            break;
        case GOMOKU_WINS:
            return is_ai ? WON : LOST;
        case GOMOKU_DRAWN:
            return DRAWN;
        case GOMOKU_TAKEN:
        case GOMOKU_FOUL:
            bench_die("illegal: point %d of %.225s", point, game->board.at);
        }
        game->board.at[point] = gomoku_stone(game->to_move);
    }
}

static void report(struct bench *bench, const char *name, double value, double target,
                   const char *note)
{
    struct bench_target row = {.unit = "", .target = target, .value = value, .at_least = true};
    (void)snprintf(row.name, sizeof row.name, "%s", name);
    (void)snprintf(row.note, sizeof row.note, "%s", note);
    bench_progress_end();
    bench_target_print(&row, stdout);
    bench_row_target(&bench->json, &row);
}

static void tournament(struct bench *bench, const char *name, opponent_move *opponent,
                       double target)
{
    int count[2][3] = {{0}}; /* by side and outcome */
    int games = bench->options.games;
    for (int i = 0; i < games; i++) {
        struct game game = {
            .rule = i / 2 % 2 == 0 ? GOMOKU_STANDARD : GOMOKU_RENJU,
            .ai_side = i % 2 == 0 ? GOMOKU_X : GOMOKU_O,
            .opponent = opponent,
            .move_ms = bench->options.move_ms,
            .moves_max = GOMOKU_POINTS,
        };
        gomoku_board_init(&game.board);
        bench_progress("%s: game %d of %d, %d won", name, i + 1, games,
                       count[0][WON] + count[1][WON]);
        count[game.ai_side][play(bench, &game)]++;
    }
    char note[160];
    (void)snprintf(note, sizeof note, "of %d; as black %d won %d drawn %d lost, as white %d %d %d",
                   games, count[0][WON], count[0][DRAWN], count[0][LOST], count[1][WON],
                   count[1][DRAWN], count[1][LOST]);
    report(bench, name, count[0][WON] + count[1][WON], target * games / 100, note);
}

static bool is_solved(struct bench *bench, const struct gomoku_case *puzzle,
                      opponent_move *opponent)
{
    struct game game = {
        .rule = puzzle->rule,
        .ai_side = puzzle->side,
        .board = gomoku_case_board(puzzle),
        .to_move = puzzle->side,
        .opponent = opponent,
        .move_ms = bench->options.puzzle_ms,
        .moves_max = puzzle->moves,
    };
    return play(bench, &game) == WON;
}

static void solve_puzzles(struct bench *bench)
{
    static struct gomoku_cases puzzles;
    if (!gomoku_cases_load(bench->options.puzzles_path, &puzzles))
        bench_die("%s cannot be read", bench->options.puzzles_path);
    int solved = 0;
    for (size_t i = 0; i < puzzles.count; i++) {
        bench_progress("puzzle %zu of %zu, %d solved", i + 1, puzzles.count, solved);
        bool itself = is_solved(bench, &puzzles.at[i], NULL);
        bool greedy = is_solved(bench, &puzzles.at[i], gomoku_greedy_move);
        solved += itself && greedy;
        bench_progress_end();
        printf("  %-62s %s\n", puzzles.at[i].name,
               itself && greedy ? "solved"
               : greedy         ? "NOT against its own defence"
                                : "NOT solved");
    }
    char note[160];
    (void)snprintf(note, sizeof note, "of %zu, %lld ms a move", puzzles.count,
                   (long long)bench->options.puzzle_ms);
    report(bench, "puzzles solved", solved, 0.9 * (double)puzzles.count, note);
}

int main(int argc, char **argv)
{
    static struct bench bench;
    struct bench_machine machine;
    bench.options = parse((struct args){"bench-gomoku", usage, argc, argv});
    bench.random.state = bench.options.seed;
    if (gomoku_ai_create(&bench.ai) != TOCSIN_OK || gomoku_ai_create(&bench.defender) != TOCSIN_OK)
        bench_die("no memory");
    bench_machine_read(&machine);
    bench_machine_print(&machine, stdout);
    bench_json_begin(&bench.json, bench.options.json_path, &machine);
    tournament(&bench, "won against random play", gomoku_random_move, 100);
    tournament(&bench, "won against greedy play", gomoku_greedy_move, 95);
    printf("The longest move of these games took %.0f ms of %lld.\n", bench.longest_ms,
           (long long)bench.options.move_ms);
    bench.longest_ms = 0;
    solve_puzzles(&bench);
    printf("The longest move of the puzzles took %.0f ms of %lld.\n", bench.longest_ms,
           (long long)bench.options.puzzle_ms);
    bench_json_end(&bench.json);
    printf("Written to %s.\n", bench.options.json_path);
    gomoku_ai_destroy(bench.ai);
    gomoku_ai_destroy(bench.defender);
    return 0;
}
