#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""work_test.py TOCSIN - does `tocsin work` do each run, and tell how it went (W-05, W-24)?

Prints a line "ok ..." or "FAILED ..." per test, and at the end the sum.
"""
import json
import os
import pathlib
import signal
import sys
import tempfile

from support import (PATIENCE, TOCSIN, alone, end, holds, main, real_server, same, shared, start_tocsin, tocsin, wait_for)


def add(server, task_id, queue, **more):
    server.add(id=task_id, delay=0, target={"type": "queue", "queue": queue}, **more)


def once(server, queue, *command, options=()):
    return tocsin("work", queue, "--once", *options, "--", *command, url=server.url)


def ready(server, queue, count):
    def look():
        return any(row["queue"] == queue and row["depth"] == count
                   for row in server.get("/v1/queues")["queues"])
    wait_for(look, f"{count} ready in {queue}")


def script(folder, text):
    path = pathlib.Path(folder, "command")
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@shared
def exit_0_acks_and_the_command_sees_its_run(server):
    add(server, "good", "q-good", payload={"to": "ada", "n": 2**64})
    ready(server, "q-good", 1)
    done = once(server, "q-good", "sh", "-c",
                'cat; echo " $TOCSIN_TASK_ID $TOCSIN_ATTEMPT $TOCSIN_FENCE $TOCSIN_DUE_MS '
                '$TOCSIN_RUN"')
    same((done.returncode, done.stderr), (0, ""))
    payload, task_id, attempt, fence, due, run = done.stdout.strip().rsplit(" ", 5)
    same(json.loads(payload), {"to": "ada", "n": 2**64})
    same((task_id, attempt, fence.isdigit(), due.isdigit(), run[0]), ("good", "1", True, True, "r"))
    same(server.state("good"), "completed")


@shared
def another_exit_nacks_with_the_end_of_stderr(server):
    add(server, "bad", "q-bad", retry={"max": 0})
    ready(server, "q-bad", 1)
    done = once(server, "q-bad", "sh", "-c", "echo first >&2; echo the reason >&2; exit 3")
    same(done.returncode, 0)
    holds(done.stderr, "first\nthe reason\n")
    task = server.task("bad")
    same(task["status"], "failed")
    holds(task["last_error"], "exit 3", "the reason")


@shared
def a_nacked_run_is_tried_again(server):
    add(server, "again", "q-again", retry={"max": 3, "base": "1ms", "jitter": 0})
    worker = start_tocsin("work", "q-again", "--", "sh", "-c", '[ "$TOCSIN_ATTEMPT" = 3 ]',
                          url=server.url)
    try:
        wait_for(lambda: server.state("again") == "completed", "the third attempt succeeds")
    finally:
        end(worker)


@shared
def an_endless_error_and_an_unread_large_payload_hold_nobody_up(server):
    large = "x" * 60000
    add(server, "large", "q-large", payload=large, retry={"max": 0})
    ready(server, "q-large", 1)
    done = once(server, "q-large", "sh", "-c",
                "head -c 300000 /dev/zero | tr '\\0' e >&2; echo >&2; echo the end >&2; exit 1")
    same((done.returncode, len(done.stderr)), (0, 300009))
    error = server.task("large")["last_error"]
    holds(error, "the end")
    same(len(error) <= 1024, True, "the error is bounded")
    add(server, "large2", "q-large", payload=large)
    ready(server, "q-large", 1)
    done = once(server, "q-large", "wc", "-c")
    same((done.returncode, done.stdout.strip()), (0, str(len(large) + 2)))


@shared
def what_is_printed_becomes_the_result(server):
    for task_id, said, why in (
            ("json", '{"sum": 3}', ""), ("nothing", "", ""),
            ("prose", "not JSON", "done, but without a result: what was printed is not JSON"),
            ("much", "9" * 20000, "done, but without a result: more than 16384 bytes were printed")):
        add(server, f"result-{task_id}", "q-result")
        ready(server, "q-result", 1)
        done = once(server, "q-result", "printf", "%s", said, options=["--result"])
        wanted = f"tocsin work: result-{task_id}: {why}\n" if why else ""
        same((done.returncode, done.stdout, done.stderr), (0, "", wanted))
        same(server.state(f"result-{task_id}"), "completed")
    same(server.task("result-json")["result"], {"sum": 3})
    same("result" in server.task("result-prose").json, False)


@shared
def with_json_the_answers_are_printed(server):
    add(server, "answer-0", "q-answer")
    add(server, "answer-1", "q-answer", retry={"max": 0})
    ready(server, "q-answer", 2)
    done = once(server, "q-answer", "sh", "-c", '[ "$TOCSIN_TASK_ID" = answer-0 ]',
                options=["--json"])
    same((done.returncode, done.stderr), (0, ""))
    same([json.loads(line)["status"] for line in done.stdout.splitlines()],
         ["completed", "failed"])


@shared
def a_command_that_cannot_be_started_gives_the_run_back(server):
    add(server, "nowhere", "q-nowhere", retry={"max": 0})
    ready(server, "q-nowhere", 1)
    done = once(server, "q-nowhere", "/nowhere/at-all")
    same(done.returncode, 1)
    holds(done.stderr, "tocsin work: cannot start '/nowhere/at-all': No such file")
    same(server.state("nowhere"), "failed")


@shared
def a_long_command_keeps_its_lease(server):
    add(server, "long", "q-long", retry={"max": 0})
    ready(server, "q-long", 1)
    done = once(server, "q-long", "sleep", "1.2", options=["--ttl", "300ms"])
    same((done.returncode, done.stderr), (0, ""))
    task = server.task("long")
    same((task["status"], task["attempt"]), ("completed", 1))


@shared
def a_cancelled_task_ends_the_command_and_all_its_children(server):
    add(server, "stop", "q-stop")
    with tempfile.TemporaryDirectory() as folder:
        pids = pathlib.Path(folder, "pids")
        worker = start_tocsin("work", "q-stop", "--ttl", "300ms", "--", "sh", "-c",
                              f"sleep 600 & echo $! $$ > {pids}.new; mv {pids}.new {pids}; wait",
                              url=server.url)
        try:
            wait_for(pids.exists, "the command has begun")
            same(server.delete("/v1/tasks/stop", 202)["cancel_requested"], True)
            for pid in pids.read_text().split():
                wait_for(lambda pid=pid: not alive(int(pid)), f"process {pid} is ended")
            wait_for(lambda: server.state("stop") == "cancelled", "the task is cancelled")
        finally:
            end(worker)


def alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@shared
def a_command_that_does_not_want_to_end_is_killed(server):
    add(server, "deaf", "q-deaf")
    with tempfile.TemporaryDirectory() as folder:
        began = pathlib.Path(folder, "began")
        worker = start_tocsin("work", "q-deaf", "--ttl", "300ms", "--", "sh", "-c",
                              f"trap '' TERM; touch {began}; while :; do sleep 600; done",
                              url=server.url)
        try:
            wait_for(began.exists, "the command has begun")
            worker.send_signal(signal.SIGTERM)
            holds(worker.stderr.readline(), "once more ends it")
            worker.send_signal(signal.SIGTERM)
            same(worker.wait(timeout=PATIENCE), 0)
            holds(server.task("deaf")["last_error"], "signal 9")
        finally:
            end(worker)


@shared
def the_first_signal_lets_the_running_finish_and_takes_nothing_new(server):
    with tempfile.TemporaryDirectory() as folder:
        began, gate = pathlib.Path(folder, "began"), pathlib.Path(folder, "gate")
        os.mkfifo(gate)
        add(server, "last", "q-last")
        worker = start_tocsin("work", "q-last", "--", "sh", "-c", f"touch {began}; cat {gate}",
                              url=server.url)
        try:
            wait_for(began.exists, "the command has begun")
            worker.send_signal(signal.SIGTERM)
            holds(worker.stderr.readline(), "stopping when 1 running command has ended")
            add(server, "later", "q-last")
            gate.write_text("go")
            same(worker.wait(timeout=PATIENCE), 0)
            same(server.state("last"), "completed")
            same(server.state("later"), "pending")
        finally:
            end(worker)


@shared
def an_idle_worker_stops_at_once(server):
    worker = start_tocsin("work", "q-idle", "--", "true", url=server.url)
    try:
        wait_for(lambda: any(row["queue"] == "q-idle" and row["waiting"] == 1
                             for row in server.get("/v1/queues")["queues"]),
                 "the worker waits")
        worker.send_signal(signal.SIGINT)
        same(worker.wait(timeout=PATIENCE), 0)
    finally:
        end(worker)


@shared
def several_run_at_once_and_all_are_done(server):
    with tempfile.TemporaryDirectory() as folder:
        for n in range(20):
            add(server, f"many-{n}", "q-many")
        ready(server, "q-many", 20)
        # Each waits until four are there: with fewer at a time it would never end.
        command = script(folder, f"""
