#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lease_fault_test.py TOCSIN [NAME...] - holders and servers die: has one name one holder all the same (R-30)?

Commands under a lease write down when they run, by the clock of the machine, each under its fence;
whether two overlap is seen afterwards, by `overlaps`. A control shows that it would notice.
"""
import contextlib
import http.client
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

from player import Listener
from support import alone, end, main, real_server, same, start_tocsin, test, wait_for

SEED = int(os.environ.get("TOCSIN_SEED", time.time_ns() % 1000000))

# Writes down its fence and the time again and again for so many seconds, whatever it is told.
STUBBORN = ("import os,signal,sys,time\n"
            "for s in (signal.SIGTERM, signal.SIGINT): signal.signal(s, signal.SIG_IGN)\n"
            "def now(): return time.clock_gettime_ns(time.CLOCK_BOOTTIME)\n"
            "until = now() + float(sys.argv[2]) * 1e9\n"
            "out = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)\n"
            "while now() < until:\n"
            "    os.write(out, f'{os.environ[\"TOCSIN_FENCE\"]} {now()}\\n'.encode()); time.sleep(0.005)\n")


@contextlib.contextmanager
def folder():
    with tempfile.TemporaryDirectory() as name:
        yield pathlib.Path(name)


def runs_of(path):
    """Of each fence, in the order of the fences: when it was first and last seen at work."""
    seen = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        fence, at = (int(word) for word in line.split())
        first, last = seen.get(fence, (at, at))
        seen[fence] = (min(first, at), max(last, at))
    return [seen[fence] for fence in sorted(seen)]


def overlaps(runs):
    """Those of which the next one had begun before they were over; or that came in another order."""
    return [(before, after) for before, after in zip(runs, runs[1:]) if after[0] <= before[1]]


def run_under(server, name, path, seconds, *options):
    return start_tocsin("lease", "run", name, *options, "--", sys.executable, "-c", STUBBORN, str(path), str(seconds),
                        url=server.url)


# ---- what a holder is told


def stream(server, query):
    """Events as they come."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=30)
    connection.request("GET", "/v1/events?" + query)
    answer = connection.getresponse()
    while True:
        line = answer.fp.readline().decode()
        if line.startswith("data: "):
            yield json.loads(line[6:])


@test()
def the_end_is_told_to_the_stream_and_to_the_topic(server):
    """R-30: to whoever listens, at the end and not before; of this name only."""
    with Listener(server.url, "/topic/lease.deploy") as topic:
        events = stream(server, "kind=lease&key=deploy")
        lease = server.put("/v1/leases/deploy", {"holder": "ada", "ttl": "10s"}, 201)
        server.put("/v1/leases/other", {"holder": "eve", "ttl": "1s"}, 201)
        waiter = threading.Thread(target=lambda: server.put("/v1/leases/deploy", {"holder": "bob", "wait": "1h", "ttl": "5s"}, 201))
        waiter.start()
        wait_for(lambda: server.metric("tocsin_named_leases_waiting") == 1, "bob stands in line")
        server.advance(9999)
        server.post("/v1/leases/deploy/keepalive", {"holder": "ada", "fence": lease["fence"]}, 200)
        server.advance(9999)
        before = topic.frames("/topic/lease.deploy")
        same([one["type"] for one in before], ["ACQUIRED"], "a renewal is no event, and its end has not come")
        server.advance(1)
        waiter.join()
        server.advance(5000)
        server.put("/v1/leases/deploy", {"holder": "cyd"}, 201)
        server.delete("/v1/leases/deploy?holder=cyd", 200)
        topic.wait(lambda: len(topic.seen) >= 6, "all of them")
        frames = topic.frames("/topic/lease.deploy")
        wanted = [("acquired", "ada"), ("expired", "ada"), ("acquired", "bob"), ("expired", "bob"), ("acquired", "cyd"),
                  ("released", "cyd")]
        told = [next(events) for _ in wanted]
        same([(one["type"], one["doc"]["holder"]) for one in told], wanted)
        same([(one["type"].lower(), one["payload"]["holder"]) for one in frames], wanted)
        for frame, event in zip(frames, told):
            same((frame["name"], frame["seq"], frame["payload"]), ("deploy", event["seq"], event["doc"]))
        same([told[i]["doc"]["fence"] == told[i + 1]["doc"]["fence"] for i in range(5)], [True, False, True, False, True])
        same(told[0]["doc"]["fence"] < told[2]["doc"]["fence"] < told[4]["doc"]["fence"], True)


