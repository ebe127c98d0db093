#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""task_test.py TOCSIN [NAME...] - a single task from its making to its end, through HTTP."""
import json
import re
import sys
from urllib.parse import quote

from support import JSON, expect, holds, main, same, test

HOUR = 3600 * 1000


# ---- made, due, done

@test()
def a_delay_counts_from_acceptance_and_is_never_early(server):  # W-03, W-12, W-13
    now = server.now()
    task = server.add(id="a", name="A", delay="1h30m", payload={"x": 1})
    same(task.headers["etag"], f'"{task["rev"]}"')
    same((task["status"], task["due_ms"], task["created_ms"], task["attempt"], task["executed"],
          task["last_error"], task["fence"]), ("pending", now + 90 * 60000, now, 0, 0, None, None))
    server.advance(90 * 60000 - 1)
    same(server.lease(), [])
    server.advance(1)
    run = server.lease_one()
    same({k: run[k] for k in ("task_id", "name", "attempt", "due_ms", "fired_ms", "payload", "lease_until_ms")},
         {"task_id": "a", "name": "A", "attempt": 1, "due_ms": now + 90 * 60000,
          "fired_ms": now + 90 * 60000, "payload": {"x": 1}, "lease_until_ms": server.now() + 30000})
    running = server.task("a")
    same((running["status"], running["attempt"], running["fence"]), ("running", 1, run["fence"]))
    same(server.ack(run, result={"sent": True}).json, {"run": run["run"], "status": "completed"})
    done = server.task("a")
    same((done["status"], done["executed"], done["attempt"], done["result"]),
         ("completed", 1, 1, {"sent": True}))
    same(server.lease(), [])


@test()
def durations_are_taken_in_every_form(server):
    now = server.now()
    for i, (delay, ms) in enumerate((("1h30m", 5400000), ("500ms", 500), ("PT5M", 300000), (1234, 1234),
                                     ("0s", 0), ("1w2d", 9 * 24 * HOUR), ("P1DT1H", 25 * HOUR), (0, 0))):
        same(server.add(id=f"d{i}", delay=delay)["due_ms"], now + ms, delay)


@test()
def at_is_an_instant_and_in_the_past_it_fires_at_once(server):
    server.set_wall("2026-11-15T04:59:59Z")
    same(server.add(id="a", at="2026-11-15T13:00:00+08:00")["due_ms"], 1794718800000)
    same(server.add(id="b", at=1794718800001)["at"], "2026-11-15T05:00:00.001Z")
    same(server.lease(), [])
    server.add(id="past", at="2020-01-01T00:00:00Z")
    server.add(id="ancient", at=0)
    same({run["task_id"] for run in server.lease()}, {"past", "ancient"})
    server.advance("1s")
    same([run["task_id"] for run in server.lease()], ["a"])
    server.advance(1)
    same([run["task_id"] for run in server.lease()], ["b"])


@test()
def nothing_given_is_due_at_once_on_the_default_queue(server):
    task = server.post("/v1/tasks", {}, 201)
    same(bool(re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
                           task["id"])), True, task["id"])
    same(task["target"], {"type": "queue", "queue": "default"})
    same(task["retry"], {"max": 3, "base": "1s", "factor": 2, "cap": "1m", "jitter": 0.2})
    same((task["timeout"], task["misfire"], task["overlap"], task["jitter"]), ("5m", "once", "skip", "0ms"))
    run = server.lease_one()
    same((run["task_id"], run["name"], run["payload"]), (task["id"], None, None))
    ids = [server.post("/v1/tasks", {"delay": "1h"}, 201)["id"] for _ in range(20)]
    same(sorted(ids), ids, "made ids ascend")


