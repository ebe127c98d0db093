#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""countdown_test.py TOCSIN [NAME...] - countdowns over HTTP, on a clock that the test moves."""

import json
import sys
import time

from countdown_race import TOPIC, frames_of_one_countdown, race_to_start
from player import Listener
from support import expect, holds, main, same, test, wait_for


def start(server, key="a", status=201, **wish):
    return server.put(f"/v1/countdowns/{key}", {"owner": "me", **wish}, status)


def look(server, key="a", status=200):
    return server.call("GET", f"/v1/countdowns/{key}", None, status)


@test(store="sqlite")
def it_runs_down_and_survives(server):
    """C-01, C-02, C-11, C-13, C-20, C-22."""
    made = start(server, **{"for": "30s"}, version="g1:1", kind="chess")
    same((made["state"], made["left"], made["left_ms"], made["version"], made["kind"]),
         ("running", 30, 30000, "g1:1", "chess"))
    server.advance("10s")
    same((look(server)["left"], look(server)["deadline_ms"]), (20, made["deadline_ms"]))
    server.restart(9)
    same(look(server)["deadline_ms"], made["deadline_ms"])
    server.advance(look(server)["left_ms"] - 1)
    same((look(server)["state"], look(server)["left"]), ("running", 1))
    server.advance(1)
    ended = look(server)
    same((ended["state"], ended["left_ms"], ended["expired_ms"]), ("expired", 0, made["deadline_ms"]))
    same(server.metric("tocsin_countdown_timeouts_total"), 1)
    server.restart(9)
    server.advance("10s")
    same((look(server)["fence"], server.metric("tocsin_countdown_timeouts_total")), (ended["fence"], 0),
         "a restart never punishes twice")
    server.advance("1h")
    expect(server.call("GET", "/v1/countdowns/a"), 404, "NOT_FOUND", "countdown")


@test()
def the_same_version_keeps_its_deadline(server):
    """C-17, C-18."""
    first = start(server, **{"for": "30s"})
    server.advance("10s")
    same(start(server, status=200, **{"for": "30s"})["deadline_ms"], first["deadline_ms"])
    again = start(server, status=200, **{"for": "30s"}, version="2", owner="you")
    same((again["left"], again["owner"]), (30, "you"))
    server.advance("30s")
    same(look(server)["state"], "expired")
    same(start(server, status=200, **{"for": "30s"}, version="2", owner="you")["state"], "expired")


@test()
def the_same_version_is_not_anothers(server):
    """C-17."""
    long = "\u00e4" * 100
    for key, owner, shown in (("a", "me", "me"), ("b", long, long[:24])):
        made = start(server, key, **{"for": "30s"}, owner=owner)
        for wish in ({"owner": "you"}, {"owner": owner, "kind": "chess"}):
            expect(server.put(f"/v1/countdowns/{key}", {"for": "30s", **wish}, None), 409, "CONFLICT",
                   f'version: it is there with owner "{shown}" and kind "event": with another owner or kind it needs another version')
        same(look(server, key).json, made.json)
    chess = start(server, "c", **{"for": "30s"}, kind="chess")
    same(start(server, "c", 200, **{"for": "30s"}).json, chess.json, "no kind is asked for")
    for key in ("a", "b"):
        same(start(server, key, 200, **{"for": "30s"}, owner="you", version="2")["owner"], "you")


@test(clock="system")
def many_starts_at_once_are_one_countdown(server):
    """C-15, on one node: one owner, one stream of ticks, one timeout; another owner is refused."""
    with Listener(server.url, TOPIC) as topic:
        made, refused = race_to_start(server)
        for answer in refused:
            expect(answer, 409, "CONFLICT", f'owner "{made["owner"]}"', "needs another version")
        same({frame["payload"]["owner"] for frame in frames_of_one_countdown(topic)}, {made["owner"]})
    same((server.metric("tocsin_countdown_timeouts_total"), server.metric("tocsin_countdown_ticks_total")), (1, 3))


