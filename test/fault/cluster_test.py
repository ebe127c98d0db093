#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cluster_test.py TOCSIN [PART] - several nodes on one Redis; the owner is killed, or stands still
for longer than its lease, again and again: is what was acknowledged there, and done once? (laws 1 to
5, C-13)

Owners and workers (load.py) do everything a task allows, through a node that follows; a judge in
another process (judge.py) has its own log. TOCSIN_CYCLES=100 is the long run; TOCSIN_SEED repeats
one. The judge's log of a failure is kept in build/log.
"""
import contextlib
import os
import pathlib
import random
import shutil
import signal
import sys
import time

import fault
from load import Judged, World

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "process"))
from redis_server import Redis  # noqa: E402

CYCLES = int(os.environ.get("TOCSIN_CYCLES") or 6)
OPERATIONS = 400
LEASE_MS = 1500


class Node(fault.Server):
    def __init__(self, tocsin, folder, redis, name):
        super().__init__(tocsin, folder / name, "--store", f"redis://127.0.0.1:{redis.port}",
                         "--set", f"node={name}", "--set", f"cluster.lease={LEASE_MS}ms",
                         "--set", f"cluster.renew={LEASE_MS // 5}ms")
        self.name = name

    def cluster(self):
        client = self.client()
        try:
            return client.good("GET", "/v1/info")["cluster"]
        except fault.Gone:
            return {"role": None, "owner": None, "epoch": 0}
        finally:
            client.close()

    def follows(self, other):
        found = self.cluster()
        return found["role"] == "follower" and (found["owner"] or {}).get("node") == other.name


def keep(judged, verdict, seed):
    logs = fault.ROOT / "build/log"
    logs.mkdir(parents=True, exist_ok=True)
    shutil.copy(judged.log, logs / "cluster-judge.log")
    text = "\n".join(verdict["violations"])
    raise AssertionError(f"TOCSIN_SEED={seed}: {verdict['count']} violations; "
                         f"test/fault/judge.py --replay build/log/cluster-judge.log\n{text}")


def end_of_an_owner(owner, other, how):
    """It is gone, or stands still, until the other one owns the records."""
    if how == "killed":
        owner.kill()
    else:
        owner.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    fault.wait_until(lambda: other.cluster()["role"] == "owner", f"a take-over after it was {how}")
    took = time.monotonic() - began
    if how == "killed":
        owner.start()
    else:
        owner.process.send_signal(signal.SIGCONT)
    fault.wait_until(lambda: owner.follows(other), "that the one before follows")
    return took


def drain(world, owner, other):
    """Nothing new; what is there runs to its end."""
    world.no_more = True
    world.go(other.port)
    client = owner.client()
    fault.wait_until(lambda: world.errors or not [task for task in client.all_tasks()
                                                  if not task["id"].endswith("gapless")],
                     "all tasks have run", 60)
    client.close()
    end_of_an_owner(owner, other, "killed")
    world.judged.tell("killed")
    world.wait_parked()
    if world.errors:
        raise world.errors[0]


def torture(tocsin, cycles):
    seed = fault.seed()
    chance = random.Random(seed)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(fault.folder())
        redis = stack.enter_context(Redis())
        owner, other = (stack.enter_context(Node(tocsin, folder, redis, name)) for name in ("n1", "n2"))
        owner.start()
        other.start()
        judged = Judged(folder / "judge.log")
        world = World(judged, seed)
        ends, slowest, epoch = [], 0, 0
        try:
            for cycle in range(cycles):
                fault.expect(other.follows(owner), "the second follows the first")
                fault.expect(owner.cluster()["epoch"] > epoch, "epochs rise")
                epoch = owner.cluster()["epoch"]
                before = world.acknowledged
                world.go(other.port)
                world.wait_for(before + OPERATIONS + chance.randrange(200), 120)
                ends.append("killed" if cycle % 2 == 0 else "stopped")
                slowest = max(slowest, end_of_an_owner(owner, other, ends[-1]))
                judged.tell("killed")
                world.wait_parked()
                owner, other = other, owner
                verdict = judged.verdict("check", owner.port)
                if verdict["count"]:
                    keep(judged, verdict, seed)
            drain(world, owner, other)
            verdict = judged.verdict("end", other.port)
            if verdict["count"]:
                keep(judged, verdict, seed)
            return verdict, ends, slowest, world.acknowledged
        except Exception:
            for node in (owner, other):
                print(f"---- {node.name}\n{node.said()}", flush=True)
            raise
        finally:
            for node in (owner, other):
                if node.process is not None:
                    node.process.send_signal(signal.SIGCONT)
                    node.kill()
            world.close()
            judged.close()


def test_whatever_was_acknowledged_survives_its_owner(tocsin):
    verdict, ends, slowest, acknowledged = torture(tocsin, CYCLES)
    counts = verdict["counts"]
    print(f"{len(ends)} cycles, {ends.count('killed')} killed, {ends.count('stopped')} stopped, "
          f"{acknowledged} acknowledged, take-overs within {slowest:.1f} s: {counts}", flush=True)
    fault.expect(slowest < LEASE_MS / 1000 + 2, "a take-over took too long")
    for verb in ("create", "put", "cancel", "ack", "nack", "extend", "pause", "resume", "fire",
                 "runs", "lost answers"):
        fault.expect(counts.get(verb, 0) > 0, f"there was no {verb}: this tests too little")


if __name__ == "__main__":
    fault.run_tests(sys.modules[__name__], __doc__)
