#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kill_test.py TOCSIN [PART] - kill -9 at any moment, again and again: is what was
acknowledged there, and done once? (W-17, W-18, W-19, W-23; laws 1 to 4)

Owners and workers (load.py) do everything a task allows over several connections while the
server is killed at random moments, also several times in quick succession and while it
recovers; a judge in another process (judge.py) has its own log. TOCSIN_CYCLES=100 is the long
run (make torture); TOCSIN_SEED repeats one. The judge's log of a failure is kept in build/log.
"""
import os
import random
import shutil
import sys
import time

import fault
from load import Judged, World

CYCLES = int(os.environ.get("TOCSIN_CYCLES") or 15)
OPERATIONS = 1000
STAGGERED = 0.35  # of the kills come while it recovers from the one before


def keep(judged, verdict, seed):
    logs = fault.ROOT / "build/log"
    logs.mkdir(parents=True, exist_ok=True)
    shutil.copy(judged.log, logs / "kill-judge.log")
    text = "\n".join(verdict["violations"])
    raise AssertionError(f"TOCSIN_SEED={seed}: {verdict['count']} violations; "
                         f"test/fault/judge.py --replay build/log/kill-judge.log\n{text}")


def restart(server, chance):
    """It comes up again; now and then it is killed before, while or just after it does."""
    kills = 0
    while kills < 4 and chance.random() < STAGGERED:
        server.launch()
        time.sleep(chance.choice((0, 0.002, 0.01, 0.02, 0.05)) * chance.random() * 2)
        server.kill()
        kills += 1
    server.start()
    return kills


def torture(tocsin, cycles, store="sqlite"):
    """(verdict, what happened): the whole loop."""
    seed = fault.seed()
    chance = random.Random(seed)
    with fault.folder() as folder, \
            fault.Server(tocsin, folder / "data", "--store", store,
                         settings={"TOCSIN_BALLAST_BYTES": "0"}) as server:
        judged = Judged(folder / "judge.log")
        world = World(judged, seed)
        kills, least = 0, None
        try:
            server.start()
            for cycle in range(cycles):
                before = world.acknowledged
                world.go(server.port)
                world.wait_for(before + OPERATIONS + chance.randrange(200), 120)
                time.sleep(chance.random() * 0.02)
                server.kill()
                judged.tell("killed")
                world.wait_parked()
                done = world.acknowledged - before
                least = done if least is None else min(least, done)
                kills += 1 + restart(server, chance)
                verdict = judged.verdict("check", server.port)
                if verdict["count"]:
                    if store == "sqlite":
                        keep(judged, verdict, seed)
                    return verdict, {}
                if cycles > 20 and cycle % 10 == 9:
                    print(f"cycle {cycle + 1}: {world.acknowledged} acknowledged, {kills} kills",
                          flush=True)
            drain(world, server)
            verdict = judged.verdict("end", server.port)
            if verdict["count"]:
                keep(judged, verdict, seed)
            return verdict, {"cycles": cycles, "kills": kills, "least": least,
                             "acknowledged": world.acknowledged}
        finally:
            if server.process is not None:
                server.kill()
            world.close()
            judged.close()


def drain(world, server):
    """Nothing new; what is there runs to its end. Then the server ends for good."""
    world.no_more = True
    world.go(server.port)
    client = server.client()

    def left():
        return [task for task in client.all_tasks() if not task["id"].endswith("gapless")]

    fault.wait_until(lambda: world.errors or not left(), "all tasks have run", 60)
    time.sleep(1.2)
    server.kill()
    world.judged.tell("killed")
    world.wait_parked()
    if world.errors:
        raise world.errors[0]
    server.start()


def test_whatever_was_acknowledged_survives_kill_9(tocsin):
    verdict, done = torture(tocsin, CYCLES)
    counts = verdict["counts"]
    print(f"{done['cycles']} cycles, {done['kills']} kills, {done['acknowledged']} acknowledged "
          f"(at least {done['least']} a cycle): {counts}", flush=True)
    fault.expect(done["least"] >= OPERATIONS, "too few operations in a cycle")
    for verb in ("create", "put", "cancel", "ack", "nack", "extend", "pause", "resume", "fire",
                 "runs", "lost answers", "gapless occurrences"):
        fault.expect(counts.get(verb, 0) > 0, f"there was no {verb}: this tests too little")


# The control: without a disk there is nothing after a kill, and the judge must say so.
def test_control_the_judge_names_what_a_server_without_a_disk_loses(tocsin):
    verdict, _ = torture(tocsin, 1, store="memory")
    fault.expect(any(text.startswith("lost: ") for text in verdict["violations"]),
                 f"it saw nothing: {verdict}")


# W-08. What was missed while the server was down, by its policy.
def test_overdue_tasks_follow_their_misfire_policy(tocsin):
    with fault.folder() as folder, \
            fault.Server(tocsin, folder / "data",
                         settings={"TOCSIN_MISFIRE_GRACE": "500ms",
                                   "TOCSIN_BALLAST_BYTES": "0"}) as server:
        client = server.start().client()
        for misfire in ("once", "skip"):
            client.good("PUT", f"/v1/tasks/one-{misfire}", {"delay": "300ms", "misfire": misfire})
        client.good("PUT", "/v1/tasks/one-in-time", {"delay": "1h", "misfire": "skip"})
        dues = {}
        for misfire in ("once", "skip", "all"):
            answer = client.good("PUT", f"/v1/tasks/every-{misfire}",
                                 {"every": "300ms", "misfire": misfire, "overlap": "allow"})
            dues[misfire] = answer["due_ms"]
        server.kill()
        time.sleep(2)
        client = server.start().client()
        up = fault.wall_ms()
        runs = fault.wait_until(lambda: client.lease(most=1000), "something runs")
        time.sleep(0.15)
        runs += client.lease(most=1000)
        missed_of = lambda task: [run["due_ms"] for run in runs if run["task_id"] == task and
                                  run["due_ms"] <= up - 300]
        ids = {run["task_id"] for run in runs}
        fault.expect("one-once" in ids and "one-skip" not in ids and "one-in-time" not in ids,
                     f"one-shots: {ids}")
        expected = [dues["all"] + 300 * i for i in range(100) if dues["all"] + 300 * i <= up - 300]
        got = sorted(missed_of("every-all"))
        fault.expect(len(got) == len(expected) and
                     all(abs(a - b) <= 3 for a, b in zip(got, expected)),
                     f"all: {got}, not {expected}")
        for misfire in ("once", "skip"):
            fault.expect(len(missed_of(f"every-{misfire}")) <= 1, f"{misfire}: {runs}")
        fault.expect(client.call("GET", "/v1/tasks/one-in-time")[0] == 200, "one-in-time is gone")
        fault.expect(client.metric("tocsin_tasks_misfired_total") >= 1, "no misfire was counted")


if __name__ == "__main__":
    fault.run_tests(sys.modules[__name__], __doc__)
