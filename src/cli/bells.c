/* SPDX-License-Identifier: MIT */
/* Times are in thousandths of a round, so that a run of two seconds tells the
 * same stories as one of fifteen.
 *
 *     story    due        then
 *     AGAIN    after      rings, and is armed again at the next step
 *     ONCE     after      rings
 *     KEPT     after      pushed back every act_at until quiet_at, then rings
 *     DROPPED  after      cancelled at act_at
 *     FAR      in hours   is still there when the round ends, and stays
 */

#include "cli/bells.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "cli/figure.h"

#define COOKIE (UINT64_C(1) << 63)
#define ROUND_MIN_MS UINT64_C(1000)
#define ROUND_MAX_MS UINT64_C(15000)
#define FAR_MS UINT64_C(28800000)

enum story { AGAIN, ONCE, KEPT, DROPPED, FAR };

static const struct {
    const char *name;
    enum story story;
    uint32_t after;
    uint32_t act_at;
    uint32_t quiet_at;
} scripts[BELLS_COUNT] = {
    {"turn over", AGAIN, 240, 0, 0},     {"tea is ready", ONCE, 600, 0, 0},
    {"lease ends", KEPT, 220, 130, 600}, {"order unpaid", DROPPED, 900, 450, 0},
    {"backup starts", FAR, 0, 0, 0},
};

static uint64_t part_ms(const struct bells *bells, uint32_t thousandths)
{
    return bells->round_ms * thousandths / 1000;
}

static enum tocsin_status arm(struct bells *bells, size_t index, uint64_t now_ms)
{
    struct bell *bell = &bells->all[index];
    uint64_t after_ms = scripts[index].story == FAR ? FAR_MS : part_ms(bells, scripts[index].after);
    enum tocsin_status status =
        tocsin_wheel_arm(bells->wheel, now_ms + after_ms, COOKIE | index, &bell->timer);
    if (status != TOCSIN_OK)
        return status;
    bells->tally->armed++;
    bell->state = BELL_PENDING;
    bell->armed_ms = now_ms;
    bell->acted_ms = now_ms;
    bell->due_ms = now_ms + after_ms;
    return TOCSIN_OK;
}

/* What is still pending goes on; the others begin again. */
static enum tocsin_status begin_round(struct bells *bells, uint64_t now_ms)
{
    enum tocsin_status status = TOCSIN_OK;
    bells->started_ms = now_ms;
    for (size_t i = 0; i < BELLS_COUNT && status == TOCSIN_OK; i++) {
        if (bells->all[i].timer.id != 0)
            continue;
        bells->all[i] = (struct bell){.rings = bells->all[i].rings};
        status = arm(bells, i, now_ms);
    }
    return status;
}

enum tocsin_status bells_start(struct bells *bells, struct tocsin_wheel *wheel, struct tally *tally,
                               uint64_t now_ms, uint64_t run_ms)
{
    uint64_t round_ms = run_ms > ROUND_MAX_MS ? ROUND_MAX_MS : run_ms;
    *bells = (struct bells){.wheel = wheel,
                            .tally = tally,
                            .round_ms = round_ms < ROUND_MIN_MS ? ROUND_MIN_MS : round_ms};
    return begin_round(bells, now_ms);
}

static enum tocsin_status push_back(struct bells *bells, size_t index, uint64_t now_ms)
{
    struct bell *bell = &bells->all[index];
    if (now_ms - bell->acted_ms < part_ms(bells, scripts[index].act_at) ||
        now_ms - bells->started_ms >= part_ms(bells, scripts[index].quiet_at))
        return TOCSIN_OK;
    bell->armed_ms = now_ms;
    bell->acted_ms = now_ms;
    bell->due_ms = now_ms + part_ms(bells, scripts[index].after);
    bell->renewals++;
    bells->tally->rearmed++;
    return tocsin_wheel_rearm(bells->wheel, bell->timer, bell->due_ms);
}

static enum tocsin_status drop(struct bells *bells, size_t index, uint64_t now_ms)
{
    struct bell *bell = &bells->all[index];
    if (now_ms - bells->started_ms < part_ms(bells, scripts[index].act_at))
        return TOCSIN_OK;
    enum tocsin_status status = tocsin_wheel_cancel(bells->wheel, bell->timer, NULL);
    bell->timer.id = 0;
    bell->state = BELL_CANCELLED;
    bells->tally->cancelled++;
    bell->acted_ms = now_ms;
    return status;
}

enum tocsin_status bells_step(struct bells *bells, uint64_t now_ms)
{
    enum tocsin_status status = TOCSIN_OK;
    if (now_ms - bells->started_ms >= bells->round_ms)
        status = begin_round(bells, now_ms);
    for (size_t i = 0; i < BELLS_COUNT && status == TOCSIN_OK; i++) {
        bool pending = bells->all[i].timer.id != 0;
        if (pending && scripts[i].story == KEPT)
            status = push_back(bells, i, now_ms);
        else if (pending && scripts[i].story == DROPPED)
            status = drop(bells, i, now_ms);
        else if (!pending && scripts[i].story == AGAIN)
            status = arm(bells, i, now_ms);
    }
    return status;
}

bool bells_is_cookie(uint64_t cookie)
{
    return (cookie & COOKIE) != 0;
}

bool bells_fired(struct bells *bells, const struct tocsin_due *due, uint64_t now_us,
                 uint64_t late_us)
{
    uint64_t index = due->cookie & ~COOKIE;
    if (index >= BELLS_COUNT)
        return false;
    struct bell *bell = &bells->all[index];
    if (bell->timer.id == 0 || bell->timer.id != due->timer.id || bell->due_ms != due->due)
        return false;
    bell->timer.id = 0;
    bell->state = BELL_RANG;
    bell->rang_us = now_us;
    bell->late_us = late_us;
    bell->rings++;
    return true;
}

const char *bells_name(size_t bell)
{
    assert(bell < BELLS_COUNT);
    return scripts[bell].name;
}

void bells_note(const struct bells *bells, size_t index, char *ret_text, size_t size)
{
    assert(index < BELLS_COUNT);
    const struct bell *bell = &bells->all[index];
    ret_text[0] = '\0';
    if (bell->state == BELL_CANCELLED)
        (void)snprintf(ret_text, size, "paid in time");
    else if (bell->rings > 1 && scripts[index].story == AGAIN)
        (void)snprintf(ret_text, size, "rang %" PRIu32 " times, %s late", bell->rings,
                       figure_late(bell->late_us).text);
    else if (bell->rang_us != 0)
        (void)snprintf(ret_text, size, "rang %s late", figure_late(bell->late_us).text);
    else if (bell->renewals == 1)
        (void)snprintf(ret_text, size, "renewed once");
    else if (bell->renewals > 1)
        (void)snprintf(ret_text, size, "renewed %" PRIu32 " times", bell->renewals);
}
