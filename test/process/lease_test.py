#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lease_test.py TOCSIN [NAME...] - named leases over HTTP (R-30), on a clock that the test moves."""

import http.client
import json
import socket
import sys
import threading

from support import expect, main, same, test, wait_for


def acquire(server, name="deploy", holder="ada", status=201, **wish):
    return server.put(f"/v1/leases/{name}", {"holder": holder, **wish}, status)


def keep(server, lease, status=200, **wish):
    body = {"holder": lease["holder"], "fence": lease["fence"], **wish}
    return server.post(f"/v1/leases/{lease['name']}/keepalive", body, status)


def look(server, name="deploy", status=200):
    return server.call("GET", f"/v1/leases/{name}", None, status)


def release(server, lease, status=200):
    return server.delete(f"/v1/leases/{lease['name']}?holder={lease['holder']}&fence={lease['fence']}", status)


def connect(server):
    """A connection for this alone."""
    return http.client.HTTPConnection(server.host, server.port, timeout=60)


class Waiter:
    """Stands in line; `answer` when it has one."""

    def __init__(self, server, name="deploy", holder="bob", **wish):
        self.server = server
        before = server.metric("tocsin_named_leases_waiting")
        self.connection = connect(server)
        self.connection.request("PUT", f"/v1/leases/{name}", json.dumps({"holder": holder, "wait": "1h", **wish}),
                                {"Content-Type": "application/json"})
        self.answer = None
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()
        wait_for(lambda: self.answer or server.metric("tocsin_named_leases_waiting") > before, f"{holder} to stand in line")

    def read(self):
        try:
            answer = self.connection.getresponse()
            self.answer = (answer.status, json.loads(answer.read()))
        except (OSError, ValueError) as problem:
            self.answer = (0, str(problem))

    def leave(self):
        waiting = self.server.metric("tocsin_named_leases_waiting")
        self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        wait_for(lambda: self.server.metric("tocsin_named_leases_waiting") < waiting, "it to be out of the line")

    def wait(self):
        self.thread.join(20)
        return self.answer


def events(server):
    """Types, holders and fences of all lease events so far."""
    connection = connect(server)
    connection.request("GET", "/v1/events?kind=lease")
    answer = connection.getresponse()
    wanted = (server.metric("tocsin_named_leases_acquired_total") + server.metric("tocsin_named_leases_released_total")
              + server.metric("tocsin_named_leases_expired_total"))
    seen = []
    while len(seen) < wanted:
        line = answer.fp.readline().decode()
        if line.startswith("data: "):
            event = json.loads(line[6:])
            same(event["kind"], "lease")
            seen.append((event["type"], event["doc"]["holder"], event["doc"]["fence"]))
    connection.close()
    return seen


@test(store="sqlite")
def it_is_held_kept_and_ends(server):
    """R-30: acquire, keep alive, the end; it survives kill -9 with the time that was left."""
    lease = acquire(server, ttl="30s")
    same((lease["name"], lease["holder"], lease["ttl_ms"], lease["left_ms"], lease["waiting"]),
         ("deploy", "ada", 30000, 30000, 0))
    same(lease["expires_ms"] - lease["acquired_ms"], 30000)
    same(lease.headers["etag"], f'"{lease["rev"]}"')
    server.advance("10s")
    kept = keep(server, lease)
    same((kept["expires_ms"] - lease["expires_ms"], kept["fence"]), (10000, lease["fence"]))
    server.restart(9)
    after = look(server)  # this clock begins anew with the process: what is left counts
    same((29000 < after["left_ms"] <= 30001, after["fence"], after["holder"]), (True, lease["fence"], "ada"), after)
    refused = server.put("/v1/leases/deploy", {"holder": "bob"}, None)
    expect(refused, 409, "CONFLICT", "holder")
    same((refused["holder"], refused["fence"], refused["expires_ms"], refused["waiting"]),
         ("ada", lease["fence"], after["expires_ms"], 0))
    keep(server, lease, ttl="1m")
    server.advance(look(server)["left_ms"] - 1)
    expect(server.put("/v1/leases/deploy", {"holder": "bob"}, None), 409)
    server.advance(1)
    look(server, status=404)
    lost = server.post("/v1/leases/deploy/keepalive", {"holder": "ada", "fence": lease["fence"]}, None)
    expect(lost, 409, "FENCED", "over")
    same((lost["reason"], lost["holder"]), ("expired", None))
    next = acquire(server, holder="bob")
    same(next["fence"] > lease["fence"], True)
    server.restart(9)
    release(server, next)
    server.restart(9)
    same(acquire(server)["fence"] > next["fence"], True, "also after a release and a restart")


