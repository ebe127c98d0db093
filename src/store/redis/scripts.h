/* SPDX-License-Identifier: MIT */
/* scripts.h - what is done inside of Redis?
 *
 * Two scripts, each all or nothing: every check comes before the first write, and the first write
 * is one that Redis can refuse (READONLY, MISCONF, OOM); once it was let through, Redis refuses no
 * other of the same script. A script that must go through at the maxmemory begins with a write
 * that needs no memory. Texts are compared as texts: Lua's numbers end at 2^53.
 *
 * Names, all under STORE_REDIS_PREFIX:
 *   meta     a hash: version, incarnation, epoch, token and node (of who opened it last), and
 *            the books: commit, living, high_rev, high_seq, first_seq, event_bytes, elapsed, skew,
 *            crc (over the books and the incarnation)
 *   revs     a sorted set: the heads of living versions (packed.h), by their revs
 *   docs     a hash: rev → doc, where it is not empty
 *   events   a stream: SEQ-0, one field e (packed.h); from first_seq to high_seq, none left out
 */
#ifndef TOCSIN_STORE_REDIS_SCRIPTS_H
#define TOCSIN_STORE_REDIS_SCRIPTS_H

/* KEYS  meta, revs, docs, events, probe
 * ARGV  incarnation (for a new store), token, node, the least epoch there must be, how many names
 *       of mirrors are probed; then the books of a new store, field and value, then those names,
 *       which are no KEYS, so that a refusal says which of them it is about
 * Says  open, records in revs, incarnation, epoch, the books | headless | behind EPOCH |
 *       version V | refused COMMAND NAME WORDS */
extern const char scripts_open[];

/* KEYS  meta, revs, docs, events, the names of mirrors
 * ARGV  incarnation, token, number of this commit, of the one before, records in revs before;
 *       1: urgent; how many events, words of meta, words of docs, words of revs, dead;
 *       how many events are kept, or empty: all; then those, in this order:
 *       id event …, field value …, rev doc …, rev head …, rev …, value and life of mirrors
 *       (0: for ever, -: the name goes)
 * Says  done | gone | fenced NODE | lost COMMIT | count N | refused WORDS */
extern const char scripts_commit[];

enum { SCRIPTS_COMMIT_FIXED = 12 }; /* the words of ARGV before those */

#endif
