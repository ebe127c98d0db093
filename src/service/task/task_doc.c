/* SPDX-License-Identifier: MIT */
/* The bytes of a stored task. Its id is not among them: it is the key of the record.
 *
 *   byte 0    version, 1
 *   byte 1    bits 0-1 rhythm, 2-3 misfire, 4-5 overlap, 6 from_end, 7 zero
 *   then      a number: bit n says that field n follows; what is not there is at its default
 *   then      the fields, in the order of their bits
 *
 *   bit  field        form         left out when
 *    0   created      signed       0
 *    1   nominal      signed       0
 *    2   payload      bytes        none
 *    3   delay        number       not given (a delay of 0 that was given is there)
 *    4   queue        bytes        "default"
 *    5   name         bytes        none
 *    6   at           signed       not given
 *    7   every        number       the rhythm is another
 *    8   cron         bytes        the rhythm is another
 *    9   zone         bytes        "UTC"
 *   10   dst          byte         all usual; bits 0-1 gap, 2-3 overlap
 *   11   repeat       number       for ever
 *   12   left         number       as repeat
 *   13   jitter       number       0
 *   14   retries      number       3
 *   15   base         number       1 s
 *   16   cap          number       1 min
 *   17   factor       double       2
 *   18   spread       double       0.2 (retry.jitter)
 *   19   timeout      number       5 min
 *   20   attempt      number       0
 *   21   last error   bytes        none
 *   22   claim        number, signed, signed: fence, started, until; fence 0
 *   23   executed     number       0
 *   24   failed       number       0
 *   25   skipped      number       0
 *   26   occurrence   number       0
 *   27   pause until  signed       0
 *   28   paused from  number       0
 *   29   by hand      nothing      false
 *   30   cancel       nothing      false
 *   31   open         count, first number, then each distance less 1; none
 *   32   backlog      count, first signed, then each distance less 1; none
 *   33   origin       number       0
 *   34   retry due    signed       0
 *
 * A number is seven bits a byte, the lowest first, the high bit set on all but the last, in as
 * few bytes as it needs. Signed: 0, -1, 1, -2 … are the numbers 0, 1, 2, 3 … Bytes: their
 * count as a number, then they. A double: its 64 bits, the lowest byte first.
 *
 * A one-shot with a delay has 2 + 1 + 6 + 6 + about 3 bytes, and 1 or 2 more with a payload.
 * One task has one form: a field at its default, a number in more bytes than it needs, or
 * anything after the last field is damage. A later version adds fields at higher bits, and
 * raises byte 0 only when an old meaning changes.
 */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "service/task/task.h"

enum { DOC_VERSION = 1, DOUBLE_BYTES = 8 };

enum form {
    SIGNED,
    NUMBER,
    NUMBER_32,
    COUNT,
    BYTES,
    DOUBLE,
    FLAG,
    DST,
    CLAIM,
    MARK,
    OPEN,
    BACKLOG
};

/* Bit n is row n: its form, its place in a struct task, and whether it is there, which is when
 * it is not at its default. A NUMBER is an int64_t that is not negative, a COUNT a uint64_t. */
