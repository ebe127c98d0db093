/* SPDX-License-Identifier: MIT */
/*  what ends a term                            what comes then
 *  -----------------------------------------   ------------------------------------------
 *  SIGTERM, all is drained                     the lease is given up, the process ends
 *  the lease has ended by our clock (FENCED)   follow, race at once
 *  a commit is fenced or unanswered (IO)       give up, follow, race at once
 *  Redis cannot be a store just now            give up, follow, race a little later
 *  it cannot be one at all (INVALID)           before the ready line: the process ends; after:
 *                                              give up, follow, and let others go first
 *  its epoch is one that was there before      the process ends: the records are gone
 *  memory, damage                              the process ends
 */
#include "server/shared.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "cluster/shared_clock.h"
#include "net/listener.h"
#include "net/redis/redis_url.h"
#include "server/term.h"
#include "store/redis/redis_store.h"

#define MS INT64_C(1000000)

enum {
    TAKE_OVER_MS = 1000, /* from the end of a lease until its next owner answers, as a rule */

    PROBE_MS = 3000, /* between two looks at the owner */
    COUNT_AGAIN_MS = 500,
    QUIET_MS = 200, /* nothing was passed on for so long: who ends may cut what is open */
    QUIET_LOOK_MS = 20,
};

struct shared {
    struct redis_url where;
    struct owner *owner;
    struct shared_clock clock;
    bool has_clock;
    struct follower *follower; /* while it owns: with those who came before, and no others */
    bool closing;
    int *listen_fds;
    char (*addresses)[ADDRESS_TEXT_BYTES];
    size_t listen_count; /* open */
    uint64_t epoch;      /* the highest that was seen */
    uint64_t commit;     /* the last of our own that Redis is known to have */
    uint64_t lost_commits;
    uint32_t race_ms; /* not raced for before */
    enum tocsin_status ended;
    int64_t drain_until_ns; /* stopping while it follows; 0: not */
    int64_t quiet_since_ns;
    uint64_t passed_bytes;

    struct tocsin_why refusal; /* of the last try to own, by Redis; empty: none, or that is over */

    bool told_reached; /* what the log was told last */
    bool told_foreign;
    bool told_any;
    char told_node[LEASE_NODE_BYTES];
    char told_address[LEASE_ADDRESS_BYTES];
};

static struct store_redis_options store_options(const struct server *server)
{
    return (struct store_redis_options){
        .where = server->shared->where,
        .node = server->config->node,
        .event_bytes_max = server->config->limits.events_bytes,
        .epoch_seen = server->shared->epoch,
        .commit_seen = server->shared->commit,
        .outage_ms = (uint32_t)server->config->cluster.lease,
    };
}

/* ---- following */

/* Nobody can have it any more of whom Redis has not spoken for a lease. */
static int64_t known_until_ns(const struct server *server, const struct owner_state *state)
{
    return state->reached ? INT64_MAX
                          : state->answered.ns + (int64_t)server->config->cluster.lease * MS;
}

static void tell_change(struct server *server, const struct owner_state *state, bool known)
{
    struct shared *shared = server->shared;
    const char *node = known ? state->node : "";
    const char *address = known ? state->address : "";
    if (!state->asked)
        return;
    if (shared->told_reached != state->reached || !shared->told_any) {
        if (state->reached)
            log_event(&server->log, LOG_INFO, "redis answers", LOG_END);
        else
            log_event(&server->log, LOG_WARN,
                      state->spoke ? "redis answers with a refusal: no node can take over"
                                   : "redis is not reached: no node can take over",
                      LOG_WORD("why", state->why.text), LOG_END);
    }
    if (state->foreign && !shared->told_foreign)
        log_event(&server->log, LOG_ERROR, SHARED_FOREIGN, LOG_END);
    shared->told_foreign = state->foreign;
    bool changed =
        strcmp(shared->told_node, node) != 0 || strcmp(shared->told_address, address) != 0;
    if (changed && known)
        log_event(&server->log, LOG_INFO, "following", LOG_WORD("node", node),
                  LOG_WORD("address", address), LOG_UINT("epoch", state->epoch), LOG_END);
    else if (changed)
        log_event(&server->log, LOG_WARN, "no node owns the records now", LOG_END);
    shared->told_any = true;
    shared->told_reached = state->reached;
    (void)snprintf(shared->told_node, sizeof shared->told_node, "%s", node);
    (void)snprintf(shared->told_address, sizeof shared->told_address, "%s", address);
}

