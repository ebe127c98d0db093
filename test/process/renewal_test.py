#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""renewal_test.py TOCSIN [NAME...] - are keys of a real Redis kept alive, and nothing else done?

The server's clock is the test's, but for a few; that of Redis is the system's. So a key's life
is cut short by hand, and must be long again after the next beat.
"""
import functools
import http.client
import json
import signal
import sys
import threading
import time

from redis_server import Redis
from support import PATIENCE, Server, alone, expect, holds, main, same, tests, wait_for

ENGINES = ("time-wheel", "scheduled")
MINUTE = 60000
TICK = 100  # ms: a beat is late by at most so much


def redis_flags(redis, **others):
    """others: further servers, by their names."""
    flags = ["--set", "redis.host=127.0.0.1", "--set", f"redis.port={redis.port}"]
    if others:
        listed = ",".join(f"{name}=redis://127.0.0.1:{one.port}" for name, one in others.items())
        flags += ["--set", f"redis.servers={listed}"]
    return flags


def kept(*flags, engines=ENGINES, **options):
    """A test with a Redis and a server that uses it, once for each engine (R-05)."""
    def add(function):
        def run(engine):
            with Redis() as redis, \
                    Server(*redis_flags(redis), "--set", f"redis.renewal.type={engine}", *flags,
                           **options) as server:
                try:
                    function(server, redis)
                    if server.process.poll() is None:
                        same(server.stop(), 0, f"exit code; {server.said()}")
                except Exception:
                    print(server.said(), end="", flush=True)
                    raise
        for engine in engines:
            one = functools.partial(run, engine)
            one.__name__ = function.__name__ + (f"_{engine}" if len(engines) > 1 else "")
            tests.append(one)
        return function
    return add


def register(server, status=201, headers=None, **wish):
    """With a TTL of 5 minutes unless told otherwise. Its first round is over."""
    wish.setdefault("strategy", {"type": "fixed", "ttl": "5m"})
    made = server.post("/v1/renewals", wish, status, headers)
    server.advance(1)
    return made["id"] if status == 201 else made


def look(server, id, status=200):
    return server.get(f"/v1/renewals/{id}", status)


def beat(server, ms):
    """Time passes until the beat after ms has been done."""
    server.advance(ms + TICK)


def results(server, id):
    return {name: count for name, count in look(server, id)["last"].items()
            if isinstance(count, int) and count > 0}


def lives(redis, key, ms, what=""):
    """It was given this time to live a moment ago."""
    left = redis.ttl(key)
    if not ms - 20000 < left <= ms:
        raise AssertionError(f"{key} {what}: {left} ms are left instead of {ms}")


def ends(server, id, state):
    seen = wait_for(lambda: (one := look(server, id))["status"] == state and one, f"it is {state}")
    same((seen["next_ms"], seen["ended_ms"] is not None), (None, True), "it has ended")
    return seen


# ---- what it does


@kept(store="sqlite")
def a_key_is_kept_alive(server, redis):
    """R-01, R-13, R-14: registered, and at once; then beat for beat."""
    redis.say("SET", "k", "v", "PX", 5000)
    made = server.post("/v1/renewals", {"name": "mine", "keys": ["k"], "every": "2m",
                                        "strategy": {"type": "fixed", "ttl": "5m"}}, 201)
    same((made["status"], made["name"], made["keys"], made["every"], made["max_retries"], made["redis"]),
         ("ACTIVE", "mine", ["k"], 2 * MINUTE, 3, "default"))
    same(made.headers["etag"], f'"{made["rev"]}"')
    server.advance(1)
    lives(redis, "k", 5 * MINUTE, "the first is at once")
    for n in range(2, 5):
        redis.say("PEXPIRE", "k", 20000)
        server.advance(2 * MINUTE - 1 - TICK if n == 2 else MINUTE)
        same(redis.ttl("k") <= 20000, True, "not before its time")
        server.advance(2 * TICK if n == 2 else MINUTE)
        lives(redis, "k", 5 * MINUTE, f"round {n}")
        seen = look(server, made["id"])
        metrics = seen["metrics"]
        same((metrics["total"], metrics["success"], metrics["failure"], metrics["task_failures"],
              metrics["success_rate"], seen["failures"]), (n, n, 0, 0, 100, 0))
    same(metrics["created_ms"] < metrics["last_ms"] <= server.now(), True)
    same([one["id"] for one in server.get("/v1/renewals")["renewals"]], [made["id"]])
    expect(server.call("GET", "/v1/renewals/no-such"), 404, "NOT_FOUND", "renewal")


@kept()
def the_defaults_are_those_of_the_configuration(server, redis):
    """R-07, R-13: a third of the TTL, or the interval of the configuration."""
    for wish, ttl, every in (({}, 300000, 30000), ({"strategy": {"type": "fixed"}}, 300000, 100000),
                             ({"strategy": {"type": "fixed", "ttl": "9s"}}, 9000, 3000),
                             ({"strategy": {"type": "fixed", "ttl": "250ms"}}, 250, 100)):
        made = server.post("/v1/renewals", {"keys": ["k"], **wish}, 201)
        same((made["strategy"]["ttl"], made["every"] in (every, 83)), (ttl, True), f"{wish} {made['every']}")


def told(monitor, since, key="k", ttl=5 * MINUTE):
    """How often the key was renewed."""
    return sum(words[1:3] == [key, str(ttl)] for words in monitor.told("PEXPIRE", since))


@kept()
def paused_and_cancelled_it_does_nothing(server, redis):
    """R-10: no command after the answer; resume makes one chain."""
    def pass_time(ms):
        redis.say("PEXPIRE", "k", 50000)
        server.advance(ms)

    redis.say("SET", "k", "v", "PX", 50000)
    id = register(server, keys=["k"], every="1m")
    with redis.monitor() as monitor:
        same(server.post(f"/v1/renewals/{id}/pause", {}, 200)["status"], "PAUSED")
        at = monitor.mark()
        for _ in range(5):
            pass_time(MINUTE)
        same(told(monitor, at), 0)
        same(look(server, id)["next_ms"], None)
        expect(server.post(f"/v1/renewals/{id}/renew", {}, None), 409, "CONFLICT", "paused")
        for _ in range(3):
            same(server.post(f"/v1/renewals/{id}/resume", {}, 200)["status"], "ACTIVE")
        server.advance(TICK)
        same(told(monitor, at), 1, "at once, once")
        for n in range(2, 6):
            pass_time(MINUTE)
            same(told(monitor, at), n, "one chain")
        for _ in range(3):
            redis.say("PEXPIRE", "k", 50000)
            server.post(f"/v1/renewals/{id}/pause", {}, 200)
            server.post(f"/v1/renewals/{id}/resume", {}, 200)
        server.advance(TICK)
        at = monitor.mark()
        for n in range(1, 4):
            pass_time(MINUTE)
            same(told(monitor, at), n, "still one chain")
        same(server.delete(f"/v1/renewals/{id}", 200)["status"], "CANCELLED")
        at = monitor.mark()
        for _ in range(3):
            pass_time(MINUTE)
        same(told(monitor, at), 0)
    same(look(server, id)["status"], "CANCELLED")
    for verb in ("pause", "resume", "renew"):
        expect(server.post(f"/v1/renewals/{id}/{verb}", {}, None), 409, "CONFLICT", "CANCELLED")
        expect(server.post(f"/v1/renewals/none/{verb}", {}, None), 404, "NOT_FOUND")
    expect(server.call("DELETE", f"/v1/renewals/{id}"), 409, "CONFLICT", "CANCELLED")
    server.advance("61m")
    look(server, id, 404)


@kept()
def a_cancel_that_races_a_beat_never_revives_it(server, redis):
    """R-10."""
    for n in range(20):
        redis.say("SET", f"race:{n}", "v", "PX", 200000)
    ids = [server.post("/v1/renewals", {"keys": [f"race:{n}"], "every": "1s"}, 201)["id"]
           for n in range(20)]
    over = threading.Event()

    def beats():
        while not over.is_set():
            server.advance(500)
    thread = threading.Thread(target=beats)
    with redis.monitor() as monitor:
        server.advance(1100)  # each has beaten once before it is ended
        thread.start()
        try:
            for n, id in enumerate(ids):
                if n % 2 == 0:
                    server.delete(f"/v1/renewals/{id}", 200)
                else:
                    server.post(f"/v1/renewals/{id}/pause", {}, 200)
                redis.say("ECHO", f"gone-{n}")
        finally:
            over.set()
            thread.join()
        for _ in range(5):
            server.advance(1000)
        monitor.mark()
        told = monitor.lines
        for n in range(20):
            at = next(i for i, words in enumerate(told) if words[:2] == ["ECHO", f"gone-{n}"])
            same([words for words in told[at:] if words[1:2] == [f"race:{n}"]], [], "after the answer")
            same(any(words[1:2] == [f"race:{n}"] for words in told[:at]), True, "before it")


@kept()
def it_is_renewed_by_hand(server, redis):
    """R-01: the answer has what became of the keys."""
    redis.say("SET", "k", "v", "PX", 60000)
    id = register(server, keys=["k", "gone"], every="1m")
    redis.say("PEXPIRE", "k", 5000)
    seen = server.post(f"/v1/renewals/{id}/renew", {}, 200)
    same((seen["last"]["renewed"], seen["last"]["missing"], seen["metrics"]["total"]), (1, 1, 2))
    lives(redis, "k", 5 * MINUTE)
    redis.say("PEXPIRE", "k", 5000)
    beat(server, MINUTE)
    lives(redis, "k", 5 * MINUTE, "its rhythm stays")
    same(look(server, id)["metrics"]["total"], 3)


# ---- strategies


@kept()
def steps_are_taken_one_after_another(server, redis):
    """R-02."""
    redis.say("SET", "k", "v", "PX", 5000)
    id = register(server, keys=["k"], every="1m", strategy={
        "type": "steps", "steps": [{"count": 2, "ttl": "2m"}, {"count": 1, "ttl": "4m"}, {"count": 1, "ttl": "6m"}]})
    for minutes in (2, 2, 4, 6):
        lives(redis, "k", minutes * MINUTE)
        beat(server, MINUTE)
    same(ends(server, id, "COMPLETED")["metrics"]["total"], 4)
    id = register(server, keys=["k"], every="1m", strategy={
        "type": "steps", "steps": [{"count": 1, "ttl": "8m"}, {"ttl": "10m"}]})
    for minutes in (8, 10, 10, 10):
        lives(redis, "k", minutes * MINUTE)
        beat(server, MINUTE)
    same(look(server, id)["status"], "ACTIVE")


@kept()
def until_a_time_never_beyond_it(server, redis):
    """R-02, R-14: and never an EXPIRE of 0, which would delete."""
    redis.say("SET", "k", "v", "PX", 1000)
    until = server.now() + 5 * MINUTE
    with redis.monitor() as monitor:
        id = register(server, keys=["k"], every="1m", shorten=True,
                      strategy={"type": "until", "at": until, "ttl": "3m"})
        lives(redis, "k", 3 * MINUTE)
        for _ in range(4):
            server.advance(MINUTE)
            server.advance(TICK)
            same(redis.ttl("k") <= min(until - server.now(), 3 * MINUTE) + TICK, True, "never beyond it")
        server.advance(until - server.now() - 1)
        server.post(f"/v1/renewals/{id}/renew", {}, 200)
        server.advance(1)
        given = [int(words[2]) for words in monitor.told("PEXPIRE")]
        same((min(given) >= 1, min(given) <= 100, max(given)), (True, True, 3 * MINUTE), f"{given}")
    same(ends(server, id, "COMPLETED")["strategy"]["at"], until)
    made = server.post("/v1/renewals", {"keys": ["k"], "strategy": {"type": "until", "at": 1000}}, None)
    same(made.status in (201, 400), True, "a time that is over")
    if made.status == 201:
        server.advance(1)
        ends(server, made["id"], "COMPLETED")


@kept()
def while_a_condition_holds(server, redis):
    """R-02: a key that is there, that is not, that has a value."""
    for test, setup, undo in (
            ({"exists": True}, (), ("DEL", "k")),
            ({"key": "flag", "exists": True}, ("SET", "flag", "1"), ("DEL", "flag")),
            ({"key": "halt", "exists": False}, ("DEL", "halt"), ("SET", "halt", "1")),
            ({"key": "flag", "equals": "go"}, ("SET", "flag", "go"), ("SET", "flag", "no")),
            ({"key": "what", "equals": "go"}, ("SET", "what", "go"), ("EVAL", "redis.call('DEL', KEYS[1]) "
                                                                      "return redis.call('LPUSH', KEYS[1], 'go')", 1, "what"))):
        redis.say("SET", "k", "v", "PX", 5000)
        if setup:
            redis.say(*setup)
        id = register(server, keys=["k"], every="1m", strategy={"type": "while", "ttl": "5m", **test})
        lives(redis, "k", 5 * MINUTE, test)
        beat(server, MINUTE)
        same((look(server, id)["status"], look(server, id)["metrics"]["total"]), ("ACTIVE", 2), test)
        redis.say("PEXPIRE", "k", 50000)
        redis.say(*undo)
        beat(server, MINUTE)
        ends(server, id, "COMPLETED")
        same(redis.ttl("k") <= 50000, True, f"{test}: it is left alone")


# ---- which keys


@kept()
def keys_are_found_by_prefix_pattern_and_any(server, redis):
    """R-03: a prefix is no pattern; a key that comes twice is renewed once; SCAN, never KEYS."""
    glob = "a[1]*?\\^-:"
    for key in (f"{glob}x", f"{glob}y", "a1b?\\^-:z", "s:1", "s:2", "s:3", "t:1"):
        redis.say("SET", key, "v", "PX", 30000)
    id = register(server, prefix=glob)
    same((results(server, id), look(server, id)["prefix"]), ({"renewed": 2}, glob))
    for key, ms in ((f"{glob}x", 5 * MINUTE), (f"{glob}y", 5 * MINUTE), ("a1b?\\^-:z", 30000)):
        lives(redis, key, ms)
    with redis.monitor() as monitor:
        id = register(server, any=[{"keys": ["s:1", "t:1", "s:1", "none"]}, {"prefix": "s:"}, {"pattern": "s:[12]"}])
        same(sorted(words[1] for words in monitor.told("PEXPIRE")), ["none", "s:1", "s:2", "s:3", "t:1"])
        same((monitor.told("KEYS"), len(monitor.told("SCAN")) >= 2), ([], True))
    same(results(server, id), {"renewed": 4, "missing": 1})
    server.delete(f"/v1/renewals/{id}", 200)
    for key in ("s:1", "s:2"):
        redis.say("PEXPIRE", key, 30000)
    id = register(server, pattern="s:[12]")
    same(results(server, id), {"renewed": 2})
    redis.say("PEXPIRE", "s:1", 30000)
    redis.say("SET", "s:1x", "v", "PX", 30000)
    redis.say("DEL", "s:2")
    beat(server, 100000)
    same(results(server, id), {"renewed": 1}, "it looks anew each time")
    id = register(server, pattern="no such*")
    same((results(server, id), look(server, id)["metrics"]["task_failures"], look(server, id)["failures"]),
         ({}, 0, 0), "no keys is no failure")
    raw = b"bin:\xff\x00\r\n\x80"
    redis.say("SET", raw, "mine", "PX", 30000)
    id = register(server, prefix="bin:", owner="mine")
    same(results(server, id), {"renewed": 1}, "any bytes")
    redis.say("SET", raw, "theirs", "PX", 30000)
    beat(server, 100000)
    same(look(server, id).status, 200, "it can be told of")
    ends(server, id, "LOST")
    lives(redis, raw, 30000)


@kept(engines=("time-wheel",))
def many_keys_are_renewed_in_bounded_batches(server, redis):
    """R-03: 200 000 keys; a page of the scan at a time, while others are served."""
    redis.say("EVAL", "for i = 1, 200000 do redis.call('SET', 'many:' .. i, 1, 'PX', 100000) end", 0)
    redis.say("CONFIG", "RESETSTAT")
    made = server.post("/v1/renewals", {"pattern": "many:*", "strategy": {"type": "fixed", "ttl": "5m"}}, 201)
    server.get("/healthz")
    seen = wait_for(lambda: (one := look(server, made["id"]))["last"] and one, "the round is over")
    same({name: n for name, n in seen["last"].items() if n}, {"renewed": 200000, "bad": []} if seen["last"]["bad"]
         else {"renewed": 200000})
    same((redis.calls("pexpire"), redis.calls("keys")), (200000, 0))
    same(150 <= redis.calls("scan") <= 400, True, f"{redis.calls('scan')} pages")
    for key in ("many:1", "many:77777", "many:200000"):
        lives(redis, key, 5 * MINUTE)


@kept("--set", "limits.renewal_keys=100", engines=("time-wheel",))
def too_many_keys_are_no_silence(server, redis):
    """R-03, R-12: a round that finds more than it may fails, and says so."""
    redis.say("EVAL", "for i = 1, 3000 do redis.call('SET', 'many:' .. i, 1, 'PX', 100000) end", 0)
    id = register(server, pattern="many:*", every="1m", max_retries=1)
    same(look(server, id)["metrics"]["task_failures"], 1)
    beat(server, MINUTE)
    holds(ends(server, id, "FAILED")["why"], "limits.renewal_keys")


# ---- what becomes of each


@kept()
def each_key_has_its_own_true_result(server, redis):
    """R-12, R-15."""
    redis.say("SET", "short", "v", "PX", 5000)
    redis.say("SET", "long", "v", "PX", 10 * MINUTE)
    redis.say("SET", "ever", "v")
    id = register(server, keys=["short", "long", "ever", "gone"], every="1m")
    same(results(server, id), {"renewed": 1, "longer": 1, "persistent": 1, "missing": 1})
    same(look(server, id)["last"]["bad"], [{"key": "gone", "result": "missing"}])
    lives(redis, "short", 5 * MINUTE)
    lives(redis, "long", 10 * MINUTE, "never shortened")
    same((redis.ttl("ever"), redis.ttl("gone")), (-1, -2))
    metrics = look(server, id)["metrics"]
    same((metrics["success"], metrics["failure"], metrics["task_failures"], metrics["success_rate"]), (3, 1, 0, 75))
    for policy, wanted, long, ever in (
            ({"shorten": True}, {"renewed": 2, "persistent": 1}, 5 * MINUTE, None),
            ({"persistent": True}, {"renewed": 2, "longer": 1}, 10 * MINUTE, 5 * MINUTE),
            ({"shorten": True, "persistent": True}, {"renewed": 3}, 5 * MINUTE, 5 * MINUTE)):
        redis.say("SET", "short", "v", "PX", 5000)
        redis.say("SET", "long", "v", "PX", 10 * MINUTE)
        redis.say("SET", "ever", "v")
        for owner in ({}, {"owner": "v"}):
            redis.say("PEXPIRE", "long", 10 * MINUTE)
            redis.say("PERSIST", "ever")
            id = register(server, keys=["short", "long", "ever"], **policy, **owner)
            same(results(server, id), wanted, f"{policy} {owner}")
            lives(redis, "long", long, policy)
            if ever:
                lives(redis, "ever", ever, policy)
            else:
                same(redis.ttl("ever"), -1, policy)
            server.delete(f"/v1/renewals/{id}", 200)


@kept(store="sqlite")
def what_is_not_the_owners_is_lost(server, redis):
    """R-16, R-19: the foreign key is not touched."""
    redis.say("SET", "lock", "me", "PX", 5000)
    id = register(server, keys=["lock"], every="1m", owner="me", name="leader")
    lives(redis, "lock", 5 * MINUTE)
    redis.say("SET", "lock", "you", "PX", 50000)
    beat(server, MINUTE)
    lost = ends(server, id, "LOST")
    holds(lost["why"], "lock", "foreign")
    lives(redis, "lock", 50000, "not touched")
    with redis.monitor() as monitor:
        at = monitor.mark()
        beat(server, 5 * MINUTE)
        same([words for words in monitor.lines[at:] if "lock" in words], [], "nothing any more")
    same(server.metric("tocsin_renewals_lost_total"), 1)
    holds(server.said(), "lost its key", id)
    redis.say("SET", "lock", "7", "PX", 5000)
    id = register(server, keys=["lock"], every="1m", owner=7)
    lives(redis, "lock", 5 * MINUTE, "a fence")
    redis.say("DEL", "lock")
    beat(server, MINUTE)
    holds(ends(server, id, "LOST")["why"], "missing")
    same(redis.say("EXISTS", "lock"), 0)
    redis.say("LPUSH", "list", "me")
    redis.say("PEXPIRE", "list", 50000)
    ends(server, register(server, keys=["list"], owner="me"), "LOST")
    lives(redis, "list", 50000)
    server.restart(9)
    same((look(server, lost["id"])["status"], look(server, lost["id"])["why"]), ("LOST", lost["why"]), "it stays so")
    told_of = [one["doc"] for one in followed(server, 4) if one["type"] == "lost"]
    same(told_of[0], {"id": lost["id"], "name": "leader", "why": lost["why"]})


@kept(engines=("time-wheel",))
def what_does_not_fit_is_refused_and_not_stored(server, redis):
    """R-13: the answer names the field."""
    for wish, part in (
            ({}, "keys, prefix, pattern, any"), ({"keys": ["a"], "prefix": "b"}, "not several"),
            ({"keys": []}, "empty"), ({"keys": "a"}, "keys"), ({"keys": [1]}, "keys"), ({"keys": [""]}, "keys"),
            ({"prefix": ""}, "prefix"), ({"pattern": "x" * 4097}, "pattern"), ({"any": []}, "empty"),
            ({"any": [{"keys": ["a"], "prefix": "b"}]}, "one of keys, prefix, pattern"), ({"any": [{"any": []}]}, "any"),
            ({"keys": ["a"], "every": "5m"}, "every"), ({"keys": ["a"], "every": "6m"}, "every"),
            ({"keys": ["a"], "every": "0s"}, "every"), ({"keys": ["a"], "every": "10ms"}, "every"),
            ({"keys": ["a"], "every": "soon"}, "every"), ({"keys": ["a"], "max_retries": -1}, "max_retries"),
            ({"keys": ["a"], "max_retries": "3"}, "max_retries"), ({"keys": ["a"], "redis": "other"}, "redis"),
            ({"keys": ["a"], "owner": []}, "owner"), ({"keys": ["a"], "shorten": 1}, "shorten"),
            ({"keys": ["a"], "persistent": "no"}, "persistent"), ({"keys": ["a"], "color": "red"}, "color"),
            ({"keys": ["a"], "strategy": {}}, "needs a type"), ({"keys": ["a"], "strategy": {"type": "often"}}, "type"),
            ({"keys": ["a"], "strategy": {"type": "fixed", "ttl": "0s"}}, "ttl"),
            ({"keys": ["a"], "strategy": {"type": "fixed", "ttl": "5m", "at": 1}}, "fixed goes with ttl"),
            ({"keys": ["a"], "strategy": {"type": "steps"}}, "steps needs"),
            ({"keys": ["a"], "strategy": {"type": "steps", "steps": [{"ttl": "1m"}, {"ttl": "2m"}]}}, "without a count"),
            ({"keys": ["a"], "every": "2m", "strategy": {"type": "steps", "steps": [{"count": 1, "ttl": "9m"},
                                                                                     {"ttl": "2m"}]}}, "every"),
            ({"keys": ["a"], "strategy": {"type": "until"}}, "until needs"),
            ({"keys": ["a"], "strategy": {"type": "while"}}, "while needs"),
            ({"prefix": "a", "strategy": {"type": "while", "exists": True}}, "strategy"),
            ({"keys": ["a"], "name": "x" * 256}, "name")):
        expect(server.post("/v1/renewals", wish, None), 400, "VALIDATE_FAILED", part)
    expect(server.post("/v1/renewals", b'{"keys":["a"]', None), 400, "BAD_REQUEST")
    same(server.get("/v1/renewals")["renewals"], [])
    same((server.get("/v1/info")["counts"]["records"], redis.calls("pexpire")), (0, 0))


# ---- a Redis that is not well


@kept(engines=("time-wheel",), clock="system", store="sqlite")
def a_redis_that_is_not_there_is_waited_for(server, redis):
    """R-06, R-12, R-18: down when it was registered, up, killed, up again."""
    redis.kill()
    id = server.post("/v1/renewals", {"keys": ["k"], "every": "300ms", "max_retries": 1000,
                                      "strategy": {"type": "fixed", "ttl": "5m"}}, 201)["id"]
    seen = wait_for(lambda: (one := look(server, id))["last"] and one, "a round")
    same((seen["last"]["failed"], seen["metrics"]["success_rate"]), (1, 0), f"{seen}")
    holds(seen["last"]["why"], "default: ", "refused")
    down = wait_for(lambda: (one := server.get("/healthz"))["renewals"]["status"] == "DOWN" and one, "DOWN")
    same((down["status"], down["renewals"]["active"]), ("WARNING", 1))
    holds(" ".join(down["reasons"]), "no renewal reaches its keys")
    for n in range(2):
        redis.start()
        redis.say("SET", "k", "v", "PX", 50000)
        wait_for(lambda: redis.ttl("k") > 200000, "it is renewed again")
        wait_for(lambda: look(server, id)["failures"] == 0, "a success ends the run of failures")
        if n == 0:
            redis.kill()
            wait_for(lambda: look(server, id)["failures"] > 0, "it fails again")
    wait_for(lambda: server.get("/healthz")["renewals"]["status"] == "UP", "the last ten were good")
    said = server.said()
    holds(said, "redis is not reached", "redis=default")
    same(said.count("not reached") < 20, True, f"a line for each change, not for each try: {said}")
    same(look(server, id)["status"], "ACTIVE")


@kept("--set", "redis.timeout=300ms", engines=("time-wheel",))
def too_many_failures_in_a_row_end_it(server, redis):
    """R-06: and say so; R-13: quick retries do not count."""
    redis.say("SET", "k", "v", "PX", 60000)
    id = register(server, keys=["k"], every="1m", max_retries=2)
    redis.kill()
    for n in range(1, 4):
        same(look(server, id)["status"], "ACTIVE", f"after {n - 1} failures")
        beat(server, MINUTE)
        for _ in range(3):
            server.advance(3000)  # the quick retries
    seen = ends(server, id, "FAILED")
    holds(seen["why"], "3 rounds in a row have failed", "refused")
    same(server.metric("tocsin_renewals_failed_total"), 1)
    same(server.metric("tocsin_renewal_retries_total") >= 3, True)
    holds(server.said(), "failed for good", id)


@alone
def a_redis_that_hangs_harms_nobody_else():
    """R-06, R-11, R-12: no answer is UNKNOWN; another Redis, and tasks, are on time."""
    with Redis() as ill, Redis() as well, \
            Server(*redis_flags(ill, well=well), "--set", "redis.timeout=1s", "--set",
                   "redis.renewal.executor-thread-pool-size=1", clock="system") as server:
        ill.say("SET", "k", "v", "PX", 60000)
        well.say("SET", "k", "v", "PX", 60000)
        wish = {"keys": ["k"], "every": "200ms", "max_retries": 1000, "strategy": {"type": "fixed", "ttl": "5m"}}
        hangs = server.post("/v1/renewals", wish, 201)["id"]
        goes = server.post("/v1/renewals", {**wish, "redis": "well"}, 201)["id"]
        wait_for(lambda: look(server, hangs)["metrics"]["success"] > 0, "it works")
        ill.forget()
        ill.pause()
        wait_for(lambda: (look(server, hangs)["last"] or {"unknown": 0})["unknown"] == 1, "UNKNOWN")
        before = look(server, goes)["metrics"]["total"]
        began = time.monotonic()
        server.add(id="t", delay="100ms")
        same([run["task_id"] for run in server.lease(wait="10s")], ["t"])
        same(time.monotonic() - began < 2, True, f"a task waited {time.monotonic() - began:.2f} s")
        wait_for(lambda: look(server, goes)["metrics"]["total"] >= before + 5, "the other goes on")
        took = time.monotonic() - began
        same(took < 5, True, f"five rounds of 200 ms took {took:.1f} s")
        same(look(server, goes)["metrics"]["failure"], 0)
        holds(look(server, hangs)["last"]["why"] or "", "default: ")
        same(server.get("/healthz")["renewals"]["status"] in ("WARNING", "DOWN"), True)
        ill.go_on()
        ill.say("PEXPIRE", "k", 5000)
        wait_for(lambda: ill.ttl("k") > 200000, "it is renewed again")
        same(server.stop(), 0, server.said())


@alone
def shutdown_waits_ten_seconds_at_most():
    """R-20: with two servers that hang, and a timeout of an hour."""
    with Redis() as one, Redis() as other, \
            Server(*redis_flags(one, other=other), "--set", "redis.timeout=1h", clock="system",
                   store="sqlite") as server:
        ids = []
        for redis, name in ((one, "default"), (other, "other")):
            redis.say("SET", "k", "v", "PX", 60000)
            ids.append(server.post("/v1/renewals", {"keys": ["k"], "every": "100ms", "redis": name}, 201)["id"])
        for id in ids:
            wait_for(lambda id=id: look(server, id)["metrics"]["success"] > 0, "it works")
        one.pause()
        other.pause()
        wait_for(lambda: server.metric("tocsin_renewal_rounds_open") == 2, "both are under way")
        asking = http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE)
        asking.request("POST", f"/v1/renewals/{ids[0]}/renew", b"{}", {"Content-Type": "application/json"})
        for _ in range(2):
            server.get("/healthz")  # it is read before the second of these
        began = time.monotonic()
        same(server.stop(), 0, server.said())
        took = time.monotonic() - began
        same(took < 13, True, f"it took {took:.1f} s")
        answer = asking.getresponse()
        same((answer.status, json.loads(answer.read())["last"]["unknown"]), (200, 1), "who waited is answered")
        asking.close()
        server.start()
        same({look(server, id)["status"] for id in ids}, {"ACTIVE"}, "they are all there")
        one.go_on()
        other.go_on()
        for id in ids:
            wait_for(lambda id=id: look(server, id)["metrics"]["success"] > 0, "they go on")


@kept(engines=("time-wheel",))
def a_redis_that_refuses_is_told_so(server, redis):
    """R-12: READONLY and NOAUTH are results; a full memory does not matter."""
    redis.say("SET", "k", "me", "PX", 60000)
    plain = register(server, keys=["k"], every="1m", max_retries=100)
    owned = register(server, keys=["k"], every="1m", max_retries=100, owner="me")
    redis.say("CONFIG", "SET", "maxmemory", "1")
    for id in (plain, owned):
        redis.say("PEXPIRE", "k", 50000)
        same(server.post(f"/v1/renewals/{id}/renew", {}, 200)["last"]["renewed"], 1, "OOM")
    redis.say("CONFIG", "SET", "maxmemory", "0")
    redis.say("REPLICAOF", "127.0.0.1", "1")
    beat(server, MINUTE)
    for id in (plain, owned):
        same(results(server, id), {"refused": 1}, "a replica")
        holds(look(server, id)["last"]["why"], "default: READONLY")
        same(look(server, id)["last"]["bad"], [{"key": "k", "result": "refused"}])
    redis.say("REPLICAOF", "NO", "ONE")
    redis.say("PEXPIRE", "k", 50000)
    beat(server, MINUTE)
    lives(redis, "k", 5 * MINUTE)
    same((look(server, plain)["failures"], look(server, owned)["failures"]), (0, 0))
    redis.say("CONFIG", "SET", "requirepass", "new")
    redis.say("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    beat(server, MINUTE)
    same(set(results(server, plain)) <= {"failed", "unknown"}, True, results(server, plain))
    beat(server, MINUTE)
    holds(look(server, plain)["last"]["why"], "NOAUTH")
    redis.say("CONFIG", "SET", "requirepass", "")
    redis.say("PEXPIRE", "k", 5000)
    wait_for(lambda: beat(server, MINUTE) or redis.ttl("k") > 200000, "it goes on")
    same({look(server, id)["status"] for id in (plain, owned)}, {"ACTIVE"})


@alone
def a_redis_that_is_loading_is_waited_for():
    with Redis() as redis, Server(*redis_flags(redis)) as server:
        redis.say("DEBUG", "POPULATE", "3000")
        redis.say("SET", "k", "v", "PX", 60000)
        redis.say("SAVE")
        redis.kill()
        redis.start("--key-load-delay", "300", "--loading-process-events-interval-bytes", "1024")
        id = register(server, keys=["k"], max_retries=100)
        seen = look(server, id)["last"]
        if seen["failed"]:
            holds(seen["why"], "LOADING")
        wait_for(lambda: server.post(f"/v1/renewals/{id}/renew", {}, 200)["last"]["renewed"] == 1, "it is renewed")
        lives(redis, "k", 5 * MINUTE)


# ---- a server that is not well


@kept(store="sqlite")
def renewals_survive_a_crash(server, redis):
    """R-17: those that were active go on at once, the others as they were."""
    for key in ("a", "p", "c"):
        redis.say("SET", key, "v", "PX", 60000)
    active, paused, cancelled = (register(server, keys=[key], every="1m") for key in ("a", "p", "c"))
    for _ in range(3):
        beat(server, MINUTE)
    server.post(f"/v1/renewals/{active}/pause", {}, 200)
    server.post(f"/v1/renewals/{active}/resume", {}, 200)
    server.post(f"/v1/renewals/{paused}/pause", {}, 200)
    server.delete(f"/v1/renewals/{cancelled}", 200)
    server.advance(1)
    before = {id: look(server, id) for id in (active, paused, cancelled)}
    for key in ("a", "p", "c"):
        redis.say("PEXPIRE", key, 50000)
    server.restart(signal.SIGKILL)
    server.advance(1)
    lives(redis, "a", 5 * MINUTE, "at once")
    lives(redis, "p", 50000)
    lives(redis, "c", 50000)
    for id, state in ((active, "ACTIVE"), (paused, "PAUSED"), (cancelled, "CANCELLED")):
        seen = look(server, id)
        same(seen["status"], state)
        same(seen["metrics"]["created_ms"], before[id]["metrics"]["created_ms"])
        same(4 <= seen["metrics"]["total"] <= 6, True, f"saved with its state: {seen['metrics']}")
    redis.say("PEXPIRE", "a", 50000)
    beat(server, MINUTE)
    lives(redis, "a", 5 * MINUTE, "its beats go on")
    server.post(f"/v1/renewals/{paused}/resume", {}, 200)
    server.advance(1)
    lives(redis, "p", 5 * MINUTE)
    same(server.get("/healthz")["renewals"], {"status": "UP", "active": 2, "in_trouble": 0})


@kept(engines=("time-wheel",), store="sqlite")
def rounds_are_not_written(server, redis):
    """R-20: only changes of state, and the counters at most once a minute."""
    redis.say("SET", "k", "v", "PX", 60000)
    id = register(server, keys=["k"], every="1s")
    high = server.get("/v1/info")["counts"]["high_rev"]
    for _ in range(50):
        server.advance(1000)
    same(server.get("/v1/info")["counts"]["high_rev"] <= high + 1, True, "when it is first saved is chance")
    for _ in range(1200):
        server.advance(1000)
    after = server.get("/v1/info")["counts"]["high_rev"]
    same(high + 1 <= after <= high + 21, True, f"{after - high} in 20 minutes")
    total = look(server, id)["metrics"]["total"]
    server.restart(9)
    server.advance(1)
    same(total - 700 <= look(server, id)["metrics"]["total"] <= total + 1, True, "the counters, but for some minutes")


# ---- around it


@kept(store="sqlite", engines=("time-wheel",))
def keys_of_calls_and_conditions(server, redis):
    """Idempotency-Key, If-Match, If-None-Match."""
    redis.say("SET", "k", "v", "PX", 60000)
    key, wish = {"Idempotency-Key": "once"}, {"keys": ["k"], "every": "1m"}
    first = server.post("/v1/renewals", wish, 201, key)
    server.restart(9)
    again = server.post("/v1/renewals", wish, 201, key)
    same((again.body, again.headers["idempotency-replayed"]), (first.body, "true"))
    expect(server.post("/v1/renewals", {"keys": ["other"]}, None, key), 409, "CONFLICT", "Idempotency-Key")
    same(len(server.get("/v1/renewals")["renewals"]), 1)
    id, rev = first["id"], first["rev"]
    wrong = {"If-Match": f'"{rev + 100}"'}
    for verb in ("pause", "resume", "renew"):
        expect(server.post(f"/v1/renewals/{id}/{verb}", {}, None, wrong), 412, "CONFLICT")
    expect(server.call("DELETE", f"/v1/renewals/{id}", headers=wrong), 412)
    paused = server.post(f"/v1/renewals/{id}/pause", {}, 200, {"If-Match": f'"{rev}"'})
    same((paused["rev"] > rev, paused.headers["etag"]), (True, f'"{paused["rev"]}"'))
    expect(server.call("DELETE", f"/v1/renewals/{id}", headers={"If-Match": f'"{rev}"'}), 412)
    server.delete(f"/v1/renewals/{id}", 200, {"If-Match": f'"{paused["rev"]}"'})
    for n in range(5):
        server.post("/v1/renewals", {"keys": [f"k{n}"]}, 201)
    page = server.get("/v1/renewals?limit=4")
    rest = server.get(f"/v1/renewals?limit=4&after={page['next']}")
    same((len(page["renewals"]), len(rest["renewals"]), rest["next"]), (4, 2, None))


@kept(engines=("time-wheel",), store="sqlite")
def it_is_told_by_events_metrics_and_health(server, redis):
    """R-08."""
    redis.say("SET", "k", "v", "PX", 60000)
    same(server.get("/healthz")["renewals"], {"status": "UP", "active": 0, "in_trouble": 0}, "no samples")
    good = register(server, keys=["k"], every="1m", name="fine")
    bad = register(server, keys=["gone"], every="1m", max_retries=3)
    health = server.get("/healthz")
    same((health["status"], health["renewals"]), ("WARNING", {"status": "WARNING", "active": 2, "in_trouble": 1}))
    holds(" ".join(health["reasons"]), "renewals are in trouble")
    for _ in range(4):
        beat(server, MINUTE)
    ends(server, bad, "FAILED")
    same(server.get("/healthz")["renewals"], {"status": "UP", "active": 1, "in_trouble": 0},
         "metrics go with their renewal")
    server.post(f"/v1/renewals/{good}/pause", {}, 200)
    for name, value in (("renewals_active", 0), ("renewals_paused", 1), ("renewals_failed_total", 1),
                        ("renewals_cancelled_total", 0), ("renewals_lost_total", 0), ("renewals_limit", 1000000),
                        ("renewals_in_trouble", 0), ("renewal_rounds_open", 0), ("renewal_keys_renewed_total", 5)):
        same(server.metric(f"tocsin_{name}"), value, name)
    rounds, failed = server.metric("tocsin_renewal_rounds_total"), server.metric("tocsin_renewal_rounds_failed_total")
    same((failed >= 4, rounds, server.metric("tocsin_renewal_keys_failed_total")), (True, failed + 5, failed))
    same(server.metric("tocsin_renewal_lateness_seconds_count"), rounds)
    server.post(f"/v1/renewals/{good}/resume", {}, 200)
    server.delete(f"/v1/renewals/{good}", 200)
    seen = followed(server, 6)
    same([(one["kind"], one["type"], one["key"]) for one in seen],
         [("renewal", "registered", good), ("renewal", "registered", bad), ("renewal", "failed", bad),
          ("renewal", "paused", good), ("renewal", "resumed", good), ("renewal", "cancelled", good)])
    same((seen[0]["doc"], seen[2]["doc"]["id"]), ({"id": good, "name": "fine"}, bad))
    holds(seen[2]["doc"]["why"], "4 rounds in a row have failed", "gone: missing")


def followed(server, count):
    """The first events there are."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE)
    connection.request("GET", "/v1/events?after=0")
    answer, seen = connection.getresponse(), []
    while len(seen) < count:
        line = answer.readline()
        if line.startswith(b"data:"):
            seen.append(json.loads(line[5:]))
    connection.close()
    return seen


