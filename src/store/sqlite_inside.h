/* SPDX-License-Identifier: MIT */
/* sqlite_inside.h - what do the parts of the SQLite store share?
 *
 * The tables, one file `tocsin.db` in the store's directory (decision 7):
 *
 *   record   rev → kind, key, home, due, basis, mark, tag, crc, doc
 *            Appended only, swept when dead. home is NULL when it is the same as key. doc comes
 *            last: loading reads the row up to crc and never touches it. crc: its upper half is
 *            over all but doc, its lower half over rev and doc.
 *   dead     n → living, dead, high_rev, high_seq, first_seq, event_bytes, elapsed, skew, crc, revs
 *            One row a commit, n being its number: the books as of this commit (struct ledger)
 *            and the list of revs it ended (dead.h). The last row tells how things stand. A
 *            last row without revs is replaced by the next one.
 *   event    seq → at, kind, key, type, crc, doc
 *   meta     one row: incarnation, epoch, crc
 *
 * What must hold in every state that a crash can leave:
 *   - a rev in some list whose row is there is dead; a row in no list lives;
 *   - a list goes only after all the rows it names are gone (a rev is never used again, so a
 *     list that names rows already gone does no harm);
 *   - `living` of the last row of dead is the number of rows of record in no list.
 *
 * Beside it: `commits`, the number of the last commit, written after it and never synced, which
 * tells a lost tail of the log from a short one; `ballast`, room for a full disk; `lock`.
 *
 * Threads   the writer owns everything but `reader`; what is atomic belongs to both.
 */
#ifndef TOCSIN_STORE_SQLITE_INSIDE_H
#define TOCSIN_STORE_SQLITE_INSIDE_H

#include <stdatomic.h>

#include "base/buffer.h"
#include "store/ballast.h"
#include "store/commit_counter.h"
#include "store/dead.h"
#include "store/sqlite_db.h"
#include "store/store.h"
#include "store/store_dir.h"

#define SQLITE_STORE_FILE "tocsin.db"
#define SQLITE_STORE_LOG SQLITE_STORE_FILE "-wal"

enum {
    SQLITE_STORE_VERSION = 1,
    SQLITE_STORE_APPLICATION = 0x546f6373, /* "Tocs", in the file's header */
    SQLITE_CHECKPOINT_FRAMES = 1000,
    SQLITE_SWEEP_MIN = 100000,
    SQLITE_SWEEP_BYTES_MIN = 64 * 1024 * 1024,
};

/* How things stand after a commit. */
struct ledger {
    uint64_t commit; /* its number, one above that before */
    uint64_t living;
    uint64_t dead; /* rows not swept yet */
    uint64_t high_rev;
    uint64_t high_seq;
    uint64_t first_seq; /* the oldest event kept; above high_seq: none is */
    uint64_t event_bytes;
    struct store_time time;
};

/* Idle until there is enough to do; then the lists up to a commit are gathered into a set, the
 * rows in it deleted in ascending order, and the lists forgotten: each in slices, a slice a
 * commit. A restart begins anew, which costs time and nothing else. */
enum sweep_phase { SWEEP_IDLE, SWEEP_GATHER, SWEEP_DELETE, SWEEP_FORGET };

struct sweep_place {
    enum sweep_phase phase;
    uint64_t dead_bytes;    /* of dead rows that are in no sweep yet, about (sweep_weigh) */
    uint64_t look_at_bytes; /* of them; before that it is not asked whether they are many */
    uint64_t upto;          /* the last commit whose list is taken */
    uint64_t at;            /* gathered, or forgotten, up to this commit */
    struct dead_cursor cursor;
};

struct sweep {
    struct sweep_place place;
    struct dead_set set;
};

/* How much of it a commit does: a slice beside the work it was made for, a larger one when it was
 * made for this alone, none where there was no room for more than the work. */
enum sweep_pace { SWEEP_NONE, SWEEP_BESIDE, SWEEP_ALONE };