@test()
def the_same_holder_may_ask_again(server):
    """R-30: a lost reply can be asked for again; no call makes a lease shorter."""
    lease = acquire(server, ttl="30s")
    server.advance("5s")
    again = acquire(server, status=200, ttl="30s")
    same((again["fence"], again["left_ms"], again["acquired_ms"]), (lease["fence"], 30000, lease["acquired_ms"]))
    shorter = acquire(server, status=200, ttl="1s")
    same((shorter["left_ms"], shorter["ttl_ms"]), (30000, 1000), "what was told stays true")
    same(keep(server, lease, ttl="100ms")["left_ms"], 30000)
    server.advance("29s")
    same(keep(server, lease)["left_ms"], 1000)
    server.advance("1s")
    same(acquire(server)["fence"] > lease["fence"], True)


@test()
def only_its_holder_keeps_and_releases(server):
    """R-30: FENCED with the reason, and with who has it."""
    lease = acquire(server)
    for wish in ({"holder": "bob"}, {"fence": lease["fence"] + 1}):
        body = {"holder": "ada", "fence": lease["fence"], **wish}
        answer = server.post("/v1/leases/deploy/keepalive", body, None)
        expect(answer, 409, "FENCED")
        same((answer["holder"], answer["reason"]), ("ada", "taken"))
    expect(server.delete("/v1/leases/deploy?holder=bob", None), 409, "FENCED")
    expect(server.delete(f"/v1/leases/deploy?fence={lease['fence'] + 1}", None), 409, "FENCED")
    same(release(server, lease)["fence"], lease["fence"])
    expect(server.delete(f"/v1/leases/deploy?holder=ada&fence={lease['fence']}", None), 404, "NOT_FOUND")
    answer = server.post("/v1/leases/deploy/keepalive", {"holder": "ada", "fence": lease["fence"]}, None)
    same((answer.status, answer["reason"]), (409, "released"))
    other = acquire(server, holder="bob")
    answer = server.post("/v1/leases/deploy/keepalive", {"holder": "ada", "fence": lease["fence"]}, None)
    same((answer.status, answer["code"], answer["reason"], answer["holder"]), (409, "FENCED", "released", "bob"))
    release(server, other)
    acquire(server, holder="eve")
    same(server.delete("/v1/leases/deploy", 200)["holder"], "eve", "an administrator's release")
    same(server.metric("tocsin_named_leases_fenced_total"), 6)
    same([(what, who) for what, who, _ in events(server)],
         [("acquired", "ada"), ("released", "ada"), ("acquired", "bob"), ("released", "bob"), ("acquired", "eve"),
          ("released", "eve")])


@test()
def who_waits_is_served_in_order(server):
    """R-30: first come, first served, the moment it is free."""
    lease = acquire(server)
    line = [Waiter(server, holder=f"w{i}", ttl="10s") for i in range(3)]
    same(look(server)["waiting"], 3)
    refused = server.put("/v1/leases/deploy", {"holder": "hasty"}, None)
    same((refused.status, refused["waiting"]), (409, 3))
    release(server, lease)
    status, first = line[0].wait()
    same((status, first["holder"], first["left_ms"], first["waiting"] >= 2), (201, "w0", 10000, True))
    same((line[1].answer, line[2].answer), (None, None))
    server.advance("10s")
    status, second = line[1].wait()
    same((status, second["holder"], second["fence"] > first["fence"] > lease["fence"]), (201, "w1", True))
    server.delete("/v1/leases/deploy", 200)
    status, third = line[2].wait()
    same((status, third["holder"], look(server)["waiting"]), (201, "w2", 0))
    same([(what, who) for what, who, _ in events(server)],
         [("acquired", "ada"), ("released", "ada"), ("acquired", "w0"), ("expired", "w0"), ("acquired", "w1"),
          ("released", "w1"), ("acquired", "w2")])