/* A follower is ready when it can pass requests on. */
static void say_ready(struct server *server)
{
    struct store_redis_options options = store_options(server);
    struct tocsin_why why = {""};
    uint64_t records = 0;
    if (server->said_ready)
        return;
    if (store_redis_count(&options, &records, &why) == TOCSIN_OK)
        server_say_ready(server, shared_address(server, 0), records);
    else
        loop_wake_at(server->loop, clock_elapsed(&clock_system).ns + COUNT_AGAIN_MS * MS);
}

/* Requests that were passed on get their answers; connections that are only kept open do not hold us
 * up, nor do calls that wait for something to happen: their clients ask another node. */
static void drain_on(struct server *server)
{
    struct shared *shared = server->shared;
    struct follower_stats stats;
    int64_t now = clock_elapsed(&clock_system).ns;
    follower_stats(shared->follower, &stats);
    uint64_t bytes = stats.bytes_to_owner + stats.bytes_to_clients;
    if (bytes != shared->passed_bytes || shared->quiet_since_ns == 0)
        shared->quiet_since_ns = now;
    shared->passed_bytes = bytes;
    if (stats.tunnels == 0 || now >= shared->quiet_since_ns + QUIET_MS * MS ||
        now >= shared->drain_until_ns)
        loop_stop(server->loop);
    loop_wake_at(server->loop, now + QUIET_LOOK_MS * MS);
}

void shared_drain(struct server *server)
{
    struct shared *shared = server->shared;
    if (shared->follower == NULL) {
        loop_stop(server->loop); /* it begins, or is between two roles */
        return;
    }
    shared->drain_until_ns =
        clock_elapsed(&clock_system).ns + (int64_t)server->config->drain_timeout * MS + 1;
    owner_give_up(shared->owner);
    shared_stop_listening(server);
    follower_retire(shared->follower);
    drain_on(server);
}

void shared_turn(struct server *server)
{
    struct shared *shared = server->shared;
    struct owner_state state;
    struct tocsin_why why = {""};
    if (shared->follower == NULL)
        return;
    if (shared->drain_until_ns != 0) {
        drain_on(server);
        return;
    }
    owner_look(shared->owner, &state);
    if (state.mine) {
        loop_stop(server->loop);
        return;
    }
    if (state.refused && !server->said_ready) {
        server->why = state.why;
        shared->ended = TOCSIN_INVALID;
        loop_stop(server->loop);
        return;
    }
    int64_t until_ns = known_until_ns(server, &state);
    bool known = state.held && state.epoch > 0 && state.address[0] != '\0' &&
                 clock_elapsed(&clock_system).ns < until_ns;
    loop_wake_at(server->loop, known ? until_ns : INT64_MAX);
    if (state.held && state.epoch > shared->epoch)
        shared->epoch = state.epoch;
    if (known && state.reached)
        shared->refusal.text[0] = '\0'; /* another node can */
    tell_change(server, &state, known);
    if (follower_set_owner(shared->follower, known ? state.address : NULL, &why) != TOCSIN_OK)
        log_event(&server->log, LOG_ERROR, "the owner's address (cluster.address there) is none",
                  LOG_WORD("node", state.node), LOG_WORD("why", why.text), LOG_END);
    else if (known)
        say_ready(server);
}

/* One line when it begins, and one when it is over. */
static void tell_reach(void *arg, const char *why)
{
    struct server *server = arg;
    if (why != NULL)
        log_event(&server->log, LOG_ERROR,
                  "requests cannot be passed on: check cluster.address of the owner, and firewalls",
                  LOG_WORD("why", why), LOG_END);
    else
        log_event(&server->log, LOG_INFO, "the owner is reached again", LOG_END);
}

static void follower_closed(void *arg)
{
    struct server *server = arg;
    server->shared->closing = false;
    loop_stop(server->loop); /* nothing else may wake it */
}

