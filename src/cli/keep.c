/* SPDX-License-Identifier: MIT */
/* tocsin keep: keys of a Redis are kept alive. */

#include <string.h>

#include "base/json_write.h"
#include "cli/command_list.h"
#include "cli/fields.h"
#include "cli/keep_text.h"
#include "cli/list.h"
#include "cli/when.h"

enum { SOURCES_MAX = 10000, BODY_BYTES_MAX = 1024 * 1024 };

static const struct command show_verb;
static const struct command ls_verb;
static const struct command cancel_verb;
static const struct command pause_verb;
static const struct command resume_verb;
static const struct command renew_verb;

static const char word_name[] = "the id of a renewal";

/* ---- what is asked for */

enum source_type { KEY, PREFIX, PATTERN };

struct source {
    enum source_type type;
    const char *text;
};

struct keep {
    struct client_options client; /* first */
    const char *name;
    const char *ttl;
    const char *every;
    const char *until;
    const char *steps;
    const char *condition; /* --while */
    const char *owner;
    const char *redis;
    uint64_t max_retries;
    bool has_max_retries;
    bool shorten;
    bool persistent;
    bool wait;
    size_t count;
    struct source sources[SOURCES_MAX];
};

static bool add_source(struct keep *keep, enum source_type type, const char *text)
{
    if (keep->count == SOURCES_MAX || text[0] == '\0')
        return false;
    keep->sources[keep->count++] = (struct source){type, text};
    return true;
}

static bool read_key(const char *value, void *into)
{
    return add_source(into, KEY, value);
}

static bool read_prefix(const char *value, void *into)
{
    return add_source(into, PREFIX, value);
}

static bool read_while(const char *value, void *into)
{
    ((struct keep *)into)->condition = value;
    return value[0] != '\0' && value[0] != '=' && strcmp(value, "!") != 0;
}

static bool read_max_retries(const char *value, void *into)
{
    struct keep *keep = into;
    keep->has_max_retries = true;
    return options_whole(value, 0, 1000000, &keep->max_retries);
}

static const struct option_row keep_rows[] = {
    {"--ttl", "TIME", "how long they live from each renewal on (as the server is set: 5m)",
     "a duration such as 5m", options_read_duration, offsetof(struct keep, ttl)},
    {"--every", "TIME", "how often; below the ttl (a third of it)", "a duration such as 2m",
     options_read_duration, offsetof(struct keep, every)},
    {"--key", "KEY", "also this one, whatever is in its name", "a key", read_key},
    {"--prefix", "TEXT", "also all that begin with this", "the beginning of keys", read_prefix},
    {"--until", "INSTANT", "only until then: RFC 3339, or epoch ms",
     "a time such as 2026-11-15T13:00:00Z", options_read_filled, offsetof(struct keep, until)},
    {"--steps", "STEPS", "10x5m,10m: ten times for 5m, then for 10m", "steps such as 10x5m,10m",
     options_read_filled, offsetof(struct keep, steps)},
    {"--while", "KEY[=VALUE]", "as long as it is there, or has this value; !KEY: is not there",
     "a key, KEY=VALUE or !KEY", read_while},
    {"--owner", "VALUE", "only keys with this value; another's ends it: LOST", "a text",
     options_read_text, offsetof(struct keep, owner)},
    {"--redis", "NAME", "on this server of the configuration (default)", "a name",
     options_read_filled, offsetof(struct keep, redis)},
    {"--name", "TEXT", "what it is for", "a text", options_read_filled,
     offsetof(struct keep, name)},
    {"--max-retries", "N", "so many rounds in a row may fail (3)",
     "a whole number from 0 to 1000000", read_max_retries},
    {"--shorten", NULL, "also keys that live longer than that", "", options_read_flag,
     offsetof(struct keep, shorten)},
    {"--persistent", NULL, "also keys that live for ever", "", options_read_flag,
     offsetof(struct keep, persistent)},
    {"--wait", NULL, "for the first round, and say what became of the keys", "", options_read_flag,
     offsetof(struct keep, wait)},
};

/* ---- as JSON */

static void write_keys(struct json_writer *writer, const struct keep *keep)
{
    json_write_key(writer, "keys");
    json_write_array(writer);
    for (size_t i = 0; i < keep->count; i++) {
        if (keep->sources[i].type == KEY)
            json_write_text(writer, keep->sources[i].text);
    }
    json_write_array_end(writer);
}

