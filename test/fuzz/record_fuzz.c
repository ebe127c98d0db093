/* SPDX-License-Identifier: MIT */
/* The doc of a stored task, as a disk may give it back: damaged, or a task that passes its
 * check, has these very bytes, and can be answered as JSON. */
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ORACLE_FAIL(text) (fprintf(stderr, "%s\n", text), abort())
#include "service/task/task.h"
#include "support/json_oracle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(const struct task *task)
{
    struct buffer out;
    struct json_writer writer;
    struct json_reader reader;
    struct task_view view = {.status = "pending", .rev = 1};
    buffer_init(&out, 1 << 20);
    json_writer_init(&writer, &out);
    task_write(&writer, task, &view);
    ORACLE_CHECK(json_write_done(&writer) && buffer_status(&out) == TOCSIN_OK);
    json_reader_init(&reader, out.data, out.size, JSON_DEPTH_MAX);
    ORACLE_CHECK(json_read_raw(&reader, NULL));
    ORACLE_CHECK(json_read_finish(&reader, NULL) == TOCSIN_OK);
    buffer_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct task_lists lists;
    struct task task;
    struct buffer again;
    char *doc = malloc(size > 0 ? size : 1);
    if (doc == NULL)
        return 0;
    if (size > 0)
        memcpy(doc, data, size);
    enum tocsin_status status = task_decode((struct bytes){doc, size}, &lists, &task);
    if (status == TOCSIN_OK) {
        ORACLE_CHECK(task_check(&task) && task.id.size == 0);
        buffer_init(&again, size);
        task_encode(&task, &again);
        ORACLE_CHECK(buffer_status(&again) == TOCSIN_OK && again.size == size);
        ORACLE_CHECK(memcmp(again.data, doc, size) == 0);
        buffer_release(&again);
        check_answer(&task);
    } else {
        ORACLE_CHECK(status == TOCSIN_DAMAGED);
    }
    free(doc);
    return 0;
}