static void stop_following(struct server *server)
{
    struct shared *shared = server->shared;
    if (shared->follower == NULL)
        return;
    server->phase = SERVER_STOPPED;
    server->running = false;
    shared->closing = true;
    follower_close(shared->follower, follower_closed, server);
    shared->follower = NULL;
    while (shared->closing)
        (void)uv_run(loop_uv(server->loop), UV_RUN_ONCE);
}

/* Until the lease is ours, or it must end. */
static enum tocsin_status follow(struct server *server)
{
    struct shared *shared = server->shared;
    const struct config *config = server->config;
    struct follower_options options = {
        .loop = server->loop,
        .node = config->node,
        .listen = (const char *const *)config->listen.items,
        .listen_count = config->listen.count,
        .listen_fds = shared->listen_fds,
        .tls = config->tls.certificate[0] != '\0',
        .wait_ms = (uint32_t)config->cluster.lease + TAKE_OVER_MS,
        .probe_ms = PROBE_MS,
        .on_reach = tell_reach,
        .on_request = route_on_request,
        .arg = server,
    };
    config_http_limits(config, &options.limits);
    struct tocsin_why why;
    enum tocsin_status status = follower_create(&options, &shared->follower, &server->why);
    if (status != TOCSIN_OK)
        return status;
    server->phase = SERVER_FOLLOWING;
    owner_race(shared->owner, shared->race_ms);
    shared->race_ms = 0;
    shared_turn(server);
    if (shared->ended == TOCSIN_OK && !server->stopping)
        loop_run(server->loop);
    server->phase = SERVER_STOPPED;
    loop_wake_at(server->loop, INT64_MAX);
    /* Those that wait for an owner are passed on to ourselves when we are one. */
    follower_retire(shared->follower);
    (void)follower_set_owner(shared->follower, NULL, &why);
    return shared->ended;
}

/* ---- owning */

bool shared_may_act(struct server *server)
{
    struct owner_state state;
    if (server->shared == NULL || owner_holds(server->shared->owner))
        return true;
    server->running = false;
    if (server->failed == TOCSIN_OK) {
        owner_look(server->shared->owner, &state);
        server->failed = TOCSIN_FENCED;
        if (state.mine)
            (void)snprintf(server->why.text, sizeof server->why.text, "the lease has ended: %.150s",
                           state.reached ? "this process stood still" : state.why.text);
        else
            server->why = state.why;
    }
    loop_stop(server->loop);
    return false;
}

int64_t shared_act_until_ns(const struct server *server)
{
    return server->shared == NULL ? INT64_MAX : owner_until_ns(server->shared->owner);
}

/* The operator chose how durable Redis is: it goes on, but not in silence. */
static void note_commits(struct server *server, uint64_t lost_at_open)
{
    struct shared *shared = server->shared;
    struct store_redis_commits commits;
    char durability[STORE_REDIS_DURABILITY_BYTES];
    if (server->store == NULL)
        return;
    store_redis_commits(server->store, &commits);
    store_redis_durability(server->store, durability, sizeof durability);
    shared->commit = commits.last;
    uint64_t lost = commits.lost + lost_at_open;
    shared->lost_commits += lost;
    if (lost > 0)
        log_event(&server->log, LOG_ERROR,
                  "redis has lost commits that it had answered: work goes on with what it has; "
                  "appendonly yes and appendfsync always would have kept them",
                  LOG_UINT("commits", lost), LOG_UINT("last", commits.last),
                  LOG_WORD("durability", durability), LOG_END);
}

enum tocsin_status shared_open_store(struct server *server)
{
    struct shared *shared = server->shared;
    struct store_redis_options options = store_options(server);
    char name[64]; /* of no countdown */
    (void)snprintf(name, sizeof name, COUNTDOWNS_HOLDER_NAME "%016llx%016llx",
                   (unsigned long long)server_chance(server),
                   (unsigned long long)server_chance(server));
    options.probes = &(struct store_redis_probe){name, COUNTDOWNS_NAMES};
    options.probe_count = 1;
    char durability[STORE_REDIS_DURABILITY_BYTES];
    enum tocsin_status status =
        store_redis_open(&options, &server->store, &server->store_state, &server->why);
    if (status != TOCSIN_OK)
        return status;
    uint64_t epoch = server->store_state.epoch;
    shared->epoch = epoch;
    shared->refusal.text[0] = '\0';
    note_commits(server, server->store_state.commits_lost);
    store_redis_durability(server->store, durability, sizeof durability);
    log_event(&server->log, LOG_INFO, "this node owns all records now", LOG_UINT("epoch", epoch),
              LOG_UINT("records", server->store_state.living), LOG_WORD("durability", durability),
              LOG_END);
    return TOCSIN_OK;
}

