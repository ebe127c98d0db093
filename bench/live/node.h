/* SPDX-License-Identifier: MIT */
/* node.h - how is the peer started: the same fan-out on Node's ws?
 *
 * peer/peer.mjs beside the packages its lock file names, in a folder of the build. They are
 * installed by the first run that finds them missing.
 */
#ifndef TOCSIN_BENCH_LIVE_NODE_H
#define TOCSIN_BENCH_LIVE_NODE_H

#include "server/child.h"

/* False, with a sentence on stderr: there is no node, or no packages. */
bool node_start(struct child *child, unsigned short *ret_port);

#endif
