#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""top_test.py TOCSIN - does `tocsin top` show a server at work, and give the terminal back?

Prints a line "ok ..." or "FAILED ..." per test, and at the end the sum.
"""
import fcntl
import http.client
import json
import os
import signal
import struct
import sys
import tempfile
import termios

from support import (PATIENCE, alone, end, holds, main, real_server, same, shared, start_tocsin,
                     tocsin, wait_for)
from terminal import HIDE_CURSOR, SHOW_CURSOR, Terminal, mode, plain


@shared
def once_prints_a_frame_for_a_pipe(server):
    for n in range(3):
        server.add(id=f"top-{n}", delay="1h")
    done = tocsin("top", "--once", "--interval", "100ms", url=server.url)
    same((done.returncode, done.stderr), (0, ""))
    same("\x1b" in done.stdout, False, "escape codes")
    holds(done.stdout, server.url, "late", "p50", "p99", "commits", "memory", "connections",
          "added", "fired", "acked", "failed", "queue", "default", "level ", "#")


@shared
def rates_are_those_of_the_load(server):
    load = start_tocsin("bench", "--tasks", "1500", "--spread", "1s", "--connections", "4",
                        url=server.url)
    try:
        seen = {"added_per_s": 0, "fired_per_s": 0, "acked_per_s": 0, "commits_per_s": 0}
        late = None
        watch = start_tocsin("top", "--json", "--interval", "100ms", url=server.url)
        try:
            while late is None or not all(seen.values()):
                frame = json.loads(watch.stdout.readline())
                seen = {key: max(value, frame[key]) for key, value in seen.items()}
                late = late or frame["late_p99_ms"]
        finally:
            end(watch)
        same(late > 0, True, late)
        same(load.wait(timeout=PATIENCE), 0)
    finally:
        end(load)


@alone
def leases_and_renewals_are_shown():
    """R-08, R-30: how many, who waits, what is in trouble."""
    with real_server("--set", "redis.port=1") as server:
        fence = server.put("/v1/leases/a", {"holder": "ada", "ttl": "1h"}, 201)["fence"]
        server.put("/v1/leases/b", {"holder": "ada", "ttl": "1h"}, 201)
        line = http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE)
        line.request("PUT", "/v1/leases/a", b'{"holder":"bob","wait":"1h"}', {"Content-Type": "application/json"})
        wait_for(lambda: server.metric("tocsin_named_leases_waiting") == 1, "bob stands in line")
        fixed = {"type": "fixed", "ttl": "5m"}
        for n in range(3):
            made = server.post("/v1/renewals", {"keys": ["k"], "redis": "mock", "every": "100ms", "strategy": fixed}, 201)
        server.post(f"/v1/renewals/{made['id']}/pause", {}, 200)
        server.post("/v1/renewals", {"keys": ["k"], "owner": "me", "every": "1m", "max_retries": 100, "strategy": fixed}, 201)
        wait_for(lambda: server.metric("tocsin_renewals_in_trouble") == 1, "no Redis is there")
        done = tocsin("top", "--once", "--interval", "500ms", url=server.url)
        holds(done.stdout, " leases: 2 held, 1 in line; ", " renewals: 3 active, 1 in trouble, 1 paused; ")
        watch = start_tocsin("top", "--json", "--interval", "100ms", url=server.url)
        try:
            seen = {}
            while not seen or not seen["lease_renewals_per_s"] or not seen["keys_renewed_per_s"]:
                server.post("/v1/leases/a/keepalive", {"holder": "ada", "fence": fence}, 200)
                seen = json.loads(watch.stdout.readline())
            same((seen["leases"], seen["leases_in_line"], seen["renewals"], seen["renewals_in_trouble"],
                  seen["leases_expired_per_s"]), (2, 1, 3, 1, 0))
        finally:
            end(watch)
            line.close()


@shared
def without_a_terminal_it_says_a_line_a_time(server):
    watch = start_tocsin("top", "--interval", "100ms", url=server.url)
    try:
        for _ in range(2):
            holds(watch.stdout.readline(), "a second: ", " fired, ", "late p50")
        watch.send_signal(signal.SIGINT)
        same(watch.wait(timeout=PATIENCE), 0)
    finally:
        end(watch)


@shared
def it_draws_resizes_and_quits_with_q(server):
    with Terminal(80, 30, "top", "--interval", "100ms", TOCSIN_URL=server.url) as terminal:
        before = mode(terminal.fd)
        terminal.until(HIDE_CURSOR, "q quits", "level ")
        same(mode(terminal.fd) != before, True, "keys are read one by one")
        terminal.said = ""
        fcntl.ioctl(terminal.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 8, 40, 0, 0))
        terminal.until("\x1b[2J", "q quits")
        longest = max(len(line) for line in plain(terminal.said).splitlines())
        same(longest < 40, True, f"{longest} columns on a terminal of 40")
        os.write(terminal.fd, b"q")
        same(terminal.finish(), 0)
        holds(terminal.said, SHOW_CURSOR)
        same(mode(terminal.fd), before, "the keyboard is as it was")


@shared
def an_interrupt_gives_the_terminal_back(server):
    with Terminal(80, 24, "top", TOCSIN_URL=server.url) as terminal:
        before = mode(terminal.fd)
        terminal.until(HIDE_CURSOR, "q quits")
        os.kill(terminal.pid, signal.SIGINT)
        same(terminal.finish(), 0)
        holds(terminal.said, SHOW_CURSOR)
        same(mode(terminal.fd), before, "the keyboard is as it was")


@alone
def a_server_that_goes_away_is_said_and_waited_for():
    with real_server() as server, \
            Terminal(100, 30, "top", "--interval", "100ms", TOCSIN_URL=server.url) as terminal:
        terminal.until("q quits")
        server.kill()
        terminal.until("no answer: ")
        server.start()
        terminal.said = ""
        while "no answer" in terminal.said or "level" not in terminal.said:
            terminal.said = ""
            same(terminal.read(), True)
        os.write(terminal.fd, b"q")
        same(terminal.finish(), 0)


@alone
def nobody_there_leaves_the_terminal_alone():
    with Terminal(80, 24, "top", "--url", "http://127.0.0.1:1") as terminal:
        before = mode(terminal.fd)
        same(terminal.finish(), 3)
        holds(terminal.said, "cannot reach http://127.0.0.1:1")
        same(terminal.said.rfind(SHOW_CURSOR) > terminal.said.rfind(HIDE_CURSOR), True, "cursor")
        same(mode(terminal.fd), before, "the keyboard is as it was")


@shared
def no_color_is_respected(server):
    with Terminal(80, 24, "top", TOCSIN_URL=server.url, NO_COLOR="1") as terminal:
        terminal.until("q quits")
        os.write(terminal.fd, b"q")
        same(terminal.finish(), 0)
        same("\x1b[0;1;36m" in terminal.said, False, "colours")
    with Terminal(100, 24, "ls", TOCSIN_URL=server.url, NO_COLOR="1") as terminal:
        terminal.finish()
        same("\x1b" in terminal.said, False, "colours")
    with Terminal(100, 24, "ls", TOCSIN_URL=server.url) as terminal:
        terminal.finish()
        holds(terminal.said, "\x1b[1mtop-0")


@shared
def long_work_shows_how_far_it_is(server):
    lines = "".join(f'{{"id":"bar-{n}","delay":"1h"}}\n' for n in range(3000))
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(lines)
        file.flush()
        with Terminal(100, 24, "add", "--batch", file.name, TOCSIN_URL=server.url) as terminal:
            same(terminal.finish(), 0)
            holds(terminal.said, "adding", "[=", "%", "3 000 added, 0 refused")
            same(terminal.said.rstrip().splitlines()[-1].endswith("s"), True, terminal.said)


if __name__ == "__main__":
    sys.exit(main(jobs=1))
