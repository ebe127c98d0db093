/* SPDX-License-Identifier: MIT */
#include "support/lease_judge.h"

#include <stdio.h>
#include <stdlib.h>

static void blame(struct lease_judge *judge, const char *what, int name, uint64_t fence,
                  uint64_t other)
{
    if (judge->why[0] == '\0')
        (void)snprintf(judge->why, sizeof judge->why, "%s: lease %d, fence %llu, and %llu", what,
                       name, (unsigned long long)fence, (unsigned long long)other);
}

void lease_judge_acquired(struct lease_judge *judge, int name, int holder, uint64_t fence,
                          int64_t acquired_ms, int64_t until_ms)
{
    for (size_t i = 0; i < judge->count; i++) {
        if (judge->holdings[i].name != name)
            continue;
        if (judge->holdings[i].fence >= fence)
            blame(judge, "fence", name, fence, judge->holdings[i].fence);
        if (!judge->holdings[i].let_go && judge->holdings[i].until_ms > acquired_ms)
            blame(judge, "early", name, fence, judge->holdings[i].fence);
    }
    if (judge->count == LEASE_JUDGE_HOLDINGS)
        abort(); /* a longer life than the judge was made for */
    judge->holdings[judge->count].name = name;
    judge->holdings[judge->count].holder = holder;
    judge->holdings[judge->count].fence = fence;
    judge->holdings[judge->count].until_ms = until_ms;
    judge->holdings[judge->count].let_go = false;
    judge->holdings[judge->count].refused = false;
    judge->count++;
}

void lease_judge_kept(struct lease_judge *judge, int name, int holder, uint64_t fence,
                      int64_t until_ms)
{
    bool known = false;
    for (size_t i = 0; i < judge->count; i++) {
        if (judge->holdings[i].name != name)
            continue;
        if (judge->holdings[i].fence > fence)
            blame(judge, "revived", name, fence, judge->holdings[i].fence);
        if (judge->holdings[i].fence != fence)
            continue;
        known = true;
        if (judge->holdings[i].refused || judge->holdings[i].holder != holder)
            blame(judge, "revived", name, fence, fence);
        if (judge->holdings[i].until_ms < until_ms)
            judge->holdings[i].until_ms = until_ms;
    }
    if (!known) /* its 201 was lost: this is the first they hear of it */
        lease_judge_acquired(judge, name, holder, fence, INT64_MAX, until_ms);
}

void lease_judge_refused(struct lease_judge *judge, uint64_t fence)
{
    for (size_t i = 0; i < judge->count; i++) {
        if (judge->holdings[i].fence == fence)
            judge->holdings[i].refused = true;
    }
}

void lease_judge_let_go(struct lease_judge *judge, int name, uint64_t fence)
{
    for (size_t i = 0; i < judge->count; i++) {
        if (judge->holdings[i].name == name && (fence == 0 || judge->holdings[i].fence == fence))
            judge->holdings[i].let_go = true;
    }
}

void lease_judge_overtaken(struct lease_judge *judge, int name)
{
    blame(judge, "overtaken", name, 0, 0);
}
