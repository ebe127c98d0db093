#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""schedule_test.py TOCSIN [NAME...] - every and cron, through HTTP on a manual clock."""
import signal
import sys

from support import expect, holds, main, same, test

MINUTE = 60 * 1000
HOUR = 60 * MINUTE


def done(server, **body):
    """Leases what there is and acks it; their due times."""
    runs = server.lease(**body)
    for run in runs:
        same(server.ack(run)["status"], "completed")
    return [run["due_ms"] for run in runs]


# ---- every

@test()
def every_alone_first_comes_after_one_interval_and_does_not_drift(server):  # W-06, W-22
    start = server.now()
    task = server.add(id="a", every="10m", payload=[7])
    same((task["due_ms"], task["status"], task["from"], task["repeat"], task["remaining"]),
         (start + 10 * MINUTE, "pending", "start", -1, -1))
    seen = []
    for late in (0, 3 * MINUTE, 1, 9 * MINUTE, 0):
        due = server.task("a")["due_ms"]
        server.advance(due - server.now() + late)
        run = server.lease_one()
        same((run["task_id"], run["payload"], run["attempt"], run["fired_ms"]), ("a", [7], 1, server.now()))
        seen.append(run["due_ms"])
        same(server.state("a"), "running")
        server.ack(run)
    same(seen, [start + n * 10 * MINUTE for n in range(1, 6)])
    task = server.task("a")
    same((task["executed"], task["failed"], task["skipped"], task["status"]), (5, 0, 0, "pending"))


@test()
def every_with_delay_or_at_is_anchored_there(server):
    start = server.now()
    server.add(id="delay", every="1h", delay="5m")
    server.add(id="at", every="1h", at=start + 7 * MINUTE)
    past = server.add(id="past", every="1h", at=start - 150 * MINUTE)
    same(past["due_ms"], start - 30 * MINUTE, "at once, and in step with the anchor")
    server.advance(0)
    same(done(server), [start - 30 * MINUTE])
    server.advance("10m")
    same(done(server), [start + 5 * MINUTE, start + 7 * MINUTE])
    same([server.task(id)["due_ms"] for id in ("delay", "at", "past")],
         [start + 65 * MINUTE, start + 67 * MINUTE, start + 30 * MINUTE])


@test()
def from_end_waits_one_interval_after_each_end(server):
    start = server.now()
    server.add(id="a", every="10m", **{"from": "end"}, timeout="1d")
    server.advance("10m")
    run = server.lease_one(ttl="1d")
    server.advance("35m")
    same((server.lease(), server.task("a")["due_ms"], server.state("a")), ([], None, "running"))
    server.ack(run)
    same(server.task("a")["due_ms"], start + 55 * MINUTE)
    server.advance("10m")
    same(done(server), [start + 55 * MINUTE])
    same(server.task("a")["skipped"], 0)


@test()
def from_end_keeps_its_time_when_it_is_fired_by_hand(server):
    start = server.now()
    server.add(id="a", every="10m", **{"from": "end"})
    server.advance("4m")
    server.post("/v1/tasks/a/fire")
    server.advance(0)
    server.ack(server.lease_one())
    same(server.task("a")["due_ms"], start + 10 * MINUTE)
    server.advance("6m")
    run = server.lease_one()
    server.post("/v1/tasks/a/pause")
    same(server.task("a")["due_ms"], None, "a pause while it runs: it has no next time")
    server.ack(run)
    server.advance("1h")
    resumed = server.post("/v1/tasks/a/resume")
    same((resumed["due_ms"], resumed["skipped"]), (server.now() + 10 * MINUTE, 0))


@test()
def a_failed_run_does_not_end_a_schedule(server):  # W-22
    server.add(id="a", every="10m", retry={"max": 0})
    for n in range(1, 4):
        server.advance("10m")
        same(server.nack(server.lease_one(), error=f"e{n}")["status"], "failed")
    task = server.task("a")
    same((task["status"], task["executed"], task["failed"]), ("pending", 0, 3))
    same(len(server.get("/v1/incidents")["incidents"]), 3)
    same(server.get("/healthz")["status"], "WARNING")
    same(server.post("/v1/incidents/a/retry")["status"], "running")
    server.advance(0)
    same(len(done(server)), 3)
    task = server.task("a")
    same((task["executed"], task["failed"], server.get("/v1/incidents")["incidents"]), (3, 0, []))