struct sqlite_store {
    struct store store;
    struct store_dir dir;
    struct sqlite_db writer;
    struct sqlite_db reader;
    uint64_t incarnation;
    uint64_t epoch;
    struct ledger ledger;
    bool ledger_bare; /* its row has no revs: the next one replaces it */
    struct sweep sweep;
    struct buffer list; /* of the commit under way */
    uint64_t *sorted;
    size_t sorted_room;
    struct commit_counter counter;
    struct ballast ballast;
    int frames;        /* in the log, after the last commit */
    int checkpoint_at; /* so many frames ask for a checkpoint */
    uint64_t event_bytes_max;
    uint64_t sweep_min;
    uint64_t sweep_bytes_min;
    bool tight; /* a commit found the disk full, and no new work has got through since */
    int checkpoint_frames;
    bool accept_loss;
    uint64_t commits_lost; /* acknowledged, and not there at this open */
    void (*progress)(void *arg, uint64_t done, uint64_t of);
    void *progress_arg;

    struct tocsin_why stopped_why; /* written before `stopped` is set, and never again */
    atomic_int stopped;            /* an enum tocsin_status: what every call answers from now on */
    atomic_uint_fast64_t living;
    atomic_uint_fast64_t dead;
    atomic_uint_fast64_t swept;
    atomic_uint_fast64_t commits;
    atomic_uint_fast64_t commit_ns;
};

static inline struct sqlite_store *sqlite_inside(struct store *store)
{
    return (struct sqlite_store *)(void *)store;
}

/* The store has failed for good: this and every later call answers so. */
enum tocsin_status sqlite_stop(struct sqlite_store *store, enum tocsin_status status,
                               const struct tocsin_why *why);
/* OK, or what it was stopped with. */
enum tocsin_status sqlite_running(struct sqlite_store *store, struct tocsin_why *ret_why);

/* sqlite_commit.c */
/* Inside a transaction, or on its own. */
enum tocsin_status sqlite_write_meta(struct sqlite_store *store, uint64_t epoch,
                                     struct tocsin_why *ret_why);
enum tocsin_status sqlite_commit(struct store *store, const struct store_batch *batch,
                                 struct tocsin_why *ret_why);
/* Copies the log into the file. FULL and BUSY are no errors: it is tried again later. */
enum tocsin_status sqlite_checkpoint(struct sqlite_store *store, struct tocsin_why *ret_why);

/* sqlite_load.c, sqlite_read.c */
enum tocsin_status sqlite_load(struct store *store,
                               bool (*visit)(void *arg, const struct store_record *record),
                               void *arg, struct tocsin_why *ret_why);
void sqlite_together(struct store *store, bool begin);
enum tocsin_status sqlite_get(struct store *store, uint64_t rev,
                              void (*visit)(void *arg, const struct store_record *record),
                              void *arg, struct tocsin_why *ret_why);
enum tocsin_status sqlite_list(struct store *store, struct bytes kind, uint64_t after_rev,
                               size_t scan, bool (*visit)(void *arg, const struct store_record *),
                               void *arg, uint64_t *ret_next, struct tocsin_why *ret_why);
enum tocsin_status sqlite_events(struct store *store, uint64_t after_seq, size_t scan,
                                 bool (*visit)(void *arg, const struct store_event *), void *arg,
                                 uint64_t *ret_first, struct tocsin_why *ret_why);

/* sqlite_sweep.c: a slice, inside the transaction of a commit. It changes the books given, not the
 * store's; when the transaction fails, put the place back. */
enum tocsin_status sweep_step(struct sqlite_store *store, struct ledger *ledger,
                              const struct store_batch *batch, enum sweep_pace pace,
                              struct tocsin_why *ret_why);
/* Is anything dead that a sweep could delete? */
bool sweep_has_work(const struct sqlite_store *store);
/* Adds to dead_bytes: what this batch, just committed, ended. */
void sweep_weigh(struct sqlite_store *store, const struct store_batch *batch);
/* The dead that were there before: all rows are taken for equal. */
void sweep_guess_bytes(struct sqlite_store *store);
/* Of the pages in the file that nothing is in. */
uint64_t sqlite_free_bytes(struct sqlite_store *store);

#endif
