#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""disk_test.py TOCSIN [PART] - a full disk, a disk that cannot sync, and power that fails.
(laws 1, 5 and 10; W-17)

The full disk is a small file system, mounted by the test (root only; else skipped). Syncs fail,
are swallowed, or alone decide what is left, by a shim in front of the C library (shim.c). Each
protection has a control in which it is off, and something must be seen to go wrong.
"""
import pathlib
import random
import shutil
import sys
import threading
import time

import fault

NO_BALLAST = {"TOCSIN_BALLAST_BYTES": "0"}
SECTOR = 512


# ---- a full disk

def fill(disk):
    """Takes every byte there is."""
    with open(disk / "filler", "ab", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 512, 1):
            block = bytes(size)
            try:
                while file.write(block) == size:
                    pass
            except OSError:
                pass


def ready_work(client, count):
    for i in range(count):
        client.good("PUT", f"/v1/tasks/full-{i}", {"delay": 0, "payload": {"n": i, "x": "y" * 600}})
    client.good("PUT", "/v1/tasks/rhythm", {"every": "200ms", "overlap": "allow",
                                            "target": {"type": "queue", "queue": "rhythm"}})


def fill_until_refused(client, disk):
    """A few more tasks fit into what the store has, then none."""
    fill(disk)
    for i in range(3000):
        status, answer, headers = client.call("POST", "/v1/tasks",
                                              {"delay": "1h", "payload": "z" * 3000})
        if status != 201:
            return status, answer, headers
    raise AssertionError("a full disk took 3 000 tasks")


def test_a_full_disk_refuses_work_ends_work_and_recovers(tocsin):
    with fault.folder() as folder, fault.small_disk(folder, 32) as disk:
        if disk is None:
            return
        settings = {"TOCSIN_BALLAST_BYTES": "8MiB"}
        with fault.Server(tocsin, disk / "data", settings=settings) as server:
            client = server.start().client()
            ready_work(client, 300)
            status, answer, headers = fill_until_refused(client, disk)
            fault.expect(status in (503, 507), f"{status} {answer}")
            fault.expect("retry-after" in headers and answer["code"] == "UNAVAILABLE",
                         f"{headers} {answer}")
            refusing = ends_work_beside_refused_work(server, client)
            fault.expect(refusing["status"] == "WARNING", f"/healthz: {refusing}")
            comes_up_on_a_full_disk(server)
            client = server.client()
            (disk / "filler").unlink()
            began = time.monotonic()
            fault.wait_until(lambda: client.call("POST", "/v1/tasks", {"delay": "1h"})[0] == 201,
                             "it takes work again", 5)
            print(f"took work again {time.monotonic() - began:.2f} s after there was room")
            fault.expect(client.good("GET", "/healthz")["status"] != "DOWN", "DOWN")

            def whole():
                client.good("POST", "/v1/tasks", {"delay": "1h"})
                return (disk / "data/ballast").exists() and \
                    (disk / "data/ballast").stat().st_size == 8 << 20
            fault.wait_until(whole, "the ballast is back", 5)
            fault.expect("disk full" in server.said(), "the log says nothing")


def ends_work_beside_refused_work(server, client):
    """Reads, firing, leases and acks go on while others ask for new work, which gets nothing of
    the ballast. An ack that shares its commit with a try of new work may have to be sent again;
    that is rare."""
    stop = threading.Event()
    refused = []

    def keep_asking():
        other = server.client()
        while not stop.is_set():
            refused.append(other.call("POST", "/v1/tasks", {"delay": "1h", "payload": "z" * 3000})[0])
            time.sleep(0.002)

    asking = [threading.Thread(target=keep_asking) for _ in range(2)]
    for thread in asking:
        thread.start()
    try:
        health = end_work(client)
    finally:
        stop.set()
        for thread in asking:
            thread.join()
    fault.expect(len(refused) > 100 and all(status in (503, 507) for status in refused),
                 f"{len(refused)} asked, answered {sorted(set(refused))}")
    return health


def end_work(client):
    began = time.monotonic()
    acked = {"default": 0, "rhythm": 0}
    again = 0
    while time.monotonic() - began < 4 or acked["default"] < 300:
        fault.expect(time.monotonic() - began < 20, f"{acked}")
        for queue in acked:
            for run in client.lease(queue, 10):
                for _ in range(10):
                    status, answer, _ = client.call("POST", f"/v1/runs/{run['run']}/ack", {})
                    if status == 200:
                        break
                    again += 1
                fault.expect(status == 200, f"ack of {run['task_id']}: {status} {answer}")
                acked[queue] += 1
        client.good("GET", "/v1/tasks/rhythm")
        time.sleep(0.01)
    fault.expect(acked["rhythm"] >= 12, f"the rhythm did not go on: {acked}")
    fault.expect(again <= 10, f"{again} acks had to be sent again")
    print(f"on a full disk: {acked} ended, {again} acks sent again")
    return client.good("GET", "/healthz")


def comes_up_on_a_full_disk(server):
    server.kill()
    server.start()
    client = server.client()
    fault.expect(client.call("GET", "/v1/tasks/full-0")[0] in (200, 404), "it does not read")
    fault.expect(client.call("POST", "/v1/tasks", {"delay": "1h", "payload": "z" * 60000})[0]
                 in (201, 503, 507), "neither taken nor refused")


def large_task(client, task_id):
    return client.call("PUT", f"/v1/tasks/{task_id}", {"delay": "1h", "payload": "z" * 60000})[0]


def fill_with_large_tasks(client, disk):
    """As many as there is room for; the last one is refused."""
    fill(disk)
    for i in range(2000):
        if large_task(client, f"large-{i}") not in (200, 201):
            return i
    raise AssertionError("a full disk took 2 000 large tasks")


# The disk stays full: what is cancelled is the only room there is. (W-17, W-18)
def test_cancelling_large_tasks_on_a_full_disk_gives_service_back(tocsin):
    with fault.folder() as folder, fault.small_disk(folder, 64) as disk:
        if disk is None:
            return
        settings = {"TOCSIN_BALLAST_BYTES": "8MiB"}
        with fault.Server(tocsin, disk / "data", settings=settings) as server:
            client = server.start().client()
            for i in range(300):
                client.good("PUT", f"/v1/tasks/old-{i}", {"delay": "1h", "payload": "z" * 60000})
            made = fill_with_large_tasks(client, disk)
            client.good("DELETE", "/v1/tasks/old-299")
            time.sleep(2.2)  # the server tries new work once a second
            fault.expect(all(large_task(client, "never") in (503, 507) for _ in range(50)),
                         "the control: one cancelled task gave room")
            for i in range(299):
                client.good("DELETE", f"/v1/tasks/old-{i}")
            began = time.monotonic()
            fault.wait_until(lambda: large_task(client, "again-0") in (200, 201),
                             "it takes work again", 10)
            print(f"full with {made} tasks more; took work {time.monotonic() - began:.2f} s after "
                  "299 of 60 kB were cancelled")
            for i in range(1, 50):
                fault.expect(large_task(client, f"again-{i}") in (200, 201), f"again-{i} is refused")
            free = shutil.disk_usage(disk).free
            fault.expect(free < 8 << 20, f"{free} bytes are free: the disk is not full")
            server.kill()
            client = server.start().client()
            there = {task["id"] for task in client.all_tasks()}
            wanted = {f"again-{i}" for i in range(50)} | {f"large-{i}" for i in range(made)}
            fault.expect(there == wanted, f"{len(there)} tasks of {len(wanted)}")


# The control: what ends work needs the ballast.
def test_control_without_ballast_a_full_disk_ends_no_work(tocsin):
    with fault.folder() as folder, fault.small_disk(folder, 32) as disk:
        if disk is None:
            return
        with fault.Server(tocsin, disk / "data", settings=NO_BALLAST) as server:
            client = server.start().client()
            ready_work(client, 300)
            fill_until_refused(client, disk)
            answers = [client.call("POST", f"/v1/runs/{run['run']}/ack", {})[0]
                       for run in client.lease(most=300)]
            fault.expect(any(status in (503, 507) for status in answers),
                         f"all was acknowledged: {set(answers)}")


# ---- a disk that cannot sync

def load(server, acknowledged, stop, chance, prefix):
    """Makes and cancels tasks; what was acknowledged is noted, and what was asked last."""
    client = server.client()
    for i in range(100000):
        if stop.is_set():
            return
        task_id = f"{prefix}-{i}"
        acknowledged[task_id] = "asked"
        client.good("PUT", f"/v1/tasks/{task_id}",
                    {"delay": "1h", "payload": {"id": task_id, "x": "p" * chance.randrange(3000)}})
        acknowledged[task_id] = "there"
        if i % 3 == 0:
            acknowledged[task_id] = "asked"
            client.good("DELETE", f"/v1/tasks/{task_id}")
            acknowledged[task_id] = "gone"


def under_load(server, seed, end):
    """Three clients until `end` has ended the server; what they were told, by id."""
    acknowledged, stop, gone = {}, threading.Event(), []

    def one(number):
        try:
            load(server, acknowledged, stop, random.Random(f"{seed}/{number}"), f"{seed}-{number}")
        except fault.Gone:
            gone.append(number)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    try:
        end()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    return acknowledged


def losses(server, acknowledged):
    """What the server does not have as it was acknowledged."""
    there = {task["id"]: task for task in server.client().all_tasks()}
    wrong = []
    for task_id, state in acknowledged.items():
        task = there.get(task_id)
        if state == "there" and (task is None or task["payload"]["id"] != task_id):
            wrong.append(f"{task_id} is lost")
        elif state == "gone" and task is not None:
            wrong.append(f"{task_id} is back")
    return wrong


# Law 10.
def test_a_failed_sync_stops_the_server_and_loses_nothing(tocsin):
    chance = random.Random(fault.seed())
    for _ in range(4):
        with fault.folder() as folder:
            data, disk = folder / "data", folder / "disk"
            shim = fault.Shim(folder, data, disk)
            with fault.Server(tocsin, data, settings=NO_BALLAST, shim=shim) as server:
                server.start()
                fault.expect(shim["on"] == 1, "the shim was not loaded")

                def fail():
                    shim["fail_at"] = shim["syncs"] + chance.randrange(1, 120)
                    fault.expect(server.process.wait(fault.PATIENCE) == 1, "exit is not 1")

                acknowledged = under_load(server, chance.randrange(1 << 20), fail)
                fault.expect(server.ends() == 1, "exit is not 1")
                fault.expect(len(acknowledged) > 0, "nothing was done")
                fault.expect("store has failed" in server.said() and "tocsin.db" in server.said(),
                             server.said())
                fault.expect(shim["syncs_after"] == 0, f"{shim['syncs_after']} syncs were tried again")
                for files in (data, disk): # what the kernel may have kept, or dropped
                    with fault.Server(tocsin, files, settings=NO_BALLAST) as again:
                        wrong = losses(again.start(), acknowledged)
                        fault.expect(not wrong, f"{files.name}: {wrong[:5]}")


# The control: a server that went on after a failed sync would be seen by its losses.
def test_control_a_swallowed_sync_is_seen_as_a_loss(tocsin):
    wrong = cut_power(tocsin, fault.seed(), "lost", swallow=1)
    fault.expect(wrong, "syncing was off, and nothing was lost: the test sees nothing")
    print(f"for example: {wrong[0]}")


# ---- power

def leave_what_power_left(data, disk, how, chance):
    """`disk` holds what was synced. Of the rest, sectors may be there or not."""
    for path in sorted(data.iterdir()):
        name, synced = path.name, disk / path.name
        if name.endswith("-shm") or name == "lock":
            continue
        if how == "mixed" and (synced.exists() or chance.random() < 0.5):
            now, then = path.read_bytes(), synced.read_bytes() if synced.exists() else b""
            size = chance.choice((len(now), len(then)))
            then = then.ljust(size, b"\0")[:size]
            now = now.ljust(size, b"\0")[:size]
            mixed = bytearray(then)
            for at in range(0, size, SECTOR):
                if now[at:at + SECTOR] != then[at:at + SECTOR] and chance.random() < 0.5:
                    mixed[at:at + SECTOR] = now[at:at + SECTOR]
            synced.write_bytes(mixed)
    for path in disk.glob("unnamed-*"):
        if how == "mixed" and chance.random() < 0.5:
            path.rename(disk / path.name.removeprefix("unnamed-"))
        else:
            path.unlink()
    shutil.rmtree(data)
    disk.rename(data)


def cut_power(tocsin, seed, how, swallow=0, cuts=3):
    """Losses after a few cuts at random moments, one on what the other left."""
    chance = random.Random(f"{seed}/{how}")
    told, wrong = {}, []
    with fault.folder() as folder:
        data = folder / "data"
        for cut in range(cuts):
            disk = folder / f"disk{cut}"
            if data.exists():  # all of it survived: it is on the new disk as well
                shim = fault.Shim(folder, data, disk)
                for path in data.iterdir():
                    shutil.copy(path, disk / path.name)
            else:
                shim = fault.Shim(folder, data, disk)
            with fault.Server(tocsin, data, settings=NO_BALLAST, shim=shim) as server:
                server.start()
                shim["swallow"] = swallow

                def end():
                    time.sleep(0.05 + chance.random() * 0.6)
                    server.kill()

                told.update(under_load(server, f"{seed}-{cut}", end))
            leave_what_power_left(data, disk, how, chance)
            with fault.Server(tocsin, data, settings=NO_BALLAST) as server:
                if not server.launch().becomes_ready():
                    code = server.ends()
                    wrong.append(f"it does not start (exit {code}): {server.said()}")
                    return wrong
                wrong += losses(server, told)
                for task_id in [key for key, state in told.items() if state == "asked"]:
                    del told[task_id]
                if swallow == 0:
                    fault.expect(server.stop() == 0, "it does not stop")
        fault.expect(len(told) > 100, f"only {len(told)} operations: this tests too little")
        print(f"power cut {cuts} times ({how}): {len(told)} acknowledged, {len(wrong)} wrong")
    return wrong


def test_power_cuts_lose_nothing_that_was_acknowledged(tocsin):
    seed = fault.seed()
    for how in ("lost", "mixed", "mixed"):
        wrong = cut_power(tocsin, seed, how)
        fault.expect(not wrong, f"TOCSIN_SEED={seed}: {wrong[:5]}")
        seed += 1


# So that the shim itself is not taken in: after an orderly stop the disk has every byte.
def test_the_shim_has_seen_every_write(tocsin):
    with fault.folder() as folder:
        data, disk = folder / "data", folder / "disk"
        shim = fault.Shim(folder, data, disk)
        with fault.Server(tocsin, data, settings=NO_BALLAST, shim=shim) as server:
            server.start()
            acknowledged = under_load(server, 1, lambda: time.sleep(0.5))
            fault.expect(server.stop() == 0 and len(acknowledged) > 50, "too little was done")
        one, other = (data / "tocsin.db").read_bytes(), (disk / "tocsin.db").read_bytes()
        fault.expect(one == other, f"{len(one)} and {len(other)} bytes differ")


if __name__ == "__main__":
    fault.run_tests(sys.modules[__name__], __doc__)
