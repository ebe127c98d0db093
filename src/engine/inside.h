/* SPDX-License-Identifier: MIT */
/* inside.h - how the engine keeps what it knows. For src/engine only.
 *
 *   entry     56 bytes for every living record, in one growing array; all a waiting record
 *             costs beside its timer
 *   live      what a record has besides while it is read, changed or due soon: its versions,
 *             and who waits for them. Most records have none.
 *   version   one version, immutable and counted
 *
 * A record in change has up to three versions: the committed one, one in the commit under way
 * (flying), and one in the commit that is being gathered (open). The newest is the tip.
 *
 *             put/drop            handed to the store          settled
 *   (nothing) --------> open ------------------------> flying ---------> committed
 *                         |                               |
 *                         +--------- rolled back ---------+
 */
#ifndef TOCSIN_ENGINE_INSIDE_H
#define TOCSIN_ENGINE_INSIDE_H

#include "base/buffer.h"
#include "base/region.h"
#include "engine/backend.h"
#include "engine/engine.h"

struct version {
    uint32_t refs;
    uint32_t doc_size;
    uint64_t rev;
    int64_t due_ms;
    uint16_t key_size;
    uint16_t home_size; /* HOME_IS_KEY: the same bytes */
    uint16_t tag;
    uint8_t mark;
    uint8_t basis : 1;
    uint8_t own : 1;     /* made by a change, not read from the store */
    uint8_t damaged : 1; /* in a list: read from the store, and it was not what was written */
    char bytes[];        /* key, home, doc */
};

enum { HOME_IS_KEY = UINT16_MAX };

#ifdef __SANITIZE_ADDRESS__
enum { VERSION_POOL_BYTES_MAX = 0 }; /* what is freed is freed, so that a late use is seen */
#else
enum { VERSION_POOL_BYTES_MAX = 2 * 1024 * 1024 };
#endif
enum { VERSION_STEP = 64, VERSION_CLASSES = 17 };
struct version_pool {
    struct version_block {
        struct version_block *next;
    } * free[VERSION_CLASSES]; /* by size */
    size_t bytes;
};
void version_pool_release(struct version_pool *pool);

/* Takes over one use of the tag; dropping the last reference gives it back. The pool is the
 * loop's own: other threads give NULL. */
struct version *version_create(struct version_pool *pool, const struct change_put *put,
                               uint16_t tag, uint64_t rev);
struct version *version_keep(struct version *version);
void version_drop(struct engine *engine, struct version *version); /* NULL: nothing */
struct bytes version_key(const struct version *version);
struct bytes version_home(const struct version *version);
struct bytes version_doc(const struct version *version);
size_t version_bytes(const struct version *version);

struct waiter {
    struct waiter *next;
    void (*wake)(struct engine *engine, struct waiter *waiter, enum tocsin_status status);
    void (*drop)(struct waiter *waiter); /* the engine is destroyed */
};

/* What a commit under way does to a record. */
struct pending {
    struct version *version; /* of a drop: what was dropped, for its key */
    bool there;
    bool dropped;
    bool reborn; /* dropped and made again inside this commit: another record by the same key */
};

struct live {
    uint32_t entry;
    bool fetching;
    bool damaged;  /* the committed one has been read, and is not what was written */
    bool warm;     /* in the list of docs that may be let go */
    uint32_t pins; /* not to be let go: waiters are being woken, or need it besides another */
    struct version *committed; /* NULL: not read in, or there is none */
    struct pending flying;
    struct pending open;
    struct waiter *waiters;
    struct waiter **waiters_end;
    struct live *older;
    struct live *newer;
};

struct entry {
    uint64_t fingerprint;
    uint64_t rev; /* committed; 0: nothing is */
    int64_t due_ms;
    struct tocsin_timer timer;
    struct live *live;
    uint32_t next; /* in its chain, or among the free */
    uint32_t born;
    uint32_t attached;
    uint32_t kind : 5;
    uint32_t mark : 6;
    uint32_t basis : 1;
    uint32_t early : 1; /* the timer is for reading the doc ahead, not for the due time */
    uint32_t held : 1;  /* came due while it was being changed */
    uint32_t fired : 1; /* came due and was given to its kind: off the wheel till put again */
    uint32_t tag : 16;
    uint32_t used : 1;
};

/* ---- the index (index.c): entries, found by kind and key */

enum { ENTRY_NONE = 0 }; /* entry 0 is never used */

struct index_table {
    uint32_t *buckets;
    uint32_t mask;
};

