/* SPDX-License-Identifier: MIT */
/* renewal_world.h - renewals on a clock, a disk and a key store that a test moves by hand.
 *
 * Between the service and the mock stands a spy: it counts and keeps the rules that any client may
 * rely on, and it can hold jobs back and let them go one at a time. The mock lives through
 * crashes, as a Redis does. What was told is written down, a line each: "LOST a: k: foreign".
 */
#ifndef TEST_RENEWAL_WORLD_H
#define TEST_RENEWAL_WORLD_H

#include "service/renewal/mock_client.h"
#include "service/renewal/renewals.h"
#include "support/sim_world.h"

enum { SPY_JOBS_MAX = 4096, WORLD_CALLS_MAX = 256, RENEWAL_TEXT_BYTES = 8192 };

struct spied_job {
    struct key_job *job;
    void (*done)(struct key_job *job); /* the service's */
    bool held;                         /* not given to the mock yet */
};

struct renewal_world {
    struct clock_manual clock;
    struct sim_backend sim;
    struct engine *engine;
    struct idem *idem;
    struct renewals *renewals;
    struct mock_client *mock;
    struct key_client under; /* the mock */
    struct key_client spy;
    struct renewals_limits limits;
    struct renewal_defaults defaults;
    enum beats_type beats;
    uint32_t tick_ms;
    struct test_random chance;
    bool no_client; /* the next start has no client of the name "default" */
    /* the spy */
    bool hold;
    bool letting_go;
    struct spied_job jobs[SPY_JOBS_MAX]; /* under way, in order */
    size_t job_count;
    size_t most_jobs; /* at once */
    uint64_t given;   /* jobs, by verb below */
    uint64_t given_of[KEY_TTL + 1];
    uint64_t keys; /* of EXPIRE */
    uint32_t largest;
    int64_t least_ttl_ms;
    int64_t last_ttl_ms;
    void (*on_expire)(void *arg, const struct key_job *job); /* as it is given */
    void *on_expire_arg;
    /* calls that are under way */
    struct renewal_asked *asked[WORLD_CALLS_MAX];
    size_t asked_count;
    uint64_t rounded;
    char log[4096];
    size_t log_size;
};

/* Fill in what shall be different between the two. */
void renewal_world_init(struct renewal_world *world, enum beats_type beats);
void renewal_world_again(struct renewal_world *world);
void renewal_world_start(struct renewal_world *world, enum beats_type beats); /* both */
void renewal_world_crash(struct renewal_world *world);
void renewal_world_release(struct renewal_world *world);
void renewal_world_settle(struct renewal_world *world);
/* In steps, each at the moment something is due. */
void renewal_world_pass(struct renewal_world *world, int64_t ms);
void renewal_world_told(struct renewal_world *world, const char *wanted);

/* A test in a world of each engine, with batches of so many keys. */
void renewal_both(struct renewal_world *world, uint32_t batch, void (*fn)(void));
#define RENEWAL_BOTH(name, world, batch)                                                           \
    static void name##_in_one(void);                                                               \
    TEST(name)                                                                                     \
    {                                                                                              \
        renewal_both(world, batch, name##_in_one);                                                 \
    }                                                                                              \
    static void name##_in_one(void)

/* The spy gives so many of the jobs that it holds to the mock, which answers by its mood. False:
 * there were not so many. */
bool renewal_world_let(struct renewal_world *world, size_t count);
void renewal_world_hold(struct renewal_world *world, bool hold);

struct renewal_asked {
    struct renewal_call call;
    struct renewal_world *world;
    char id[RENEWAL_ID_BYTES_MAX + 1];
    bool done;
    void (*on_done)(struct renewal_asked *asked); /* may be NULL */
    char text[RENEWAL_TEXT_BYTES];
};
/* Begun; it must not move until it is done. spec: for REGISTER; must be good. */
void renewal_begin(struct renewal_world *world, struct renewal_asked *asked, enum renewal_verb verb,
                   const char *id, const char *spec);
/* To its end; the last answer is in renewal_said. */
enum outcome renewal_ask(struct renewal_world *world, enum renewal_verb verb, const char *id);
enum outcome renewal_register(struct renewal_world *world, const char *id, const char *spec);
extern struct renewal_asked renewal_said;

void renewal_set(struct renewal_world *world, const char *key, const char *value, int64_t ttl_ms);
/* prefix0, prefix1, … */
void renewal_set_many(struct renewal_world *world, const char *prefix, int count, int64_t ttl_ms);
int64_t renewal_ttl(struct renewal_world *world, const char *key);
/* The value of a field, as GET has it; "" when there is no such renewal or field. */
const char *renewal_field(struct renewal_world *world, const char *id, const char *field);
const char *renewal_json(struct renewal_world *world, const char *id);
struct renewals_stats renewal_stats(const struct renewal_world *world);

#endif