@test(store="sqlite")
def a_payload_is_given_back_byte_for_byte(server):
    for i, text in enumerate((
            b'{"z":18446744073709551616,"a":1e400,"b":-0.0}', b'[1,  2,\t3 ]', b'"\\u00e9\\/\\ud83d\\ude00 \xc3\xa9"',
            b'123456789012345678901234567890.123456789e-7', b'null', b'{"a":1,"a":2}', b'{ "b" : [ ] , "a":{}}',
            b'"' + b"x" * 65534 + b'"')):
        body = b'{"id":"p%d","payload":%s}' % (i, text)
        made = server.post("/v1/tasks", body, 201)
        holds(made.body, b'"payload":' + text + b',"target"')
        holds(server.task(f"p{i}").body, b'"payload":' + text + b',"target"')
        leased = server.post("/v1/queues/default/lease", {"max": 1})
        holds(leased.body, b'"payload":' + text + b"}")
        server.ack(leased["runs"][0])
        holds(server.task(f"p{i}").body, b'"payload":' + text + b',"target"')


@test()
def an_answer_may_be_sent_again_as_it_stands(server):
    state = {"status", "rev", "due_ms", "created_ms", "attempt", "executed", "last_error", "fence", "failed",
             "skipped", "remaining"}
    for wish in ({"delay": "1h", "payload": [1], "name": "N", "timeout": "1h1m", "retry": {"max": 0, "base": "5ms"}},
                 {"every": "1m", "from": "end", "repeat": 5, "jitter": "30s", "misfire": "all", "overlap": "queue"},
                 {"cron": "0 2 * * *", "tz": "Europe/Berlin", "dst": {"gap": "skip", "overlap": "both"}},
                 {"at": "2030-01-01T00:00:00Z", "target": {"type": "queue", "queue": "q/1 ü"}}):
        first = server.put("/v1/tasks/again", wish, None).json
        sent = {k: v for k, v in first.items() if k not in state}
        second = server.put("/v1/tasks/again", sent, 200).json
        same({k: v for k, v in second.items() if k not in state}, sent)
        for k, v in wish.items():
            if k not in ("retry",):
                same(first[k], v)


# ---- what is refused

@test()
def bad_input_names_its_field_and_stores_nothing(server):
    cases = (
        ({"delai": "5s"}, "delai"), ({"delay": "5x"}, "delay"), ({"delay": -1}, "delay"),
        ({"delay": "-5s"}, "delay"), ({"delay": ""}, "delay"), ({"delay": "5 s"}, "delay"), ({"delay": 1.5}, "delay"),
        ({"delay": None}, "delay"), ({"delay": True}, "delay"), ({"delay": ["5s"]}, "delay"),
        ({"delay": 2 ** 53 + 1}, "delay"), ({"delay": "99999999999999999999h"}, "delay"),
        ({"at": "2026-02-30T00:00:00Z"}, "at"), ({"at": "tomorrow"}, "at"), ({"at": {}}, "at"),
        ({"at": "2026-01-01T00:00:00"}, "at"), ({"delay": "1s", "at": 0}, "at"),
        ({"every": "0s"}, "every"), ({"every": "1m", "cron": "* * * * *"}, "cron"), ({"cron": "61 * * * *"}, "cron"),
        ({"cron": 5}, "cron"), ({"cron": "* * * * *", "tz": "Europe/Berlim"}, "tz"), ({"tz": "UTC"}, "tz"),
        ({"cron": "0 0 30 2 *"}, ""), ({"cron": "* * * * *", "delay": "1s"}, "delay"),
        ({"every": "1m", "repeat": 0}, "repeat"), ({"every": "1m", "repeat": -2}, "repeat"),
        ({"every": "1m", "repeat": 1.5}, "repeat"), ({"repeat": 3}, "repeat"), ({"from": "end"}, "from"),
        ({"every": "1m", "from": "middle"}, "from"), ({"every": "1m", "jitter": "1m"}, "jitter"),
        ({"misfire": "never"}, "misfire"), ({"overlap": 1}, "overlap"),
        ({"cron": "* * * * *", "dst": {"gap": "x"}}, "dst.gap"), ({"dst": {}}, "dst"),
        ({"cron": "* * * * *", "dst": {"hole": "x"}}, "dst.hole"),
        ({"target": {}}, "target.type"), ({"target": {"type": "queue", "queue": ""}}, "target.queue"),
        ({"target": {"type": "queue", "url": "x"}}, "target.url"), ({"target": "default"}, "target"),
        ({"target": {"type": "queue", "queue": "q" * 256}}, "target.queue"),
        ({"retry": {"max": -1}}, "retry.max"), ({"retry": {"max": 1001}}, "retry.max"),
        ({"retry": {"factor": 0.5}}, "retry.factor"), ({"retry": {"jitter": 2}}, "retry.jitter"),
        ({"retry": {"base": "x"}}, "retry.base"), ({"retry": {"tries": 3}}, "retry.tries"), ({"retry": 3}, "retry"),
        ({"timeout": 0}, "timeout"), ({"timeout": "0s"}, "timeout"), ({"name": 5}, "name"),
        ({"name": "a\u0007"}, "name"), ({"name": "n" * 256}, "name"), ({"payload": "x" * 65535}, "payload"),
        ({"id": "i" * 256}, "id"), ({"id": "é" * 128}, "id"), ({"id": ""}, "id"), ({"id": "a\nb"}, "id"),
        ({"id": "a\u001fb"}, "id"), ({"id": "a\u007fb"}, "id"), ({"id": 5}, "id"), ({"id": None}, "id"),
        ({"status": "pending"}, "status"), ({"rev": 1}, "rev"))
    for wish, field in cases:
        answer = server.post("/v1/tasks", {"id": "bad", **wish}, None)
        expect(answer, 400, "VALIDATE_FAILED")
        if not answer["detail"].startswith(field):
            raise AssertionError(f"{wish}: {answer['detail']} does not begin with {field}")
        if "id" not in wish:
            expect(server.put("/v1/tasks/bad", wish, None), 400, "VALIDATE_FAILED")
    server.task("bad", 404)
    same(server.get("/v1/tasks")["tasks"], [])
    same(server.get("/v1/info")["counts"]["high_rev"], 0)


