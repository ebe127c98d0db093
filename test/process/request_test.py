#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""request_test.py TOCSIN [NAME...] - conditions, Idempotency-Key, batches, lists, limits, and
who may ask."""
import subprocess
import sys

from support import DESCRIPTION, JSON, TOCSIN, Server, alone, expect, holds, main, same, test

NDJSON = {"Content-Type": "application/x-ndjson"}


# ---- conditions

@test()
def if_match_holds_or_nothing_changes(server):
    rev = server.add(id="a", delay="1h", retry={"max": 0})["rev"]
    for headers, good in (({"If-Match": f'"{rev + 1}"'}, False), ({"If-Match": '"0"'}, False),
                          ({"If-None-Match": "*"}, False)):
        before = server.task("a")
        expect(server.put("/v1/tasks/a", {}, None, headers), 412, "CONFLICT")
        expect(server.delete("/v1/tasks/a", None, headers), 412, "CONFLICT")
        for verb in ("pause", "resume", "fire"):
            expect(server.post(f"/v1/tasks/a/{verb}", None, None, headers), 412, "CONFLICT")
        same(server.task("a").json, before.json)
    paused = server.post("/v1/tasks/a/pause", None, 200, {"If-Match": f'"{rev}"'})
    same((paused.headers["etag"], paused["rev"] > rev), (f'"{paused["rev"]}"', True))
    expect(server.put("/v1/tasks/a", {}, None, {"If-Match": f'"{rev}"'}), 412, "CONFLICT", str(paused["rev"]))
    server.put("/v1/tasks/a", {"delay": "1h"}, 200, {"If-Match": paused.headers["etag"]})
    server.delete("/v1/tasks/a", 200, {"If-Match": server.task("a").headers["etag"]})
    for call in (server.put, server.post):
        path = "/v1/tasks/b" if call == server.put else "/v1/tasks"
        expect(call(path, {}, None, {"If-Match": '"1"'}), 412, "CONFLICT")
    expect(server.delete("/v1/tasks/b", None, {"If-Match": '"1"'}), 412)
    for call in (lambda: server.put("/v1/tasks/b", {}, None, {"If-Match": "*"}),
                 lambda: server.delete("/v1/tasks/b", None, {"If-Match": "*"}),
                 lambda: server.post("/v1/tasks/b/pause", None, None, {"If-Match": "*"})):
        expect(call(), 412, "CONFLICT", "there is no such")
    expect(server.post("/v1/tasks/b/pause", None, None), 404, "NOT_FOUND")
    server.put("/v1/tasks/b", {"delay": "1h"}, 201, {"If-None-Match": "*"})
    server.put("/v1/tasks/b", {"delay": "2h"}, 200, {"If-Match": "*"})
    server.post("/v1/tasks/b/pause", None, 200, {"If-Match": "*"})
    expect(server.put("/v1/tasks/b", {}, None, {"If-None-Match": "*"}), 412, "CONFLICT")
    expect(server.post("/v1/tasks", {"id": "b"}, None, {"If-None-Match": "*"}), 412, "CONFLICT")
    for name, value in (("If-Match", "1"), ("If-Match", '"x"'), ("If-Match", "**"), ("If-None-Match", '"1"'),
                        ("If-Match", '"99999999999999999999999"')):
        expect(server.put("/v1/tasks/b", {}, None, {name: value}), 400, "VALIDATE_FAILED", name)


@test()
def revs_only_rise_also_when_an_id_is_used_again(server):
    seen = []
    for _ in range(5):
        seen.append(server.add(id="a", delay="1h")["rev"])
        seen.append(server.post("/v1/tasks/a/pause")["rev"])
        server.delete("/v1/tasks/a")
    same(sorted(set(seen)), seen)


@test()
def prefer_minimal_answers_with_little(server):
    minimal = {"Prefer": "return=minimal"}
    made = server.post("/v1/tasks", {"id": "a", "delay": "1h", "payload": "x"}, 201, minimal)
    same(made.json, {"id": "a", "rev": 1, "due_ms": server.now() + 3600000})
    same(set(server.put("/v1/tasks/a", {"delay": "1h"}, 200, minimal).json), {"id", "rev", "due_ms"})
    lines = server.post("/v1/tasks/batch", b'{"id":"b"}\n{"id":5}\n', 200, {**NDJSON, **minimal}).lines
    same((set(lines[0]), lines[1]["code"]), ({"id", "rev", "due_ms"}, "VALIDATE_FAILED"))


# ---- Idempotency-Key

@test(store="sqlite")
def the_same_key_gets_the_same_answer_also_after_a_restart(server):
    key = {"Idempotency-Key": "k 1"}
    first = server.post("/v1/tasks", {"delay": "1h", "payload": 1}, 201, key)
    given = server.post("/v1/tasks", {"id": "given"}, 201, {"Idempotency-Key": "k2"})
    same("idempotency-replayed" in first.headers, False)

    def ask_again():
        again = server.post("/v1/tasks", {"delay": "1h", "payload": 1}, 201, key)
        same((again.body, again.headers["etag"], again.headers["idempotency-replayed"]),
             (first.body, first.headers["etag"], "true"))
        expect(server.post("/v1/tasks", {"delay": "2h"}, None, key), 409, "CONFLICT", "Idempotency-Key")
        same(server.post("/v1/tasks", {"id": "given"}, 201, {"Idempotency-Key": "k2"}).body, given.body)

    ask_again()
    same(server.metric("tocsin_tasks_added_total"), 2)
    server.ack(server.lease_one(), result=5)
    ask_again()
    same((server.state("given"), server.task("given")["result"]), ("completed", 5), "it did not come back")
    server.restart()
    ask_again()
    server.restart(9)
    ask_again()
    same((len(server.get("/v1/tasks")["tasks"]), server.lease()), (1, []))
    server.advance("24h")
    same(server.post("/v1/tasks", {"delay": "2h"}, 201, key)["id"] == first["id"], False, "a new one")


@test()
def a_key_goes_with_every_post_but_lease(server):
    server.add(id="a", delay="1h", retry={"max": 0})
    key = {"Idempotency-Key": "same words"}
    for verb, body in (("pause", {"until": server.now() + 1000}), ("resume", {}), ("fire", {})):
        first = server.post(f"/v1/tasks/a/{verb}", body, 200, key)
        same(server.post(f"/v1/tasks/a/{verb}", body, 200, key).body, first.body, verb)
        expect(server.post(f"/v1/tasks/a/{verb}", b" {}", None, key), 409, "CONFLICT", "Idempotency-Key")
    run = server.lease_one()
    for verb in ("extend", "nack"):
        first = server.post(f"/v1/runs/{run['run']}/{verb}", {}, 200, key)
        same(server.post(f"/v1/runs/{run['run']}/{verb}", {}, 200, key).body, first.body, verb)
    first = server.post("/v1/incidents/a/retry", {}, 200, key)
    same(server.post("/v1/incidents/a/retry", {}, 200, key).body, first.body)
    run = server.post("/v1/queues/default/lease", {}, 200, key)["runs"][0]
    same(server.post("/v1/queues/default/lease", {}, 200, key)["runs"], [], "a lease is never replayed")
    body = {"runs": [run["run"]]}
    first = server.post("/v1/runs/ack", body, 200, key)
    same(server.post("/v1/runs/ack", body, 200, key).body, first.body)
    for bad in ("", "k" * 256):
        expect(server.post("/v1/tasks", {}, None, {"Idempotency-Key": bad}), 400, "VALIDATE_FAILED", "Idempotency-Key")


@test(store="sqlite")
def a_refusal_is_given_again_too(server):
    def key(name): return {"Idempotency-Key": name}
    asked = [("/v1/tasks", {"id": "a"}, 409, "CONFLICT", key("there is one")),
             ("/v1/tasks/gone/pause", {}, 404, "NOT_FOUND", key("none")),
             ("/v1/tasks/a/pause", {}, 412, "CONFLICT", {**key("old rev"), "If-Match": '"7777"'}),
             ("/v1/runs/r1/ack", {}, 409, "FENCED", key("lost"))]
    server.add(id="a", delay="1h")
    first = [expect(server.post(path, body, None, headers), status, code) for path, body, status, code, headers in asked]
    server.delete("/v1/tasks/a")
    server.add(id="gone", delay="1h")
    fenced = server.metric("tocsin_fenced_total")
    for restart in (None, 9, 15):
        if restart is not None:
            server.restart(restart)
        for (path, body, status, code, headers), said in zip(asked, first):
            again = expect(server.post(path, body, None, headers), status, code)
            same((again.body, again.headers["idempotency-replayed"]), (said.body, "true"), path)
    same((server.state("gone"), server.metric("tocsin_fenced_total")), ("pending", 0))
    same(fenced, 1)
    expect(server.post("/v1/tasks", {"id": "b"}, None, key("there is one")), 409, "CONFLICT", "Idempotency-Key")
    server.task("b", 404)


@test("--set", "limits.tasks_pending=1")
def what_is_wrong_or_has_no_room_may_be_mended_under_the_same_key(server):
    key = {"Idempotency-Key": "k"}
    expect(server.post("/v1/tasks", {"delay": "x"}, None, key), 400)
    server.add(id="a", delay="1h")
    expect(server.post("/v1/tasks", {"id": "b"}, None, key), 429)
    server.delete("/v1/tasks/a")
    server.post("/v1/tasks", {"id": "b"}, 201, key)


@test()
def a_batch_takes_no_conditions(server):
    for name, value in (("If-Match", '"7"'), ("If-Match", "*"), ("If-None-Match", "*")):
        expect(server.post("/v1/tasks/batch", b"{}\n", None, {**NDJSON, name: value}), 400, "VALIDATE_FAILED", name)
    same(server.get("/v1/tasks")["tasks"], [])


@test(store="sqlite")
def a_key_of_a_batch_goes_with_all_of_its_body(server):
    key = {**NDJSON, "Idempotency-Key": "k"}
    server.add(id="there", delay="1h")
    body = b'{"id":"a","delay":"1h"}\n{"id":"there"}\n{"dlay":1}\n{"delay":"1h"}\n'
    first = server.post("/v1/tasks/batch", body, 200, key)
    server.delete("/v1/tasks/there")
    for restart in (None, 9, 15):
        if restart is not None:
            server.restart(restart)
        same(server.post("/v1/tasks/batch", body, 200, key).body, first.body)
        for other in (body + b'{"id":"more"}\n', body[:-1], b"", body.replace(b'"1h"', b'"2h"')):
            expect(server.post("/v1/tasks/batch", other, None, key), 409, "CONFLICT", "Idempotency-Key")
    same(sorted(task["id"] for task in server.get("/v1/tasks")["tasks"]),
         sorted(["a", first.lines[3]["id"]]), "nothing else was stored")
    server.post("/v1/tasks/a/fire", {}, 200)
    run = server.lease_one()["run"]
    key = {"Idempotency-Key": "k"}
    first = server.post("/v1/runs/ack", {"runs": [{"run": run, "result": 1}, "r1"]}, 200, key)
    same(server.post("/v1/runs/ack", {"runs": [{"run": run, "result": 1}, "r1"]}, 200, key).body, first.body)
    for runs in ([{"run": run, "result": 2}, "r1"], [run], []):
        expect(server.post("/v1/runs/ack", {"runs": runs}, None, key), 409, "CONFLICT", "Idempotency-Key")
    same(server.task("a")["result"], 1)


@test("--set", "limits.idempotency_entries=2")
def a_batch_that_has_no_room_for_its_keys_says_so(server):
    key = {**NDJSON, "Idempotency-Key": "k"}
    lines = server.post("/v1/tasks/batch", b"{}\n{}\n", 200, key).lines
    same([line.get("code") for line in lines], [None, "RATE_LIMITED"], "the batch has one, the first line another")
    expect(server.post("/v1/tasks/batch", b"{}\n", None, {**key, "Idempotency-Key": "l"}), 429, "RATE_LIMITED")


@test("--set", "limits.idempotency_entries=3")
def keys_are_limited(server):
    for n in range(3):
        server.post("/v1/tasks", {"id": f"t{n}"}, 201, {"Idempotency-Key": f"k{n}"})
    expect(server.post("/v1/tasks", {"id": "t3"}, None, {"Idempotency-Key": "k3"}), 429, "RATE_LIMITED")
    server.task("t3", 404)
    server.post("/v1/tasks", {"id": "t0"}, 201, {"Idempotency-Key": "k0"})
    server.add(id="t3")
    server.advance("24h")
    server.post("/v1/tasks", {"id": "t4"}, 201, {"Idempotency-Key": "k3"})


@test()
def a_name_in_the_path_follows_the_rule_of_ids(server):
    for id in ("x" * 256, "%01a", "a%7F", "%FF"):
        for method, path in (("GET", f"/v1/tasks/{id}"), ("GET", f"/v1/tasks/{id}/why"), ("DELETE", f"/v1/tasks/{id}"),
                             ("POST", f"/v1/tasks/{id}/pause"), ("POST", f"/v1/queues/{id}/lease")):
            name = "queue" if "/queues/" in path else "id"
            expect(server.call(method, path, {} if method == "POST" else None), 400, "VALIDATE_FAILED", name)
    expect(server.call("GET", "/v1/tasks/" + "x" * 255), 404, "NOT_FOUND")


@test("--set", "limits.tasks_pending=4")
def entries_of_keys_are_no_tasks(server):
    key = ({"Idempotency-Key": f"k{n}"} for n in range(100))
    for n in range(4):
        server.post("/v1/tasks", {"id": f"t{n}"}, 201, next(key))
    for _ in range(3):
        expect(server.post("/v1/tasks", {"id": "t4"}, None, next(key)), 429, "RATE_LIMITED", "tasks_pending")
    server.post("/v1/tasks/t3/pause", {}, 200, next(key))
    same(server.metric("tocsin_idempotency_entries"), 5)
    run = server.lease_one(max=1)
    server.post(f"/v1/runs/{run['run']}/ack", {}, 200, next(key))
    server.post("/v1/tasks", {"id": "t4"}, 201, next(key))
    same(server.metric("tocsin_idempotency_entries"), 7)


# ---- batches

@test(store="sqlite")
def a_batch_is_answered_line_by_line_in_order(server):
    server.add(id="there", delay="1h")
    lines = [b'{"id":"a","delay":"1h","payload":{"x":\t1}}', b'{"id":"there"}', b"{", b"", b'{"id":"b","dlay":1}',
             b'{"id":"a"}', b"{}\r", b'{"cron":"@daily","tz":"Nowhere/Land"}', b'{"id":"z","cron":"@daily"}']
    answer = server.post("/v1/tasks/batch", b"\n".join(lines), 200, NDJSON)
    seen = answer.lines
    same([line.get("code") or line["status"] for line in seen],
         ["pending", "CONFLICT", "BAD_REQUEST", "BAD_REQUEST", "VALIDATE_FAILED", "CONFLICT", "pending",
          "VALIDATE_FAILED", "pending"])
    holds(seen[4]["detail"], "dlay")
    same([line.get("id") for line in seen if "code" in line], ["there", None, None, None, "a", None],
         "whose problem it is")
    holds(answer.body, b'"payload":{"x":\t1}')
    same(server.post("/v1/tasks/batch", b"", 200, NDJSON).body, b"")
    before = server.metric("tocsin_store_commits_total")
    body = b"".join(b'{"id":"n%d","delay":"1h"}\n' % n for n in range(500))
    same(len(server.post("/v1/tasks/batch", body, 200, NDJSON).lines), 500)
    same(server.metric("tocsin_store_commits_total") - before <= 3, True, "one durable commit for what fits")
    key = {**NDJSON, "Idempotency-Key": "k"}
    first = server.post("/v1/tasks/batch", b'{"id":"i1"}\n{}\n', 200, key)
    same(server.post("/v1/tasks/batch", b'{"id":"i1"}\n{}\n', 200, key).body, first.body)
    expect(server.post("/v1/tasks/batch", b'{"id":"i1"}\n{"delay":1}\n', None, key), 409, "CONFLICT")


@test("--set", "limits.batch_lines=10", "--set", "limits.body_bytes=64KiB", "--set", "limits.batch_bytes=64KiB", "--set", "limits.payload_bytes=1KiB")
def what_is_too_large_is_refused_whole(server):
    expect(server.post("/v1/tasks/batch", b"{}\n" * 11, None, NDJSON), 413, "TOO_LARGE")
    same(server.get("/v1/tasks")["tasks"], [])
    expect(server.add(None, id="p", payload="x" * 1023), 400, "VALIDATE_FAILED", "payload")
    server.add(id="p", payload="x" * 1022)
    answer = server.raw(b"POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                        b"Content-Length: 70000\r\nConnection: close\r\n\r\n" + b" " * 70000)
    holds(answer, b"HTTP/1.1 413 ", b'"TOO_LARGE"', b"application/problem+json")


# ---- lists

def pages(server, query, limit):
    seen, after, count = [], "", 0
    while True:
        page = server.get(f"/v1/tasks?limit={limit}{query}{after}")
        same(len(page["tasks"]) <= limit, True)
        seen += [task["id"] for task in page["tasks"]]
        count += 1
        if page["next"] is None:
            return seen, count
        after = f"&after={page['next']}"


def check_lists(server):
    ids = [f"{'ab'[n % 2]}{n:03}" for n in range(100)]
    for n, id in enumerate(ids):
        server.add(id=id, delay="1h", target={"type": "queue", "queue": f"q{n % 5}"})
    for id in ids[50:60]:
        server.post(f"/v1/tasks/{id}/pause")
    for id in ids[90:]:
        server.delete(f"/v1/tasks/{id}")
    order = ids[:50] + ids[60:90] + ids[50:60]  # by rev: what was changed comes later
    same(pages(server, "", 1000), (order, 1))
    same(pages(server, "", 90), (order, 1), "just as many as there are")
    same(pages(server, "", 45), (order, 2))
    same(pages(server, "", 7)[0], order)
    same(pages(server, "&prefix=a", 9)[0], [id for id in order if id[0] == "a"])
    same(pages(server, "&status=paused", 4)[0], ids[50:60])
    same(pages(server, "&queue=q3", 3)[0], [id for id in order if int(id[1:]) % 5 == 3])
    same(pages(server, "&queue=q3&prefix=b&status=pending", 3)[0],
         [id for id in order if int(id[1:]) % 5 == 3 and id[0] == "b" and id not in ids[50:60]])
    same(pages(server, "&status=cancelled", 3)[0], ids[90:])
    same(pages(server, "&status=cancelled", 10), (ids[90:], 1))
    same(pages(server, "&status=cancelled&queue=q1", 3)[0], ["b091", "a096"])
    same(pages(server, "&status=completed", 3), ([], 1))
    server.advance("1h")
    for run in server.lease("q0", max=3):
        server.ack(run)
    same(pages(server, "&status=completed&prefix=a", 1)[0], ["a000", "a010"])
    server.lease("q1", max=2)
    same(pages(server, "&status=running", 10)[0], ["b001", "a006"])
    for query, field in (("limit=0", "limit"), ("limit=1001", "limit"), ("after=x", "after"), ("status=done", "status"),
                         ("stats=pending", "stats"), ("limit=1&limit=2", "limit"), (f"prefix={'p' * 256}", "prefix"),
                         ("prefix=%ff", "prefix"), ("limit=", "limit")):
        answer = expect(server.get(f"/v1/tasks?{query}", None), 400, "VALIDATE_FAILED")
        holds(answer["detail"], field)


@test(store="sqlite")
def lists_filter_and_end(server):
    check_lists(server)


@test(store="sqlite")
def a_list_finds_what_lives_behind_many_dead(server):
    body = b"".join(b'{"id":"n%d","target":{"type":"queue","queue":"q"}}\n' % n for n in range(1000))
    for _ in range(5):
        server.post("/v1/tasks/batch", body, 200, NDJSON)
        runs = [run["run"] for run in server.lease("q", max=1000)]
        server.post("/v1/runs/ack", {"runs": runs}, 200)
    server.add(id="lives", delay="1h")
    page = server.get("/v1/tasks?status=pending")
    same([task["id"] for task in page["tasks"]], ["lives"])


@test(store="memory")
def lists_filter_and_end_in_memory(server):
    check_lists(server)


@test("--set", "limits.tasks_pending=1000")
def too_many_tasks_are_refused_and_room_is_used_again(server):
    body = b'{"delay":"1h"}\n' * 1000
    same({line.get("code", "made") for line in server.post("/v1/tasks/batch", body, 200, NDJSON).lines}, {"made"})
    expect(server.add(None, id="more"), 429, "RATE_LIMITED")
    server.delete(f"/v1/tasks/{server.get('/v1/tasks?limit=1')['tasks'][0]['id']}")
    server.add(id="more")


# ---- who may ask

@test("--set", "allowed_hosts=timer.example,alias.example:99", "--set", "allowed_origins=https://page.example")
def a_foreign_host_or_origin_is_forbidden(server):
    for host, good in ((f"127.0.0.1:{server.port}", True), ("localhost", True), ("[::1]:1", True), ("LOCALHOST:1", True),
                       ("evil.example", False), ("127.0.0.1.evil.example", False), ("timer.example", True),
                       ("timer.example:8080", True), ("alias.example:99", True), ("alias.example", False),
                       ("localhost.evil.example:7400", False)):
        answer = server.call("GET", "/healthz", headers={"Host": host})
        same(answer.status, 200 if good else 403, host)
        if not good:
            expect(answer, 403, "FORBIDDEN", "Host")
    for origin, good in ((f"http://127.0.0.1:{server.port}", True), ("http://evil.example", False), ("null", False),
                         ("https://page.example", True), (f"https://127.0.0.1:{server.port}", False),
                         ("http://127.0.0.1", False)):
        answer = server.call("POST", "/v1/tasks", {}, headers={"Origin": origin})
        same(answer.status, 201 if good else 403, origin)
        if not good:
            expect(answer, 403, "FORBIDDEN", "Origin")


@test()
def http_1_0_may_come_without_a_host(server):
    holds(server.raw(b"GET /healthz HTTP/1.0\r\n\r\n"), b"HTTP/1.1 200 ", b'"UP"')
    holds(server.raw(b"GET /healthz HTTP/1.0\r\nHost: evil.example\r\n\r\n"), b"HTTP/1.1 403 ")
    holds(server.raw(b"GET /healthz HTTP/1.0\r\nOrigin: http://evil.example\r\n\r\n"), b"HTTP/1.1 403 ")
    holds(server.raw(b"GET /healthz HTTP/1.1\r\n\r\n"), b"HTTP/1.1 400 ")
    holds(server.raw(b"\r\nGET /healthz HTTP/1.0\r\n\r\n"), b"HTTP/1.1 200 ")


@test()
def other_content_types_are_refused(server):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/x-ndjson",
                 "application/jsonx", ""):
        expect(server.post("/v1/tasks", b'{"id":"a"}', None, {"Content-Type": kind}), 415, "BAD_REQUEST", "Content-Type")
    server.task("a", 404)
    server.post("/v1/tasks", b"{}", 201, {"Content-Type": "Application/JSON; charset=utf-8"})
    server.post("/v1/tasks/batch", b"{}", 200, JSON)
    expect(server.post("/v1/tasks/batch", b"{}", None, {"Content-Type": "text/plain"}), 415)


TOKEN = "a-secret-of-some-length-0123456789"


@test(token=TOKEN)
def with_a_token_all_but_health_and_the_page_needs_it(server):
    open_to_all = {"/healthz", "/", "/app.js", "/app.css", "/favicon.svg"}
    for method, path, _, _ in DESCRIPTION.routes:
        if path == "/ws":
            continue  # CONNECT carries it: stomp_test.py
        target = path.replace("{", "").replace("}", "")
        for header in ("", "Bearer", "Bearer ", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}"):
            answer = server.call(method.upper(), target, headers={"Authorization": header})
            if path in open_to_all:
                same(answer.status in (200, 404), True, f"{path} {answer.status}")  # 404: built without the page
            else:
                expect(answer, 401, "UNAUTHORIZED")
                holds(answer.headers["www-authenticate"], "Bearer")
    same(server.get("/v1/tasks")["tasks"], [])
    server.add(id="a")


@alone
def without_a_token_it_listens_on_loopback_only():
    for address in ("0.0.0.0:0", "[::]:0"):
        done = subprocess.run([TOCSIN, "serve", "--listen", address, "--store", "memory"], capture_output=True,
                              text=True, timeout=20, check=False)
        same((done.returncode, done.stdout), (2, ""))
        holds(done.stderr, "token")
    server = Server("--listen", "0.0.0.0:0", token=TOKEN, clock="system")
    try:
        server.host = "127.0.0.1"
        server.get("/v1/info")
    finally:
        server.release()


if __name__ == "__main__":
    sys.exit(main())