void shared_opened(struct server *server)
{
    struct shared *shared = server->shared;
    struct tocsin_why why;
    if (shared == NULL)
        return;
    owner_tell_epoch(shared->owner, shared->epoch);
    (void)follower_set_owner(shared->follower, shared->addresses[0], &why);
}

/* What the table above says. */
static enum tocsin_status after_a_term(struct server *server, enum tocsin_status status)
{
    const struct config_cluster *config = &server->config->cluster;
    bool lost = status == TOCSIN_FENCED || status == TOCSIN_IO;
    bool later = status == TOCSIN_UNAVAILABLE || status == TOCSIN_UNKNOWN;
    bool never = status == TOCSIN_INVALID && server->said_ready;
    if (!lost && !later && !never)
        return status;
    if (later)
        server->shared->race_ms = (uint32_t)config->renew;
    if (never) {
        server->shared->race_ms = (uint32_t)(2 * config->lease);
        server->shared->refusal = server->why;
    }
    log_event(&server->log, never ? LOG_ERROR : LOG_WARN,
              never ? "this Redis cannot keep the records: this node follows"
                    : "this node does not own the records any more: it follows",
              LOG_WORD("why", server->why.text), LOG_UINT("epoch", server->shared->epoch), LOG_END);
    return TOCSIN_OK;
}

static enum tocsin_status own(struct server *server)
{
    struct shared *shared = server->shared;
    shared->told_node[0] = shared->told_address[0] = '\0';
    enum tocsin_status status = term_begin(server);
    if (status == TOCSIN_OK) {
        loop_run(server->loop);
        status = server->failed;
    }
    if (status != TOCSIN_OK)
        owner_give_up(shared->owner); /* others need not wait until all is torn down */
    note_commits(server, 0);
    stop_following(server);
    term_end(server);
    return status == TOCSIN_OK ? TOCSIN_OK : after_a_term(server, status);
}

/* ---- the sockets */

static enum tocsin_status listen_on_all(struct server *server)
{
    struct shared *shared = server->shared;
    const struct config_list *listen = &server->config->listen;
    shared->listen_fds = calloc(listen->count, sizeof *shared->listen_fds);
    shared->addresses = calloc(listen->count, sizeof *shared->addresses);
    if (shared->listen_fds == NULL || shared->addresses == NULL)
        return TOCSIN_NO_MEMORY;
    for (size_t i = 0; i < listen->count; i++) {
        enum tocsin_status status = listener_open(listen->items[i], &shared->listen_fds[i],
                                                  shared->addresses[i], &server->why);
        if (status != TOCSIN_OK)
            return status;
        shared->listen_count++;
    }
    return TOCSIN_OK;
}

int shared_listen_fd(const struct server *server, size_t index)
{
    return server->shared == NULL ? 0 : server->shared->listen_fds[index];
}

const char *shared_address(const struct server *server, size_t index)
{
    return server->shared->addresses[index];
}

void shared_stop_listening(struct server *server)
{
    struct shared *shared = server->shared;
    if (shared == NULL)
        return;
    for (size_t i = 0; i < shared->listen_count; i++)
        (void)close(shared->listen_fds[i]);
    shared->listen_count = 0;
}

/* ---- life */

static void post(void *arg)
{
    loop_post(((struct server *)arg)->loop);
}

static void sample(void *arg, struct elapsed_time before, struct elapsed_time after,
                   int64_t redis_us)
{
    shared_clock_sample(&((struct server *)arg)->shared->clock, before, after, redis_us);
}

bool shared_clock_was_set(struct server *server)
{
    return server->shared != NULL && shared_clock_stepped(&server->shared->clock);
}

