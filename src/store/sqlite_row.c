/* SPDX-License-Identifier: MIT */
#include "store/sqlite_row.h"

#include "base/crc32c.h"

static uint32_t checksum_bytes(uint32_t crc, struct bytes bytes)
{
    return bytes.size > 0 ? crc32c(crc, bytes.at, bytes.size) : crc;
}

/* The sizes are in it, so that bytes cannot move from one text to the next unnoticed. */
static uint32_t head_checksum(const struct store_record *record)
{
    const uint64_t numbers[] = {
        record->rev,
        (uint64_t)record->due_ms,
        (uint64_t)record->basis << 8 | record->mark,
        (uint64_t)record->kind.size << 32 | record->key.size,
        (uint64_t)record->home.size << 32 | record->tag.size,
    };
    uint32_t crc = crc32c(0, numbers, sizeof numbers);
    crc = checksum_bytes(crc, record->kind);
    crc = checksum_bytes(crc, record->key);
    crc = checksum_bytes(crc, record->home);
    return checksum_bytes(crc, record->tag);
}

/* The rev is in it, so that a doc cannot change its row unnoticed. */
static uint32_t doc_checksum(const struct store_record *record)
{
    return checksum_bytes(crc32c(0, &record->rev, sizeof record->rev), record->doc);
}

void sqlite_bind_record(sqlite3_stmt *put, const struct store_record *record)
{
    uint64_t crc = (uint64_t)head_checksum(record) << 32 | doc_checksum(record);
    sqlite_bind_number(put, 1, record->rev);
    sqlite_bind_bytes(put, 2, record->kind);
    sqlite_bind_bytes(put, 3, record->key);
    if (bytes_equal(record->home, record->key))
        (void)sqlite3_bind_null(put, 4);
    else
        sqlite_bind_bytes(put, 4, record->home);
    sqlite_bind_number(put, 5, (uint64_t)record->due_ms);
    sqlite_bind_number(put, 6, (uint64_t)record->basis);
    sqlite_bind_number(put, 7, record->mark);
    sqlite_bind_bytes(put, 8, record->tag);
    sqlite_bind_number(put, 9, crc);
    sqlite_bind_bytes(put, 10, record->doc);
}

bool sqlite_head_of(sqlite3_value **values, uint64_t crc, struct store_record *ret_record)
{
    struct store_record record = {
        .rev = sqlite_number(values[0]),
        .kind = sqlite_bytes(values[1]),
        .key = sqlite_bytes(values[2]),
        .due_ms = (int64_t)sqlite_number(values[4]),
        .mark = (uint8_t)sqlite_number(values[6]),
        .tag = sqlite_bytes(values[7]),
        .doc = {"", 0},
    };
    bool same = sqlite3_value_type(values[3]) == SQLITE_NULL;
    record.home = same ? record.key : sqlite_bytes(values[3]);
    uint64_t basis = sqlite_number(values[5]);
    record.basis = basis == STORE_WALL ? STORE_WALL : STORE_ELAPSED;
    *ret_record = record;
    return basis <= STORE_WALL && crc >> 32 == head_checksum(&record);
}

bool sqlite_read_head(sqlite3_stmt *statement, struct store_record *ret_record)
{
    sqlite3_value *values[SQLITE_HEAD_COLUMNS];
    for (int i = 0; i < SQLITE_HEAD_COLUMNS; i++)
        values[i] = sqlite3_column_value(statement, i);
    return sqlite_head_of(values, sqlite_column_number(statement, SQLITE_HEAD_COLUMNS), ret_record);
}

bool sqlite_doc_is(const struct store_record *record, uint64_t crc)
{
    return (uint32_t)crc == doc_checksum(record);
}

bool sqlite_read_doc(sqlite3_stmt *statement, struct store_record *record)
{
    record->doc = sqlite_column_bytes(statement, 9);
    return sqlite_doc_is(record, sqlite_column_number(statement, 8));
}

