/* SPDX-License-Identifier: MIT */
/* renewals_inside.h - what the files of the renewal service share. For them only. */
#ifndef TOCSIN_SERVICE_RENEWAL_RENEWALS_INSIDE_H
#define TOCSIN_SERVICE_RENEWAL_RENEWALS_INSIDE_H

#include "base/number_map.h"
#include "service/recall.h"
#include "service/renewal/renewals.h"

enum {
    CLIENTS_MAX = 33,
    OWN_CLIENT = 0, /* if there is one */
    NO_CLIENT = CLIENTS_MAX,
    NO_FUNCTION,
    WINDOW_ROUNDS = 10,
    WORST_KEYS = 10,
    WHY_BYTES = 160
};

/* What is counted of one, and saved now and then. */
struct counters {
    uint64_t rounds;        /* total */
    uint64_t count;         /* of these, without a failure: what strategies count */
    uint64_t success;       /* keys */
    uint64_t failure;       /* keys */
    uint64_t task_failures; /* rounds in which no key was renewed */
    uint64_t skipped;
    int64_t last_ms; /* wall; 0: none yet */
};

/* What became of the keys of a round. */
struct tally {
    uint32_t of[KEY_RESULTS];
    struct trouble *trouble; /* NULL: none, or no memory to tell it */
};
/* What a renewal keeps of its last one: most have no trouble, so that has memory of its own. */
enum { GOOD_RESULTS = KEY_PERSISTENT };
struct trouble {
    uint32_t of[KEY_RESULTS - KEY_MISSING]; /* how many of each */
    char why[WHY_BYTES];                    /* for a person */
    uint32_t worst_count;
    struct worst { /* keys that are not well, the first few */
        char *key;
        size_t key_size;
        enum key_result result;
    } worst[WORST_KEYS];
};

/* One that has not ended. There are many: 200 bytes with the id of 36 that most have. */
struct renewal {
    struct beat beat; /* first */
    struct renewals *all;
    struct renewal_spec *spec;
    struct round *round;          /* under way */
    struct renewal_call *waiting; /* for it to be over */
    struct counters counters;
    int64_t created_ms;          /* wall */
    int64_t next_ms;             /* the next regular beat */
    int64_t saved_ms;            /* its counters */
    struct trouble *trouble;     /* of its last round; NULL: none */
    uint32_t good[GOOD_RESULTS]; /* of its last round: so many KEY_RENEWED and so on */
    uint32_t index;              /* among all of them */
    uint32_t failures;           /* beats in a row: what is tried in between is not counted */
    enum renewal_state state : 4;
    enum renewal_state ending : 4;         /* found by a round, and being written; 0: not so */
    unsigned window : WINDOW_ROUNDS;       /* bit n: the round before n others was good */
    unsigned window_alive : WINDOW_ROUNDS; /* the same: it reached some of its keys */
    unsigned window_count : 4;
    unsigned quick : 2;   /* retries since the last regular beat */
    bool beat_failed : 1; /* since that beat; counted in failures */
    bool wanted : 1;      /* one more round, as soon as the one under way is over */
    bool gone : 1;        /* not among them any more; freed when its round is over */
    bool told : 1;        /* that it does not work */
    bool unsaved : 1;     /* its counters have changed */
    bool has_last : 1;    /* what became of its last round is known */
    uint8_t client;       /* among the key stores */
    uint8_t id_size;
    char id[];
};
static inline struct bytes renewal_id(const struct renewal *renewal)
{
    return (struct bytes){renewal->id, renewal->id_size};
}

struct renewals {
    struct engine *engine;
    struct idem *idem;
    struct renewals_limits limits;
    struct renewal_defaults defaults;
    struct renewals_watch watch;
    const struct own_functions *own; /* NULL: none */
    struct siphash_key hash_key;
    uint64_t (*chance)(void *arg);
    void *chance_arg;
    struct engine_kind kind_info;
    unsigned kind;
    struct client_name {
        const char *name;
        const struct key_client *client;
    } clients[CLIENTS_MAX + 2]; /* the last two stand for what is not there */
    size_t client_count;
    uint64_t flushing; /* bit n: client n was given something */
    struct beats *beats;
    struct engine_timer wake;
    int64_t crowd_ms; /* the tick in which rhythms last began */
    uint32_t crowd;   /* so many did */
    struct renewal **list;
    uint32_t list_room;
    uint32_t staged; /* registrations under way */
    struct number_map by_id;
    struct recall recall;
    bool stopped;
    struct errand *errands;
    bool saving;          /* for the last time */
    uint32_t saving_next; /* place in the list */
    uint32_t saving_open;
    struct buffer doc;
    struct renewals_stats stats;
};

/* ---- records (doc.c) */