struct index {
    struct region region;
    struct entry *entries;
    uint32_t end; /* entries ever used, and one */
    uint32_t max;
    uint32_t free;
    uint32_t count;
    struct index_table table;
    struct index_table old; /* being moved over, some chains at every step */
    uint32_t moved;
};

bool index_init(struct index *index, uint32_t max, uint64_t expected);
void index_release(struct index *index);
/* ENTRY_NONE: FULL or no memory. */
uint32_t index_add(struct index *index, uint64_t fingerprint);
/* For many in a row: entries at the end of the array, found only once they are linked. */
uint32_t index_append(struct index *index, uint64_t fingerprint);
void index_link(struct index *index, uint32_t from, uint32_t to);
void index_remove(struct index *index, uint32_t at);
/* The first entry with this fingerprint, and the next after it. */
uint32_t index_first(struct index *index, uint64_t fingerprint);
uint32_t index_after(const struct index *index, uint32_t at);
/* Brings its chain into the cache; then, with the chain there, its first entry. */
void index_expect(const struct index *index, uint64_t fingerprint);
void index_expect_entry(const struct index *index, uint64_t fingerprint);

/* ---- tags (tags.c): short words, each kept once */

struct tag {
    char *bytes;
    uint32_t size;
    uint32_t refs;
    uint32_t entries; /* committed records that carry it */
};

struct tags {
    struct tag *list; /* ENGINE_TAGS_MAX + 1; tag 0 is the empty one */
    uint16_t *slots;  /* open addressing, by hash */
    uint32_t slot_count;
    uint32_t end;
    uint16_t last; /* the one most likely asked for again */
    uint16_t *free;
    uint32_t free_count;
};

bool tags_init(struct tags *tags);
void tags_release(struct tags *tags);
/* Its number, counted as used once more. FULL, NO_MEMORY. */
enum tocsin_status tags_keep(struct tags *tags, struct siphash_key key, struct bytes word,
                             uint16_t *ret_tag);
void tags_keep_number(struct tags *tags, uint16_t tag);
void tags_drop(struct tags *tags, struct siphash_key key, uint16_t tag);
struct bytes tags_word(const struct tags *tags, uint16_t tag);

enum { EXPECTED_AHEAD = 4 };

/* Room on the wheel beside that of the records. */
enum { VOLATILE_TIMERS_MAX = 4 * 1024 * 1024 };

/* ---- changes */

struct then {
    struct then *next;
    change_done_fn fn;
    void *arg;
};

struct change {
    struct waiter waiter; /* first */
    struct change *next;
    struct engine *engine;
    change_fn fn;
    change_done_fn done;
    void *arg;
    struct then *thens;
    struct then **thens_end;
    enum tocsin_status status;
    bool urgent;
    /* What it had to wait for stays in memory until it has run: else it would never have all
     * its docs at once. */
    struct live **pins;
    size_t pin_count;
    struct engine_ref due; /* of the engine's own, around a kind's on_due */
    uint64_t due_rev;      /* … and the version that came due */
};

struct change_list {
    struct change *first;
    struct change **end;
    uint32_t count;
};

void change_list_init(struct change_list *list);
void change_list_add(struct change_list *list, struct change *change);
struct change *change_list_pop(struct change_list *list);

struct staged {
    uint32_t entry; /* ENTRY_NONE: a new record */
    unsigned kind;
    uint64_t fingerprint;
    struct version *version;
    bool dropped;
    bool over; /* not the newest any more; kept because the change may still look at it */
};

struct event_row {
    size_t at; /* in the buffer: key, type, doc */
    uint32_t kind;
    uint32_t key_size;
    uint32_t type_size;
    uint32_t doc_size;
    int64_t at_ms;
};

struct event_rows {
    struct event_row *rows;
    size_t count;
    size_t room;
    struct buffer bytes;
};

struct mirror_row {
    size_t at; /* in the buffer: name, value */
    uint32_t name_size;
    uint32_t value_size;
    int64_t expire_ms;
    bool gone;
};

struct mirror_rows {
    struct mirror_row *rows;
    size_t count;
    size_t room;
    struct buffer bytes;
};

struct commit {
    struct change_list changes;
    struct live **dirty;
    size_t dirty_count;
    size_t dirty_room;
    struct event_rows events;
    struct mirror_rows mirrors;
    bool ordinary; /* has a change that is not urgent */
};

enum saw { SAW_COMMITTED, SAW_FLYING, SAW_OPEN };

struct fetch_wish {
    uint32_t entry;
    uint64_t rev;
};