#define TASK_FIELDS(ROW)                                                                           \
    ROW(SIGNED, created_ms, task->created_ms != 0)                                                 \
    ROW(SIGNED, nominal_ms, task->nominal_ms != 0)                                                 \
    ROW(BYTES, payload, task->payload.size > 0)                                                    \
    ROW(NUMBER, delay_ms, task->has_delay)                                                         \
    ROW(BYTES, queue, !bytes_are(task->queue, "default"))                                          \
    ROW(BYTES, name, task->name.size > 0)                                                          \
    ROW(SIGNED, at_ms, task->has_at)                                                               \
    ROW(NUMBER, every_ms, task->every_ms != 0)                                                     \
    ROW(BYTES, cron, task->cron.size > 0)                                                          \
    ROW(BYTES, zone, !bytes_are(task->zone, "UTC"))                                                \
    ROW(DST, dst, task->dst.gap != CRON_GAP_USUAL || task->dst.overlap != CRON_OVERLAP_USUAL)      \
    ROW(NUMBER, repeat, task->repeat != -1)                                                        \
    ROW(NUMBER, left, task->left != task->repeat)                                                  \
    ROW(NUMBER, jitter_ms, task->jitter_ms != 0)                                                   \
    ROW(NUMBER_32, retries_max, task->retries_max != task_usual.retries_max)                       \
    ROW(COUNT, backoff.base_ms, task->backoff.base_ms != task_usual.backoff.base_ms)               \
    ROW(COUNT, backoff.cap_ms, task->backoff.cap_ms != task_usual.backoff.cap_ms)                  \
    ROW(DOUBLE, backoff.factor, task->backoff.factor != task_usual.backoff.factor)                 \
    ROW(DOUBLE, backoff.jitter, task->backoff.jitter != task_usual.backoff.jitter)                 \
    ROW(NUMBER, timeout_ms, task->timeout_ms != TASK_TIMEOUT_DEFAULT_MS)                           \
    ROW(NUMBER_32, attempt, task->attempt != 0)                                                    \
    ROW(BYTES, last_error, task->last_error.size > 0)                                              \
    ROW(CLAIM, claim, task->claim.fence != 0)                                                      \
    ROW(COUNT, executed, task->executed != 0)                                                      \
    ROW(COUNT, failed, task->failed != 0)                                                          \
    ROW(COUNT, skipped, task->skipped != 0)                                                        \
    ROW(COUNT, occurrence, task->occurrence != 0)                                                  \
    ROW(SIGNED, pause_until_ms, task->pause_until_ms != 0)                                         \
    ROW(MARK, paused_from, task->paused_from != 0)                                                 \
    ROW(FLAG, by_hand, task->by_hand)                                                              \
    ROW(FLAG, cancel_requested, task->cancel_requested)                                            \
    ROW(OPEN, open, task->open_count > 0)                                                          \
    ROW(BACKLOG, backlog, task->backlog_count > 0)                                                 \
    ROW(COUNT, origin, task->origin != 0)                                                          \
    ROW(SIGNED, retry_due_ms, task->retry_due_ms != 0)

static const struct row {
    enum form form;
    size_t offset;
} rows[] = {
#define ROW(form, member, there) {form, offsetof(struct task, member)},
    TASK_FIELDS(ROW)
#undef ROW
};

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

static const void *member(const struct task *task, const struct row *row)
{
    return (const char *)task + row->offset;
}

static void *member_of(struct task *task, const struct row *row)
{
    return (char *)task + row->offset;
}

static uint64_t fields_of(const struct task *task)
{
    uint64_t fields = 0;
    unsigned bit = 0;
#define ROW(form, member, there) fields |= (uint64_t)(there) << bit++;
    TASK_FIELDS(ROW)
#undef ROW
    return fields;
}

static void put_number(struct buffer *out, uint64_t number)
{
    size_t size =
        (size_t)(70 - __builtin_clzll(number | 1)) / 7; /* seven bits a byte, rounded up */
    char *bytes = buffer_reserve(out, size);
    if (bytes == NULL)
        return;
    for (size_t i = 0; i + 1 < size; i++, number >>= 7)
        bytes[i] = (char)(number | 0x80);
    bytes[size - 1] = (char)number;
    buffer_advance(out, size);
}