static uint32_t event_checksum(const struct store_event *event)
{
    const uint64_t numbers[] = {
        event->seq,
        (uint64_t)event->at_ms,
        (uint64_t)event->kind.size << 32 | event->key.size,
        (uint64_t)event->type.size << 32 | event->doc.size,
    };
    uint32_t crc = crc32c(0, numbers, sizeof numbers);
    crc = checksum_bytes(crc, event->kind);
    crc = checksum_bytes(crc, event->key);
    crc = checksum_bytes(crc, event->type);
    return checksum_bytes(crc, event->doc);
}

void sqlite_bind_event(sqlite3_stmt *add, const struct store_event *event)
{
    sqlite_bind_number(add, 1, event->seq);
    sqlite_bind_number(add, 2, (uint64_t)event->at_ms);
    sqlite_bind_bytes(add, 3, event->kind);
    sqlite_bind_bytes(add, 4, event->key);
    sqlite_bind_bytes(add, 5, event->type);
    sqlite_bind_number(add, 6, event_checksum(event));
    sqlite_bind_bytes(add, 7, event->doc);
}

bool sqlite_read_event(sqlite3_stmt *statement, struct store_event *ret_event)
{
    *ret_event = (struct store_event){
        .seq = sqlite_column_number(statement, 0),
        .at_ms = (int64_t)sqlite_column_number(statement, 1),
        .kind = sqlite_column_bytes(statement, 2),
        .key = sqlite_column_bytes(statement, 3),
        .type = sqlite_column_bytes(statement, 4),
        .doc = sqlite_column_bytes(statement, 6),
    };
    return sqlite_column_number(statement, 5) == event_checksum(ret_event);
}

uint64_t sqlite_event_bytes(const struct store_event *event)
{
    return SQLITE_EVENT_EXTRA_BYTES + event->kind.size + event->key.size + event->type.size +
           event->doc.size;
}

static uint32_t ledger_checksum(const struct ledger *ledger, struct bytes list)
{
    return checksum_bytes(crc32c(0, ledger, sizeof *ledger), list);
}

_Static_assert(sizeof(struct ledger) == 9 * sizeof(uint64_t), "no holes: all of it is summed");

void sqlite_bind_ledger(sqlite3_stmt *add, const struct ledger *ledger, struct bytes list)
{
    sqlite_bind_number(add, 1, ledger->commit);
    sqlite_bind_number(add, 2, ledger->living);
    sqlite_bind_number(add, 3, ledger->dead);
    sqlite_bind_number(add, 4, ledger->high_rev);
    sqlite_bind_number(add, 5, ledger->high_seq);
    sqlite_bind_number(add, 6, ledger->first_seq);
    sqlite_bind_number(add, 7, ledger->event_bytes);
    sqlite_bind_number(add, 8, (uint64_t)ledger->time.elapsed_ms);
    sqlite_bind_number(add, 9, (uint64_t)ledger->time.skew_ms);
    sqlite_bind_number(add, 10, ledger_checksum(ledger, list));
    sqlite_bind_bytes(add, 11, list);
}

bool sqlite_read_ledger(sqlite3_stmt *statement, struct ledger *ret_ledger, struct bytes *ret_list)
{
    *ret_ledger = (struct ledger){
        .commit = sqlite_column_number(statement, 0),
        .living = sqlite_column_number(statement, 1),
        .dead = sqlite_column_number(statement, 2),
        .high_rev = sqlite_column_number(statement, 3),
        .high_seq = sqlite_column_number(statement, 4),
        .first_seq = sqlite_column_number(statement, 5),
        .event_bytes = sqlite_column_number(statement, 6),
        .time = {(int64_t)sqlite_column_number(statement, 7),
                 (int64_t)sqlite_column_number(statement, 8)},
    };
    *ret_list = sqlite_column_bytes(statement, 10);
    return sqlite_column_number(statement, 9) == ledger_checksum(ret_ledger, *ret_list);
}

uint32_t sqlite_meta_checksum(uint64_t incarnation, uint64_t epoch)
{
    const uint64_t numbers[] = {incarnation, epoch};
    return crc32c(0, numbers, sizeof numbers);
}
