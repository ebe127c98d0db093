#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lease_cli_test.py TOCSIN [NAME...] - `tocsin lease`, and above all `tocsin lease run` (R-30).

Two commands under one lease must never run at the same time: each writes down when it runs, by
the clock of the machine, and the test looks whether they overlap.
"""
import json
import os
import pathlib
import pty
import signal
import sys
import tempfile
import time

from support import TOCSIN, alone, end, environment, holds, main, real_server, same, start_tocsin, test, tocsin, wait_for

# Writes the time into a file again and again, whatever it is told.
STUBBORN = ("import signal,sys,time\n"
            "for s in (signal.SIGTERM, signal.SIGINT): signal.signal(s, signal.SIG_IGN)\n"
            "out = open(sys.argv[1], 'a', buffering=1)\n"
            "while True:\n"
            "    out.write(f'{time.clock_gettime_ns(time.CLOCK_BOOTTIME)}\\n'); time.sleep(0.005)\n")


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def start(server, name, *words, options=()):
    return start_tocsin("lease", "run", name, *options, "--", *words, url=server.url)


def held(server, name):
    answer = server.call("GET", f"/v1/leases/{name}")
    return answer.json if answer.status == 200 else None


def beats(path):
    """When the stubborn one was last seen, and whether it was."""
    try:
        lines = pathlib.Path(path).read_text().split()
    except FileNotFoundError:
        return []
    return [int(line) for line in lines]


class Folder:
    def __enter__(self):
        self.temporary = tempfile.TemporaryDirectory()
        return lambda name: os.path.join(self.temporary.name, name)

    def __exit__(self, *_):
        self.temporary.cleanup()


def wait_code(process, seconds=30):
    process.wait(seconds)
    return process.returncode, process.stderr.read()


@test()
def all_verbs(server):
    """R-30."""
    def ask(*words):
        return tocsin("lease", *words, url=server.url)
    same(ask("ls").returncode, 0)
    done = ask("acquire", "deploy", "--holder", "ada", "--ttl", "1m", "--json")
    lease = json.loads(done.stdout)
    same((lease["holder"], lease["ttl_ms"], done.returncode), ("ada", 60000, 0))
    holds(ask("acquire", "deploy", "--holder", "ada").stdout, f"deploy held: ada has it with fence {lease['fence']}, until")
    refused = ask("acquire", "deploy", "--holder", "bob")
    same(refused.returncode, 1)
    holds(refused.stderr, "tocsin lease acquire: deploy: ada has it (409 CONFLICT)")
    holds(ask("release", "deploy", "--holder", "bob").stderr, "deploy: it is not yours: ada has it (409 FENCED)")
    holds(ask("show", "deploy").stdout, "holder", "ada", "in line", "fence")
    holds(ask("ls").stdout, "NAME", "IN LINE", "deploy", "ada", "1:00")
    kept = ask("keepalive", "deploy", "--holder", "ada", "--fence", str(lease["fence"]), "--ttl", "2m", "--json")
    same(json.loads(kept.stdout)["ttl_ms"], 120000)
    same(ask("keepalive", "deploy", "--holder", "ada", "--fence", "1").returncode, 1)
    same(ask("release", "deploy").returncode, 2, "nobody's lease is taken by accident")
    same(ask("release", "deploy", "--holder", "bob").returncode, 1)
    holds(ask("release", "deploy", "--holder", "ada", "--fence", str(lease["fence"])).stdout, "deploy released: ada had it")
    same(ask("show", "deploy").returncode, 1)
    ask("acquire", "deploy", "--holder", "eve")
    same(ask("release", "deploy", "--force").returncode, 0)
    for words in (("acquire", "deploy"), ("keepalive", "deploy", "--holder", "a"), ("run", "deploy"), ("run",)):
        same(ask(*words).returncode, 2, words)


@alone
def two_that_have_one_name_never_run_together():
    """R-30: a crontab says --holder host, and the run of before is not over yet."""
    with real_server() as server:
        first = start(server, "deploy", "sleep", "60", options=("--holder", "me"))
        wait_for(lambda: held(server, "deploy"), "the first has it")
        second = tocsin("lease", "run", "deploy", "--holder", "me", "--", "echo", "ran", url=server.url)
        same((second.returncode != 0, second.stdout), (True, ""))
        holds(second.stderr, "deploy could not be had: me:")
        first.terminate()
        wait_code(first)


@alone
def the_command_sees_its_lease_and_its_end_is_ours():
    with real_server() as server:
        run = tocsin("lease", "run", "deploy", "--holder", "ada", "--", "sh", "-c",
                     'echo "$TOCSIN_LEASE $TOCSIN_LEASE_HOLDER $TOCSIN_FENCE"; cat; exit 7', url=server.url, given="input")
        name, holder, fence = run.stdout.splitlines()[0].split()
        same((run.returncode, name, holder.split(":")[0], int(fence) > 2**32, run.stdout.splitlines()[1]),
             (7, "deploy", "ada", True, "input"))
        same(held(server, "deploy"), None, "it is released at the end")
        same(tocsin("lease", "run", "deploy", "--", "sh", "-c", "kill -USR1 $$", url=server.url).returncode, 128 + signal.SIGUSR1)
        same(tocsin("lease", "run", "deploy", "--", "/nowhere/at/all", url=server.url).returncode, 127)
        same(tocsin("lease", "run", "deploy", "--", "/", url=server.url).returncode, 126)
        same(held(server, "deploy"), None)
        server.put("/v1/leases/deploy", {"holder": "eve", "ttl": "1h"}, 201)
        refused = tocsin("lease", "run", "deploy", "--wait", "100ms", "--", "true", url=server.url)
        same(refused.returncode, 1)
        holds(refused.stderr, "deploy could not be had: eve has it")
    gone = tocsin("lease", "run", "deploy", "--wait", "100ms", "--", "true", url="http://127.0.0.1:1")
    same(gone.returncode, 3)
    holds(gone.stderr, "cannot reach")


@alone
def they_run_one_after_another():
    """Never two at a time, whoever comes first; and each with a higher fence."""
    with real_server() as server, Folder() as file:
        text = 'n=$(date +%s%N); sleep 0.05; echo "$TOCSIN_FENCE $n $(date +%s%N)" >> ' + file("log")
        runs = [start(server, "one", "sh", "-c", text, options=("--wait", "forever", "--ttl", "5s")) for _ in range(8)]
        for run in runs:
            same(wait_code(run), (0, ""))
        lines = [[int(word) for word in line.split()] for line in pathlib.Path(file("log")).read_text().splitlines()]
        same(len(lines), 8)
        for before, after in zip(lines, lines[1:]):
            same((after[0] > before[0], after[1] > before[2]), (True, True), (before, after))
        same(held(server, "one"), None)


@alone
def a_server_that_hangs_does_not_let_the_command_outlive_its_lease():
    """The lease ends at most a ttl after the server has last answered: the command ends before."""
    with real_server() as server, Folder() as file:
        first = start(server, "one", sys.executable, "-c", STUBBORN, file("first"), options=("--ttl", "2s", "--grace", "300ms"))
        wait_for(lambda: len(beats(file("first"))) > 10, "it runs")
        second = start(server, "one", sys.executable, "-c", STUBBORN, file("second"), options=("--wait", "forever", "--ttl", "2s"))
        wait_for(lambda: held(server, "one")["waiting"] == 1, "the second waits")
        server.process.send_signal(signal.SIGSTOP)
        hung = now()
        try:
            code, said = wait_code(first)
            same(code, 1)
            holds(said, "one cannot be renewed: the command is asked to end")
            same(beats(file("first"))[-1] < hung + 2_000_000_000, True, "it was over in time")
        finally:
            server.process.send_signal(signal.SIGCONT)
        wait_for(lambda: beats(file("second")), "the second has it")
        same(beats(file("second"))[0] > beats(file("first"))[-1], True)
        end(second)


@alone
def a_keeper_that_is_stopped_does_not_let_the_command_outlive_its_lease():
    with real_server() as server, Folder() as file:
        first = start(server, "one", sys.executable, "-c", STUBBORN, file("first"), options=("--ttl", "1s"))
        wait_for(lambda: len(beats(file("first"))) > 10, "it runs")
        first.send_signal(signal.SIGSTOP)
        second = start(server, "one", sys.executable, "-c", STUBBORN, file("second"), options=("--wait", "forever", "--ttl", "2s"))
        try:
            wait_for(lambda: beats(file("second")), "the second has it")
            wait_for(lambda: len(beats(file("second"))) > 50, "it runs for a while")
            same(beats(file("second"))[0] > beats(file("first"))[-1], True, "the first is over, though its keeper sleeps")
        finally:
            first.send_signal(signal.SIGCONT)
        code, said = wait_code(first)
        same(code, 1)
        holds(said, "one could not be renewed in time")
        second.send_signal(signal.SIGKILL)
        second.wait()
        wait_for(lambda: now() - beats(file("second"))[-1] > 300_000_000, "its command ends when the keeper is gone")
        wait_for(lambda: held(server, "one") is None, "and its lease by itself")


@alone
def a_restart_in_the_middle_does_not_matter():
    with real_server() as server, Folder() as file:
        run = start(server, "one", "sh", "-c", f"while [ ! -e {file('go')} ]; do sleep 0.02; done; echo $TOCSIN_FENCE; exit 5",
                    options=("--ttl", "3s"))
        wait_for(lambda: held(server, "one"), "it runs")
        fence = held(server, "one")["fence"]
        for how in (signal.SIGKILL, signal.SIGTERM):
            before = held(server, "one")["expires_ms"]
            server.restart(how)
            wait_for(lambda: held(server, "one")["expires_ms"] > before + 1000, "it is kept alive")
        same(held(server, "one")["fence"], fence)
        pathlib.Path(file("go")).touch()
        run.wait(20)
        same((run.returncode, run.stdout.read().strip()), (5, str(fence)))
        same(held(server, "one"), None)


@alone
def who_loses_it_is_killed_at_once():
    with real_server() as server, Folder() as file:
        run = start(server, "one", sys.executable, "-c", STUBBORN, file("first"), options=("--ttl", "600ms"))
        wait_for(lambda: beats(file("first")), "it runs")
        server.delete("/v1/leases/one", 200)
        code, said = wait_code(run)
        same(code, 1)
        holds(said, "one was lost: it is not yours any more: it was released", "FENCED")
        last = beats(file("first"))[-1]
        time.sleep(0.1)
        same(beats(file("first"))[-1], last)


@alone
def signals_are_passed_on_and_nothing_is_left_behind():
    with real_server() as server, Folder() as file:
        text = f"trap 'exit 9' TERM; {sys.executable} -c \"$0\" {file('child')} & echo up; while :; do sleep 0.02; done"
        run = start(server, "one", "sh", "-c", text, STUBBORN)
        wait_for(lambda: len(beats(file("child"))) > 5, "it runs")
        run.send_signal(signal.SIGTERM)
        same(wait_code(run)[0], 9)
        last = beats(file("child"))[-1]
        time.sleep(0.1)
        same(beats(file("child"))[-1], last, "its children end with it")
        same(held(server, "one"), None)
        server.put("/v1/leases/one", {"holder": "eve", "ttl": "1h"}, 201)
        run = start(server, "one", "true", options=("--wait", "forever"))
        wait_for(lambda: held(server, "one")["waiting"] == 1, "it waits")
        run.send_signal(signal.SIGINT)
        same(wait_code(run)[0], 128 + signal.SIGINT)
        wait_for(lambda: held(server, "one")["waiting"] == 0, "it is out of the line")


@alone
def at_a_terminal_the_command_can_be_typed_to():
    with real_server() as server:
        pid, fd = pty.fork()
        if pid == 0:
            os.environ["TOCSIN_URL"] = server.url
            os.execv(TOCSIN, [str(TOCSIN), "lease", "run", "tty", "--", "sh", "-c", "echo ready; read a; echo got $a; exit 4"])
        seen = b""
        try:
            while b"ready" not in seen:
                seen += os.read(fd, 1000)
            os.write(fd, b"hello\n")
            while b"got hello" not in seen:
                seen += os.read(fd, 1000)
        finally:
            status = os.waitpid(pid, 0)[1]
            os.close(fd)
        same(os.waitstatus_to_exitcode(status), 4)
        same(held(server, "tty"), None)


if __name__ == "__main__":
    sys.exit(main())
