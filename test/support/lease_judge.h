/* SPDX-License-Identifier: MIT */
/* lease_judge.h - was anybody told what was not true of a lease?
 *
 * Knows nothing of the service but what callers asked and what they were told, and when, by the
 * wall clock. It names the first thing that was broken:
 *
 *   early      a new holder, before the end that the one before was told, and not released
 *   fence      a new holder whose fence is not above all before
 *   revived    a keepalive that was granted after it had been refused, or to an old fence
 *   overtaken  one in line was given it, and one who came before still waits
 */
#ifndef TEST_LEASE_JUDGE_H
#define TEST_LEASE_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LEASE_JUDGE_HOLDINGS = 4096, LEASE_JUDGE_WHY_BYTES = 300 };

struct lease_judge {
    struct {
        int name;
        int holder;
        uint64_t fence;
        int64_t until_ms; /* the latest end that was told */
        bool let_go;      /* somebody asked for its release: it may have happened */
        bool refused;     /* its holder was told that it is lost */
    } holdings[LEASE_JUDGE_HOLDINGS];
    size_t count;
    char why[LEASE_JUDGE_WHY_BYTES]; /* "": all is well */
};

/* 201. */
void lease_judge_acquired(struct lease_judge *judge, int name, int holder, uint64_t fence,
                          int64_t acquired_ms, int64_t until_ms);
/* 200, of a keepalive or of an acquire by the same holder. */
void lease_judge_kept(struct lease_judge *judge, int name, int holder, uint64_t fence,
                      int64_t until_ms);
/* 409 FENCED. */
void lease_judge_refused(struct lease_judge *judge, uint64_t fence);
/* A release was asked for: of this fence, or of all that there are when it is 0. */
void lease_judge_let_go(struct lease_judge *judge, int name, uint64_t fence);
/* Given to one in line while one who came before waits. */
void lease_judge_overtaken(struct lease_judge *judge, int name);

#endif
