#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""countdown_cli_test.py TOCSIN [NAME...] - does `tocsin countdown` do what it says?"""
import fcntl
import json
import os
import re
import signal
import struct
import sys
import termios

from support import (PATIENCE, alone, end, holds, main, real_server, same, shared, start_tocsin,
                     test, tocsin)
from terminal import HIDE_CURSOR, SHOW_CURSOR, Terminal, mode, plain


def good(server, *words):
    done = tocsin("countdown", *words, url=server.url)
    same((done.returncode, done.stderr), (0, ""), " ".join(words))
    return done.stdout


def as_json(server, *words):
    return json.loads(good(server, *words, "--json"))


def refused(server, *words, code=1):
    done = tocsin("countdown", *words, url=server.url)
    same((done.returncode, done.stdout), (code, ""), " ".join(words))
    return done.stderr


@shared
def it_is_started_and_the_same_turn_runs_on(server):
    said = good(server, "start", "s-1", "--owner", "ada", "--for", "1m")
    same(bool(re.fullmatch(r"s-1 running: ada has (1:00|0:59) left, until \S+\n", said)), True, said)
    good(server, "start", "s-2", "--owner", "ada", "--for", "1m", "--version", "g:1")
    first = as_json(server, "start", "s-2", "--owner", "ada", "--for", "1h", "--kind", "event", "--version", "g:1")
    same((first["version"], first["kind"], first["left"] <= 60), ("g:1", "event", True), "the same turn")
    holds(refused(server, "start", "s-2", "--owner", "bob", "--for", "1h", "--version", "g:1"), 'owner "ada"',
          "needs another version", "409 CONFLICT")
    again = as_json(server, "start", "s-1", "--owner", "bob", "--for", "1h", "--version", "g:2")
    same((again["owner"], again["version"], again["left"]), ("bob", "g:2", 3600))
    for at in ("2100-01-01T00:00:00+01:00", "4102441200000"):
        same(as_json(server, "start", f"s-{at}", "--owner", "x", "--deadline", at)["deadline_ms"],
             4102441200000, at)


@test()
def each_start_without_a_version_is_a_new_turn(server):
    """C-18: an expired version stays expired for an hour; who named none wants another turn."""
    for _ in range(2):
        holds(good(server, "start", "tea", "--owner", "me", "--for", "2s"), "tea running: me has 0:02 left")
        server.advance(2000)
        same(as_json(server, "show", "tea")["state"], "expired")
    said = good(server, "start", "tea", "--owner", "me", "--for", "2s", "--version", "7")
    holds(said, "tea running")
    same(as_json(server, "start", "tea", "--owner", "me", "--for", "9s", "--version", "7")["left_ms"], 2000)
    server.advance(2000)
    same(as_json(server, "show", "tea")["state"], "expired")
    for words in ([], ["--json"]):
        done = tocsin("countdown", "start", "tea", "--owner", "me", "--for", "2s", "--version", "7", *words,
                      url=server.url)
        same(done.returncode, 1, "the turn that was named is over")
        holds(done.stdout, "expired")
        holds(json.loads(done.stderr)["note"] if words else done.stderr, "nothing was started", "--version")


@shared
def what_is_wrong_is_refused(server):
    holds(refused(server, "start", "w", "--for", "1s", code=2), "--owner is missing")
    holds(refused(server, "start", "w", "--owner", "x", code=2), "--for or --deadline is needed")
    holds(refused(server, "start", "w", "--owner", "x", "--for", "1s", "--deadline", "5", code=2),
          "not both")
    holds(refused(server, "start", "--owner", "x", "--for", "1s", code=2), "the key of a countdown")
    holds(refused(server, "start", "w", "--owner", "x", "--for", "soon", code=2), "--for 'soon'", "such as 30s")
    holds(refused(server, "start", "w", "--owner", "x", "--for", "1000000w"), "for", "400 VALIDATE_FAILED")
    holds(refused(server, "give", "w", "soon", code=2), "'soon' is no duration such as 5s")
    holds(refused(server, "give", "w", code=2), "how much time")
    holds(refused(server, "give", "no-such", "5s"),
          "tocsin countdown give: no-such: there is no such countdown (404 NOT_FOUND)")
    for words in (["show", "no-such"], ["stop", "no-such"], ["pause", "no-such"], ["watch", "no-such"]):
        holds(refused(server, *words), f"tocsin countdown {words[0]}: no-such: ", "404 NOT_FOUND")
    error = json.loads(refused(server, "watch", "no-such", "--json"))
    same((error["command"], error["about"], error["status"], error["code"]),
         ("countdown watch", "no-such", 404, "NOT_FOUND"))


