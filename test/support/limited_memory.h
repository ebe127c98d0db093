/* SPDX-License-Identifier: MIT */
/* limited_memory.h - what if the n-th request for memory is refused?
 *
 * The system's memory behind a counter: the request number fail_at (from 1) is
 * refused, and all after it when fail_on is set. Counts what is held, so that a
 * test can see that everything came back.
 */
#ifndef TEST_LIMITED_MEMORY_H
#define TEST_LIMITED_MEMORY_H

#include <tocsin/memory.h>

struct limited_memory {
    struct tocsin_memory memory; /* give this to the wheel */
    unsigned requests;
    unsigned fail_at;
    bool fail_on;
    size_t reserved_bytes;
    size_t committed_bytes;
};

static inline bool limited_refuses(struct limited_memory *limited)
{
    unsigned request = ++limited->requests;
    return limited->fail_at != 0 &&
           (request == limited->fail_at || (limited->fail_on && request > limited->fail_at));
}

static inline void *limited_reserve(void *arg, size_t bytes)
{
    struct limited_memory *limited = arg;
    if (limited_refuses(limited))
        return NULL;
    limited->reserved_bytes += bytes;
    return tocsin_memory_system()->reserve(NULL, bytes);
}

static inline bool limited_commit(void *arg, void *at, size_t bytes)
{
    struct limited_memory *limited = arg;
    if (limited_refuses(limited))
        return false;
    limited->committed_bytes += bytes;
    return tocsin_memory_system()->commit(NULL, at, bytes);
}

static inline void limited_decommit(void *arg, void *at, size_t bytes)
{
    struct limited_memory *limited = arg;
    limited->committed_bytes -= bytes;
    tocsin_memory_system()->decommit(NULL, at, bytes);
}

static inline void limited_release(void *arg, void *base, size_t bytes)
{
    struct limited_memory *limited = arg;
    limited->reserved_bytes -= bytes;
    tocsin_memory_system()->release(NULL, base, bytes);
}

static inline void limited_init(struct limited_memory *limited, unsigned fail_at, bool fail_on)
{
    *limited = (struct limited_memory){
        .memory = {limited_reserve, limited_commit, limited_decommit, limited_release, limited},
        .fail_at = fail_at,
        .fail_on = fail_on,
    };
}

#endif