@test(clock="system")
def who_listens_hears_of_the_end_in_time(server):
    """R-30: a holder that has stopped renewing hears that it is over, within a moment of its end."""
    with Listener(server.url, "/topic/lease.short") as topic:
        lease = server.put("/v1/leases/short", {"holder": "ada", "ttl": "300ms"}, 201)
        topic.wait(lambda: len(topic.seen) >= 2, "its end")
        late = time.time() * 1000 - lease["expires_ms"]
        same([one["type"] for one in topic.frames("/topic/lease.short")], ["ACQUIRED", "EXPIRED"])
        same(-50 < late < 2000, True, f"told {late:.0f} ms after the end")


# ---- holders die


@alone
def who_waits_is_served_though_holders_are_killed():
    """R-30: forty commands of four names, keepers killed by -9 at moments of chance: never two at a
    time, and all the others have their turn."""
    chance = random.Random(SEED)
    names = ("a", "b", "c", "d")
    with real_server() as server, folder() as here:
        runs = [run_under(server, name, here / name, 0.1, "--wait", "forever", "--ttl", "800ms") for name in names
                for _ in range(10)]
        killed = set()
        try:
            while len(killed) < 12 and any(run.poll() is None for run in runs):
                time.sleep(chance.uniform(0.02, 0.15))
                held = {one["name"]: one["holder"] for one in server.get("/v1/leases")["leases"]}
                if not held:
                    continue
                pid = int(held[chance.choice(sorted(held))].split(":")[1])  # HOST:PID:CHANCE
                victim = next((run for run in runs if run.pid == pid), None)
                if victim is not None and victim.poll() is None:
                    victim.kill()
                    killed.add(pid)
            for run in runs:
                code = run.wait(60)
                same(code, -signal.SIGKILL if run.pid in killed else 0, f"{run.stderr.read()} (TOCSIN_SEED={SEED})")
        finally:
            for run in runs:
                end(run)
        for name in names:
            seen = runs_of(here / name)
            same(overlaps(seen), [], f"{name}: two at a time (TOCSIN_SEED={SEED})")
        total = sum(len(runs_of(here / name)) for name in names)
        same((len(killed) >= 8, total >= 40 - len(killed)), (True, True), f"{len(killed)} killed, {total} ran")
        wait_for(lambda: server.get("/v1/leases")["leases"] == [], "what the killed had ends by itself")
        same(server.metric("tocsin_named_leases_waiting"), 0)
        same(server.metric("tocsin_named_leases_expired_total") >= 1, True)


# ---- the server dies


class Holder(threading.Thread):
    """Acquires, keeps and releases names of its own, again and again; what is not true goes into wrong."""

    def __init__(self, server, number, over):
        super().__init__(daemon=True)
        self.server, self.number, self.over = server, number, over
        self.fences, self.wrong, self.unanswered = [], [], 0

    def ask(self, method, path, body=None):
        """Until it is answered: the server is killed now and then. None: an answer was lost on the way there."""
        lost = False
        while True:
            try:
                answer = self.server.call(method, path, body)
                if answer.status < 500:
                    return answer, lost
            except (OSError, http.client.HTTPException):
                self.server.local.generation = None  # a new connection
            lost = True
            self.unanswered += 1
            time.sleep(0.01)

    def run(self):
        turn = 0
        while not self.over.is_set():
            turn += 1
            name, holder = f"h{self.number}-{turn % 3}", f"{self.number}:{turn}"
            taken, _ = self.ask("PUT", f"/v1/leases/{name}", {"holder": holder, "ttl": "1m"})
            if taken.status not in (200, 201):
                self.wrong.append(("acquire", taken))
                return
            fence = taken["fence"]
            if self.fences and fence <= self.fences[-1]:
                self.wrong.append(("a fence that does not rise", fence, self.fences[-1]))
            self.fences.append(fence)
            kept, _ = self.ask("POST", f"/v1/leases/{name}/keepalive", {"holder": holder, "fence": fence})
            if kept.status != 200 or kept["fence"] != fence:
                self.wrong.append(("keepalive", kept))
            gone, lost = self.ask("DELETE", f"/v1/leases/{name}?holder={holder}&fence={fence}")
            if gone.status != 200 and not (lost and gone.status == 404):
                self.wrong.append(("release", gone, lost))