/* As it is stored: what was asked for, and what has become of it. */
struct renewal_record {
    struct bytes id;
    struct bytes spec; /* JSON */
    enum renewal_state state;
    struct counters counters;
    int64_t created_ms;
    int64_t ended_ms; /* 0: not yet */
    struct bytes why; /* JSON; empty: none */
    uint64_t rev;
};
enum tocsin_status renewal_decode(const struct engine_record *record,
                                  struct renewal_record *ret_record);
/* What was asked for: as it was written, whatever the configuration says by now. */
enum tocsin_status renewal_read_spec(const struct renewal_record *record,
                                     struct renewal_spec **ret_spec);
/* The record of it, with this state; due when its strategy ends, or to be forgotten. */
enum tocsin_status renewal_put(struct renewals *all, struct change *change,
                               const struct renewal *renewal, enum renewal_state state,
                               const char *why, uint64_t *ret_rev);
void renewal_event(struct renewals *all, struct change *change, const struct renewal *renewal,
                   const char *what, const char *why);
/* {"id":…,"status":…,…} */
struct renewal_view {
    struct bytes id;
    enum renewal_state state;
    const struct renewal_spec *spec;
    const struct counters *counters; /* when it is not in memory */
    int64_t created_ms;
    int64_t ended_ms; /* 0: not yet */
    struct bytes why; /* JSON; empty: none */
    uint64_t rev;
    const struct renewal *live; /* NULL: it has ended */
};
void renewal_write(struct json_writer *writer, const struct renewal_view *view);

/* ---- those that have not ended (renewals.c) */

uint64_t renewal_number(const struct renewals *all, struct bytes id);
struct renewal *renewal_find(const struct renewals *all, struct bytes id);
/* NULL: no memory. The spec is its own then. */
struct renewal *renewal_create(struct renewals *all, struct bytes id, struct renewal_spec *spec);
/* One that is stored is among them from now on, without a beat. DAMAGED, NO_MEMORY. */
enum tocsin_status renewal_take_up(struct renewals *all, const struct engine_record *record,
                                   struct renewal **ret_renewal);
/* Room for one more among them. */
bool renewals_make_room(struct renewals *all);
void renewal_install(struct renewals *all, struct renewal *renewal);
/* It has ended like this, and is not among them any more. */
void renewal_remove(struct renewal *renewal, enum renewal_state state);
void renewal_release(struct renewal *renewal);
void renewals_arm_wake(struct renewals *all);
/* Everything that was given leaves. */
void renewals_flush(struct renewals *all);

/* ---- changes of state (ending.c) */

/* By itself: COMPLETED, FAILED, LOST. Tried until it is durable. */
void renewal_end(struct renewal *renewal, enum renewal_state state, const char *why);
/* Its counters, when it is time; or for the last time. */
void renewal_save(struct renewal *renewal);
void renewal_save_last(struct renewal *renewal);
void errands_release(struct renewals *all);
enum tocsin_status renewals_on_due(void *service, struct change *change,
                                   const struct engine_record *record);

/* ---- rounds (round.c) */

/* Begins one, unless it is under way, or must not be. due_ms: of its beat. */
void renewal_round(struct renewal *renewal, int64_t due_ms);
/* Of the one under way. */
int64_t renewal_round_began_ms(const struct renewal *renewal);

/* ---- what became of the keys (tally.c) */

void tally_count(struct tally *tally, const struct key_item *item);
/* The first reason counts. */
void tally_note(struct tally *tally, const char *why);
uint64_t tally_bad(const struct tally *tally);
/* Of one that did not go well, for a person. */
void tally_explain(struct tally *tally, bool lost);
void trouble_release(struct trouble *trouble);
/* Never NULL; also of none. */
const char *trouble_why(const struct trouble *trouble);
/* Its trouble is the renewal's from now on. */
void renewal_keep_last(struct renewal *renewal, struct tally *tally);
/* Of its last round; the trouble stays the renewal's. */
struct tally renewal_last(const struct renewal *renewal);

/* ---- beats (beat.c) */

/* One round at once, the second after so long, then every so often. */
void renewal_start_beats(struct renewal *renewal, int64_t second_ms);
/* How long that may be: every so often, and less for one of a crowd that begins with it. */
int64_t renewal_second_ms(const struct renewal *renewal);
/* By chance from half of it to all of it. */
int64_t renewal_spread_ms(const struct renewal *renewal);
void renewal_stop_beats(struct renewal *renewal);
/* What a round came to: no key was renewed; it went well; it is to be tried again soon. */
void renewal_rounded(struct renewal *renewal, bool failed, bool good, bool again);
/* Whoever looks on is told why it does not go well: once, until it does. */
void renewal_tell(struct renewal *renewal, const char *why);
/* It is, or is no more, among those whose health counts. */
void renewal_count_health(const struct renewal *renewal, int by);
void renewals_woken(void *arg);

/* ---- calls (command.c) */

/* Those that waited for a round are answered. */
void renewal_answer_waiting(struct renewal *renewal);
/* Those that wait for its end to be durable: that takes longer. */
void renewal_refuse_waiting(struct renewal *renewal);

#endif
