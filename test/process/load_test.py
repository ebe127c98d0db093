#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""load_test.py TOCSIN [NAME...] - W-12 with real sockets: 100 000 tasks from 100 connections
with delays of 0 to 10 s, and every single one fires exactly once, never early.

Under a sanitizer it takes fewer: TOCSIN_LOAD says how many.
"""
import asyncio
import json
import os
import random
import sys
import time

from support import main, same, test

ASAN = "asan" in os.path.dirname(sys.argv[1]) or "tsan" in os.path.dirname(sys.argv[1])
TASKS = int(os.environ.get("TOCSIN_LOAD", 20000 if ASAN else 100000))
PRODUCERS, CONSUMERS, SPAN_MS, LINES = 100, 4, 10000, 250
PATIENCE = 55.0


class Client:
    """A keep-alive connection; only what this test needs of HTTP."""

    async def open(self, server):
        self.reader, self.writer = await asyncio.open_connection(server.host, server.port, limit=1 << 24)
        return self

    async def post(self, path, body, kind="application/json"):
        self.writer.write(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
                          f"Prefer: return=minimal\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        head = await self.reader.readuntil(b"\r\n\r\n")
        same(head.startswith(b"HTTP/1.1 200 "), True, head[:80])
        size = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        return await self.reader.readexactly(size)


async def produce(server, number, start, due):
    client = await Client().open(server)
    chance = random.Random(number)
    mine = TASKS // PRODUCERS
    for first in range(0, mine, LINES):
        ids = [f"p{number}-{n}" for n in range(first, min(mine, first + LINES))]
        left = max(0, SPAN_MS - int((time.monotonic() - start) * 1000))
        body = b"".join(b'{"id":"%s","delay":%d}\n' % (id.encode(), chance.randrange(left + 1)) for id in ids)
        answer = await client.post("/v1/tasks/batch", body, "application/x-ndjson")
        lines = answer.splitlines()
        same(len(lines), len(ids))
        for id, line in zip(ids, lines):
            made = json.loads(line)
            same(made["id"], id)
            due[id] = made["due_ms"]
    client.writer.close()


async def consume(server, seen, late):
    client, acks = await Client().open(server), await Client().open(server)
    while len(seen) < TASKS:
        runs = json.loads(await client.post("/v1/queues/default/lease", b'{"max":500,"wait":"1s","ttl":"1m"}'))["runs"]
        for run in runs:
            same(run["task_id"] in seen, False, "twice")
            same(run["attempt"], 1)
            seen[run["task_id"]] = run
            late.append(run["fired_ms"] - run["due_ms"])
        if runs:
            body = json.dumps({"runs": [run["run"] for run in runs]}).encode()
            results = json.loads(await acks.post("/v1/runs/ack", body))["results"]
            same(all(result["status"] == "completed" for result in results), True)
    client.writer.close()
    acks.writer.close()


async def all_of_them(server, due, seen, late):
    start = time.monotonic()
    await asyncio.wait_for(asyncio.gather(*(produce(server, n, start, due) for n in range(PRODUCERS)),
                                          *(consume(server, seen, late) for _ in range(CONSUMERS))), PATIENCE)
    return time.monotonic() - start


@test(clock="system", store="sqlite")
def every_one_of_100000_fires_exactly_once(server):  # W-12
    due, seen, late = {}, {}, []
    took = asyncio.run(all_of_them(server, due, seen, late))
    same((len(due), set(seen) == set(due)), (TASKS // PRODUCERS * PRODUCERS, True))
    same(min(late) >= 0, True, "none early")
    # The elapsed clock is told by the wall's: the same each time, unless that one is steered.
    same(sum(run["due_ms"] != due[id] for id, run in seen.items()) < TASKS / 10, True)
    same({id for id, run in seen.items() if abs(run["due_ms"] - due[id]) > 2}, set())
    same(server.metric("tocsin_tasks_executed_total"), TASKS)
    same((server.lease(), server.get("/v1/info")["counts"]["records"]), ([], 0))
    late.sort()
    print(f"{TASKS} in {took:.1f} s, late p50 {late[len(late) // 2]} ms, p99 {late[len(late) * 99 // 100]} ms")


if __name__ == "__main__":
    sys.exit(main())