@test()
def what_is_not_json_is_a_bad_request(server):
    for body in (b"", b"{", b"[]", b'{"id":"a",}', b'{"id":"\xff"}', b"nul", b'{"a":1}x', b'{"id":"a"}{"id":"b"}',
                 b'{"payload":' + b"[" * 200 + b"]" * 200 + b"}"):
        answer = server.post("/v1/tasks", body, None, JSON)
        same((answer.status, answer["code"] in ("BAD_REQUEST", "VALIDATE_FAILED")), (400, True), body[:40])
    same(server.get("/v1/tasks")["tasks"], [])


@test()
def ids_are_any_text_of_up_to_255_bytes(server):
    for id in ("a", "i" * 255, "é" * 127 + "x", "a/b c?d#e&f=%41", "名前", "..", "batch", "a.b~c", "😀"):
        same(server.post("/v1/tasks", {"id": id, "delay": "1h"}, 201)["id"], id)
        path = f"/v1/tasks/{quote(id, safe='')}"
        if id != "batch":
            same(server.get(path)["id"], id)
        same(server.get(path + "/why")["id"], id)
        same(server.delete(path)["id"], id)
    for path in ("i" * 256, "a%00b", "a%0ab", "a%1fb", "%ff", "%zz", "%7f"):
        expect(server.call("PUT", f"/v1/tasks/{path}", {}), 400)
        same(server.call("GET", f"/v1/tasks/{path}").status in (400, 404), True, path)
    expect(server.put("/v1/tasks/a", {"id": "b"}, None), 400, "VALIDATE_FAILED", "id")
    same(server.put("/v1/tasks/a", {"id": "a"}, 201)["id"], "a")


# ---- POST, PUT, DELETE in every state

STATES = ("pending", "ready", "running", "retrying", "paused", "failed", "completed", "cancelled",
          "schedule", "schedule running")