@kept("--set", "log.level=info", "--set", "redis.renewal.metrics-report-interval=2", engines=("time-wheel",))
def a_report_is_in_the_log(server, redis):
    """R-08: also when there is none."""
    server.advance(2000)
    wait_for(lambda: server.advance(1000) and "renewals: none" in server.said(), "there is none")
    redis.say("SET", "k", "v", "PX", 60000)
    register(server, keys=["k", "gone"], every="1s")
    bad = register(server, keys=["gone"], every="1s", max_retries=100)
    wait_for(lambda: server.advance(1000) and "renewal in trouble" in server.said(), "a report")
    line = next(line for line in server.said().splitlines() if "keys_renewed=" in line)
    holds(line, "msg=renewals ", "active=2", "paused=0", "rounds=", "keys_failed=", "success_percent=", "in_trouble=")
    holds(server.said(), bad, "good_percent=0")


@alone
def servers_have_names_passwords_and_variables():
    """R-07: REDIS_HOST, REDIS_PORT, REDIS_PASSWORD; further ones by name."""
    with Redis(password="s3cret") as one, Redis(password="other/p@ss:word") as other, Redis() as plain:
        for redis in (one, other, plain):
            redis.say("SET", "k", "v", "PX", 5000)
        plain.say("ACL", "SETUSER", "ada", "on", ">pw", "~*", "+@all")
        plain.say("SELECT", 3)
        plain.say("SET", "third", "v", "PX", 5000)
        plain.say("SELECT", 0)
        with Server("--set", f"redis.servers=other=redis://:other/p@ss:word@127.0.0.1:{other.port}/0,"
                             f"plain=redis://127.0.0.1:{plain.port},"
                             f"third=redis://ada:pw@127.0.0.1:{plain.port}/3,wrong=redis://:no@127.0.0.1:{other.port}",
                    variables={"REDIS_HOST": "localhost", "REDIS_PORT": str(one.port),
                               "REDIS_PASSWORD": "s3cret"}) as server:
            for redis, name in ((one, {}), (other, {"redis": "other"}), (plain, {"redis": "plain"})):
                register(server, keys=["k"], **name)
                lives(redis, "k", 5 * MINUTE, name)
            same(results(server, register(server, keys=["third"], redis="third")), {"renewed": 1}, "user, database")
            id = register(server, keys=["k"], redis="wrong")
            holds(look(server, id)["last"]["why"], "wrong: ", "WRONGPASS")
            same("s3cret" in server.said() or "p@ss" in server.said(), False, "a password in the log")
            expect(server.post("/v1/renewals", {"keys": ["k"], "redis": "none"}, None), 400, "VALIDATE_FAILED", "redis")
            same(server.stop(), 0, server.said())


@kept("--set", "limits.renewals=2", engines=("time-wheel",), store="sqlite")
def limits_and_the_switch(server, redis):
    """R-07: redis.renewal.enabled."""
    redis.say("SET", "k", "v", "PX", 60000)
    id = register(server, keys=["k"], every="1m")
    register(server, keys=["k"])
    expect(server.post("/v1/renewals", {"keys": ["k"]}, None), 429, "RATE_LIMITED", "limits.renewals")
    server.words += ["--set", "redis.renewal.enabled=false"]
    server.restart()
    redis.say("PEXPIRE", "k", 50000)
    beat(server, 5 * MINUTE)
    lives(redis, "k", 50000, "they wait")
    same(look(server, id)["status"], "ACTIVE")
    expect(server.post("/v1/renewals", {"keys": ["k"]}, None), 503, "UNAVAILABLE", "redis.renewal.enabled")
    server.words[-1] = "redis.renewal.enabled=true"
    server.restart()
    server.advance(1)
    lives(redis, "k", 5 * MINUTE, "and go on")


if __name__ == "__main__":
    sys.exit(main())