@alone
def fences_only_rise_over_kills_of_the_server():
    """R-30: and what was acquired is still held after each."""
    chance = random.Random(SEED)
    cycles = int(os.environ.get("TOCSIN_CYCLES", 8))
    with real_server() as server:
        lasting = server.put("/v1/leases/lasting", {"holder": "ada", "ttl": "1h"}, 201)
        over = threading.Event()
        holders = [Holder(server, n, over) for n in range(4)]
        for holder in holders:
            holder.start()
        highest = 0
        for _ in range(cycles):
            time.sleep(chance.uniform(0.1, 0.5))
            server.restart(signal.SIGKILL)
            kept = server.post("/v1/leases/lasting/keepalive", {"holder": "ada", "fence": lasting["fence"]}, 200)
            same(kept["fence"], lasting["fence"])
            probe = server.put(f"/v1/leases/probe-{time.time_ns()}", {"holder": "p"}, 201)["fence"]
            same(probe > highest, True, f"a new fence above all that were told (TOCSIN_SEED={SEED})")
            highest = max([probe, *(fence for holder in holders for fence in holder.fences[-1:])])
        over.set()
        for holder in holders:
            holder.join(60)
            same((holder.is_alive(), holder.wrong), (False, []), f"TOCSIN_SEED={SEED}")
        fences = [fence for holder in holders for fence in holder.fences]
        same(len(set(fences)), len(fences), "no fence twice")
        same((len(fences) > 10 * cycles, sum(holder.unanswered for holder in holders) > 0), (True, True),
             f"{len(fences)} leases; some answers were lost")


# ---- the server hangs


def hang(server, seconds):
    server.process.send_signal(signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        server.process.send_signal(signal.SIGCONT)


@alone
def a_command_ends_before_its_lease_could_be_anothers():
    """R-30: the server hangs for longer than the ttl, again and again, with those in line who want it at once."""
    with real_server() as server, folder() as here:
        log = here / "log"
        runs = [run_under(server, "one", log, 100, "--wait", "forever", "--ttl", "900ms", "--grace", "100ms") for _ in range(3)]
        try:
            for n in range(1, 3):
                wait_for(lambda n=n: len(runs_of(log)) == n, f"number {n} runs")
                hung = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
                hang(server, 1.2)
                # It was over before the server could have given it away: a ttl after its last answer.
                same(runs_of(log)[n - 1][1] < hung + 900_000_000, True, "in time, though nobody told it")
            wait_for(lambda: len(runs_of(log)) == 3, "the last has its turn")
            same(overlaps(runs_of(log)), [])
            same(sorted(run.poll() is None for run in runs), [False, False, True])
        finally:
            for run in runs:
                end(run)


@alone
def test_control_a_command_that_is_not_ended_is_noticed():
    """The same, but for a holder that keeps its lease alive and never ends its command: they overlap, and it is seen."""
    with real_server() as server, folder() as here:
        log = here / "log"
        lease = server.put("/v1/leases/one", {"holder": "careless", "ttl": "900ms"}, 201)
        careless = subprocess.Popen([sys.executable, "-c", STUBBORN, str(log), "100"],
                                    env={**os.environ, "TOCSIN_FENCE": str(lease["fence"])})
        over = threading.Event()

        def keep():
            while not over.wait(0.2):
                server.call("POST", "/v1/leases/one/keepalive", {"holder": "careless", "fence": lease["fence"]})
        keeper = threading.Thread(target=keep)
        keeper.start()
        careful = run_under(server, "one", log, 100, "--wait", "forever", "--ttl", "900ms")
        try:
            wait_for(lambda: len(runs_of(log)) == 1, "it runs")
            wait_for(lambda: server.get("/v1/leases/one")["waiting"] == 1, "the other waits")
            hang(server, 1.2)
            wait_for(lambda: len(runs_of(log)) == 2, "the other has it")
            wait_for(lambda: len(overlaps(runs_of(log))) == 1, "the overlap is seen")
        finally:
            over.set()
            keeper.join()
            end(careless)
            end(careful)


if __name__ == "__main__":
    sys.exit(main())
