/* SPDX-License-Identifier: MIT */
#include <tocsin/memory.h>

#include <stdint.h>
#include <sys/mman.h>

/* In Linux since 6.1, in the C library's header only later. */
#if defined(__linux__) && !defined(MADV_COLLAPSE)
#define MADV_COLLAPSE 25
#endif

/* Reserved space is PROT_NONE: it costs no memory and is not counted against the
 * system's overcommit limit, so a refusal comes from commit, where it is a status. */

enum { HUGE_PAGE_BYTES = 2 * 1024 * 1024 };

static void *system_reserve(void *arg, size_t bytes)
{
    (void)arg;
    /* Ask for a huge page more and cut the ends off, so that the region starts on
     * a huge-page boundary; small regions do not care. */
    size_t align = bytes >= HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : 0;
    if (bytes > SIZE_MAX - align)
        return NULL;
    char *raw =
        mmap(NULL, bytes + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED)
        return NULL;
    if (align == 0)
        return raw;
    size_t head = (align - (uintptr_t)raw % align) % align;
    if (head > 0)
        (void)munmap(raw, head);
    if (align > head)
        (void)munmap(raw + head + bytes, align - head);
    return raw + head;
}

/* Advice only: without huge pages everything still works, slower. What was committed
 * in smaller pieces is brought together when it first fills a huge page. */
static void advise_huge_pages(char *at, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    size_t before = (uintptr_t)at % HUGE_PAGE_BYTES;
    size_t span = (before + bytes) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    if (span == 0 || bytes < before)
        return;
    (void)madvise(at - before, span, MADV_HUGEPAGE);
#ifdef MADV_COLLAPSE
    if (before > 0)
        (void)madvise(at - before, HUGE_PAGE_BYTES, MADV_COLLAPSE);
#endif
#else
    (void)at;
    (void)bytes;
#endif
}

static bool system_commit(void *arg, void *at, size_t bytes)
{
    (void)arg;
    if (mprotect(at, bytes, PROT_READ | PROT_WRITE) != 0)
        return false;
    advise_huge_pages(at, bytes);
    return true;
}

static void system_decommit(void *arg, void *at, size_t bytes)
{
    (void)arg;
    /* The first gives the pages back, so that they read as zero when committed
     * again; the second, a fresh mapping over the old one, the commit charge. */
    (void)madvise(at, bytes, MADV_DONTNEED);
    (void)mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
               0);
}

static void system_release(void *arg, void *base, size_t bytes)
{
    (void)arg;
    (void)munmap(base, bytes);
}

const struct tocsin_memory *tocsin_memory_system(void)
{
    static const struct tocsin_memory memory = {
        .reserve = system_reserve,
        .commit = system_commit,
        .decommit = system_decommit,
        .release = system_release,
    };
    return &memory;
}