/* A read the engine has sent on its own account: those still out when it is destroyed are
 * freed with it. */
struct own_read {
    struct engine_read read; /* first */
    struct engine *engine;
    void (*drop)(struct own_read *own);
    struct own_read *before;
    struct own_read *after;
};

struct engine {
    struct engine_limits limits;
    struct clock clock;
    const struct engine_backend *backend;
    struct siphash_key hash_key;
    void (*on_fatal)(void *arg, enum tocsin_status status, const char *why);
    void *arg;
    bool shared;
    const struct engine_kind *kinds[ENGINE_KINDS_MAX];
    unsigned kind_count;

    struct index index;
    struct tags tags;
    struct tocsin_wheel *wheel;

    /* time: elapsed line = elapsed clock + base; wall = elapsed line + skew */
    int64_t base_ns;
    int64_t about_ms; /* the elapsed line and the skew as due_look last saw them */
    int64_t about_skew_ns;
    uint32_t timer_count;  /* volatile ones */
    int64_t armed_skew_ns; /* as wall timers were last armed all */
    int64_t shown_skew_ms; /* wall minus line, as dues are told: moved only when it is off by more
                              than a millisecond, so that a due time is told the same each time */
    bool time_unsaved;     /* the wall clock was set since the last commit */
    uint32_t rearm_at;     /* entries still to be armed anew after a step; 0: none */

    uint64_t epoch;
    uint64_t fence_count;
    uint64_t reserved_epoch; /* durable, or in the commit under way: the next one to use */
    bool epoch_reserved;     /* durable */
    uint64_t rev;
    uint64_t committed_rev;
    uint64_t seq;

    struct change_list waiting;
    uint32_t pin_count;
    uint32_t doc_waiters; /* changes and gets that wait for a doc */
    struct commit open;
    struct commit flying;
    struct commit spare; /* empty; its arrays are used again */
    bool commit_under_way;
    bool dead;             /* the store failed for good */
    int64_t full_until_ms; /* elapsed; ordinary changes are refused till then */
    struct change *free_changes;
    struct then *free_thens;

    /* the key that was hashed last: a change asks for it, and then puts it */
    uint64_t hashed;
    unsigned hashed_kind;
    size_t hashed_size; /* 0: none */
    char hashed_key[64];
    uint64_t expected[EXPECTED_AHEAD]; /* their fingerprints; 0: none */
    unsigned expected_at;

    /* the change that runs now */
    struct change *running;
    struct staged *staged;
    size_t staged_count;
    size_t staged_room;
    struct event_rows staged_events;
    struct mirror_rows staged_mirrors;
    enum tocsin_status events_status; /* not OK: there was no room for one, or for a mirror */
    enum saw saw;
    uint32_t wait_for; /* the entry whose doc it needs; ENTRY_NONE */

    /* the batch in the store's hands */
    struct store_record *puts;
    uint64_t *dead_revs;
    struct store_event *events;
    struct store_mirror *mirrors;
    size_t puts_room;
    size_t dead_room;
    size_t events_room;
    size_t mirrors_room;
    struct store_batch batch;

    /* docs */
    struct fetch_wish *wishes;
    size_t wish_count;
    size_t wish_room;
    struct version_pool versions;
    struct live *free_lives; /* linked by newer */
    struct live *oldest;
    struct live *newest;
    uint64_t doc_bytes; /* of the warm ones */
    uint64_t live_count;

    struct own_read *reads;
    struct engine_read *reads_ahead; /* lists that saw a commit before we heard of it */

    void (*on_event)(void *arg, const struct store_event *event);
    void *on_event_arg;
    void (*on_turn)(void *arg);
    void *on_turn_arg;
    void (*on_commit)(void *arg, enum tocsin_status status, const char *why, int64_t took_ns);
    void *on_commit_arg;
    void (*on_damage)(void *arg, const struct engine_damage *damage);
    void *on_damage_arg;
    uint64_t *damages; /* those met so far, each told once */
    size_t damage_count;
    int64_t commit_began_ns;
    uint64_t marks[ENGINE_KINDS_MAX][ENGINE_MARKS_MAX + 1]; /* committed records */

    struct engine_stats stats;
};

/* engine.c */
uint64_t engine_fingerprint(struct engine *engine, unsigned kind, struct bytes key);
void engine_fill_head(const struct engine *engine, uint32_t at, struct engine_head *ret_head);
void engine_fill_record(const struct engine *engine, uint32_t at, const struct version *version,
                        struct engine_record *ret_record);
