#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""restart_test.py TOCSIN [NAME...] - what holds across SIGTERM and kill -9, and what becomes of
what was missed meanwhile.

A server on a manual clock starts at the system's time: what was advanced before is taken
back by a restart, in so far as it had not been committed. So what must be missed by much has
a short time to live here, and misfire_grace is short too.
"""
import signal
import sys
import time

from support import expect, holds, main, same, test, wait_for

KILL = signal.SIGKILL


@test(store="sqlite")
def everything_acknowledged_is_there_after_either(server):  # W-08, W-18
    server.add(id="pending", delay="1h", payload={"x": [1, 2]}, name="N")
    server.add(id="cron", cron="0 13 * * *", tz="Asia/Shanghai")
    server.add(id="every", every="1h", repeat=5, jitter="10m")
    server.add(id="paused", delay="1h")
    server.post("/v1/tasks/paused/pause", {"until": server.now() + 7200000})
    server.add(id="done")
    server.ack(server.lease_one())
    server.add(id="gone", delay="1h")
    server.delete("/v1/tasks/gone")
    server.add(id="failed", retry={"max": 0})
    server.nack(server.lease_one(), error="why")
    ids = ("pending", "cron", "every", "paused", "failed")
    before = {id: server.task(id).json for id in ids}
    incidents = server.get("/v1/incidents").json
    for how in (signal.SIGTERM, KILL, signal.SIGTERM, KILL):
        server.restart(how)
        for id in ids:
            after = server.task(id).json
            same(abs((after.pop("due_ms") or 0) - (before[id]["due_ms"] or 0)) <= 1, True, f"{id} {how}")
            same(after, {k: v for k, v in before[id].items() if k != "due_ms"}, f"{id} {how}")
        same(server.get("/v1/incidents").json, incidents)
        same((server.lease(), server.task("gone", None).status, server.task("done", None).status), ([], 404, 404))
        same(server.records, 5)
        same(server.get("/healthz")["status"], "WARNING")


@test(store="sqlite")
def sigterm_keeps_claims_good(server):
    server.add(id="a", retry={"max": 3, "base": "1s", "jitter": 0})
    server.add(id="b", every="1h")
    server.add(id="c")
    server.post("/v1/tasks/b/fire")
    server.advance(0)
    runs = {run["task_id"]: run for run in server.lease(ttl="10m")}
    same(sorted(runs), ["a", "b", "c"])
    server.delete("/v1/tasks/c", 202)
    server.restart()
    same(server.lease(), [])
    same([server.state(id) for id in "abc"], ["running"] * 3)
    same(server.task("a")["fence"], runs["a"]["fence"])
    same(server.extend(runs["a"], ttl="10m")["run"], runs["a"]["run"])
    expect(server.extend(runs["c"], None), 409, "CANCEL_REQUESTED")
    same(server.nack(runs["a"], error="later")["status"], "pending")
    same(server.ack(runs["b"])["status"], "completed")
    same(server.ack(runs["c"])["status"], "completed")
    same(server.task("b")["executed"], 1)
    server.advance("1s")
    run = server.lease_one()
    same((run["attempt"], run["fence"] > runs["c"]["fence"]), (2, True))
    server.restart()
    same(server.ack(run)["status"], "completed")
    same(server.state("a"), "completed")


@test(store="sqlite")
def kill_refuses_old_claims_and_retries_the_runs(server):
    server.add(id="first")
    server.add(id="second", retry={"max": 1, "base": "1s", "jitter": 0})
    server.add(id="last", retry={"max": 1, "base": "1s", "jitter": 0})
    server.add(id="cancelled", retry={"max": 1, "base": "1s", "jitter": 0})
    runs = {run["task_id"]: run for run in server.lease()}
    for id in ("second", "last"):
        server.nack(runs[id])
    server.advance("1s")
    runs.update({run["task_id"]: run for run in server.lease()})
    same([runs[id]["attempt"] for id in ("first", "second", "last")], [1, 2, 2])
    server.delete("/v1/tasks/cancelled", 202)
    server.restart(KILL)
    for id in runs:
        expect(server.ack(runs[id], None), 409, "FENCED")
    again = server.lease_one()
    same((again["task_id"], again["fence"] > runs["last"]["fence"]), ("first", True))
    same(server.state("cancelled"), "cancelled")
    same([server.state(id) for id in ("second", "last")], ["failed"] * 2, "a second attempt is always written")
    holds(server.task("last")["last_error"], "stopped hard")
    same(len(server.get("/v1/incidents")["incidents"]), 2)


@test("--set", "misfire_grace=300ms", clock="system", store="sqlite")
def a_one_shot_missed_while_it_was_down_follows_its_misfire(server):  # W-08
    for id, wish in (("once", {"misfire": "once"}), ("skip", {"misfire": "skip"}), ("all", {"misfire": "all"}),
                     ("at", {"misfire": "skip", "at": server.now() + 400}), ("future", {"misfire": "skip", "delay": "1h"})):
        server.add(id=id, **({} if "at" in wish or "delay" in wish else {"delay": "400ms"}), **wish)
    server.stop(KILL)
    time.sleep(1.0)
    server.start()
    wait_for(lambda: server.get("/v1/info")["counts"]["ready"] == 2, "the overdue are there")
    same(sorted(run["task_id"] for run in server.lease()), ["all", "once"])
    wait_for(lambda: server.task("skip", None).status == 200 and server.state("skip") == "cancelled", "skipped")
    same([server.state(id) for id in ("skip", "at", "future")], ["cancelled", "cancelled", "pending"])
    same(server.metric('tocsin_tasks_skipped_total{reason="misfire"}'), 2)


@test(clock="system", store="sqlite")
def a_schedule_catches_up_by_its_misfire_after_a_restart(server):
    start = server.now()
    for id in ("once", "skip", "all"):
        server.add(id=id, every="100ms", at=start + 1000, misfire=id, overlap="allow", target={"type": "queue", "queue": id})
    server.stop(KILL)
    time.sleep(max(0.0, start / 1000 + 2.05 - time.time()))
    server.start()

    def caught_up():
        return all(queue["depth"] > 0 for queue in server.get("/v1/queues")["queues"]) \
            and len(server.get("/v1/queues")["queues"]) == 3
    wait_for(caught_up, "they are ready")
    for id in ("once", "skip", "all"):
        server.post(f"/v1/tasks/{id}/pause")
    for id in ("once", "skip", "all"):
        dues = [run["due_ms"] for run in server.lease(id, max=1000)]
        same(all((due - start) % 100 == 0 for due in dues), True, "in step with the anchor")
        task = server.task(id)
        if id == "all":
            same((dues, task["skipped"]), ([start + 1000 + 100 * n for n in range(len(dues))], 0))
            same(len(dues) >= 10, True)
        else:
            same((dues[0] >= start + 1900, task["skipped"] >= 9), (True, True), f"{id} {dues} {task.json}")
            same(len(dues) + task["skipped"], (dues[-1] - start - 1000) // 100 + 1)


@test(store="sqlite")
def nothing_acknowledged_runs_twice_over_many_kills(server):  # W-18
    acked = set()
    for cycle in range(8):
        for n in range(10):
            server.add(id=f"c{cycle}-{n}")
        runs = server.lease(max=8)
        for run in runs[:6]:
            same(run["task_id"] in acked, False, run["task_id"])
            server.ack(run)
            acked.add(run["task_id"])
        server.restart(KILL if cycle % 2 else signal.SIGTERM)
        for run in runs[6:]:
            if cycle % 2:
                expect(server.ack(run, None), 409, "FENCED")
            else:
                server.ack(run)
                acked.add(run["task_id"])
    while True:
        runs = server.lease(max=100)
        if not runs:
            break
        for run in runs:
            same(run["task_id"] in acked, False, run["task_id"])
            server.ack(run)
            acked.add(run["task_id"])
    same((len(acked), server.get("/v1/info")["counts"]["records"]), (80, 0))


if __name__ == "__main__":
    sys.exit(main())