static void write_sources(struct json_writer *writer, const struct keep *keep)
{
    static const char *const names[] = {[PREFIX] = "prefix", [PATTERN] = "pattern"};
    size_t keys = 0;
    for (size_t i = 0; i < keep->count; i++)
        keys += keep->sources[i].type == KEY;
    if (keys == keep->count) {
        write_keys(writer, keep);
        return;
    }
    if (keep->count == 1) {
        fields_write_text(writer, names[keep->sources[0].type], keep->sources[0].text);
        return;
    }
    json_write_key(writer, "any");
    json_write_array(writer);
    if (keys > 0) {
        json_write_object(writer);
        write_keys(writer, keep);
        json_write_object_end(writer);
    }
    for (size_t i = 0; i < keep->count; i++) {
        if (keep->sources[i].type == KEY)
            continue;
        json_write_object(writer);
        fields_write_text(writer, names[keep->sources[i].type], keep->sources[i].text);
        json_write_object_end(writer);
    }
    json_write_array_end(writer);
}

/* "10x5m,10m" */
static void write_steps(struct json_writer *writer, const char *text)
{
    json_write_key(writer, "steps");
    json_write_array(writer);
    while (*text != '\0') {
        size_t size = strcspn(text, ",");
        const char *sign = memchr(text, 'x', size);
        char count[24] = "";
        uint64_t number;
        json_write_object(writer);
        if (sign != NULL && (size_t)(sign - text) < sizeof count) {
            memcpy(count, text, (size_t)(sign - text));
            count[sign - text] = '\0';
        }
        if (sign != NULL && options_whole(count, 0, INT64_MAX, &number)) {
            json_write_key(writer, "count");
            json_write_uint64(writer, number);
            size -= (size_t)(sign + 1 - text);
            text = sign + 1;
        }
        json_write_key(writer, "ttl"); /* what is no count is for the server to refuse */
        json_write_string(writer, text, size);
        json_write_object_end(writer);
        text += size;
        text += *text == ',';
    }
    json_write_array_end(writer);
}

static void write_condition(struct json_writer *writer, const char *text)
{
    const char *sign = strchr(text, '=');
    bool absent = text[0] == '!';
    text += absent;
    json_write_key(writer, "key");
    json_write_string(writer, text, sign != NULL ? (size_t)(sign - text) : strlen(text));
    if (sign != NULL) {
        fields_write_text(writer, "equals", sign + 1);
    } else {
        json_write_key(writer, "exists");
        json_write_bool(writer, !absent);
    }
}

static void write_strategy(struct json_writer *writer, const struct keep *keep)
{
    const char *type = keep->steps != NULL       ? "steps"
                       : keep->until != NULL     ? "until"
                       : keep->condition != NULL ? "while"
                                                 : "fixed";
    if (keep->ttl == NULL && strcmp(type, "fixed") == 0)
        return; /* as the server is configured */
    json_write_key(writer, "strategy");
    json_write_object(writer);
    fields_write_text(writer, "type", type);
    fields_write_text(writer, "ttl", keep->ttl);
    if (keep->steps != NULL)
        write_steps(writer, keep->steps);
    fields_write_instant(writer, "at", keep->until);
    if (keep->condition != NULL)
        write_condition(writer, keep->condition);
    json_write_object_end(writer);
}

static void write_wish(const struct keep *keep, struct buffer *out)
{
    struct json_writer writer;
    json_writer_init(&writer, out);
    json_write_object(&writer);
    fields_write_text(&writer, "name", keep->name);
    write_sources(&writer, keep);
    write_strategy(&writer, keep);
    fields_write_text(&writer, "every", keep->every);
    if (keep->has_max_retries) {
        json_write_key(&writer, "max_retries");
        json_write_uint64(&writer, keep->max_retries);
    }
    fields_write_text(&writer, "redis", keep->redis);
    fields_write_text(&writer, "owner", keep->owner);
    if (keep->shorten) {
        json_write_key(&writer, "shorten");
        json_write_bool(&writer, true);
    }
    if (keep->persistent) {
        json_write_key(&writer, "persistent");
        json_write_bool(&writer, true);
    }
    json_write_object_end(&writer);
}

/* ---- registering */

/* A change of one that is there. */
struct change {
    const char *method;
    const char *after;
    bool judge; /* a key that is not alive is a failure */
};