uint32_t engine_entry_of(const struct engine *engine, struct engine_ref ref);
/* The entry with this key, as far as can be told: ret_sure is false when its key is not in
 * memory. */
uint32_t engine_find(struct engine *engine, unsigned kind, struct bytes key, uint64_t fingerprint,
                     bool *ret_sure);
void own_read_send(struct engine *engine, struct own_read *own);
void own_read_came(struct own_read *own); /* it is the caller's again */

/* live.c: docs in memory */
struct live *live_of(struct engine *engine, uint32_t at); /* NULL: no memory */
const struct version *live_any_version(const struct live *live);
bool live_changing(const struct live *live);
void live_wait(struct engine *engine, struct live *live, struct waiter *waiter);
/* Keeps its live part, until as many unpins. */
void live_pin(struct engine *engine, struct live *live);
void live_unpin(struct engine *engine, struct live *live);
/* Wants the doc of the committed version. False: no memory to ask for it. */
bool live_fetch(struct engine *engine, struct live *live);
/* Something about it has ended: keep it warm, or let it go, and its entry too when there is no
 * such record any more. */
void live_rest(struct engine *engine, struct live *live);
void live_send_wishes(struct engine *engine);
void live_free_all(struct engine *engine);
/* All who wait for a doc. */
void live_wake_all(struct engine *engine, enum tocsin_status status);

/* change.c */
/* A copy of the wish, to be run now or later. */
void change_start(struct engine *engine, const struct change *wish);
void change_run(struct engine *engine, struct change *change);
void change_run_waiting(struct engine *engine);
struct change *change_make(struct engine *engine);
void change_end(struct engine *engine, struct change *change, enum tocsin_status status);
void change_free_thens(struct change *change);

/* commit.c */
void commit_init(struct commit *commit);
void commit_release(struct commit *commit);
/* Room for so many in an array that doubles. */
bool commit_room_for(void **array, size_t *room, size_t count, size_t size);
bool commit_apply(struct engine *engine); /* what is staged, to the open one */
void commit_hand_over(struct engine *engine);
/* TOO_LARGE, NO_MEMORY. */
enum tocsin_status event_rows_add(struct event_rows *rows, uint32_t kind, struct bytes key,
                                  struct bytes type, struct bytes doc, int64_t at_ms);
void event_rows_clear(struct event_rows *rows);

/* mirror.c: names for other programs; nothing of it costs anything while there are none */
void mirror_rows_init(struct mirror_rows *rows, size_t bytes_max);
void mirror_rows_release(struct mirror_rows *rows);
/* TOO_LARGE, NO_MEMORY. */
enum tocsin_status mirror_rows_add(struct mirror_rows *rows, const struct store_mirror *mirror);
/* All of them behind, or none: false. */
bool mirror_rows_append(struct mirror_rows *rows, const struct mirror_rows *from);
void mirror_rows_clear(struct mirror_rows *rows);
void mirror_rows_cut(struct mirror_rows *rows, size_t count, size_t bytes);
void mirror_rows_give(const struct mirror_rows *rows, struct store_mirror *ret_mirrors);

/* damage.c */
bool damage_known(const struct engine *engine, uint64_t rev);
/* A living version was read, and is not what was written. key: empty when it is not known. */
void damage_met(struct engine *engine, uint64_t rev, struct bytes key, const char *why);
/* The store cannot be read on. */
void damage_met_reading(struct engine *engine, const char *why);

/* list.c */
void list_settled(struct engine *engine); /* a commit has ended */

/* due.c */
int64_t due_on_line(const struct engine *engine, int64_t due_ms, enum store_basis basis);
void due_arm(struct engine *engine, uint32_t at);
/* For many in a row: as of a moment at which the wall clock was as it is kept in the engine. */
void due_arm_as_of(struct engine *engine, uint32_t at, int64_t now_ms);
/* Looks at the clocks; where on the line a record stands, and arms it, as of then: for many in a
 * row. */
void due_look(struct engine *engine);
int64_t due_line_about(const struct engine *engine, const struct entry *entry);
void due_arm_about(struct engine *engine, uint32_t at);
void due_disarm(struct engine *engine, uint32_t at);
void due_advance(struct engine *engine);
/* The change around on_due has ended, and not with OK. */
void due_failed(struct engine *engine, const struct change *change, enum tocsin_status status);
void due_save_time(struct engine *engine, struct store_time *ret_time);
void due_show_skew(struct engine *engine, int64_t skew_ns);

#endif