int64_t shared_clock_error_ms(struct server *server)
{
    return shared_clock_error_ns(&server->shared->clock) / MS;
}

/* An address that means another machine there. When Redis has one, too, all nodes are on this one. */
static void warn_of_loopback(struct server *server, const char *address)
{
    static const char *const local[] = {"127.", "[::1]", "::1", "localhost"};
    bool here = false;
    bool redis = false;
    char host[16];
    struct bytes where = server->shared->where.host;
    (void)snprintf(host, sizeof host, "%.*s", (int)where.size, where.at);
    for (size_t i = 0; i < sizeof local / sizeof local[0]; i++) {
        here = here || strncmp(address, local[i], strlen(local[i])) == 0;
        redis = redis || strncmp(host, local[i], strlen(local[i])) == 0;
    }
    if (here)
        log_event(
            &server->log, redis ? LOG_INFO : LOG_WARN,
            "other machines cannot reach this node: nodes there need cluster.address or listen "
            "to name an address of the network",
            LOG_WORD("address", address), LOG_END);
}

static enum tocsin_status start(struct server *server)
{
    struct shared *shared = server->shared;
    const struct config_cluster *config = &server->config->cluster;
    char shown[CONFIG_STORE_SHOWN_BYTES];
    (void)redis_url_split(server->config->store, &shared->where); /* it fits: config_form.h */
    config_store_shown(server->config, shown);
    shared_clock_init(&shared->clock);
    shared->has_clock = true;
    server->clock = shared_clock_of(&shared->clock);
    enum tocsin_status status = listen_on_all(server);
    if (status != TOCSIN_OK)
        return status;
    const char *address = config->address[0] != '\0' ? config->address : shared->addresses[0];
    log_event(&server->log, LOG_INFO, "one of several nodes",
              LOG_WORD("node", server->config->node), LOG_WORD("store", shown),
              LOG_WORD("address", address), LOG_UINT("lease_ms", config->lease), LOG_END);
    if (config->address[0] == '\0')
        warn_of_loopback(server, address);
    return owner_create(
        &(struct owner_options){
            .where = shared->where,
            .node = server->config->node,
            .address = address,
            .lease_ms = (uint32_t)config->lease,
            .renew_ms = (uint32_t)config->renew,
            .post = post,
            .sample = sample,
            .arg = server,
        },
        &shared->owner, &server->why);
}

static void release(struct server *server)
{
    struct shared *shared = server->shared;
    owner_destroy(shared->owner); /* the next node has the lease at once */
    shared_stop_listening(server);
    if (shared->has_clock)
        shared_clock_release(&shared->clock);
    free(shared->listen_fds);
    free(shared->addresses);
    free(shared);
    server->shared = NULL;
}

enum tocsin_status shared_run(struct server *server)
{
    server->shared = calloc(1, sizeof *server->shared);
    if (server->shared == NULL)
        return TOCSIN_NO_MEMORY;
    enum tocsin_status status = start(server);
    while (status == TOCSIN_OK && !server->stopping) {
        status = follow(server);
        if (status == TOCSIN_OK && !server->stopping)
            status = own(server);
    }
    stop_following(server);
    release(server);
    return status;
}

/* ---- what operations tell */

void shared_describe(const struct server *server, struct owner_state *ret_state)
{
    owner_look(server->shared->owner, ret_state);
}

void shared_follower_stats(const struct server *server, struct follower_stats *ret_stats)
{
    *ret_stats = (struct follower_stats){0};
    if (server->shared->follower != NULL)
        follower_stats(server->shared->follower, ret_stats);
}

const char *shared_unreached(const struct server *server)
{
    bool following = server->phase == SERVER_FOLLOWING && server->shared->follower != NULL;
    return following ? follower_unreached(server->shared->follower) : NULL;
}

const char *shared_refusal(const struct server *server)
{
    const struct tocsin_why *refusal = &server->shared->refusal;
    return refusal->text[0] != '\0' ? refusal->text : NULL;
}

uint64_t shared_lost_commits(const struct server *server)
{
    return server->shared->lost_commits;
}

uint64_t shared_epoch(const struct server *server)
{
    return server->shared->epoch;
}