@test()
def one_who_has_left_gets_nothing(server):
    """R-30: a closed connection is out of the line."""
    lease = acquire(server)
    gone = Waiter(server, holder="gone")
    stays = Waiter(server, holder="stays")
    gone.leave()
    same(look(server)["waiting"], 1)
    release(server, lease)
    same(stays.wait()[1]["holder"], "stays")
    same(server.metric("tocsin_named_leases_acquired_total"), 2)


@test()
def who_has_waited_enough_is_told_who_has_it(server):
    lease = acquire(server, ttl="1h")
    waiter = Waiter(server, wait="30s")
    server.advance("29s")
    kept = keep(server, lease, ttl="2h")
    same(waiter.answer, None)
    server.advance("1s")
    status, answer = waiter.wait()
    same((status, answer["code"], answer["holder"], answer["expires_ms"]), (409, "CONFLICT", "ada", kept["expires_ms"]))
    same(look(server)["waiting"], 0)
    same(acquire(server, "free", wait="30s")["holder"], "ada", "what is free is not waited for")


@test()
def the_same_holder_in_line_twice_is_answered_twice(server):
    lease = acquire(server)
    first, second = Waiter(server, holder="bob"), Waiter(server, holder="bob")
    again = Waiter(server, holder="ada", ttl="30s")
    same((again.wait()[0], again.wait()[1]["fence"]), (200, lease["fence"]), "its own lease is not waited for")
    release(server, lease)
    one, two = first.wait(), second.wait()
    same((one[0], two[0], one[1]["fence"] == two[1]["fence"]), (201, 200, True))


@test("--set", "limits.leases_in_line=1", "--set", "limits.leases=2")
def lines_and_leases_are_bounded(server):
    acquire(server)
    acquire(server, "other")
    expect(server.put("/v1/leases/third", {"holder": "x"}, None), 429, "RATE_LIMITED", "limits.leases")
    expect(server.put("/v1/leases/third", {"holder": "x", "wait": "1s"}, None), 429, "RATE_LIMITED", "limits.leases")
    waiter = Waiter(server)
    expect(server.put("/v1/leases/deploy", {"holder": "x", "wait": "1s"}, None), 429, "RATE_LIMITED", "limits.leases_in_line")
    same(server.get("/v1/info")["limits"]["leases_in_line"], 1)
    server.delete("/v1/leases/deploy", 200)
    same(waiter.wait()[0], 201)
    server.delete("/v1/leases/other", 200)
    acquire(server, "third")
    same(server.metric("tocsin_named_leases_held"), 2)


@test()
def who_waits_is_answered_when_the_server_stops(server):
    acquire(server)
    waiter = Waiter(server)
    server.stop()
    status, answer = waiter.wait()
    same((status, answer["code"]), (503, "UNAVAILABLE"))


