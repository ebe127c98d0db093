/* SPDX-License-Identifier: MIT */
/* tocsin add --batch: lines of a file, each a task, posted in pieces that a server takes at
 * once. What was refused is said with its line; the others are done all the same. */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/add.h"
#include "cli/clock.h"
#include "cli/command_list.h"
#include "cli/error.h"
#include "cli/fields.h"
#include "cli/figure.h"
#include "cli/progress.h"

enum {
    PIECE_LINES = 1000,
    PIECE_BYTES = 4 * 1024 * 1024,
    LINE_BYTES_MAX = 1024 * 1024,
    TOLD_MAX = 10, /* refusals that are said one by one */
};

struct batch {
    struct client *client;
    const struct add *add;
    struct buffer piece;
    uint64_t numbers[PIECE_LINES]; /* of the lines in the file */
    size_t lines;
    uint64_t pieces;
    uint64_t line;
    uint64_t read_bytes;
    uint64_t file_bytes; /* 0: unknown */
    uint64_t added;
    uint64_t refused;
    struct progress progress;
};

static void refused(struct batch *batch, struct bytes answer, int status, uint64_t line)
{
    char about[40];
    char detail[400] = "?";
    char code[40] = "";
    if (batch->refused++ >= TOLD_MAX)
        return;
    (void)fields_text(answer, "detail", detail, sizeof detail);
    (void)fields_text(answer, "code", code, sizeof code);
    progress_end(&batch->progress);
    (void)snprintf(about, sizeof about, "line %" PRIu64, line);
    error_tell(&(struct cli_error){
        .command = "add", .about = about, .status = status, .code = code, .detail = detail});
}

static void judge(struct batch *batch)
{
    struct bytes left = call_body(batch->client->call);
    for (size_t i = 0; i < batch->lines && left.size > 0; i++) {
        const char *end = memchr(left.at, '\n', left.size);
        size_t size = end != NULL ? (size_t)(end - left.at) : left.size;
        struct bytes answer = {left.at, size};
        int64_t status;
        /* A problem's status is a number, a task's is a word. */
        if (fields_int64(answer, "status", &status))
            refused(batch, answer, (int)status, batch->numbers[i]);
        else
            batch->added++;
        size_t taken = end != NULL ? size + 1 : size;
        left = (struct bytes){left.at + taken, left.size - taken};
    }
    if (batch->client->json)
        client_print(batch->client);
}

static int send_piece(struct batch *batch)
{
    char key[320];
    if (batch->lines == 0)
        return EXIT_DONE;
    struct call_request request = {.method = "POST",
                                   .path = "/v1/tasks/batch",
                                   .type = "application/x-ndjson",
                                   .body = {batch->piece.data, batch->piece.size}};
    if (!batch->client->json)
        request.headers[0] = "Prefer: return=minimal";
    if (batch->add->idempotency_key != NULL) {
        (void)snprintf(key, sizeof key, "Idempotency-Key: %.200s-%" PRIu64,
                       batch->add->idempotency_key, batch->pieces);
        request.headers[1] = key;
    }
    batch->pieces++;
    int code = client_ask(batch->client, &request);
    if (code == EXIT_DONE)
        judge(batch);
    batch->lines = 0;
    buffer_clear(&batch->piece);
    progress_set(&batch->progress, batch->read_bytes, batch->file_bytes);
    return code;
}

static int add_line(struct batch *batch, struct bytes line)
{
    int code = EXIT_DONE;
    batch->line++;
    if (line.size == 0)
        return EXIT_DONE;
    if (batch->lines == PIECE_LINES ||
        (batch->lines > 0 && batch->piece.size + line.size + 1 > PIECE_BYTES))
        code = send_piece(batch);
    batch->numbers[batch->lines++] = batch->line;
    buffer_append(&batch->piece, line.at, line.size);
    buffer_append_byte(&batch->piece, '\n');
    return code;
}

static int read_lines(struct batch *batch, FILE *in)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t got;
    int code = EXIT_DONE;
    while (code == EXIT_DONE && (got = getline(&line, &room, in)) >= 0) {
        size_t size = (size_t)got;
        batch->read_bytes += size;
        while (size > 0 && strchr("\r\n \t", line[size - 1]) != NULL)
            size--;
        if (size > LINE_BYTES_MAX)
            code = command_fail(&add_command, "line %" PRIu64 " is too long", batch->line + 1);
        else
            code = add_line(batch, (struct bytes){line, size});
    }
    if (code == EXIT_DONE && ferror(in) != 0)
        code = command_fail(&add_command, "cannot read the file: %s", strerror(errno));
    free(line);
    return code == EXIT_DONE ? send_piece(batch) : code;
}

static int summarize(const struct batch *batch, int code)
{
    double seconds = (double)(clock_now_us() - batch->progress.started_us) / 1e6;
    if (batch->refused > TOLD_MAX)
        error_note("add", "and %s more like that", figure_count(batch->refused - TOLD_MAX).text);
    if (code != EXIT_DONE)
        error_note("add",
                   "before that, %s were added; give an --idempotency-key to be able to ask again",
                   figure_count(batch->added).text);
    else if (!batch->client->json)
        (void)printf("%s added, %s refused, in %.2f s\n", figure_count(batch->added).text,
                     figure_count(batch->refused).text, seconds);
    return code == EXIT_DONE && batch->refused > 0 ? EXIT_REFUSED : code;
}

int add_batch(const struct add *add, struct client *client)
{
    struct batch *batch = calloc(1, sizeof *batch);
    bool from_stdin = strcmp(add->batch, "-") == 0;
    FILE *in = from_stdin ? stdin : fopen(add->batch, "re");
    struct stat about;
    if (batch == NULL || in == NULL) {
        free(batch);
        return command_usage(&add_command, "cannot read %.200s: %s", add->batch, strerror(errno));
    }
    batch->client = client;
    batch->add = add;
    if (fstat(fileno(in), &about) == 0 && S_ISREG(about.st_mode))
        batch->file_bytes = (uint64_t)about.st_size;
    buffer_init(&batch->piece, PIECE_BYTES + 2 * LINE_BYTES_MAX);
    progress_init(&batch->progress, "adding, bytes:");
    int code = read_lines(batch, in);
    progress_end(&batch->progress);
    code = summarize(batch, code);
    if (!from_stdin)
        (void)fclose(in);
    buffer_release(&batch->piece);
    free(batch);
    return code;
}