@test(store="sqlite")
def an_ended_schedule_keeps_its_id_while_an_incident_of_it_is_open(server):  # W-22
    def fail_one(id):
        server.add(id=id, every="1m", repeat=1, retry={"max": 0})
        server.advance("1m")
        server.nack(server.lease_one(), error="broken")

    def taken(id):
        expect(server.post("/v1/tasks", {"id": id, "delay": "1h"}, None), 409, "CONFLICT", "open incident")

    for id in ("dropped", "retried", "replaced"):
        fail_one(id)
        same(server.state(id), "failed", "the schedule itself has ended, and not well")
        taken(id)
    line = server.post("/v1/tasks/batch", b'{"id":"dropped"}\n{"id":"other","delay":"1h"}\n',
                       headers={"Content-Type": "application/x-ndjson"}).lines
    same((line[0]["code"], line[1]["status"]), ("CONFLICT", "pending"))
    for how in (signal.SIGTERM, signal.SIGKILL):
        server.restart(how)
        taken("dropped")
        taken("retried")
    server.add(id="of-no-schedule", delay="1h")
    server.delete("/v1/incidents/dropped")
    server.add(id="dropped", delay="1h")
    server.put("/v1/tasks/replaced", {"delay": "1h"}, 201)
    server.post("/v1/incidents/retried/retry")
    server.advance(0)
    server.ack(server.lease_one())
    server.add(id="retried", delay="1h")
    fail_one("again")
    taken("again")


@test()
def a_schedule_ends_as_its_last_run_ended(server):
    for id, good in (("bad", (False, False)), ("mended", (False, True)), ("spoiled", (True, False))):
        server.add(id=id, every="1m", repeat=2, retry={"max": 0})
        for well in good:
            server.advance("1m")
            run = server.lease_one()
            same(run["task_id"], id)
            server.ack(run) if well else server.nack(run)
    tasks = {id: server.task(id) for id in ("bad", "mended", "spoiled")}
    same({id: (task["status"], task["executed"], task["failed"]) for id, task in tasks.items()},
         {"bad": ("failed", 0, 2), "mended": ("completed", 1, 1), "spoiled": ("failed", 1, 1)})
    same(server.get("/v1/tasks/bad/why")["status"], "failed")

    server.add(id="one-shot", retry={"max": 0})
    server.advance(0)
    server.nack(server.lease_one())
    seen, after = [], 0
    while after is not None:
        page = server.get(f"/v1/tasks?status=failed&limit=1&after={after}")
        seen += [task["id"] for task in page["tasks"]]
        after = page["next"]
    same(seen, ["one-shot", "bad", "spoiled"], "incidents, then schedules, each once")
    same([task["id"] for task in server.get("/v1/tasks?status=failed")["tasks"]], seen)
    same([task["id"] for task in server.get("/v1/tasks?status=completed")["tasks"]], ["mended"])

    server.post("/v1/incidents/bad/retry")
    server.advance(0)
    done(server)
    task = server.task("bad")
    same((task["status"], task["executed"], task["failed"]), ("completed", 2, 0), "retried, and well")


@test()
def a_run_that_outlives_its_schedule_is_counted(server):
    for id, end in (("acked", server.ack), ("nacked", server.nack)):
        server.add(id=id, every="1m", retry={"max": 0})
        server.advance("1m")
        run = server.lease_one()
        same(server.delete(f"/v1/tasks/{id}")["executed"], 0)
        end(run)
    counts = {id: [server.task(id)[name] for name in ("status", "executed", "failed")] for id in ("acked", "nacked")}
    same(counts, {"acked": ["cancelled", 1, 0], "nacked": ["cancelled", 0, 1]})

    server.add(id="again", every="1m")
    server.advance("1m")
    run = server.lease_one()
    server.delete("/v1/tasks/again")
    server.add(id="again", every="1m")
    server.delete("/v1/tasks/again")
    server.ack(run)
    same(server.task("again")["executed"], 0, "it was of another schedule")