def bring(server, id, state):
    """A task of this id in this state; the run, if a worker has one."""
    queue = f"q-{id}"
    wish = {"id": id, "target": {"type": "queue", "queue": queue}, "retry": {"max": 1, "base": "1h", "cap": "1h", "jitter": 0}}
    if state.startswith("schedule"):
        server.add(**wish, every="1h")
        if state == "schedule":
            return None
        server.post(f"/v1/tasks/{id}/fire")
        server.advance(0)
        return server.lease_one(queue)
    server.add(**wish, **({"delay": "1d"} if state in ("pending", "paused", "cancelled") else {}))
    if state in ("pending", "ready"):
        return None
    if state == "paused":
        server.post(f"/v1/tasks/{id}/pause")
        return None
    if state == "cancelled":
        server.delete(f"/v1/tasks/{id}")
        return None
    run = server.lease_one(queue)
    if state == "running":
        return run
    if state == "completed":
        server.ack(run)
        return None
    server.nack(run, error="no")
    if state == "failed":
        server.advance("1h")
        server.nack(server.lease_one(queue), error="never")
    return None


SEEN_AS = {"ready": "pending", "retrying": "pending", "schedule": "pending", "schedule running": "running"}


@test()
def post_is_a_conflict_unless_the_task_has_ended(server):  # W-22
    for n, state in enumerate(STATES):
        id = f"t{n}"
        bring(server, id, state)
        before = server.task(id)
        same(before["status"], SEEN_AS.get(state, state))
        answer = server.post("/v1/tasks", {"id": id, "delay": "5h", "name": "new"}, None)
        if state in ("completed", "cancelled"):
            same((answer.status, server.state(id)), (201, "pending"), state)
        else:
            expect(answer, 409, "CONFLICT", "id")
            same(server.task(id).json, before.json, state)


@test()
def put_makes_or_replaces_in_every_state(server):
    for n, state in enumerate(STATES):
        id = f"t{n}"
        run = bring(server, id, state)
        before = server.task(id)
        due = server.now() + 5 * HOUR
        answer = server.put(f"/v1/tasks/{id}", {"delay": "5h", "name": "new"}, None)
        same(answer.status, 201 if state in ("completed", "cancelled") else 200, state)
        after = server.task(id)
        same((after["status"], after["due_ms"], after["name"], after["attempt"], after["last_error"]),
             ("pending", due, "new", 0, None), state)
        same(after["rev"] > before["rev"], True)
        same(after["created_ms"] == before["created_ms"] or answer.status == 201, True)
        same(server.lease(f"q-{id}"), [], state)
        if run is not None:  # the old run
            expect(server.extend(run, None), 409, "FENCED")
            for _ in range(2):  # the first answer may have been lost
                same(server.ack(run).json, {"run": run["run"], "superseded": True})
            same(server.task(id).json, after.json)
    same(server.get("/v1/incidents")["incidents"], [])
    server.advance("5h")
    same(len(server.lease()), len(STATES))


@test()
def a_nack_of_a_superseded_run_changes_nothing(server):
    run = bring(server, "a", "running")
    server.put("/v1/tasks/a", {"delay": "1h"})
    same(server.nack(run, error="x").json, {"run": run["run"], "superseded": True})
    same((server.state("a"), server.task("a")["last_error"]), ("pending", None))
    expect(server.nack(run, None), 409, "FENCED")


@test()
def delete_answers_truthfully_in_every_state(server):  # W-21
    for n, state in enumerate(STATES):
        id = f"t{n}"
        run = bring(server, id, state)
        answer = server.delete(f"/v1/tasks/{id}", None)
        if state in ("completed", "cancelled"):
            expect(answer, 404, "NOT_FOUND")
            same(server.state(id), state)
        elif state == "running":
            same((answer.status, answer["cancel_requested"], answer["status"]), (202, True, "running"))
            same(server.delete(f"/v1/tasks/{id}", 202)["cancel_requested"], True, "asked twice")
            holds(server.get(f"/v1/tasks/{run['task_id']}/why")["reason"], "asked it to stop")
            expect(server.extend(run, None), 409, "CANCEL_REQUESTED")
            same(server.ack(run)["status"], "completed", "an ack still counts")
            same(server.state(id), "completed")
        else:
            same((answer.status, answer["status"]), (200, "cancelled"), state)
            same(server.state(id), "cancelled")
            if run is not None:
                same(server.extend(run)["run"], run["run"], "the current run may finish")
                same(server.ack(run)["status"], "completed")
        expect(server.delete(f"/v1/tasks/{id}", None), 404)
    expect(server.delete("/v1/tasks/none", None), 404, "NOT_FOUND")
    same(server.get("/v1/incidents")["incidents"], [])
    server.advance("30d")
    for n in range(len(STATES)):
        same(server.lease(f"q-t{n}"), [], "a cancelled task never fires")  # W-12


