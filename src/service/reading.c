/* SPDX-License-Identifier: MIT */
#include "service/reading.h"

#include <stdlib.h>

enum { ANSWER_BYTES_MAX = 32 * 1024 * 1024, PAGE_BYTES = 4 * 1024 * 1024, LOOKS_MAX = 200 };

struct reading {
    struct reading_kind kind;
    reading_fn fn;
    void *arg;
    struct buffer out;
    struct json_writer writer;
    uint64_t rev;
    uint32_t limit;
    uint32_t count;
    uint64_t last_rev;
    bool full; /* and there is one more */
    unsigned looks;
};

static struct reading *begin(const struct reading_kind *kind, reading_fn fn, void *arg)
{
    struct reading *reading = calloc(1, sizeof *reading);
    if (reading == NULL) {
        fn(arg, OUTCOME_OVERLOADED, 0, (struct bytes){0});
        return NULL;
    }
    reading->kind = *kind;
    reading->fn = fn;
    reading->arg = arg;
    buffer_init(&reading->out, ANSWER_BYTES_MAX);
    json_writer_init(&reading->writer, &reading->out);
    return reading;
}

static void end(struct reading *reading, enum tocsin_status status)
{
    if (status == TOCSIN_OK && buffer_status(&reading->out) != TOCSIN_OK)
        status = TOCSIN_NO_MEMORY;
    reading->fn(reading->arg, outcome_of_status(status), reading->rev,
                (struct bytes){reading->out.data, reading->out.size});
    buffer_release(&reading->out);
    free(reading);
}

static void got(void *arg, enum tocsin_status status, const struct engine_record *record)
{
    struct reading *reading = arg;
    if (status == TOCSIN_OK) {
        reading->rev = record->rev;
        status = reading->kind.write(reading->kind.service, &reading->writer, record);
    }
    end(reading, status);
}

void reading_one(const struct reading_kind *kind, struct bytes key, reading_fn fn, void *arg)
{
    struct reading *reading = begin(kind, fn, arg);
    if (reading != NULL)
        engine_get(kind->engine, kind->kind, key, got, reading);
}

/* ---- a page */

static bool look(void *arg, enum tocsin_status status, const struct engine_record *record,
                 uint64_t next);

static void end_page(struct reading *reading, uint64_t next)
{
    json_write_array_end(&reading->writer);
    json_write_key(&reading->writer, "next");
    if (next == 0)
        json_write_null(&reading->writer);
    else
        json_write_uint64(&reading->writer, next);
    json_write_object_end(&reading->writer);
    end(reading, TOCSIN_OK);
}

/* Rows of the dead lie among the others until they are swept: an empty look goes on. */
static void look_ended(struct reading *reading, enum tocsin_status status, uint64_t next)
{
    if (status != TOCSIN_OK)
        end(reading, status);
    else if (reading->full)
        end_page(reading, reading->last_rev);
    else if (next == 0 || reading->count == reading->limit || ++reading->looks == LOOKS_MAX)
        end_page(reading, next);
    else
        engine_list(reading->kind.engine, reading->kind.kind, next, reading->kind.scan, look,
                    reading);
}

static bool look(void *arg, enum tocsin_status status, const struct engine_record *record,
                 uint64_t next)
{
    struct reading *reading = arg;
    if (record == NULL) {
        look_ended(reading, status, next);
        return false;
    }
    if (reading->kind.marks != 0 && (reading->kind.marks >> record->mark & 1) == 0)
        return true;
    if (reading->count == reading->limit || reading->out.size > PAGE_BYTES) {
        reading->full = true;
        return false;
    }
    if (reading->kind.write(reading->kind.service, &reading->writer, record) != TOCSIN_OK)
        return true; /* GET of that one tells */
    reading->count++;
    reading->last_rev = record->rev;
    return true;
}

void reading_page(const struct reading_kind *kind, uint64_t after, uint32_t limit, reading_fn fn,
                  void *arg)
{
    struct reading *reading = begin(kind, fn, arg);
    if (reading == NULL)
        return;
    reading->limit = limit;
    json_write_object(&reading->writer);
    json_write_key(&reading->writer, kind->name);
    json_write_array(&reading->writer);
    engine_list(kind->engine, kind->kind, after, kind->scan, look, reading);
}