@test()
def pause_resume_give_and_stop(server):
    """C-30."""
    start(server, **{"for": "30s"})
    server.advance("10s")
    paused = server.post("/v1/countdowns/a/pause", {}, 200)
    same((paused["state"], paused["left_ms"], paused["deadline_ms"]), ("paused", 20000, None))
    server.advance("1h")
    same(server.post("/v1/countdowns/a/give", {"ms": 5000}, 200)["left"], 25)
    same(server.post("/v1/countdowns/a/resume", {}, 200)["left"], 25)
    key = {"Idempotency-Key": "once"}
    given = server.post("/v1/countdowns/a/give", {"ms": "5s"}, 200, key)
    again = server.post("/v1/countdowns/a/give", {"ms": "5s"}, 200, key)
    same((again.body, again.headers["idempotency-replayed"], look(server)["left"]), (given.body, "true", 30))
    expect(server.post("/v1/countdowns/a/give", {"ms": "6s"}, None, key), 409, "CONFLICT", "Idempotency-Key")
    same(server.delete("/v1/countdowns/a", 200)["left"], 30)
    expect(server.call("DELETE", "/v1/countdowns/a"), 404)
    for verb in ("pause", "resume"):
        expect(server.post(f"/v1/countdowns/a/{verb}", {}, None), 404, "NOT_FOUND")
    start(server, **{"for": 1})
    server.advance("1s")
    for verb, body in (("pause", {}), ("resume", {}), ("give", {"ms": 1})):
        expect(server.post(f"/v1/countdowns/a/{verb}", body, None), 409, "CONFLICT", "over")


@test(store="sqlite")
def a_put_resumes_what_was_paused(server):
    """C-01, C-02, C-18: the same version runs on with what was left."""
    start(server, **{"for": "30s"})
    server.advance("10s")
    server.post("/v1/countdowns/a/pause", {}, 200)
    server.advance("1h")
    server.restart(9)
    before = server.metric("tocsin_countdown_ticks_total")
    resumed = start(server, status=200, **{"for": "30s"})
    same((resumed["state"], resumed["left_ms"], resumed["deadline_ms"]), ("running", 20000, server.now() + 20000))
    same(server.metric("tocsin_countdown_ticks_total"), before + 1, "a tick at once")
    server.advance("5s")
    again = start(server, status=200, **{"for": "30s"})
    same((again["left_ms"], again["deadline_ms"], again["rev"]), (15000, resumed["deadline_ms"], resumed["rev"]))
    server.post("/v1/countdowns/a/pause", {}, 200)
    same(start(server, status=200, **{"for": "40s"}, version="2")["left_ms"], 40000, "another turn")
    server.advance("40s")
    same(start(server, status=200, **{"for": "30s"}, version="2")["state"], "expired")


@test(store="sqlite", clock="system")
def restarts_do_not_move_the_deadline(server):
    """C-01: it is absolute, as it was told first, and nothing happens before it."""
    told = {"a": start(server, **{"for": "1h"})["deadline_ms"], "b": start(server, "b", **{"for": "1h"})["deadline_ms"]}
    for how in (9, 15, 9, 15):
        server.restart(how)
        for key, deadline in told.items():
            same(look(server, key)["deadline_ms"], deadline)
    given = server.post("/v1/countdowns/a/give", {"ms": 5000}, 200)["deadline_ms"]
    same(given, told["a"] + 5000)
    server.restart(9)
    same(look(server)["deadline_ms"], given)
    short = start(server, "c", **{"for": "1500ms"})["deadline_ms"]
    server.restart(9)
    same(look(server, "c")["deadline_ms"], short)
    wait_for(lambda: look(server, "c")["state"] == "expired", "its timeout")
    ended = look(server, "c")
    same((ended["deadline_ms"], ended["expired_ms"] >= short), (short, True))


@test()
def conditions_hold_or_nothing_changes(server):
    rev = start(server, **{"for": "30s"}).headers["etag"]
    expect(server.put("/v1/countdowns/a", {"owner": "x", "for": 1, "version": "2"}, None, {"If-None-Match": "*"}), 412)
    expect(server.post("/v1/countdowns/a/pause", {}, None, {"If-Match": '"9999"'}), 412, "CONFLICT")
    server.post("/v1/countdowns/a/pause", {}, 200, {"If-Match": rev})
    expect(server.delete("/v1/countdowns/a", None, {"If-Match": rev}), 412)
    expect(server.put("/v1/countdowns/b", {"owner": "x", "for": 1}, None, {"If-Match": "*"}), 412)
    same(look(server)["state"], "paused")