static const struct change renew = {"POST", "/renew", true};

static int change_one(struct client *client, const void *arg, const char *id)
{
    const struct change *change = arg;
    char path[CLIENT_PATH_BYTES_MAX];
    if (!client_path(client, "/v1/renewals/", id, change->after, path))
        return EXIT_USAGE;
    int code = client_ask(client, &(struct call_request){.method = change->method, .path = path});
    if (code != EXIT_DONE)
        return code;
    if (client->json)
        client_print(client);
    else
        keep_text_line(call_body(client->call));
    bool fine = !change->judge || keep_text_all_alive(call_body(client->call));
    return fine ? EXIT_DONE : EXIT_REFUSED;
}

static int print_made(struct client *client, const struct keep *keep)
{
    char id[CLIENT_PATH_BYTES_MAX / 4] = "";
    (void)fields_text(call_body(client->call), "id", id, sizeof id);
    if (keep->wait) /* for a round, which is the first one when that is still under way */
        return change_one(client, &renew, id);
    if (client->json)
        client_print(client);
    else
        (void)printf("%s\n", id);
    return EXIT_DONE;
}

static int send_wish(const struct keep *keep)
{
    struct client client;
    struct buffer body;
    buffer_init(&body, BODY_BYTES_MAX);
    write_wish(keep, &body);
    int code = client_init(&client, &keep_command, &keep->client);
    if (code == EXIT_DONE && buffer_status(&body) != TOCSIN_OK)
        code = command_usage(&keep_command, buffer_status(&body) == TOCSIN_INVALID
                                                ? "over HTTP a key has to be UTF-8: use a pattern"
                                                : "these are too many keys for one renewal");
    if (code == EXIT_DONE)
        code = client_ask(&client, &(struct call_request){.method = "POST",
                                                          .path = "/v1/renewals",
                                                          .body = {body.data, body.size}});
    if (code == EXIT_DONE)
        code = print_made(&client, keep);
    client_release(&client);
    buffer_release(&body);
    return code;
}

static int keep_run(int argc, char **argv)
{
    static struct keep keep;
    struct words words = {argc, argv};
    int code;
    if (!command_begin(&keep_command, &words, &keep, &code))
        return code;
    for (int i = 0; i < words.count; i++) {
        enum source_type type = strpbrk(words.at[i], "*?[\\") != NULL ? PATTERN : KEY;
        if (!add_source(&keep, type, words.at[i]))
            return command_usage(&keep_command, words.at[i][0] == '\0' ? "an empty key"
                                                                       : "these are too many keys");
    }
    if (keep.count == 0)
        return command_usage(&keep_command, "a key, a pattern, --key or --prefix is needed");
    if ((keep.until != NULL) + (keep.steps != NULL) + (keep.condition != NULL) > 1)
        return command_usage(&keep_command, "--until, --steps and --while: one of them");
    if (keep.steps != NULL && keep.ttl != NULL)
        return command_usage(&keep_command, "--steps has its own times: leave out --ttl");
    return send_wish(&keep);
}

/* ---- show and ls */

static int print_renewal(const struct client *client)
{
    keep_text_print(call_body(client->call), when_now_ms());
    return EXIT_DONE;
}

static int show_run(int argc, char **argv)
{
    return client_show(&show_verb, argc, argv, "/v1/renewals/", "", print_renewal);
}

static const struct command show_verb = {
    .name = "keep show",
    .text = "which keys, how it goes, and what went wrong",
    .usage = "ID [OPTION...]",
    .about = "Shows a renewal. One that has ended can be seen for an hour.\n",
    .after = "example: tocsin keep show 0198c1f2-...\n",
    .word_name = word_name,
    .words_min = 1,
    .words_max = 1,
    .client = true,
    .run = show_run,
};

struct ls_renewals {
    struct list_options list; /* first */
    const char *status;       /* NULL: any */
};

static bool read_status(const char *value, void *into)
{
    static const char *const states[] = {"ACTIVE",    "PAUSED", "COMPLETED", "FAILED",
                                         "CANCELLED", "LOST",   NULL};
    return options_word(value, states, &((struct ls_renewals *)into)->status);
}

static const struct option_row ls_rows[] = {
    {"--status", "STATUS",
     "only those that are active, paused, completed, failed, cancelled or lost",
     "ACTIVE, PAUSED, COMPLETED, FAILED, CANCELLED or LOST", read_status},
    LIST_LIMIT_ROW,
    LIST_ALL_ROW,
};

