#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""keep_cli_test.py TOCSIN [NAME...] - does `tocsin keep` do what it says?

The server `mock` of every configuration has all the keys that are asked for; a real Redis is used
where that is not enough.
"""
import json
import re
import sys

from redis_server import Redis
from support import Server, alone, holds, main, same, shared, tocsin

ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\n")


def run(server, *words):
    return tocsin("keep", *words, url=server.url)


def good(server, *words):
    done = run(server, *words)
    same((done.returncode, done.stderr), (0, ""), " ".join(words))
    return done.stdout


def refused(server, *words, code=1):
    done = run(server, *words)
    same((done.returncode, done.stdout), (code, ""), " ".join(words))
    return done.stderr


def made(server, *words):
    """What the server has understood."""
    said = good(server, *words, "--redis", "mock")
    same(bool(ID.fullmatch(said)), True, said)
    return server.get(f"/v1/renewals/{said.strip()}").json


@shared
def words_are_keys_or_patterns(server):
    """R-03."""
    for words, wanted in (
            (["lock:7"], {"keys": ["lock:7"]}), (["a", "b", "--key", "ls", "--key", "x*"], {"keys": ["ls", "x*", "a", "b"]}),
            (["deployment:*"], {"pattern": "deployment:*"}), (["a?"], {"pattern": "a?"}),
            (["a[12]"], {"pattern": "a[12]"}), (["a\\*"], {"pattern": "a\\*"}),
            (["--prefix", "job:*"], {"prefix": "job:*"}),
            (["k", "p:*", "--prefix", "q"], {"any": [{"keys": ["k"]}, {"prefix": "q"}, {"pattern": "p:*"}]})):
        seen = made(server, *words)
        same({name: seen[name] for name in ("keys", "prefix", "pattern", "any") if name in seen}, wanted, words)


@shared
def every_option_arrives(server):
    """R-01, R-02."""
    seen = made(server, "k", "--ttl", "5m", "--every", "2m", "--name", "x y", "--max-retries", "0", "--owner", "me",
                "--shorten", "--persistent")
    same((seen["strategy"], seen["every"], seen["name"], seen["max_retries"], seen["owner"], seen["shorten"],
          seen["persistent"]), ({"type": "fixed", "ttl": 300000}, 120000, "x y", 0, "me", True, True))
    seen = made(server, "k")
    same((seen["strategy"], seen["every"], seen["shorten"], seen["persistent"]),
         ({"type": "fixed", "ttl": 300000}, 30000, False, False), "as the server is configured")
    for words, wanted in (
            (["--steps", "10x5m,10m"], {"type": "steps", "steps": [{"count": 10, "ttl": 300000}, {"ttl": 600000}]}),
            (["--steps", "2x1m"], {"type": "steps", "steps": [{"count": 2, "ttl": 60000}]}),
            (["--until", "2100-01-01T00:00:00+01:00", "--ttl", "1m"], {"type": "until", "ttl": 60000, "at": 4102441200000}),
            (["--until", "4102441200000"], {"type": "until", "ttl": 300000, "at": 4102441200000}),
            (["--while", "flag"], {"type": "while", "ttl": 300000, "key": "flag", "exists": True}),
            (["--while", "!stop"], {"type": "while", "ttl": 300000, "key": "stop", "exists": False}),
            (["--while", "mode=a=b"], {"type": "while", "ttl": 300000, "key": "mode", "equals": "a=b"})):
        same(made(server, "k", *words)["strategy"], wanted, words)
    seen = json.loads(good(server, "k", "--redis", "mock", "--json"))
    same((seen["status"], seen["keys"]), ("ACTIVE", ["k"]))


@shared
def what_is_wrong_is_refused(server):
    for words, part in (([], "a key, a pattern, --key or --prefix is needed"), (["--ttl", "5m"], "is needed"),
                        (["k", "--until", "1", "--steps", "1m"], "one of them"), (["pasue", "x"], "did you mean pause?"),
                        (["k", "--steps", "1m", "--ttl", "1m"], "leave out --ttl"), (["k", "--tll", "1m"], "--ttl?"),
                        (["k", "--max-retries", "x"], "0 to 1000000"), (["k", "--while", "=1"], "KEY=VALUE"),
                        ([""], "empty"), (["k", "--ttl", "soon"], "a duration such as"), (["k", "--every", ""], "a duration"), (["show"], "the id of a renewal"), (["pause"], "the id of a renewal")):
        holds(refused(server, *words, code=2), part)
    for words, part in ((["k", "--ttl", "1ms"], "ttl"), (["k", "--ttl", "1m", "--every", "1m"], "every"),
                        (["k", "--redis", "none"], "redis"), (["k", "--steps", "tenx5m"], "ttl")):
        holds(refused(server, *words), "tocsin keep: ", part, "400 VALIDATE_FAILED")
    for verb in ("show", "pause", "resume", "renew", "cancel"):
        holds(refused(server, verb, "no-such"), f"tocsin keep {verb}: no-such: there is no such renewal (404 NOT_FOUND)")
    error = json.loads(refused(server, "cancel", "no-such", "--json"))
    same((error["command"], error["about"], error["status"]), ("keep cancel", "no-such", 404))


@shared
def several_are_paused_resumed_renewed_and_cancelled(server):
    shown = good(server, "show", good(server, 'a"b', "c\u00e9", "d", "e", "f", "--redis", "mock").strip())
    holds(shown, 'keys         a"b, c\u00e9, d, 2 more\n')
    ids = [good(server, f"m:{n}", "--redis", "mock", "--name", f"number {n}").strip() for n in range(3)]
    same(good(server, "pause", *ids[:2]).splitlines()[0].startswith(f"{ids[0]} PAUSED: "), True)
    table = good(server, "ls", "--all")
    holds(table, "ID ", "STATUS", "KEYS", "EVERY", "ROUNDS", "GOOD", ids[0], "PAUSED", "number 1", "m:2", "mock", "30s")
    same(len(json.loads(good(server, "ls", "--limit", "1", "--json"))["renewals"]), 1)
    paused = good(server, "ls", "--all", "--status", "paused")
    same((ids[0] in paused, ids[1] in paused, ids[2] in paused), (True, True, False))
    holds(refused(server, "ls", "--status", "gone", code=2), "LOST")
    holds(good(server, "resume", ids[0]), f"{ids[0]} ACTIVE: ")
    holds(good(server, "renew", ids[0]), f"{ids[0]} ACTIVE: 1 ")
    shown = good(server, "show", ids[0])
    holds(shown, "number 0", "ACTIVE", "m:0", "every", "30s", "last round", "rounds", "next", "created", "rev")
    done = run(server, "cancel", ids[0], "no-such", ids[1], ids[2])
    same(done.returncode, 1)
    same([line.split(":")[0] for line in done.stdout.splitlines()], [f"{id} CANCELLED" for id in ids])
    holds(done.stderr, "tocsin keep cancel: no-such: ")
    holds(good(server, "show", ids[0]), "CANCELLED", "ended", "not kept after its end")
    holds(refused(server, "renew", ids[0]), "it has ended: CANCELLED (409 CONFLICT)")


@alone
def keys_of_a_real_redis_are_kept():
    """R-12: what became of them is said, and is the exit code."""
    with Redis() as redis, Server("--set", f"redis.port={redis.port}", "--set", "redis.host=127.0.0.1") as server:
        for n in range(3):
            redis.say("SET", f"deployment:{n}", "v", "PX", 5000)
        done = run(server, "deployment:*", "--ttl", "5m", "--every", "2m", "--wait")
        same((done.returncode, done.stderr), (0, ""))
        holds(done.stdout, " ACTIVE: 3 ")
        same(redis.ttl("deployment:1") > 200000, True)
        done = run(server, "deployment:1", "gone", "--ttl", "6m", "--wait")
        same(done.returncode, 1)
        holds(done.stdout, " ACTIVE: 1 ", "1 missing")
        id = done.stdout.split()[0]
        holds(good(server, "show", id), "gone: missing", "50 % of the keys", "\nttl          ")
        same(run(server, "renew", id).returncode, 1)
        redis.say("SET", "gone", "back", "PX", 5000)
        same(run(server, "renew", id).returncode, 0)
        same(json.loads(good(server, "renew", id, "--json"))["last"]["missing"], 0)


@alone
def nobody_there_is_exit_3():
    for words in (["k"], ["ls"], ["show", "x"], ["pause", "x"], ["resume", "x"], ["renew", "x"], ["cancel", "x"]):
        done = tocsin("keep", *words, url="http://127.0.0.1:1")
        same((done.returncode, done.stdout), (3, ""), words)
        holds(done.stderr, "cannot reach ")


@alone
def it_explains_itself():
    said = tocsin("keep", "--help").stdout
    holds(said, "usage: tocsin keep KEY|PATTERN...", "\n  ls ", "\n  show ", "\n  renew ", "--ttl TIME", "--while KEY[=VALUE]")
    holds(tocsin("help", "keep", "renew").stdout, "usage: tocsin keep renew ID...")
    holds(tocsin("completion", "bash").stdout, "'keep '*)", "--max-retries")


if __name__ == "__main__":
    sys.exit(main())
