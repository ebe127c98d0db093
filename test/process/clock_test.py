#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""clock_test.py TOCSIN [NAME...] - the wall clock jumps: none early, none lost, none twice."""
import random
import sys

from support import main, same, test

SECOND, MINUTE, HOUR, DAY = 1000, 60000, 3600000, 86400000


def take(server):
    runs = server.lease()
    for run in runs:
        server.ack(run)
    return sorted(run["task_id"] for run in runs)


@test()
def a_step_of_the_wall_moves_at_and_leaves_delay_alone(server):
    for step in (5 * SECOND, -5 * SECOND, 2 * HOUR, -2 * HOUR, 3 * DAY, -3 * DAY):
        now = server.now()
        server.add(id="delay", delay="1h")
        server.add(id="at", at=now + HOUR)
        server.set_wall(now + step)
        same(server.task("at")["due_ms"], now + HOUR)
        same(server.task("delay")["due_ms"], now + step + HOUR, "told by the new wall clock")
        left = max(0, HOUR - step)
        first, then = sorted((("at", left), ("delay", HOUR)), key=lambda pair: pair[1])
        if first[1] > 0:
            server.advance(first[1] - 1)
            same(take(server), [], f"{step}: {first[0]} is early")
            server.advance(1)
        same(take(server), [first[0]], str(step))
        server.advance(then[1] - first[1] - 1)
        same(take(server), [], f"{step}: {then[0]} is early")
        server.advance(1)
        same(take(server), [then[0]], str(step))
        server.advance(2 * DAY)
        same(take(server), [], "twice")


@test()
def a_schedule_lives_through_steps(server):
    server.set_wall("2026-11-15T04:10:00Z")
    server.add(id="every", every="1h", overlap="allow", target={"type": "queue", "queue": "e"})
    server.add(id="cron", cron="0 * * * *", overlap="allow", target={"type": "queue", "queue": "c"})
    for step in (30 * MINUTE, -45 * MINUTE, 5 * SECOND, -5 * SECOND):
        server.set_wall(server.now() + step)
    same(server.lease("e"), [], "every goes by the elapsed clock")
    seen = set()
    for _ in range(48):
        server.advance("30m")
        for run in server.lease("c"):
            same((run["due_ms"] % HOUR, run["due_ms"] <= server.now()), (0, True))
            same(run["due_ms"] in seen, False, "twice")
            seen.add(run["due_ms"])
            server.ack(run)
    count = 0
    for run in server.lease("e", max=100):
        count += 1
        server.ack(run)
    same(count, 24)
    same(len(seen), 23, "05:00 to 03:00; 04:00 had been when it was made")
    before = server.now()
    server.set_wall(before - 3 * HOUR - 1)  # back: those hours have been
    server.advance("3h")
    same([run["due_ms"] for run in server.lease("c")], [], "none twice")
    server.set_wall(before + 5 * HOUR)
    server.advance(0)
    due = [run["due_ms"] for run in server.lease("c")]
    same((len(due), due[0] % HOUR, due[0] > max(seen)), (1, 0, True), "one stands for those that were jumped over")


@test()
def jumps_of_all_sizes_lose_nothing(server):
    """The checker is the obvious one: a table of when each may fire by its own clock."""
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    wall, line = server.now(), 0
    due, fired, made = {}, set(), 0
    for _ in range(150):
        what = chance.random()
        if what < 0.5:
            id, wait = f"t{made}", chance.choice((0, 1, SECOND, MINUTE, HOUR, DAY)) * chance.randrange(1, 4)
            made += 1
            if chance.random() < 0.5:
                server.add(id=id, delay=wait)
                due[id] = ("line", line + wait)
            else:
                server.add(id=id, at=wall + wait)
                due[id] = ("wall", wall + wait)
        elif what < 0.8:
            by = chance.choice((0, 1, SECOND, MINUTE, HOUR)) * chance.randrange(1, 5)
            wall, line = server.advance(by), line + by
        else:
            wall = server.set_wall(wall + chance.choice((-1, 1)) * chance.choice((1, 5 * SECOND, 3 * HOUR, 2 * DAY)))
        ready = {id for id, (basis, at) in due.items() if at <= (line if basis == "line" else wall)}
        taken = set(take(server))
        same(taken & fired, set(), f"twice (seed {seed})")
        same(taken - ready, set(), f"early (seed {seed})")
        fired |= taken
        same({id for id in ready if id not in fired}, set(), f"late (seed {seed})")
    wall = server.set_wall(wall + 30 * DAY)
    fired |= set(take(server))
    server.advance("30d")
    fired |= set(take(server))
    same(fired, set(due), f"lost (seed {seed})")


@test(store="sqlite")
def a_restart_takes_no_step_for_time(server):
    now = server.now()
    server.add(id="delay", delay="1h")
    server.set_wall(now + 10 * HOUR)
    server.add(id="other", delay="3h")  # something is committed after the step
    server.restart(9)  # and the wall is back where the system has it
    same(take(server), [], "none early")
    server.advance("1h")
    same("delay" in take(server), True)
    server.advance("2h")
    same(server.task("other", None).status, 200)


if __name__ == "__main__":
    sys.exit(main())
