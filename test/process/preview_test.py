#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""preview_test.py TOCSIN - does `tocsin preview` say when, seen from outside?

Prints a line "ok ..." or "FAILED ..." per test, and at the end the sum.
"""
import datetime
import json
import re
import sys
import time

from support import alone, holds, main, same, tocsin

LINE = re.compile(r"(\S+)  (?:in (\S+)|(\S+) ago)")


def run(*arguments):
    return tocsin("preview", *arguments)


def times(*arguments):
    done = run(*arguments)
    same((done.returncode, done.stderr), (0, ""), " ".join(arguments))
    return [LINE.fullmatch(line)[1] for line in done.stdout.splitlines()]


@alone
def preview_prints_local_times_with_their_offset():
    same(times("30 2 * * *", "--tz", "Europe/Berlin", "--after", "2026-03-28T12:00:00Z", "-n", "2"),
         ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"])
    same(times("--tz=America/New_York", "-n", "3", "30 1 * * *", "--after=2026-10-31T12:00:00Z"),
         ["2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00", "2026-11-03T01:30:00-05:00"])
    same(times("0 0 29 2 *", "--after", "2096-03-01T00:00:00Z", "-n", "1"),
         ["2104-02-29T00:00:00Z"])


@alone
def preview_begins_now_in_utc_and_shows_five():
    before = time.time()
    done = run("* * * * * *")
    same(done.returncode, 0)
    lines = [LINE.fullmatch(line) for line in done.stdout.splitlines()]
    same(len(lines), 5)
    first = datetime.datetime.fromisoformat(lines[0][1].replace("Z", "+00:00")).timestamp()
    same(before < first <= time.time() + 1, True, f"{first} is next after {before}")


@alone
def preview_says_how_far_away_it_is():
    holds(run("@yearly", "--after", "2001-01-01T00:00:00Z", "-n", "1").stdout, " ago\n")
    holds(run("0 0 1 1 *", "--after", "9000-01-01T00:00:00Z", "-n", "1").stdout,
          "9001-01-01T00:00:00Z  in ")


@alone
def preview_json_is_what_the_server_answers():
    done = run("30 2 * * *", "--tz", "Europe/Berlin", "--after", "2026-03-28T12:00:00Z", "-n", "2",
               "--json")
    same((done.returncode, done.stderr, done.stdout.count("\n")), (0, "", 1))
    same(json.loads(done.stdout),
         {"times": ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"],
          "times_ms": [1774746000000, 1774830600000]})
    same(len(json.loads(run("@hourly", "--json", "-n", "1000").stdout)["times"]), 1000)


@alone
def preview_of_what_never_comes_is_refused():
    done = run("0 0 30 2 *")
    same((done.returncode, done.stdout), (1, ""))
    holds(done.stderr, "tocsin preview: ", "500 years")


@alone
def preview_at_the_end_of_the_calendar_shows_what_is_left():
    same(times("@yearly", "--tz", "Asia/Tokyo", "--after", "9997-06-01T00:00:00Z"),
         ["9998-01-01T00:00:00+09:00", "9999-01-01T00:00:00+09:00", "9999-12-31T15:00:00Z"])


@alone
def preview_refuses_wrong_input_with_a_reason():
    for words, parts in (
            ([], ["a cron expression is missing"]),
            (["61 * * * *"], ["minute '61'", "0 to 59"]),
            (["* * * *"], ["4 fields"]),
            ([""], ["0 fields"]),
            (["\x1b]0;x * * * *"], ["minute '?]0;x'"]),
            (["@daily", "--tz", "Europe/Berlim"], ["'Europe/Berlim' is not known"]),
            (["@daily", "--tz", "../../etc/passwd"], ["is not a name such as"]),
            (["@daily", "--tz", ""], ["is not a name"]),
            (["@daily", "--tz"], ["--tz", "needs a value"]),
            (["@daily", "-n", "0"], ["-n", "1 to 1000"]),
            (["@daily", "-n", "1001"], ["-n", "1 to 1000"]),
            (["@daily", "--after", "yesterday"], ["'yesterday'", "a year"]),
            (["@daily", "--after", "2026-02-30T00:00:00Z"], ["no such day"]),
            (["0", "9", "*", "*", "*"], ["unknown argument '9'"]),
            (["@daily", "--loud"], ["unknown option '--loud'"]),
            (["@daily", "--json=1"], ["takes no value"])):
        done = run(*words)
        same((done.returncode, done.stdout), (2, ""), " ".join(words))
        holds(done.stderr, "tocsin preview: ", "--help", *parts)
        same("\x1b" in done.stderr, False, "escape codes")


@alone
def preview_explains_itself():
    for done in (run("--help"), run("@daily", "-h"),
                 tocsin("help", "preview")):
        same((done.returncode, done.stderr), (0, ""))
        holds(done.stdout, "usage: tocsin preview CRON", "--tz ZONE", "--after TIME", "exit codes")


if __name__ == "__main__":
    sys.exit(main())