@test()
def bad_wishes_are_refused(server):
    """C-24: a missing owner is an error, not a crash."""
    for wish, word in (({"for": "1s"}, "owner"), ({"owner": "", "for": "1s"}, "owner"), ({"owner": 1, "for": "1s"}, "owner"),
                       ({"owner": "me"}, "deadline_ms"), ({"owner": "me", "for": "1s", "deadline_ms": 1}, "both"),
                       ({"owner": "me", "for": "soon"}, "for"), ({"owner": "me", "for": -1}, "for"),
                       ({"owner": "me", "for": "1s", "version": ""}, "version"),
                       ({"owner": "me", "for": "1s", "kind": "a\nb"}, "control"),
                       ({"owner": "me", "deadline_ms": -5}, "deadline_ms"), ({"owner": "me", "for": "1s", "x": 1}, "x"),
                       ({"owner": "o" * 256, "for": "1s"}, "owner")):
        expect(server.put("/v1/countdowns/a", wish, None), 400, "VALIDATE_FAILED", word)
    for body in ({}, {"ms": 0}, {"ms": -1}, {"ms": "x"}):
        expect(server.post("/v1/countdowns/a/give", body, None), 400, "VALIDATE_FAILED", "ms")
    expect(server.put("/v1/countdowns/" + "x" * 256, {"owner": "me", "for": 1}, None), 400, "VALIDATE_FAILED", "key")
    same(server.get("/v1/countdowns")["countdowns"], [])


@test("--set", "limits.countdowns=3")
def they_are_listed_and_limited(server):
    """C-16: a key that begins as a holder's would is one like any other."""
    for key in ("c", "holder:x", "%E6%A3%8B"):
        start(server, key, **{"for": "1m"})
    expect(server.put("/v1/countdowns/more", {"owner": "me", "for": 1}, None), 429, "RATE_LIMITED", "limits.countdowns")
    page = server.get("/v1/countdowns?limit=2")
    rest = server.get(f"/v1/countdowns?limit=2&after={page['next']}")
    same([one["key"] for one in page["countdowns"] + rest["countdowns"]], ["c", "holder:x", "棋"])
    same(rest["next"], None)
    expect(server.call("GET", "/v1/countdowns?limit=0"), 400, "VALIDATE_FAILED", "limit")


@test(store="sqlite")
def events_tell_which_fell_first(server):
    """C-32: by the order of the log, which has the deadline of each, though both were found fallen at once."""
    late = start(server, "x", **{"for": "2s"})["deadline_ms"]
    early = start(server, "o", **{"for": "1s"})["deadline_ms"]
    server.advance("5s")
    server.restart(9)
    connection = server.connection()
    connection.request("GET", "/v1/events?after=0")
    stream = connection.getresponse()
    told = []
    while len(told) < 4:
        line = stream.readline()
        if line.startswith(b"data:"):
            event = json.loads(line[5:])
            told.append(event)
    same([(event["type"], event["key"]) for event in told],
         [("started", "x"), ("started", "o"), ("timeout", "o"), ("timeout", "x")])
    same([event["doc"]["deadline_ms"] for event in told[2:]], [early, late])
    same([event["seq"] for event in told], sorted({event["seq"] for event in told}))


@test(store="sqlite", clock="system")
def a_start_says_what_it_found(server):
    """C-06: those that run on, that wait, and that ran out meanwhile."""
    for key in ("runs", "runs too", "waits"):
        start(server, key.replace(" ", "%20"), **{"for": "1h"})
    server.post("/v1/countdowns/waits/pause", {}, 200)
    start(server, "over", deadline_ms=1)
    start(server, "falls", **{"for": "300ms"})
    server.words[server.words.index("warn")] = "info"
    server.kill()
    time.sleep(0.4)
    server.start()
    line, = (line for line in server.said().splitlines() if "countdowns restored" in line)
    holds(line, "level=info", " restored=2 expired_handled=1 expired_cleaned=0 paused=1")
    wait_for(lambda: look(server, "falls")["state"] == "expired", "its timeout")
    same(server.metric("tocsin_countdown_timeouts_total"), 1)


if __name__ == "__main__":
    sys.exit(main())
