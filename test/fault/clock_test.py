#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""clock_test.py TOCSIN [PART] - a process that is stopped, and clocks that jump: none early, none
lost, none twice. (law 2; W-13, W-14)

The wall clock of a server with --clock manual is set by request; that of an ordinary one is
moved by the shim (shim.c), which leaves the boot-time clock alone, as a real step does.
"""
import signal
import sys
import time

import fault

SETTINGS = {"TOCSIN_BALLAST_BYTES": "0"}
SECOND, HOUR, DAY = 1000, 3600 * 1000, 24 * 3600 * 1000


def once_each(runs, wanted):
    got = sorted(run["task_id"] for run in runs)
    fault.expect(got == sorted(wanted), f"{got}, not {sorted(wanted)}")


def take(client, wait="300ms"):
    """What is due, or the next that is, acknowledged."""
    runs = client.lease(most=1000, wait=wait)
    if runs:
        client.good("POST", "/v1/runs/ack", {"runs": [run["run"] for run in runs]})
    return runs


def drain(client, wait="300ms"):
    """Everything that is due, acknowledged, until nothing comes."""
    runs = []
    while True:
        more = take(client, wait)
        if not more:
            return runs
        runs += more


# A suspend as the process sees it: time goes on, it does not.
def test_a_stopped_process_catches_up(tocsin):
    with fault.folder() as folder, \
            fault.Server(tocsin, folder / "data", settings=SETTINGS) as server:
        client = server.start().client()
        ids = [f"s{i}" for i in range(40)]
        due = {}
        for i, task_id in enumerate(ids):
            due[task_id] = client.good("PUT", f"/v1/tasks/{task_id}", {"delay": 100 * i})["due_ms"]
        client.good("PUT", "/v1/tasks/rhythm", {"every": "250ms", "misfire": "all",
                                                "overlap": "allow"})
        early = client.lease(most=1)
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(2)
        server.process.send_signal(signal.SIGCONT)
        runs = list(early)
        client.good("POST", "/v1/runs/ack", {"runs": [run["run"] for run in early]})
        end = time.monotonic() + 10
        while len([run for run in runs if run["task_id"] != "rhythm"]) < 40:
            fault.expect(time.monotonic() < end, f"only {len(runs)} came")
            runs += take(client)
        client.good("DELETE", "/v1/tasks/rhythm")
        runs += drain(client)
        once_each([run for run in runs if run["task_id"] != "rhythm"], ids)
        for run in runs:
            fault.expect(run["fired_ms"] >= run["due_ms"], f"early: {run}")
        beats = sorted(run["due_ms"] for run in runs if run["task_id"] == "rhythm")
        gaps = {later - sooner for sooner, later in zip(beats, beats[1:])}
        fault.expect(len(beats) > 8 and all(248 <= gap <= 252 for gap in gaps), f"rhythm: {beats}")


def step(client, by_ms):
    now = client.good("GET", "/v1/info")["now_ms"]
    client.good("POST", "/v1/clock/advance", {"wall": now + by_ms})


def pass_time(client, ms):
    client.good("POST", "/v1/clock/advance", {"by": f"{ms}ms"})


# Elapsed time is not moved by a step of the wall clock; wall time is, both ways.
def test_steps_of_the_wall_clock(tocsin):
    for jump in (5 * SECOND, 3 * HOUR, 40 * DAY):
        for sign in (1, -1):
            with fault.folder() as folder, \
                    fault.Server(tocsin, folder / "data", "--clock", "manual",
                                 settings={**SETTINGS, "TOCSIN_MISFIRE_GRACE": "365d"}) as server:
                one_step(server.start().client(), jump, sign)


def one_step(client, jump, sign):
    now = client.good("GET", "/v1/info")["now_ms"]
    client.good("PUT", "/v1/tasks/elapsed", {"delay": "10s"})
    client.good("PUT", "/v1/tasks/wall", {"at": now + 10 * SECOND})
    client.good("PUT", "/v1/tasks/wall-far", {"at": now + jump + 20 * SECOND})
    step(client, sign * jump)
    pass_time(client, 1)
    first = [run["task_id"] for run in drain(client, "0s")]
    wall_due = sign > 0 and jump >= 10 * SECOND
    fault.expect(first == (["wall"] if wall_due else []), f"after {sign * jump} ms: {first}")
    pass_time(client, 9 * SECOND)
    second = [run["task_id"] for run in drain(client, "0s")]
    late_wall = sign > 0 and not wall_due
    fault.expect(second == (["wall"] if late_wall else []), f"9 s later: {second}")
    pass_time(client, SECOND)
    third = [run["task_id"] for run in drain(client, "0s")]
    fault.expect(third == ["elapsed"], f"10 s later: {third}")
    step(client, -sign * jump)  # and back again
    pass_time(client, 1)
    fourth = [run["task_id"] for run in drain(client, "0s")]
    fault.expect(fourth == (["wall"] if sign < 0 else []), f"back again: {fourth}")
    pass_time(client, jump + 20 * SECOND)
    once_each(drain(client, "0s"), ["wall-far"])
    fault.expect(client.good("GET", "/v1/tasks")["tasks"] == [], "something is left")


# The same with the real clock; nobody tells the server, it has to notice.
def test_steps_of_the_real_clock_are_noticed(tocsin):
    with fault.folder() as folder:
        shim = fault.Shim(folder)
        with fault.Server(tocsin, folder / "data", settings=SETTINGS, shim=shim) as server:
            client = server.start().client()
            now = fault.wall_ms()
            began = time.monotonic()
            client.good("PUT", "/v1/tasks/elapsed", {"delay": "3s"})
            client.good("PUT", "/v1/tasks/soon", {"at": int(now + 2 * SECOND)})
            client.good("PUT", "/v1/tasks/in-an-hour", {"at": int(now + HOUR)})
            shim["wall_offset_ns"] = -HOUR * 1000000
            fault.expect(drain(client, "2500ms") == [], "it ran although its time went away")
            runs = client.lease(most=10, wait="2s")
            fault.expect(time.monotonic() - began >= 3, "the delay was cut short")
            once_each(runs, ["elapsed"])
            shim["wall_offset_ns"] = HOUR * 1000000
            runs += drain(client, "2500ms")
            once_each(runs, ["elapsed", "soon", "in-an-hour"])


# Across a restart elapsed time is the wall's difference, never below nothing.
def test_steps_across_a_restart(tocsin):
    for sign in (1, -1):
        with fault.folder() as folder:
            shim = fault.Shim(folder)
            with fault.Server(tocsin, folder / "data", settings=SETTINGS, shim=shim) as server:
                client = server.start().client()
                client.good("PUT", "/v1/tasks/two-hours", {"delay": "2h"})
                client.good("PUT", "/v1/tasks/soon", {"delay": "2s"})
                asked = time.monotonic()
                server.kill()
                shim["wall_offset_ns"] = sign * HOUR * 1000000
                client = server.start().client()
                runs = client.lease(most=10, wait="4s")
                took = time.monotonic() - asked
                once_each(runs, ["soon"])
                if sign < 0:
                    fault.expect(took >= 1.8, f"a clock set back made it early: {took:.2f} s")
                fault.expect(client.call("GET", "/v1/tasks/two-hours")[1]["status"] == "pending",
                             "two hours are not over")


if __name__ == "__main__":
    fault.run_tests(sys.modules[__name__], __doc__)