static void put_signed(struct buffer *out, int64_t value)
{
    put_number(out, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

static void put_double(struct buffer *out, double value)
{
    uint64_t bits;
    char bytes[DOUBLE_BYTES];
    memcpy(&bits, &value, sizeof bits);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(bits >> (8 * i));
    buffer_append(out, bytes, sizeof bytes);
}

static void put_open(struct buffer *out, const struct task *task)
{
    put_number(out, task->open_count);
    put_number(out, task->open[0]);
    for (size_t i = 1; i < task->open_count; i++)
        put_number(out, task->open[i] - task->open[i - 1] - 1);
}

static void put_backlog(struct buffer *out, const struct task *task)
{
    put_number(out, task->backlog_count);
    put_signed(out, task->backlog[0]);
    for (size_t i = 1; i < task->backlog_count; i++)
        put_number(out, (uint64_t)task->backlog[i] - (uint64_t)task->backlog[i - 1] - 1);
}

static void put_field(struct buffer *out, const struct task *task, const struct row *row)
{
    const void *at = member(task, row);
    switch (row->form) {
    case SIGNED:
        put_signed(out, *(const int64_t *)at);
        break;
    case NUMBER:
        put_number(out, (uint64_t) * (const int64_t *)at);
        break;
    case NUMBER_32:
        put_number(out, *(const uint32_t *)at);
        break;
    case COUNT:
        put_number(out, *(const uint64_t *)at);
        break;
    case BYTES:
        put_number(out, ((const struct bytes *)at)->size);
        buffer_append(out, ((const struct bytes *)at)->at, ((const struct bytes *)at)->size);
        break;
    case DOUBLE:
        put_double(out, *(const double *)at);
        break;
    case DST:
        buffer_append_byte(out, (char)(task->dst.gap | (unsigned)task->dst.overlap << 2));
        break;
    case CLAIM:
        put_number(out, task->claim.fence);
        put_signed(out, task->claim.started_ms);
        put_signed(out, task->claim.until_ms);
        break;
    case MARK:
        put_number(out, task->paused_from);
        break;
    case OPEN:
        put_open(out, task);
        break;
    case BACKLOG:
        put_backlog(out, task);
        break;
    case FLAG:
        break;
    }
}

void task_encode(const struct task *task, struct buffer *out)
{
    assert(task_check(task));
    uint64_t fields = fields_of(task);
    buffer_append_byte(out, DOC_VERSION);
    buffer_append_byte(out, (char)(task->rhythm | (unsigned)task->misfire << 2 |
                                   (unsigned)task->overlap << 4 | (unsigned)task->from_end << 6));
    put_number(out, fields);
    for (; fields != 0; fields &= fields - 1)
        put_field(out, task, &rows[__builtin_ctzll(fields)]);
}

/* What is left to read. Once bad, it stays so, and answers with zeros. */
struct input {
    const unsigned char *at;
    const unsigned char *end;
    bool bad;
};

static uint64_t spoil(struct input *input)
{
    input->bad = true;
    input->at = input->end;
    return 0;
}

static uint64_t get_byte(struct input *input)
{
    return input->at < input->end ? *input->at++ : spoil(input);
}

static uint64_t get_number(struct input *input, uint64_t most)
{
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint64_t byte = get_byte(input);
        if (input->bad || (shift == 63 && byte > 1))
            return spoil(input);
        number |= (byte & 0x7f) << shift;
        if (byte < 0x80)
            return number > most || (byte == 0 && shift > 0) ? spoil(input) : number;
    }
    return spoil(input);
}

static int64_t get_signed(struct input *input)
{
    uint64_t number = get_number(input, UINT64_MAX);
    uint64_t bits = number >> 1 ^ (0 - (number & 1));
    int64_t value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static struct bytes get_bytes(struct input *input)
{
    size_t size = get_number(input, (uint64_t)(input->end - input->at));
    if (size > (size_t)(input->end - input->at))
        size = spoil(input);
    struct bytes bytes = {(const char *)input->at, size};
    input->at += size;
    return bytes;
}

static double get_double(struct input *input)
{
    uint64_t bits = 0;
    double value;
    for (unsigned i = 0; i < DOUBLE_BYTES; i++)
        bits |= get_byte(input) << (8 * i);
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Sums that pass the end come out smaller, which task_check sees. */
static void get_open(struct input *input, struct task_lists *lists, struct task *task)
{
    task->open_count = get_number(input, TASK_BACKLOG_MAX);
    task->open = lists->open;
    for (size_t i = 0; i < task->open_count; i++) {
        uint64_t number = get_number(input, UINT64_MAX);
        lists->open[i] = i == 0 ? number : lists->open[i - 1] + number + 1;
    }
}

static void get_backlog(struct input *input, struct task_lists *lists, struct task *task)
{
    task->backlog_count = get_number(input, TASK_BACKLOG_MAX);
    task->backlog = lists->backlog;
    lists->backlog[0] = get_signed(input);
    for (size_t i = 1; i < task->backlog_count; i++) {
        uint64_t sum = (uint64_t)lists->backlog[i - 1] + get_number(input, UINT64_MAX) + 1;
        memcpy(&lists->backlog[i], &sum, sizeof sum);
    }
}

static void get_field(struct input *input, const struct row *row, struct task_lists *lists,
                      struct task *task)
{
    void *at = member_of(task, row);
    switch (row->form) {
    case SIGNED:
        *(int64_t *)at = get_signed(input);
        break;
    case NUMBER:
        *(int64_t *)at = (int64_t)get_number(input, INT64_MAX);
        break;
    case NUMBER_32:
        *(uint32_t *)at = (uint32_t)get_number(input, UINT32_MAX);
        break;
    case COUNT:
        *(uint64_t *)at = get_number(input, UINT64_MAX);
        break;
    case BYTES:
        *(struct bytes *)at = get_bytes(input);
        break;
    case DOUBLE:
        *(double *)at = get_double(input);
        break;
    case DST: {
        uint64_t byte = get_byte(input);
        if (byte > 0xf)
            byte = spoil(input);
        task->dst.gap = (enum cron_gap)(byte & 3);
        task->dst.overlap = (enum cron_overlap)(byte >> 2);
        break;
    }
    case CLAIM:
        task->claim.fence = get_number(input, UINT64_MAX);
        task->claim.started_ms = get_signed(input);
        task->claim.until_ms = get_signed(input);
        break;
    case MARK:
        task->paused_from = (enum task_mark)get_number(input, TASK_SCHEDULED);
        break;
    case OPEN:
        get_open(input, lists, task);
        break;
    case BACKLOG:
        get_backlog(input, lists, task);
        break;
    case FLAG:
        *(bool *)at = true;
        break;
    }
}

/* One level less than a body may have: that is where it came from, and where it goes. */
static bool is_json(struct bytes text)
{
    struct json_reader reader;
    struct json_span span;
    json_reader_init(&reader, text.at, text.size, JSON_DEPTH_MAX - 1);
    return json_read_raw(&reader, &span) && span.size == text.size &&
           json_read_finish(&reader, NULL) == TOCSIN_OK;
}

/* The fields that are there; whether they are what a task may be, the caller looks. */
static bool decode(struct bytes doc, struct task_lists *lists, struct task *task,
                   uint64_t *ret_fields)
{
    const unsigned char *start = (const unsigned char *)doc.at;
    struct input input = {start, start + doc.size, false};
    task_init(task);
    if (get_byte(&input) != DOC_VERSION)
        return false;
    uint64_t shape = get_byte(&input);
    uint64_t fields = get_number(&input, (UINT64_C(1) << ROW_COUNT) - 1);
    task->rhythm = (enum task_rhythm)(shape & 3);
    task->misfire = (enum task_misfire)(shape >> 2 & 3);
    task->overlap = (enum task_overlap)(shape >> 4 & 3);
    task->from_end = (shape >> 6 & 1) != 0;
    for (uint64_t left = fields; left != 0 && !input.bad; left &= left - 1) {
        const struct row *row = &rows[__builtin_ctzll(left)];
        get_field(&input, row, lists, task);
        task->has_delay |= row->offset == offsetof(struct task, delay_ms);
        task->has_at |= row->offset == offsetof(struct task, at_ms);
        if (row->offset == offsetof(struct task, repeat))
            task->left = task->repeat;
    }
    *ret_fields = fields;
    return !input.bad && input.at == input.end && shape <= 0x7f;
}

enum tocsin_status task_decode(struct bytes doc, struct task_lists *lists, struct task *ret_task)
{
    struct task task;
    uint64_t fields;
    if (!decode(doc, lists, &task, &fields) || !task_check(&task) || fields_of(&task) != fields ||
        (task.payload.size > 0 && !is_json(task.payload)))
        return TOCSIN_DAMAGED;
    *ret_task = task;
    return TOCSIN_OK;
}

void task_decode_own(struct bytes doc, struct task_lists *lists, struct task *ret_task)
{
    uint64_t fields;
    bool ok = decode(doc, lists, ret_task, &fields);
    assert(ok);
}