# ---- repeat

@test()
def repeat_counts_occurrences_that_ended(server):
    """Not retries, skips or fires by hand; failed for good counts."""
    server.add(id="a", every="10m", repeat=3, timeout="1d", retry={"max": 1, "base": "1s", "cap": "1s", "jitter": 0})
    server.advance("10m")
    server.nack(server.lease_one())  # a retry
    server.advance("1s")
    server.ack(server.lease_one())
    same(server.task("a")["remaining"], 2)
    server.post("/v1/tasks/a/fire")  # by hand
    server.advance(0)
    server.ack(server.lease_one())
    task = server.task("a")
    same((task["remaining"], task["executed"]), (2, 2))
    server.advance("10m")
    run = server.lease_one(ttl="1h")
    server.advance("10m")  # a skip, by overlap
    same(server.task("a")["skipped"] > 0, True)
    server.nack(run)
    server.advance("1s")
    server.nack(server.lease_one())  # failed for good
    same((server.task("a")["remaining"], server.task("a")["failed"]), (1, 1))
    server.advance("10m")
    server.ack(server.lease_one())
    task = server.task("a")
    same((task["status"], task["remaining"], task["executed"]), ("completed", 0, 3))
    server.advance("1d")
    same(server.lease(), [])


@test()
def repeat_is_never_overrun_by_runs_at_once(server):
    server.add(id="a", every="1m", repeat=2, overlap="allow")
    server.advance("1m")
    server.advance("1m")
    server.advance("1m")
    runs = server.lease(ttl="1h")
    same(len(runs), 2)
    for run in runs:
        server.ack(run)
    same((server.state("a"), server.lease()), ("completed", []))


# ---- overlap

@test()
def overlap_skip_leaves_out_what_comes_too_soon(server):
    start = server.now()
    server.add(id="a", every="10m", timeout="1d")
    server.advance("10m")
    run = server.lease_one(ttl="1d")
    for _ in range(3):
        server.advance("10m")
    same(server.lease(), [])
    same((server.task("a")["skipped"], server.metric('tocsin_tasks_skipped_total{reason="overlap"}')), (3, 3))
    server.ack(run)
    same(server.lease(), [])
    server.advance("10m")
    same(done(server), [start + 50 * MINUTE])


@test()
def overlap_queue_lets_them_wait_one_by_one(server):
    start = server.now()
    server.add(id="a", every="10m", overlap="queue", timeout="1d")
    server.advance("10m")
    run = server.lease_one(ttl="1d")
    server.advance("10m")
    server.advance("10m")
    same(server.lease(), [])
    seen = []
    for _ in range(3):
        seen.append(run["due_ms"])
        server.ack(run)
        server.advance(0)
        runs = server.lease(ttl="1d")
        run = runs[0] if runs else None
    same((seen, run), ([start + n * 10 * MINUTE for n in (1, 2, 3)], None))
    same((server.task("a")["skipped"], server.task("a")["executed"]), (0, 3))


@test()
def overlap_allow_runs_them_side_by_side(server):
    server.add(id="a", every="10m", overlap="allow", timeout="1d")
    fences = set()
    for _ in range(3):
        server.advance("10m")
        fences.add(server.lease_one(ttl="1d")["fence"])
    same(len(fences), 3)


# ---- misfire, while the server could not see to it: the clock jumps

@test()
def misfire_once_runs_one_for_all_that_were_missed(server):
    start = server.now()
    for id, misfire in (("once", "once"), ("skip", "skip")):
        server.add(id=id, every="10m", misfire=misfire, target={"type": "queue", "queue": id})
    server.advance("65m")
    for queue in ("once", "skip"):
        same(done(server, queue=queue), [start + 60 * MINUTE], queue)
        same((server.task(queue)["skipped"], server.task(queue)["due_ms"]), (5, start + 70 * MINUTE))
    same(server.metric('tocsin_tasks_skipped_total{reason="misfire"}'), 10)


