/* SPDX-License-Identifier: MIT */
#include "node.h"

#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

static const char folder_of_peer[] = BENCH_BUILD_FOLDER "/live-peer";
static const char script[] = BENCH_BUILD_FOLDER "/live-peer/peer.mjs";
static const char package[] = BENCH_BUILD_FOLDER "/live-peer/node_modules/ws/package.json";

enum { INSTALL_SECONDS = 120, READY_SECONDS = 20 };

static bool is_installed(void)
{
    struct stat about;
    return stat(package, &about) == 0;
}

static bool install(void)
{
    static bool tried;
    const char *argv[] = {"npm",      "ci",           "--ignore-scripts", "--no-audit", "--no-fund",
                          "--prefix", folder_of_peer, "--loglevel=error", NULL};
    struct child npm;
    if (is_installed())
        return true;
    if (tried)
        return false;
    tried = true;
    char folder[PATH_BYTES_MAX];
    scratch_folder("npm", folder);
    bench_progress("installing the peer's packages");
    child_start(&npm, argv, folder, false);
    for (unsigned i = 0; i < INSTALL_SECONDS * 10 && child_lives(&npm); i++)
        usleep(100000);
    child_kill(&npm);
    return is_installed();
}

static bool read_port(struct child *child, unsigned short *ret_port)
{
    char line[64];
    size_t size = 0;
    struct pollfd until = {.fd = child->out, .events = POLLIN};
    while (size + 1 < sizeof line && poll(&until, 1, READY_SECONDS * 1000) > 0) {
        if (read(child->out, line + size, 1) != 1 || line[size++] == '\n')
            break;
    }
    line[size] = '\0';
    return sscanf(line, "ready on %hu", ret_port) == 1;
}

bool node_start(struct child *child, unsigned short *ret_port)
{
    const char *argv[] = {"node", script, NULL};
    char folder[PATH_BYTES_MAX];
    if (!install()) {
        bench_progress_end();
        fprintf(stderr, "The peer is left out: npm could not install its packages.\n");
        return false;
    }
    scratch_folder("node", folder);
    child_start(child, argv, folder, true);
    if (read_port(child, ret_port))
        return true;
    child_failed(child, "the peer on Node does not start");
}
