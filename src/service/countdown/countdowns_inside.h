/* SPDX-License-Identifier: MIT */
/* countdowns_inside.h - what the files of the countdown service share. For them only. */
#ifndef TOCSIN_SERVICE_COUNTDOWN_COUNTDOWNS_INSIDE_H
#define TOCSIN_SERVICE_COUNTDOWN_COUNTDOWNS_INSIDE_H

#include "base/number_map.h"
#include "service/countdown/countdowns.h"
#include "service/recall.h"

/* One that runs, and ticks. */
struct live {
    struct engine_timer tick;
    struct countdowns *all;
    uint64_t number; /* of its key */
    const struct countdown_kind *kind;
    struct countdown view; /* its words are in `words` */
    char words[];
};

struct countdowns {
    struct engine *engine;
    struct idem *idem;
    struct countdowns_limits limits;
    struct bytes node;
    int64_t holder_ttl_ms;
    uint64_t epoch; /* fences of one before are of a process that is gone */
    struct engine_kind kind_info;
    unsigned kind;
    const struct countdown_kind *kinds[COUNTDOWN_KINDS_MAX];
    size_t kind_count;
    const struct countdown_kind *default_kind;
    struct siphash_key hash_key;
    struct live **lives; /* as many as by_key has, without holes */
    uint32_t live_room;
    uint32_t live_staged;           /* of changes under way */
    struct number_map by_key;       /* number of a key → index */
    struct recall recall;           /* that ran when the last process ended */
    const struct bytes *timing_out; /* its key, while its kind is asked: the end is told once */
    struct countdowns_restored restored;
    struct buffer doc;
    uint64_t ticks;
    uint64_t timeouts;
    uint64_t unarmed; /* ticks there was no memory for */
};

/* ---- docs (doc.c) */

struct countdown_words {
    char owner[COUNTDOWN_WORD_BYTES_MAX];
    char version[COUNTDOWN_WORD_BYTES_MAX];
    char kind[COUNTDOWN_KIND_BYTES_MAX];
};
enum tocsin_status countdown_decode(const struct engine_record *record,
                                    struct countdown_words *words, struct countdown *ret_countdown);
/* Due at its deadline while it runs, at once when that is claimed, and when its grace is over once it has expired. */
enum tocsin_status countdown_put(struct countdowns *all, struct change *change,
                                 struct countdown *countdown);

/* ---- its names in a shared store (names.c) */

/* Before a version of it is put: they follow. BUSY: as change_get. */
enum tocsin_status names_before_put(struct countdowns *all, struct change *change,
                                    const struct countdown *countdown);
/* It is dropped. */
void names_drop(struct countdowns *all, struct change *change, const struct countdown *countdown);

/* ---- its time (doc.c) */

/* Its deadline has passed for good. */
static inline bool countdown_over(const struct countdown *countdown)
{
    return countdown->state == COUNTDOWN_EXPIRED || countdown->state == COUNTDOWN_FIRING;
}

/* From now on, by the elapsed clock. */
void countdown_run_for(const struct engine *engine, struct countdown *countdown, int64_t left_ms);

/* ---- changes (countdowns.c): the record, the event, and what follows once it is durable */

enum tocsin_status countdown_change(struct countdowns *all, struct change *change,
                                    struct countdown *countdown, const char *what);
/* It was paused. */
enum tocsin_status countdown_run_on(struct countdowns *all, struct change *change,
                                    struct countdown *countdown);
enum tocsin_status countdown_end(struct countdowns *all, struct change *change,
                                 const struct countdown *countdown);
void countdown_event(struct countdowns *all, struct change *change,
                     const struct countdown *countdown, const char *what);

const struct countdown_kind *countdown_kind_of(const struct countdowns *all, struct bytes name);

/* ---- ticks (live.c) */

enum live_then {
    LIVE_AS_IT_IS, /* it ticks when it runs */
    LIVE_GONE,
    LIVE_SAME, /* whatever there is stays */
};
/* When this change is durable; and its kind is told, unless `what` is NULL. NO_MEMORY. */
enum tocsin_status live_after(struct countdowns *all, struct change *change,
                              const struct countdown *countdown, enum live_then then,
                              const char *what);
/* At once: found by a restart. */
enum tocsin_status live_take_up(struct countdowns *all, const struct countdown *countdown);
void lives_release(struct countdowns *all);

#endif