@test()
def misfire_all_runs_each_at_most_the_newest_thousand(server):
    start = server.now()
    for overlap in ("skip", "queue", "allow"):
        server.add(id=overlap, every="10m", misfire="all", overlap=overlap, target={"type": "queue", "queue": overlap})
    server.advance("65m")
    for overlap in ("skip", "queue", "allow"):
        seen = []
        for _ in range(6):
            seen += done(server, queue=overlap)
            server.advance(0)
        same(seen, [start + n * 10 * MINUTE for n in range(1, 7)], overlap)
        same(server.delete(f"/v1/tasks/{overlap}")["skipped"], 0)
    start = server.now()
    server.add(id="many", every="1s", misfire="all", overlap="allow")
    server.advance("1500s")
    seen = done(server, max=1000)
    same(seen, [start + n * 1000 for n in range(501, 1501)])
    same((server.task("many")["skipped"], server.task("many")["executed"]), (500, 1000))


# ---- jitter

@test()
def jitter_is_later_only_stable_by_id_and_not_in_the_rhythm(server):
    start = server.now()
    offsets = set()
    for n in range(8):
        task = server.add(id=f"j{n}", every="10m", jitter="9m", overlap="allow")
        offset = task["due_ms"] - start - 10 * MINUTE
        same(0 <= offset < 9 * MINUTE, True, str(offset))
        offsets.add(offset)
        server.put(f"/v1/tasks/j{n}", {"every": "10m", "jitter": "9m", "overlap": "allow"})
        same(server.task(f"j{n}")["due_ms"], task["due_ms"], "the same when made anew")
    same(len(offsets) > 4, True, str(offsets))
    server.advance("19m")
    first = {run["task_id"]: run["due_ms"] for run in server.lease(ttl="1d")}
    server.advance("10m")
    second = {run["task_id"]: run["due_ms"] for run in server.lease(ttl="1d")}
    same(len(first), 8)
    same({id: due - 10 * MINUTE for id, due in second.items()}, first)
    once = server.add(id="once", delay="1h", jitter="1h")
    same(0 <= once["due_ms"] - server.now() - HOUR < HOUR, True)
    expect(server.post("/v1/tasks", {"cron": "*/5 * * * *", "jitter": "5m"}, None), 400, "VALIDATE_FAILED", "jitter")


# ---- pause, fire

@test()
def what_falls_into_a_pause_is_skipped_and_counted(server):
    start = server.now()
    server.add(id="a", every="10m", misfire="all")
    server.post("/v1/tasks/a/pause")
    server.advance("35m")
    same(server.lease(), [])
    resumed = server.post("/v1/tasks/a/resume")
    same((resumed["due_ms"], resumed["skipped"], resumed["status"]), (start + 40 * MINUTE, 3, "pending"))
    same(server.metric('tocsin_tasks_skipped_total{reason="pause"}'), 3)
    server.advance("5m")
    same(done(server), [start + 40 * MINUTE])
    server.post("/v1/tasks/a/pause", {"until": start + 75 * MINUTE})
    server.advance("34m")
    same((server.lease(), server.state("a")), ([], "paused"))
    server.advance("10m")
    same(done(server), [start + 80 * MINUTE])
    same(server.task("a")["skipped"], 6)


@test()
def a_schedule_that_is_fired_keeps_rhythm_also_when_paused(server):
    start = server.now()
    server.add(id="a", every="1h")
    server.advance("30m")
    same(server.post("/v1/tasks/a/fire")["status"], "running")
    server.advance(0)
    same(done(server), [start + 30 * MINUTE])
    same(server.task("a")["due_ms"], start + HOUR)
    server.post("/v1/tasks/a/pause")
    same(server.post("/v1/tasks/a/fire")["status"], "paused")
    server.advance(0)
    same(done(server), [start + 30 * MINUTE], "a paused task may be fired")
    same((server.state("a"), server.task("a")["executed"]), ("paused", 2))


