#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run_test.py TOCSIN [NAME...] - queues, leases, how attempts end, incidents."""
import sys
import threading
import time

from support import expect, holds, main, same, test, wait_for

MINUTE = 60 * 1000


def to(queue):
    return {"type": "queue", "queue": queue}


# ---- queues

@test()
def a_queue_gives_out_by_due_time_then_by_acceptance(server):
    now = server.now()
    for id, at in (("c", now + 3000), ("a", now + 1000), ("b1", now + 2000), ("b2", now + 2000), ("b3", now + 2000)):
        server.add(id=id, at=at)
    server.advance("1h")
    server.add(id="late", at=now)  # at once, and so after those that were due before
    same([server.lease_one(max=1)["task_id"] for _ in range(6)], ["a", "b1", "b2", "b3", "c", "late"])


@test()
def a_lease_takes_at_most_max_of_its_own_queue(server):
    for n in range(5):
        server.add(id=f"x{n}", target=to("x"))
    server.add(id="y", target=to("y é/1"))
    same(len(server.post("/v1/queues/x/lease", {})["runs"]), 1, "max is 1 when left out")
    same(len(server.lease("x", max=3)), 3)
    same([run["task_id"] for run in server.lease("y%20%C3%A9%2F1")], ["y"])
    same([run["task_id"] for run in server.lease("x", max=3)], ["x4"])
    same((server.lease("x"), server.lease("nobody")), ([], []))


@test()
def queues_tell_what_they_hold(server):
    same(server.get("/v1/queues").json, {"queues": []})
    now = server.now()
    for n in range(3):
        server.add(id=f"r{n}", target=to("q"))
    server.add(id="d", delay="1h", target=to("q"))
    server.lease("q", max=1)
    same(server.get("/v1/queues")["queues"],
         [{"queue": "q", "depth": 2, "leased": 1, "delayed": 1, "waiting": 0, "oldest_ms": now}])
    holds(server.get("/metrics").body.decode(), 'tocsin_queue_depth{queue="q"} 2')


@test()
def what_a_lease_asks_for_is_checked(server):
    for body, field in (({"max": 0}, "max"), ({"max": 1001}, "max"), ({"max": "1"}, "max"), ({"wait": "x"}, "wait"),
                        ({"wait": "2h"}, "wait"), ({"ttl": 0}, "ttl"), ({"ttl": "25h"}, "ttl"), ({"tll": 1}, "tll"),
                        ({"wait": -1}, "wait")):
        expect(server.post("/v1/queues/q/lease", body, None), 400, "VALIDATE_FAILED", field)
    expect(server.post(f"/v1/queues/{'q' * 256}/lease", {}, None), 400, "VALIDATE_FAILED")
    expect(server.post("/v1/queues/a%0a/lease", {}, None), 400, "VALIDATE_FAILED", "queue")
    same(server.post("/v1/queues/q/lease", None)["runs"], [], "no body is an empty object")


# ---- waiting

def waiting(server, count, queue="default", **body):
    """Lease calls that wait, each on a thread of its own; what they got, in order of arrival."""
    seen, threads = [], []

    def ask():
        runs = server.lease(queue, **body)
        seen.append((time.monotonic(), runs))

    for _ in range(count):
        threads.append(threading.Thread(target=ask))
        threads[-1].start()
    wait_for(lambda: server.get("/v1/info")["counts"]["waiting_leases"] == count, "they wait")
    return seen, threads


@test(clock="system")
def a_waiting_lease_is_answered_the_moment_a_task_is_due(server):  # W-16
    server.add(id="far", delay="1h")
    seen, threads = waiting(server, 1, wait="20s", max=5)
    server.add(id="near", delay="300ms")
    due = server.task("near")["due_ms"]
    threads[0].join()
    run = seen[0][1][0]
    same(run["task_id"], "near")
    same(run["fired_ms"] >= due, True, "never early")
    same(run["fired_ms"] - due < 250, True, f"late by {run['fired_ms'] - due} ms")