@test()
def conditions_hold_or_nothing_changes(server):
    lease = acquire(server)
    expect(server.put("/v1/leases/deploy", {"holder": "ada"}, None, {"If-None-Match": "*"}), 412)
    expect(server.put("/v1/leases/deploy", {"holder": "ada", "wait": "1h"}, None, {"If-None-Match": "*"}), 412)
    expect(server.delete("/v1/leases/deploy", None, {"If-Match": '"9999"'}), 412, "CONFLICT")
    expect(server.put("/v1/leases/none", {"holder": "ada"}, None, {"If-Match": "*"}), 412)
    body = {"holder": "ada", "fence": lease["fence"]}
    expect(server.post("/v1/leases/deploy/keepalive", body, None, {"If-Match": '"9999"'}), 412)
    key = {"Idempotency-Key": "beat-1"}
    kept = server.post("/v1/leases/deploy/keepalive", body, 200, key)
    server.advance("1s")
    again = server.post("/v1/leases/deploy/keepalive", body, 200, key)
    same((again.body, again.headers["idempotency-replayed"]), (kept.body, "true"))
    expect(server.post("/v1/leases/deploy/keepalive", {**body, "ttl": "1m"}, None, key), 409, "CONFLICT", "Idempotency-Key")
    server.delete("/v1/leases/deploy", 200, {"If-Match": kept.headers["etag"]})


@test()
def bad_wishes_are_refused(server):
    for wish, word in (({}, "holder"), ({"holder": ""}, "holder"), ({"holder": 1}, "holder"), ({"holder": "a\nb"}, "holder"),
                       ({"holder": "h" * 256}, "holder"), ({"holder": "a", "ttl": "99ms"}, "ttl"),
                       ({"holder": "a", "ttl": "25h"}, "ttl"), ({"holder": "a", "ttl": "soon"}, "ttl"),
                       ({"holder": "a", "wait": "25h"}, "wait"), ({"holder": "a", "wait": -1}, "wait"),
                       ({"holder": "a", "x": 1}, "x")):
        expect(server.put("/v1/leases/deploy", wish, None), 400, "VALIDATE_FAILED", word)
    for wish, word in (({"holder": "a"}, "fence"), ({"fence": 1}, "holder"), ({"holder": "a", "fence": 0}, "fence"),
                       ({"holder": "a", "fence": "1"}, "fence"), ({"holder": "a", "fence": 1, "ttl": 1}, "ttl")):
        expect(server.post("/v1/leases/deploy/keepalive", wish, None), 400, "VALIDATE_FAILED", word)
    for query in ("holder=", "fence=0", "fence=x", "who=me"):
        expect(server.delete("/v1/leases/deploy?" + query, None), 400, "VALIDATE_FAILED", query.split("=")[0])
    for name in ("x" * 256, "a%0Ab", "%FF"):
        expect(server.put("/v1/leases/" + name, {"holder": "a"}, None), 400, "VALIDATE_FAILED", "name")
    expect(server.call("POST", "/v1/leases/deploy", {}), 405)
    same(server.get("/v1/leases")["leases"], [])


@test()
def they_are_listed(server):
    for name in ("a", "b%20c", "%E6%A3%8B"):
        acquire(server, name)
    page = server.get("/v1/leases?limit=2")
    rest = server.get(f"/v1/leases?limit=2&after={page['next']}")
    same([one["name"] for one in page["leases"] + rest["leases"]], ["a", "b c", "棋"])
    same(rest["next"], None)


@test()
def events_are_told_by_kind_and_key(server):
    """Of one lease, and of nothing else."""
    acquire(server, "other")
    server.put("/v1/countdowns/deploy", {"owner": "x", "for": "1h"}, 201)
    lease = acquire(server)
    connection = connect(server)
    connection.request("GET", "/v1/events?kind=lease&key=deploy")
    stream = connection.getresponse()
    seen = []

    def next_event():
        while True:
            line = stream.fp.readline().decode()
            if line.startswith("data: "):
                return json.loads(line[6:])

    seen.append(next_event())
    server.delete("/v1/leases/other", 200)
    release(server, lease)
    seen.append(next_event())
    same([(one["type"], one["key"], one["doc"]["holder"]) for one in seen],
         [("acquired", "deploy", "ada"), ("released", "deploy", "ada")])
    connection.close()
    expect(server.call("GET", "/v1/events?kind="), 400, "VALIDATE_FAILED", "kind")
    expect(server.call("GET", "/v1/events?who=x"), 400, "VALIDATE_FAILED", "who")


if __name__ == "__main__":
    sys.exit(main())