@shared
def several_are_paused_resumed_given_time_and_stopped(server):
    for n in range(3):
        good(server, "start", f"m-{n}", "--owner", "ada", "--for", "1h")
    paused = good(server, "pause", "m-0", "m-1")
    same([line.partition(":")[0] for line in paused.splitlines()], ["m-0 paused", "m-1 paused"])
    given = as_json(server, "give", "m-0", "5m")
    same((given["state"], 3890 < given["left"] <= 3900), ("paused", True))
    holds(good(server, "resume", "m-0"), "m-0 running: ada has 1:0", ", until ")
    holds(good(server, "show", "m-0"), "owner        ada", "state        running", "ends ", "rev ")
    table = good(server, "ls")
    holds(table, "KEY", "LEFT", "OWNER", "m-1 ", "paused", "ada")
    same({one["key"] for one in as_json(server, "ls", "--all")["countdowns"]} >= {"m-0", "m-1", "m-2"},
         True)
    same(len(as_json(server, "ls", "--limit", "1")["countdowns"]), 1)
    done = tocsin("countdown", "stop", "m-0", "no-such", "m-1", "m-2", url=server.url)
    same(done.returncode, 1)
    holds(done.stderr, "tocsin countdown stop: no-such: ")
    holds(done.stdout, "m-0 stopped: ada had 1:0", "m-1 stopped", "m-2 stopped")
    holds(refused(server, "show", "m-2"), "404")


@alone
def nobody_there_is_exit_3():
    for words in (["start", "x", "--owner", "x", "--for", "1s"], ["show", "x"], ["ls"], ["stop", "x"],
                  ["pause", "x"], ["resume", "x"], ["give", "x", "1s"], ["watch", "x"]):
        done = tocsin("countdown", *words, url="http://127.0.0.1:1")
        same((done.returncode, done.stdout), (3, ""), words)
        holds(done.stderr, f"tocsin countdown {words[0]}: cannot reach ")


@alone
def a_verb_is_needed_and_suggested():
    for words, part in (([], "the verb is missing, one of start, show, ls"), (["strat"], "did you mean start?"),
                        (["--url", "x"], "the verb is missing"), (["frobnicate"], "is none of start"),
                        (["start", "--onwer", "x"], "did you mean --owner?")):
        done = tocsin("countdown", *words)
        same((done.returncode, done.stdout), (2, ""), words)
        holds(done.stderr, part)
    holds(tocsin("countdown", "--help").stdout, *(f"\n  {verb} " for verb in (
        "start", "show", "ls", "stop", "pause", "resume", "give", "watch")))
    holds(tocsin("help", "countdown", "strat").stderr, "unexpected 'strat'")


@shared
def watch_says_a_line_a_second_until_the_time_is_up(server):
    good(server, "start", "l-1", "--owner", "ada", "--for", "1200ms", "--version", "7")
    done = tocsin("countdown", "watch", "l-1", url=server.url)
    same((done.returncode, done.stderr), (0, ""))
    lines = done.stdout.splitlines()
    same(lines[0], "l-1 0:02 running, owner ada, version 7")
    same(lines[-2], "l-1 0:00 expired, owner ada, version 7")
    holds(lines[-1], "l-1 expired: the time of ada was up at ")
    same("\x1b" in done.stdout, False, "escape codes")
    same(tocsin("countdown", "watch", "l-1", url=server.url).returncode, 0, "it is over already")


@shared
def watch_prints_json_lines(server):
    good(server, "start", "j-1", "--owner", "ada", "--for", "1200ms")
    rows = [json.loads(line) for line in good(server, "watch", "j-1", "--json").splitlines()]
    same((rows[0]["state"], rows[-1]["state"], rows[-1]["left_ms"]), ("running", "expired", 0))
    same(len(rows) <= 4, True, "a line a second")