@test()
def what_was_to_be_cancelled_is_not_retried(server):
    for how in ("nack", "expiry"):
        run = bring(server, how, "running")
        server.delete(f"/v1/tasks/{how}", 202)
        if how == "nack":
            same(server.nack(run, error="stopped")["status"], "cancelled")
        else:
            server.advance("30s")
        same(server.state(how), "cancelled")
    server.advance("2h")
    same(server.lease("q-nack") + server.lease("q-expiry"), [])


# ---- pause, resume, fire

@test()
def a_paused_task_does_not_fire_and_resumes_at_its_time(server):
    server.add(id="a", delay="1h")
    server.add(id="b", delay="3h")
    due = server.task("b")["due_ms"]
    for id in "ab":
        same(server.post(f"/v1/tasks/{id}/pause")["status"], "paused")
    server.advance("2h")
    same(server.lease(), [])
    same((server.state("a"), server.task("b")["due_ms"]), ("paused", due))
    same(server.post("/v1/tasks/b/resume")["status"], "pending")
    same(server.task("b")["due_ms"], due)
    server.post("/v1/tasks/a/resume")
    same(server.lease_one()["task_id"], "a", "its time was in the pause")
    same(server.post("/v1/tasks/a/resume")["status"], "running", "not paused: nothing happens")
    server.advance("1h")
    same([run["task_id"] for run in server.lease()][-1], "b")


@test()
def a_pause_until_ends_by_itself(server):
    server.add(id="a", delay="1h")
    until = server.now() + 3 * HOUR
    same(server.post("/v1/tasks/a/pause", {"until": until})["status"], "paused")
    same(server.get("/v1/tasks/a/why")["pause_until_ms"], until)
    server.advance(3 * HOUR - 1)
    same((server.state("a"), server.lease()), ("paused", []))
    server.advance(1)
    same(server.lease_one()["task_id"], "a")
    server.put("/v1/tasks/b", {"delay": "1h"}, 201)
    server.post("/v1/tasks/b/pause", {"until": "2020-01-01T00:00:00Z"})
    server.advance(0)
    same(server.state("b"), "pending", "until in the past")
    for body, field in (({"until": "soon"}, "until"), ({"until": None}, "until"), ({"till": 1}, "till")):
        expect(server.post("/v1/tasks/b/pause", body, None), 400, "VALIDATE_FAILED", field)


@test()
def pause_is_refused_while_it_runs_or_has_failed(server):
    for state, code in (("running", 409), ("failed", 409), ("completed", 404), ("ready", 200),
                        ("retrying", 200), ("paused", 200), ("schedule", 200), ("schedule running", 200)):
        id = state.replace(" ", "-")
        bring(server, id, state)
        same(server.post(f"/v1/tasks/{id}/pause", None, None).status, code, state)
        if code == 200:
            same((server.state(id), server.lease(f"q-{id}")), ("paused", []), state)
    expect(server.post("/v1/tasks/none/pause", None, None), 404)
    server.post("/v1/tasks/retrying/resume")
    same(server.lease("q-retrying"), [], "its delay still holds")
    server.advance("2h")
    run = server.lease_one("q-retrying")
    same((run["attempt"], server.state("retrying")), (2, "running"))


