/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/follower_inside.h"
#include "net/address.h"

struct asked {
    struct follower *follower;
    uint64_t number;
};

void owner_init(struct follower *follower)
{
    follower->owner.since_ms = follower_now_ms(follower);
}

static void forget_places(struct destination *owner)
{
    owner->found_count = 0;
    owner->lookup = NULL;
    owner->again_ms = 0;
    owner->reason[0] = '\0';
}

void owner_note(struct follower *follower, const char *reason)
{
    struct destination *owner = &follower->owner;
    (void)snprintf(owner->reason, sizeof owner->reason, "%s", reason);
}

static void on_found(void *arg, const struct sockaddr_storage *addresses, size_t count,
                     const char *error)
{
    struct asked *asked = arg;
    struct follower *follower = asked->follower;
    struct destination *owner = &follower->owner;
    bool current = asked->number == owner->number;
    free(asked);
    follower->lookups--;
    if (follower->closing) {
        follower_end_when_through(follower);
        return;
    }
    if (!current)
        return;
    owner->lookup = NULL;
    owner->again_ms = follower_now_ms(follower) + FOLLOWER_LOOKUP_MS;
    if (count > 0) {
        memcpy(owner->found, addresses, count * sizeof owner->found[0]);
        owner->found_count = count;
        passages_tick(follower);
    } else if (owner->found_count == 0) {
        owner_note(follower, error); /* else: what was found before is still tried */
    }
}

static enum tocsin_status look_up(struct follower *follower, struct tocsin_why *ret_why)
{
    struct destination *owner = &follower->owner;
    struct asked *asked = malloc(sizeof *asked);
    if (asked == NULL)
        return TOCSIN_NO_MEMORY;
    *asked = (struct asked){follower, owner->number};
    enum tocsin_status status =
        lookup_start(follower->loop, owner->address, on_found, asked, &owner->lookup, ret_why);
    if (status == TOCSIN_OK)
        follower->lookups++;
    else
        free(asked);
    return status;
}

/* A name that has given nothing, or nothing that could be reached, is looked up again. */
void owner_tick(struct follower *follower)
{
    struct destination *owner = &follower->owner;
    struct tocsin_why why;
    bool wanted = owner->found_count == 0 || owner->reason[0] != '\0';
    if (owner->address[0] == '\0' || !wanted || owner->lookup != NULL ||
        follower->lookups >= FOLLOWER_LOOKUPS_MAX || follower_now_ms(follower) < owner->again_ms)
        return;
    if (look_up(follower, &why) != TOCSIN_OK)
        owner->again_ms = follower_now_ms(follower) + FOLLOWER_LOOKUP_MS;
}

const struct sockaddr *owner_place(struct follower *follower, uint32_t tries)
{
    struct destination *owner = &follower->owner;
    if (owner->address[0] == '\0' || owner->found_count == 0)
        return NULL;
    return (const struct sockaddr *)&owner->found[tries % owner->found_count];
}

static enum tocsin_status find(struct follower *follower, struct tocsin_why *ret_why)
{
    struct destination *owner = &follower->owner;
    struct tocsin_why why;
    socklen_t size;
    if (address_parse(owner->address, &owner->found[0], &size, &why) == TOCSIN_OK) {
        owner->found_count = 1;
        owner->again_ms = UINT64_MAX; /* it means itself, whenever it is asked */
        return TOCSIN_OK;
    }
    if (follower->lookups >= FOLLOWER_LOOKUPS_MAX)
        return TOCSIN_OK; /* the tick does */
    enum tocsin_status status = look_up(follower, ret_why);
    return status == TOCSIN_INVALID ? status : TOCSIN_OK;
}

enum tocsin_status follower_set_owner(struct follower *follower, const char *address,
                                      struct tocsin_why *ret_why)
{
    struct destination *owner = &follower->owner;
    const char *now = address != NULL ? address : "";
    enum tocsin_status status = TOCSIN_OK;
    if (follower->closing || strcmp(now, owner->address) == 0)
        return TOCSIN_OK;
    if (owner->address[0] != '\0')
        memcpy(owner->before, owner->address, sizeof owner->before);
    if (owner->lookup != NULL)
        lookup_cancel(owner->lookup);
    forget_places(owner);
    owner->number++;
    owner->since_ms = follower_now_ms(follower);
    owner->address[0] = '\0';
    if (strlen(now) >= sizeof owner->address) {
        (void)snprintf(ret_why->text, sizeof ret_why->text,
                       "address '%.60s…': longer than an address can be", now);
        status = TOCSIN_INVALID;
    } else if (now[0] != '\0') {
        (void)snprintf(owner->address, sizeof owner->address, "%s", now);
        status = find(follower, ret_why);
        if (status != TOCSIN_OK)
            owner->address[0] = '\0';
    }
    probe_turn(follower);
    passages_turn(follower);
    return status;
}

void owner_say(const struct follower *follower, char text[FOLLOWER_DETAIL_BYTES])
{
    const struct destination *owner = &follower->owner;
    unsigned long long for_s = (follower_now_ms(follower) - owner->since_ms + 500) / 1000;
    const char *node = follower->options.node;
    if (owner->address[0] != '\0')
        (void)snprintf(text, FOLLOWER_DETAIL_BYTES,
                       "the owner, %s since %llu s, cannot be reached from node %s: %s; try again "
                       "a little later",
                       owner->address, for_s, node,
                       owner->reason[0] != '\0' ? owner->reason : "its name is being looked up");
    else if (owner->before[0] != '\0')
        (void)snprintf(text, FOLLOWER_DETAIL_BYTES,
                       "nobody owns the records just now, as node %s sees it: the last owner was "
                       "%s, until %llu s ago; try again a little later",
                       node, owner->before, for_s);
    else
        (void)snprintf(text, FOLLOWER_DETAIL_BYTES,
                       "nobody owns the records just now, as node %s sees it: it has seen no owner "
                       "in the %llu s that it follows; try again a little later",
                       node, for_s);
}

void owner_release(struct follower *follower)
{
    if (follower->owner.lookup != NULL)
        lookup_cancel(follower->owner.lookup);
    follower->owner.lookup = NULL;
}