@test()
def delete_ends_the_rhythm_and_what_waits_but_not_a_run_under_way(server):
    server.add(id="a", every="1m", overlap="queue", retry={"max": 2, "base": "1m"})
    server.advance("1m")
    run = server.lease_one(ttl="1h")
    server.advance("1m")
    server.add(id="b", every="1m", target={"type": "queue", "queue": "b"})
    server.advance("1m")  # b's run waits for a worker
    same(server.get("/v1/queues")["queues"] != [], True)
    for id in "ab":
        same(server.delete(f"/v1/tasks/{id}")["status"], "cancelled")
    same(server.lease("b"), [])
    server.extend(run, ttl="1h")
    server.ack(run)
    server.advance("1h")
    same((server.lease(), server.lease("b"), server.get("/v1/info")["counts"]["records"]), ([], [], 0))


@test()
def put_on_a_schedule_supersedes_its_runs(server):
    server.add(id="a", every="1m", overlap="allow")
    server.advance("1m")
    run = server.lease_one(ttl="1h")
    server.advance("1m")  # another waits for a worker
    server.put("/v1/tasks/a", {"every": "1h"})
    same(server.lease(), [])
    same(server.ack(run).json, {"run": run["run"], "superseded": True})
    same((server.task("a")["executed"], server.state("a")), (0, "pending"))


# ---- cron

@test()
def cron_goes_by_its_zone(server):
    server.set_wall("2026-11-15T04:30:00Z")
    task = server.add(id="a", cron="0 13 * * *", tz="Asia/Shanghai")
    same(task["due_ms"], 1794718800000)
    server.advance("30m")
    same(done(server), [1794718800000])
    same(server.task("a")["due_ms"], 1794718800000 + 24 * HOUR)
    same(server.add(id="b", cron="@daily")["tz"], "UTC")


@test()
def cron_follows_daylight_saving_as_asked(server):
    server.set_wall("2026-03-28T12:00:00Z")  # Berlin: 02:00 to 03:00 is missing on the 29th
    for gap, first in (("shift", "2026-03-29T01:00:00Z"), ("skip", "2026-03-30T00:30:00Z")):
        due = server.add(id=gap, cron="30 2 * * *", tz="Europe/Berlin", dst={"gap": gap})["due_ms"]
        same(due, server.add(id=f"at-{gap}", at=first)["due_ms"], gap)
    server.set_wall("2026-10-24T23:00:00Z")  # 02:30 is there twice on the 25th
    for overlap, times in (("first", ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]),
                           ("last", ["2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"]),
                           ("both", ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"])):
        queue = {"type": "queue", "queue": overlap}
        server.add(id=overlap, cron="30 2 * * *", tz="Europe/Berlin", dst={"overlap": overlap}, target=queue)
        wanted = [server.put("/v1/tasks/probe", {"at": at}, None)["due_ms"] for at in times]
        same(server.task(overlap)["due_ms"], wanted[0], overlap)
    server.advance("100m")
    for overlap in ("first", "both"):
        same(len(done(server, queue=overlap)), 1)
    server.advance("60m")
    same([len(done(server, queue=q)) for q in ("first", "last", "both")], [0, 1, 1])


@test()
def preview_says_when(server):
    answer = server.get("/v1/schedules/preview?cron=30+2+*+*+*&tz=Europe/Berlin&n=2&after=2026-03-28T12:00:00Z")
    same(answer["times"], ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"])
    same(answer["times_ms"], [1774746000000, 1774830600000])
    same(server.get("/v1/schedules/preview?cron=30+2+*+*+*&tz=Europe/Berlin&n=2&after=1774699200000").json,
         answer.json)
    same(len(server.get("/v1/schedules/preview?cron=@hourly")["times"]), 5)
    same(len(server.get("/v1/schedules/preview?cron=*%20*%20*%20*%20*%20*&n=1000")["times"]), 1000)
    same(server.get("/v1/schedules/preview?cron=0+0+30+2+*")["times"], [])
    for query, field in (("", "cron"), ("cron=x", "cron"), ("cron=@daily&tz=Nowhere", "tz"), ("cron=@daily&n=0", "n"),
                         ("cron=@daily&n=1001", "n"), ("cron=@daily&m=5", "m"), ("cron=@daily&after=x", "after"),
                         ("cron=@daily&n=1&n=2", "n")):
        answer = expect(server.get(f"/v1/schedules/preview?{query}", None), 400, "VALIDATE_FAILED")
        holds(answer["detail"], field)


if __name__ == "__main__":
    sys.exit(main())