@test()
def fire_uses_up_a_one_shot(server):
    for state in ("pending", "paused", "ready", "retrying"):
        bring(server, state, state)
        same(server.post(f"/v1/tasks/{state}/fire")["status"], "pending")
        run = server.lease_one(f"q-{state}")
        same((run["task_id"], run["attempt"]), (state, 2 if state == "retrying" else 1))
        expect(server.post(f"/v1/tasks/{state}/fire", None, None), 409, "CONFLICT", "running")
        server.ack(run)
        same(server.state(state), "completed")
        expect(server.post(f"/v1/tasks/{state}/fire", None, None), 404)
    bring(server, "failed", "failed")
    expect(server.post("/v1/tasks/failed/fire", None, None), 409, "CONFLICT", "incidents")
    server.advance("2d")
    for state in ("pending", "paused", "ready", "retrying"):
        same(server.lease(f"q-{state}"), [])


# ---- why, finished

@test()
def why_says_what_holds_it_up_in_each_state(server):
    words = {"pending": "not due yet: 1d to go", "ready": "waits in its queue", "running": "a worker has it: attempt 1",
             "retrying": "not due yet: 1h to go", "paused": "paused until somebody", "failed": "failed for good after 2",
             "schedule": "not due yet", "schedule running": "1 of its runs are open"}
    for n, state in enumerate(STATES):
        run = bring(server, f"t{n}", state)
        answer = server.get(f"/v1/tasks/t{n}/why")
        same(list(answer.json), ["id", "status", "reason", "now_ms", "due_ms", "attempt", "last_error", "pause_until_ms",
                                 "queue", "lease", "skipped", "node"], f"the same in each state, also {state}")
        same((answer["node"], answer["queue"]), ("n1", f"q-t{n}"))
        if state in ("completed", "cancelled"):
            task = server.task(f"t{n}")
            same([answer[name] for name in ("status", "due_ms", "attempt", "lease")],
                 [state, task["due_ms"], task["attempt"], None])
            holds(answer["reason"], state)
            continue
        holds(answer["reason"], words[state])
        same(answer["status"], SEEN_AS.get(state, state))
        same(answer.headers["etag"], server.task(f"t{n}").headers["etag"])
        if state == "running":
            same(answer["lease"], {"run": run["run"], "fence": run["fence"], "until_ms": run["lease_until_ms"]})
        if state in ("retrying", "failed"):
            same(answer["last_error"], "no" if state == "retrying" else "never")
        server.delete(f"/v1/tasks/t{n}", None)
    expect(server.get("/v1/tasks/none/why", None), 404, "NOT_FOUND")


@test("--set", "limits.finished_tasks=10")
def the_last_finished_tasks_can_be_read(server):
    for n in range(15):
        server.add(id=f"t{n}", payload=n)
        server.ack(server.lease_one())
    same([server.task(f"t{n}", None).status for n in range(15)], [404] * 5 + [200] * 10)
    same(server.get("/v1/info")["counts"]["finished_kept"], 10)
    server.add(id="t14", delay="1h")  # made anew: the old one is forgotten
    same(server.state("t14"), "pending")
    server.delete("/v1/tasks/t14")
    same(server.state("t14"), "cancelled")


@test("--set", "misfire_grace=60s")
def a_one_shot_that_was_missed_follows_its_misfire(server):
    """Late by a pause, since the server was there all the time."""
    for id, misfire in (("run", "once"), ("skip", "skip"), ("all", "all")):
        server.add(id=id, delay="1h", misfire=misfire)
        server.post(f"/v1/tasks/{id}/pause")
    server.add(id="in time", delay="1h", misfire="skip")
    server.post("/v1/tasks/in%20time/pause")
    server.advance(HOUR + 60000)
    server.post("/v1/tasks/in%20time/resume")
    server.advance(1)
    for id in ("run", "skip", "all"):
        server.post(f"/v1/tasks/{id}/resume")
    server.advance(0)
    same(sorted(run["task_id"] for run in server.lease()), ["all", "in time", "run"])
    skipped = server.task("skip")
    same(skipped["status"], "cancelled")
    holds(skipped["last_error"], "missed")
    same(server.metric('tocsin_tasks_skipped_total{reason="misfire"}'), 1)


if __name__ == "__main__":
    sys.exit(main())