@shared
def watch_ends_with_1_when_it_is_stopped_or_left(server):
    for stop in (True, False):
        good(server, "start", "e-1", "--owner", "ada", "--for", "1h")
        watch = start_tocsin("countdown", "watch", "e-1", url=server.url)
        try:
            holds(watch.stdout.readline(), "e-1 1:00:00 running")
            if stop:
                good(server, "stop", "e-1")
            else:
                watch.send_signal(signal.SIGINT)
            same(watch.wait(timeout=PATIENCE), 1)
            same(watch.stderr.read(), "tocsin countdown watch: e-1: it was stopped (404 NOT_FOUND)\n"
                 if stop else "")
        finally:
            end(watch)


@shared
def watch_draws_a_clock_and_gives_the_terminal_back(server):
    good(server, "start", "t-1", "--owner", "Zoë", "--for", "1h", "--version", "g1:8")
    with Terminal(80, 24, "countdown", "watch", "t-1", TOCSIN_URL=server.url) as terminal:
        before = mode(terminal.fd)
        terminal.until(HIDE_CURSOR, "q quits", "██████", "━", "Zoë", "g1:8", "until ")
        same(mode(terminal.fd) != before, True, "keys are read one by one")
        good(server, "pause", "t-1")
        terminal.until("paused")
        terminal.said = ""
        fcntl.ioctl(terminal.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 6, 30, 0, 0))
        terminal.until("\x1b[2J", "q quits", "paused", "\x1b[J")
        same(max(len(line) for line in plain(terminal.said).splitlines()) < 30, True)
        os.kill(terminal.pid, signal.SIGINT)
        same(terminal.finish(), 1)
        holds(terminal.said, SHOW_CURSOR)
        same(mode(terminal.fd), before, "the keyboard is as it was")


@shared
def watch_says_below_the_clock_that_the_time_is_up(server):
    good(server, "start", "u-1", "--owner", "ada", "--for", "900ms")
    with Terminal(80, 24, "countdown", "watch", "u-1", TOCSIN_URL=server.url, LC_ALL="C") as terminal:
        same(terminal.finish(), 0)
        holds(terminal.said, "######", "\x1b[0;1;31m", "expired")
        holds(plain(terminal.said.split(SHOW_CURSOR)[-1]), "u-1 expired: the time of ada was up at ")
        same([c for c in plain(terminal.said) if ord(c) > 126], [], "ASCII where the locale is")


@shared
def watch_turns_colour_near_the_end(server):
    good(server, "start", "c-1", "--owner", "ada", "--for", "1h")
    with Terminal(80, 24, "countdown", "watch", "c-1", TOCSIN_URL=server.url) as terminal:
        terminal.until("q quits", "\x1b[0;1m█", "\x1b[0;36m━")
        same("\x1b[0;33m█" in terminal.said, False)
        good(server, "start", "c-1", "--owner", "bob", "--for", "8s", "--version", "2")
        terminal.until("bob", "\x1b[0;33m█", "\x1b[0;33m━")
        os.write(terminal.fd, b"q")
        same(terminal.finish(), 1)


@alone
def watch_survives_a_restart():
    with real_server() as server:
        good(server, "start", "r-1", "--owner", "ada", "--for", "1h")
        with Terminal(80, 24, "countdown", "watch", "r-1", TOCSIN_URL=server.url) as terminal:
            watch = start_tocsin("countdown", "watch", "r-1", url=server.url)
            as_lines = start_tocsin("countdown", "watch", "r-1", "--json", url=server.url)
            try:
                terminal.until("q quits")
                watch.stdout.readline()
                as_lines.stdout.readline()
                server.kill()
                terminal.until("reconnecting")
                while "reconnecting" not in watch.stdout.readline():
                    pass
                holds(json.loads(as_lines.stderr.readline())["note"], "reconnecting: ")
                server.start()
                terminal.said = ""
                while "reconnecting" in terminal.said or "q quits" not in terminal.said:
                    terminal.said = ""
                    same(terminal.read(), True)
                while "reconnecting" in watch.stdout.readline():
                    pass
                same(json.loads(as_lines.stderr.readline())["note"], "the server is back")
                os.write(terminal.fd, b"q")
                same(terminal.finish(), 1)
            finally:
                end(watch)
                end(as_lines)


if __name__ == "__main__":
    sys.exit(main(jobs=1))
