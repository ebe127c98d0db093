#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""stop_test.py TOCSIN [PART] - SIGTERM drains, and the embedded engine survives kill -9.
(Claims; W-05, W-25)"""
import pathlib
import random
import select
import signal
import subprocess
import sys
import threading
import time

import fault

SETTINGS = {"TOCSIN_BALLAST_BYTES": "0", "TOCSIN_DRAIN_TIMEOUT": "5s"}


def test_waiting_leases_are_answered(tocsin):
    with fault.folder() as folder, \
            fault.Server(tocsin, folder / "data", settings=SETTINGS) as server:
        server.start()
        answers = []

        def wait_for_work():
            answers.append(server.client().lease(wait="60s"))

        threads = [threading.Thread(target=wait_for_work) for _ in range(20)]
        for thread in threads:
            thread.start()
        client = server.client()
        fault.wait_until(lambda: client.good("GET", "/v1/info")["counts"]["waiting_leases"] == 20,
                         "all wait")
        began = time.monotonic()
        code = server.stop()
        took = time.monotonic() - began
        for thread in threads:
            thread.join()
        fault.expect(code == 0 and took < 5, f"exit {code} after {took:.1f} s")
        fault.expect(answers == [[]] * 20, f"{answers}")


def test_claims_stay_good_over_an_orderly_restart(tocsin):
    with fault.folder() as folder, \
            fault.Server(tocsin, folder / "data", settings=SETTINGS) as server:
        client = server.start().client()
        for i in range(30):
            client.good("PUT", f"/v1/tasks/c{i}", {"delay": 0})
        client.good("PUT", "/v1/tasks/rhythm", {"every": "1h", "overlap": "allow"})
        client.good("POST", "/v1/tasks/rhythm/fire")
        runs = fault.wait_until(lambda: client.lease(most=100, ttl="20s"), "runs")
        runs += client.lease(most=100, wait="500ms", ttl="20s")
        fault.expect(len(runs) == 31, f"{len(runs)} runs")
        fault.expect(server.stop() == 0, "exit")
        client = server.start().client()
        fault.expect(client.lease(most=100) == [], "held runs were given to another")
        for run in runs[::2]:
            client.good("POST", f"/v1/runs/{run['run']}/extend", {"ttl": "20s"})
        for run in runs:
            answer = client.good("POST", f"/v1/runs/{run['run']}/ack", {})
            fault.expect(answer.get("status") == "completed", f"{run}: {answer}")
        fault.expect([task["id"] for task in client.all_tasks()] == ["rhythm"], "left over")


# The control: after kill -9 the same claims are refused, and the runs come again.
def test_control_claims_are_lost_with_kill_9(tocsin):
    with fault.folder() as folder, \
            fault.Server(tocsin, folder / "data", settings=SETTINGS) as server:
        client = server.start().client()
        client.good("PUT", "/v1/tasks/c", {"delay": 0})
        run = client.lease(wait="5s")[0]
        server.kill()
        client = server.start().client()
        status, answer, _ = client.call("POST", f"/v1/runs/{run['run']}/ack", {})
        fault.expect(status == 409 and answer["code"] == "FENCED", f"{status} {answer}")
        again = client.lease(wait="5s")[0]
        fault.expect(again["task_id"] == "c" and again["fence"] > run["fence"], f"{again}")


def test_it_stops_in_time_under_load_and_keeps_its_word(tocsin):
    with fault.folder() as folder, \
            fault.Server(tocsin, folder / "data", settings=SETTINGS) as server:
        for _ in range(3):
            server.start()
            told, refused = [], set()

            def ask(number):
                client = server.client()
                for i in range(100000):
                    try:
                        status, answer, _ = client.call("POST", "/v1/tasks", {"delay": "1h"})
                    except fault.Gone:
                        return
                    if status == 201:
                        told.append(answer["id"])
                    else:
                        refused.add(status)

            threads = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
            for thread in threads:
                thread.start()
            fault.wait_until(lambda: len(told) > 200, "the load is under way")
            began = time.monotonic()
            code = server.stop(20)
            took = time.monotonic() - began
            for thread in threads:
                thread.join()
            fault.expect(code == 0 and took < 5, f"exit {code} after {took:.1f} s")
            fault.expect(len(told) > 50 and refused <= {503}, f"{len(told)} told, {refused}")
            client = server.start().client()
            there = {task["id"] for task in client.all_tasks()}
            fault.expect(there >= set(told), f"{len(set(told) - there)} of {len(told)} are lost")
            server.kill()


def test_a_client_that_takes_nothing_does_not_hold_it_up(tocsin):
    with fault.folder() as folder, \
            fault.Server(tocsin, folder / "data",
                         settings={**SETTINGS, "TOCSIN_DRAIN_TIMEOUT": "1s"}) as server:
        client = server.start().client()
        for i in range(60):
            client.good("PUT", f"/v1/tasks/b{i}", {"delay": "1h", "payload": "x" * 60000})
        slow = server.client()
        slow.good("GET", "/v1/info")
        for _ in range(30):
            slow.socket.sendall(b"GET /v1/tasks?limit=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        fault.expect(select.select([slow.socket], [], [], fault.PATIENCE)[0], "no answer has begun")
        began = time.monotonic()
        code = server.stop(20)
        took = time.monotonic() - began
        fault.expect(code == 0 and took < 4, f"exit {code} after {took:.1f} s")
        slow.close()


def test_a_second_signal_ends_it_at_once(tocsin):
    with fault.folder() as folder, \
            fault.Server(tocsin, folder / "data",
                         settings={**SETTINGS, "TOCSIN_DRAIN_TIMEOUT": "60s"}) as server:
        server.start()
        stuck = server.client()
        stuck.good("GET", "/v1/info")
        stuck.socket.sendall(b"POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n")
        for _ in range(2):  # by then its loop has seen what was sent before
            server.client().good("GET", "/healthz")
        server.process.send_signal(signal.SIGTERM)
        fault.wait_until(lambda: 'msg="stopping: draining"' in server.said(), "it has seen the first signal")
        fault.expect(server.process.poll() is None, "it did not wait for the one who is stuck")
        server.process.send_signal(signal.SIGTERM)
        fault.expect(server.ends(5) == 0, "exit")
        stuck.close()


# W-25
def test_the_embedded_engine_goes_on_after_kill_9(tocsin):
    survivor = pathlib.Path(tocsin).parent / "examples/survivor"
    if not survivor.exists():
        print(f"skipped: {survivor} was not built", flush=True)
        return
    chance = random.Random(fault.seed())
    with fault.folder() as folder:
        added, done, kills = set(), [], 0
        for _ in range(60):
            process = subprocess.Popen([survivor, folder / "data", "400"], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            ended = False
            try:
                process.wait(fault.PATIENCE if kills >= 12 else chance.random() * 0.5)
                ended = True
            except subprocess.TimeoutExpired:
                process.kill()
                kills += 1
            out, err = process.communicate()
            for line in out.splitlines():
                word, _, task_id = line.partition(" ")
                if word == "task":
                    added.add(task_id)
                elif word == "done":
                    done.append(task_id)
            if ended:
                fault.expect(process.returncode == 0, f"exit {process.returncode}: {err}")
                if kills >= 12:
                    break
        fault.expect(kills >= 12, f"only {kills} kills")
        fault.expect(len(added) > 100, f"only {len(added)} were added")
        fault.expect(not added - set(done), f"never done: {sorted(added - set(done))[:5]}")
        print(f"{kills} kills, {len(added)} added, {len(done)} done, "
              f"{len(done) - len(set(done))} of them twice or in a later round")


if __name__ == "__main__":
    fault.run_tests(sys.modules[__name__], __doc__)