touch {folder}/at-$TOCSIN_TASK_ID
while [ $(ls {folder} | grep -c at-) -lt 4 ]; do sleep 0.01; done
""")
        done = once(server, "q-many", command, options=["--max", "4"])
        same((done.returncode, done.stderr), (0, ""))
        same({server.state(f"many-{n}") for n in range(20)}, {"completed"})


@alone
def no_run_is_lost_when_the_server_is_killed():
    with real_server() as server, tempfile.TemporaryDirectory() as folder:
        seen, gate = pathlib.Path(folder, "seen"), pathlib.Path(folder, "gate")
        for n in range(6):
            add(server, f"kept-{n}", "q")
        command = script(folder, f"""
echo $TOCSIN_TASK_ID >> {seen}
while [ ! -e {gate} ]; do sleep 0.02; done
""")
        worker = start_tocsin("work", "q", "--max", "2", "--ttl", "1s", "--", command,
                              url=server.url)
        try:
            wait_for(lambda: seen.exists() and len(seen.read_text().split()) >= 2, "two have begun")
            server.kill()
            gate.touch()
            holds(worker.stderr.readline(), "tocsin work: no answer from", "trying again")
            server.start()
            holds(worker.stderr.readline(), "the server is back")
            for n in range(6):
                wait_for(lambda n=n: server.state(f"kept-{n}") == "completed", f"kept-{n} is done")
            same(set(seen.read_text().split()), {f"kept-{n}" for n in range(6)})
            worker.send_signal(signal.SIGTERM)
            same(worker.wait(timeout=PATIENCE), 0)
        finally:
            end(worker)


@shared
def a_worker_leaves_no_descriptor_and_no_zombie_behind(server):
    for n in range(12):
        add(server, f"clean-{n}", "q-clean")
    with tempfile.TemporaryDirectory() as folder:
        command = script(folder, f"ls /proc/self/fd | wc -l > {folder}/$TOCSIN_TASK_ID")
        worker = start_tocsin("work", "q-clean", "--result", "--", command, url=server.url)
        try:
            for n in range(12):
                wait_for(lambda n=n: server.state(f"clean-{n}") == "completed", f"clean-{n}")
            wait_for(lambda: len(os.listdir(f"/proc/{worker.pid}/fd")) <= 16, "few descriptors")
            children = pathlib.Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text()
            same(children, "", "children of the worker")
            counts = {pathlib.Path(folder, f"clean-{n}").read_text().strip() for n in range(12)}
            same(counts, {"4"}, "descriptors of the command: 0, 1, 2 and ls's own")
        finally:
            end(worker)


@shared
def what_a_worker_runs_may_be_a_server(server):
    add(server, "serve", "q-serve")
    ready(server, "q-serve", 1)
    done = once(server, "q-serve", TOCSIN, "serve", "--print-config")
    same((done.returncode, done.stderr), (0, ""))
    holds(done.stdout, "listen:")


@shared
def what_the_server_refuses_ends_it(server):
    done = tocsin("work", "x" * 300, "--", "true", url=server.url)
    same(done.returncode, 1)
    holds(done.stderr, "tocsin work: ", "400 VALIDATE_FAILED")


@alone
def wrong_words_are_refused():
    for words, part in (([], "the queue is missing"), (["q"], "the command is missing"),
                        (["q", "--max", "0", "--", "true"], "--max '0' is not allowed"),
                        (["q", "--tll", "3s", "--", "true"], "did you mean --ttl?")):
        done = tocsin("work", *words)
        same((done.returncode, done.stdout), (2, ""), words)
        holds(done.stderr, part)


if __name__ == "__main__":
    sys.exit(main(jobs=1))