static int ls_run(int argc, char **argv)
{
    static const char *const heads[] = {"ID",    "STATUS", "NAME",    "KEYS",
                                        "REDIS", ">EVERY", ">ROUNDS", ">GOOD"};
    static const struct list renewals = {"renewals", heads, sizeof heads / sizeof heads[0],
                                         keep_text_row};
    struct ls_renewals ls = {.list = {.limit = LIST_LIMIT_DEFAULT}};
    struct words words = {argc, argv};
    int code;
    if (!command_begin(&ls_verb, &words, &ls, &code))
        return code;
    return list_print(&ls_verb, &ls.list, &renewals, "/v1/renewals",
                      (struct list_filter[]){{"status", ls.status}, {NULL}});
}

static const struct command ls_verb = {
    .name = "keep ls",
    .text = "which renewals are there?",
    .usage = "[OPTION...]",
    .about = "Lists renewals, also those that ended within the last hour. With --json: a page of\n"
             "the server's JSON a line.\n",
    .after = "example: tocsin keep ls --status active\n",
    COMMAND_ROWS(ls_rows),
    .client = true,
    .run = ls_run,
};

/* ---- pause, resume, renew, cancel */

static int change_all(const struct command *command, int argc, char **argv,
                      const struct change *change)
{
    struct client_options options = {0};
    struct words words = {argc, argv};
    int code;
    if (!command_begin(command, &words, &options, &code))
        return code;
    return client_each(command, &options, &words, change_one, change);
}

static int pause_run(int argc, char **argv)
{
    return change_all(&pause_verb, argc, argv, &(struct change){"POST", "/pause"});
}

static int resume_run(int argc, char **argv)
{
    return change_all(&resume_verb, argc, argv, &(struct change){"POST", "/resume"});
}

static int renew_run(int argc, char **argv)
{
    return change_all(&renew_verb, argc, argv, &renew);
}

static int cancel_run(int argc, char **argv)
{
    return change_all(&cancel_verb, argc, argv, &(struct change){"DELETE", ""});
}

#define VERB(verb, what, long_text, example)                                                       \
    {                                                                                              \
        .name = "keep " #verb, .text = (what), .usage = "ID... [OPTION...]", .about = (long_text), \
        .after = "example: tocsin keep " #verb " " example "\n", .word_name = word_name,           \
        .words_min = 1, .words_max = COMMAND_WORDS_ANY, .client = true, .run = verb##_run          \
    }

static const struct command pause_verb = VERB(
    pause, "leave their keys alone",
    "Pauses renewals. When it says so, nothing of them is under way any more.\n", "0198c1f2-...");
static const struct command resume_verb = VERB(
    resume, "go on, at once", "Resumes paused renewals; they renew at once.\n", "0198c1f2-...");
static const struct command renew_verb =
    VERB(renew, "renew now, and say what became of the keys",
         "Renews now, beside the rhythm. Ends with 1 when a key is not alive.\n", "0198c1f2-...");
static const struct command cancel_verb =
    VERB(cancel, "end them", "Cancels renewals. Their keys live as long as they were last given.\n",
         "0198c1f2-...");

/* ---- all of them */

static const struct command *const verbs[] = {
    &ls_verb, &show_verb, &pause_verb, &resume_verb, &renew_verb, &cancel_verb, NULL,
};

const struct command keep_command = {
    .name = "keep",
    .text = "keep keys of a Redis alive: register, ls, show, pause, renew, cancel",
    .usage = "KEY|PATTERN... [OPTION...]\n       tocsin keep VERB [OPTION...]",
    .about = "Registers a renewal and prints its id: the server gives the keys a new time to live\n"
             "every so often, also after a restart. A word with *, ?, [ or \\ is a pattern; a key\n"
             "that looks like one, or like a verb, is given by --key.\n",
    .after = "example: tocsin keep 'deployment:*' --ttl 5m --every 2m\n"
             "         tocsin keep lock:7 --owner \"$ME\" --ttl 30s --while '!stop'\n",
    COMMAND_ROWS(keep_rows),
    .word_name = "a key",
    .words_max = COMMAND_WORDS_ANY,
    .client = true,
    .verbs = verbs,
    .run = keep_run,
};