@test()
def each_waiting_lease_gets_its_own(server):
    seen, threads = waiting(server, 3, wait="1h", max=2)
    for n in range(3):
        server.add(id=f"t{n}")
    for thread in threads:
        thread.join()
    same(sorted(run["task_id"] for _, runs in seen for run in runs), ["t0", "t1", "t2"])
    same(len({run["fence"] for _, runs in seen for run in runs}), 3)


@test()
def a_lease_that_waits_in_vain_is_empty(server):
    seen, threads = waiting(server, 1, wait="10m")
    server.advance(10 * MINUTE - 1)
    same(seen, [])
    server.advance(1)
    threads[0].join()
    same(seen[0][1], [])


@test()
def who_went_away_takes_nothing_along(server):
    import socket
    with socket.create_connection((server.host, server.port)) as client:
        body = b'{"wait":"1h"}'
        client.sendall(b"POST /v1/queues/default/lease HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                       b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        wait_for(lambda: server.get("/v1/info")["counts"]["waiting_leases"] == 1, "it waits")
    wait_for(lambda: server.get("/v1/info")["counts"]["waiting_leases"] == 0, "it is gone")
    server.add(id="a")
    same(server.lease_one()["attempt"], 1)


@test("--set", "limits.leases_waiting=2")
def lease_calls_that_wait_are_limited(server):
    seen, threads = waiting(server, 2, wait="1h")
    expect(server.post("/v1/queues/default/lease", {"wait": "1h"}, None), 429, "RATE_LIMITED")
    server.add(id="other", target=to("other"))
    same(server.lease("nobody"), [], "who does not wait is none of them")
    same([run["task_id"] for run in server.lease("other", wait="1h")], ["other"])
    server.advance("1h")
    for thread in threads:
        thread.join()
    same([runs for _, runs in seen], [[], []])


# ---- how an attempt ends

@test()
def a_lease_that_ends_is_a_failed_attempt_with_a_higher_fence(server):  # W-23, W-24
    server.add(id="a", retry={"max": 2, "base": "10s", "factor": 1, "jitter": 0})
    first = server.lease_one(ttl="30s")
    server.advance(29999)
    same(server.state("a"), "running")
    server.advance(1)
    task = server.task("a")
    same((task["status"], task["attempt"], task["due_ms"], task["fence"]),
         ("pending", 1, server.now() + 10000, None))
    holds(task["last_error"], "lease expired")
    for call in (server.ack, server.nack, server.extend):
        expect(call(first, None), 409, "FENCED")
    server.advance("10s")
    second = server.lease_one()
    same((second["attempt"], second["fence"] > first["fence"], second["run"] != first["run"]), (2, True, True))
    expect(server.ack(first, None), 409, "FENCED")
    server.ack(second)
    same((server.state("a"), server.metric("tocsin_leases_expired_total")), ("completed", 1))
    same(server.metric("tocsin_fenced_total"), 4)


@test()
def retries_back_off_exponentially_up_to_the_cap(server):  # W-06, W-15
    server.add(id="a", retry={"max": 6, "base": "1s", "factor": 3, "cap": "20s", "jitter": 0})
    seen = []
    for attempt in range(1, 8):
        run = server.lease_one()
        same(run["attempt"], attempt)
        answer = server.nack(run, error=f"e{attempt}")
        if answer["status"] == "pending":
            due = server.task("a")["due_ms"]
            seen.append(due - server.now())
            same(server.lease(), [])
            server.advance(due - server.now())
    same(seen, [1000, 3000, 9000, 20000, 20000, 20000])
    same(answer["status"], "failed")
    task = server.task("a")
    same((task["status"], task["attempt"], task["last_error"], task["due_ms"]), ("failed", 7, "e7", None))
    same((server.metric("tocsin_tasks_retried_total"), server.metric("tocsin_tasks_failed_total"),
          server.metric("tocsin_attempts_failed_total")), (6, 1, 7))
    server.advance("30d")
    same((server.lease(), server.state("a")), ([], "failed"))


@test()
def the_jitter_of_a_retry_stays_in_its_share(server):
    seen = set()
    for n in range(20):
        server.add(id=f"j{n}", retry={"max": 1, "base": "100s", "cap": "1000s", "jitter": 0.2})
    for run in server.lease():
        server.nack(run)
        seen.add(server.task(run["task_id"])["due_ms"] - server.now())
    same(80000 <= min(seen) and max(seen) <= 120000 and len(seen) > 10, True, str(sorted(seen)))


@test()
def a_nack_may_name_its_delay_and_error(server):
    server.add(id="a")
    run = server.lease_one()
    same(server.nack(run, error="ü" * 2000, delay="1h30m").json, {"run": run["run"], "status": "pending"})
    task = server.task("a")
    same((task["due_ms"], task["last_error"]), (server.now() + 90 * MINUTE, "ü" * 512))
    server.advance("90m")
    run = server.lease_one()
    for body, field in (({"delay": "x"}, "delay"), ({"error": 5}, "error"), ({"err": "x"}, "err"),
                        ({"error": "x" * 4097}, "error")):
        expect(server.nack(run, None, **body), 400, "VALIDATE_FAILED", field)
    same(server.nack(run, delay=0)["status"], "pending")
    same(server.lease_one()["attempt"], 3)


@test()
def extend_keeps_it_and_the_timeout_bounds_it(server):
    server.add(id="a", timeout="1m", retry={"max": 1, "base": "1s", "jitter": 0})
    run = server.lease_one(ttl="40s")
    start = server.now()
    server.advance("30s")
    same(server.extend(run, ttl="20s").json, {"run": run["run"], "lease_until_ms": start + 50000})
    same(server.extend(run)["lease_until_ms"], start + 60000, "30s when left out, but never past the timeout")
    server.advance(29999)
    same(server.state("a"), "running")
    server.advance(1)
    same(server.state("a"), "pending")
    holds(server.task("a")["last_error"], "timeout")
    expect(server.extend(run, None), 409, "FENCED")
    server.advance("1s")
    run = server.lease_one(ttl="1h")
    same(run["lease_until_ms"], server.now() + 60000, "a lease as well")
    for body, field in (({"ttl": 0}, "ttl"), ({"ttl": "25h"}, "ttl"), ({"ttl": "x"}, "ttl"), ({"til": 1}, "til")):
        expect(server.extend(run, None, **body), 400, "VALIDATE_FAILED", field)


@test()
def an_ack_is_good_once_and_the_same_twice(server):
    server.add(id="a")
    run = server.lease_one()
    same(server.ack(run, result=[1]).json, {"run": run["run"], "status": "completed"})
    same(server.ack(run, result=[2]).json, {"run": run["run"], "status": "completed"})
    same((server.task("a")["result"], server.metric("tocsin_tasks_executed_total")), ([1], 1))
    expect(server.nack(run, None), 409, "FENCED")
    expect(server.extend(run, None), 409, "FENCED")
    server.add(id="b")
    run = server.lease_one()
    server.nack(run)
    expect(server.ack(run, None), 409, "FENCED")
    for name in ("x", "r", "r0", "rg", "R1", "r1x", "r" + "f" * 17, "1"):
        expect(server.post(f"/v1/runs/{name}/ack", {}, None), 404, "NOT_FOUND", "run")
    expect(server.post("/v1/runs/r123456789/ack", {}, None), 409, "FENCED")
    expect(server.ack(run, None, result="x" * 16383), 400, "VALIDATE_FAILED", "result")


@test()
def many_acks_are_answered_one_by_one(server):
    for n in range(4):
        server.add(id=f"t{n}")
    runs = server.lease()
    body = {"runs": [runs[0]["run"], {"run": runs[1]["run"], "result": {"n": 1}}, "rffffffff", "no", runs[0]["run"]]}
    results = server.post("/v1/runs/ack", body)["results"]
    same([r.get("code") or r["status"] for r in results], ["completed", "completed", "FENCED", "NOT_FOUND", "completed"])
    same([r["run"] for r in results], [runs[0]["run"], runs[1]["run"], "rffffffff", "no", runs[0]["run"]])
    same((server.task("t1")["result"], server.state("t2")), ({"n": 1}, "running"))
    same(server.post("/v1/runs/ack", {"runs": []})["results"], [])
    same(len(server.post("/v1/runs/ack", {"runs": ["r1"] * 1000})["results"]), 1000)
    for body, field in (({"runs": ["r1"] * 1001}, "runs"), ({}, "runs"), ({"runs": "r1"}, "runs"), ({"runs": [5]}, ""),
                        ({"runs": [{"result": 1}]}, "run"), ({"runs": [], "more": 1}, "more"),
                        ({"runs": [runs[2]["run"], {}]}, "run")):
        answer = expect(server.post("/v1/runs/ack", body, None), 400, "VALIDATE_FAILED")
        holds(answer["detail"], field)
    same(server.state("t2"), "running", "nothing of a refused body is done")


# ---- incidents

@test()
def an_incident_can_be_retried_or_dropped(server):
    for id in ("retry", "drop", "delete", "again"):
        server.add(id=id, name="N", payload={"of": id}, retry={"max": 0})
    for run in server.lease():
        server.nack(run, error=f"{run['task_id']} broke")
    incidents = server.get("/v1/incidents")
    same([(i["task_id"], i["name"], i["attempt"], i["last_error"], i["payload"], i["queue"]) for i in incidents["incidents"]],
         [(id, "N", 1, f"{id} broke", {"of": id}, "default") for id in ("retry", "drop", "delete", "again")])
    same((incidents["next"], server.metric("tocsin_incidents_open")), (None, 4))
    server.add(id="nameless", retry={"max": 0})
    server.nack(server.lease_one(), error="x")
    same(["name" in i for i in server.get("/v1/incidents")["incidents"]], [True] * 4 + [False])
    for verb in ("pause", "resume", "fire"):
        expect(server.post(f"/v1/tasks/nameless/{verb}", {}, None), 409, "CONFLICT", "failed")
    server.delete("/v1/incidents/nameless")
    health = server.get("/healthz")
    same(health["status"], "WARNING")
    holds(health["reasons"][0], "incidents")
    same(server.get("/v1/tasks?status=failed")["tasks"][0]["id"], "retry")
    expect(server.post("/v1/tasks", {"id": "drop"}, None), 409, "CONFLICT", "incident")
    page = server.get("/v1/incidents?limit=3")
    rest = server.get(f"/v1/incidents?limit=3&after={page['next']}")
    same([len(page["incidents"]), len(rest["incidents"]), rest["next"]], [3, 1, None])

    same(server.post("/v1/incidents/retry/retry")["status"], "pending")
    run = server.lease_one()
    same((run["task_id"], run["attempt"]), ("retry", 1))
    server.ack(run)
    same(server.state("retry"), "completed")
    same(server.delete("/v1/incidents/drop").json, {"task_id": "drop", "dropped": 1})
    server.task("drop", 404)
    same(server.delete("/v1/tasks/delete")["status"], "cancelled")
    server.post("/v1/incidents/again/retry")
    server.nack(server.lease_one(), error="anew")
    same([i["last_error"] for i in server.get("/v1/incidents")["incidents"]], ["anew"])
    server.delete("/v1/incidents/again")
    for path in ("again", "none", "retry"):
        expect(server.post(f"/v1/incidents/{path}/retry", None, None), 404, "NOT_FOUND")
        expect(server.delete(f"/v1/incidents/{path}", None), 404, "NOT_FOUND")
    same((server.get("/v1/incidents")["incidents"], server.get("/healthz")["status"]), ([], "UP"))


if __name__ == "__main__":
    sys.exit(main())
