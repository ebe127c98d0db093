#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""damage_test.py TOCSIN [PART] - files that have decayed, been cut, or are in use. (laws 1, 5, 6)

After kill -9 bytes of the store's file and of its log are flipped, one at a time. Each time
either the server refuses, naming the file, the byte or the row, and what to do; or it starts, and then every
acknowledged task is there byte for byte or answers for itself that it is damaged. Never is
something missing in silence.
"""
import os
import random
import shutil
import subprocess
import sys

import fault

SETTINGS = {"TOCSIN_BALLAST_BYTES": "0"}
TASKS = 60


def make_store(tocsin, folder, settled=False):
    """Killed hard, with a log; or settled, by an orderly stop, which leaves none."""
    with fault.Server(tocsin, folder / "data", settings=SETTINGS) as server:
        client = server.start().client()
        told = {}
        for i in range(TASKS):
            body = {"delay": "1h", "payload": {"n": i, "x": f"{i}-" * 200}}
            client.good("PUT", f"/v1/tasks/t{i}", body)
            told[f"t{i}"] = body["payload"]
            if i % 5 == 4:
                client.good("DELETE", f"/v1/tasks/t{i - 1}")
                told[f"t{i - 1}"] = None
        if settled:
            server.stop()
        else:
            server.kill()
    return told


def flip(path, at, bit=0x10):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ bit]))


def start(tocsin, data, *options):
    """(why it refused, or None; the server)."""
    server = fault.Server(tocsin, data, *options, settings=SETTINGS)
    if server.launch().becomes_ready():
        return None, server
    code = server.ends()
    said = server.said()
    fault.expect(code == 1, f"exit {code}: {said}")
    server.__exit__()
    return said, None


def missing_in_silence(server, told):
    client = server.client()
    wrong = []
    for task_id, payload in told.items():
        status, answer, _ = client.call("GET", f"/v1/tasks/{task_id}")
        if payload is None and status not in (404, 500):
            wrong.append(f"{task_id} is back: {status}")
        elif payload is not None and status == 200 and answer["payload"] != payload:
            wrong.append(f"{task_id} is not what was stored")
        elif payload is not None and status not in (200, 500, 503):
            wrong.append(f"{task_id}: {status}")
    return wrong


def try_flips(tocsin, settled, name, count):
    chance = random.Random(fault.seed())
    refused = served = 0
    with fault.folder() as folder:
        told = make_store(tocsin, folder, settled)
        size = (folder / "data" / name).stat().st_size
        places = {*range(0, 64, 9), *(chance.randrange(size) for _ in range(count))}
        for at in sorted(places):
            data = folder / "copy"
            shutil.copytree(folder / "data", data)
            flip(data / name, at, 1 << chance.randrange(8))
            why, server = start(tocsin, data)
            if server is None:
                refused += 1
                where = " format " in why or (" byte " in why and (name != "tocsin.db" or "(page" in why))
                fault.expect("tocsin.db" in why and where and
                             ("Restore a backup" in why or "use the version" in why),
                             f"byte {at} of {name}: {why}")
                fault.expect(", row " not in why or " at byte " in why, f"byte {at} of {name}: no place: {why}")
                again, server = start(tocsin, data)  # being asked twice changes nothing
                fault.expect(server is None, f"byte {at} of {name}: the second time it starts")
            else:
                served += 1
                with server:
                    wrong = missing_in_silence(server, told)
                    fault.expect(not wrong, f"byte {at} of {name}: {wrong[:5]}")
            shutil.rmtree(data)
    print(f"{name}: {refused} refused, {served} served with nothing missing in silence")
    return refused


def test_a_flipped_byte_in_the_file_is_never_silent(tocsin):
    fault.expect(try_flips(tocsin, True, "tocsin.db", 40) > 0, "nothing was refused")


# "A damaged file: refused with the offset and what to do." (law 6)
def test_a_damaged_row_is_told_by_its_page(tocsin):
    with fault.folder() as folder:
        make_store(tocsin, folder, settled=True)
        data = folder / "data"
        text = (data / "tocsin.db").read_bytes()
        places = [at for at in range(len(text)) if text.startswith(b"t30", at)]
        told = 0
        for at in places:  # of the record, of its events, and of old copies in pages that were split
            flip(data / "tocsin.db", at + 1)
            why, server = start(tocsin, data)
            if server is None:
                told += 1
                fault.expect(f" (page {at // 4096 + 1})" in why and " at byte " in why and
                             "table record, row " in why and "Restore a backup" in why, f"byte {at}: {why}")
                done = subprocess.run([tocsin, "verify", data], capture_output=True, text=True, check=False)
                fault.expect(done.returncode == 1 and f" (page {at // 4096 + 1})" in done.stderr, done.stderr)
            else:
                server.__exit__()
            (data / "tocsin.db").write_bytes(text)
        fault.expect(told == 1, f"{told} of {len(places)} were refused")


# Heads of pages, and the names of the tables, which have no row that could be told.
def test_each_refusal_names_the_byte_and_the_page(tocsin):
    with fault.folder() as folder:
        make_store(tocsin, folder, settled=True)
        path = folder / "data/tocsin.db"
        text = path.read_bytes()
        column = text.index(b"tag")
        heads = [page + at for page in range(4096, len(text), 4096) for at in (0, 3, 5, 8, 9)]
        refused = 0
        for at in (28, 100, 103, 108, text.index(b"CREATE TABLE record"), column, *heads):
            flip(path, at, 0xff if at != column else 1)
            why, server = start(tocsin, folder / "data")
            if server is None:
                refused += 1
                fault.expect(" byte " in why and "(page" in why and "Restore a backup" in why, f"byte {at}: {why}")
            else:
                server.__exit__()
            path.write_bytes(text)
        fault.expect(refused > 20, f"{refused} of {len(heads)}")


def places_of(path, word):
    """Where it stands in the file; more than once, when a page was split."""
    text, at = path.read_bytes(), -1
    while (at := text.find(word, at + 1)) >= 0:
        yield at


# A payload that stands beside the head of its record is checked as that is. (law 6)
def test_a_damaged_payload_is_refused_with_its_place(tocsin):
    with fault.folder() as folder:
        make_store(tocsin, folder, settled=True)
        path = folder / "data/tocsin.db"
        pages = [at // 4096 + 1 for at in places_of(path, b"30-30-30-") if flip(path, at) is None]
        why, server = start(tocsin, folder / "data")
        fault.expect(server is None and " at byte " in why and "table record, row " in why and
                     any(f" (page {page})" in why for page in pages) and "Restore a backup" in why, f"{why}")


def damage_large(tocsin, folder, bodies):
    """Payloads in pages of their own, which a start does not read, all damaged but the first."""
    with fault.Server(tocsin, folder / "data", settings=SETTINGS) as server:
        client = server.start().client()
        for i, body in enumerate(bodies):
            client.good("PUT", f"/v1/tasks/t{i}", {**body, "payload": f"needle-{i}." * 2000})
        server.stop()
    path = folder / "data/tocsin.db"
    for i in range(1, len(bodies)):
        flip(path, list(places_of(path, f"needle-{i}".encode()))[1000])
    why, server = start(tocsin, folder / "data")
    fault.expect(server is not None, f"{why}")
    return server


def damages_counted(client):
    _, text, _ = client.call("GET", "/metrics")
    name = 'tocsin_store_errors_total{reason="damaged"} '
    return [int(line[len(name):]) for line in text.decode().splitlines() if line.startswith(name)][0]


def test_a_list_goes_on_behind_a_damaged_record_and_it_is_told_once(tocsin):
    with fault.folder() as folder, damage_large(tocsin, folder, [{"delay": "1h"}] * 3) as server:
        client = server.client()
        client.good("PUT", "/v1/tasks/after", {"delay": "1h"})
        for _ in range(3):
            listed = [task["id"] for task in client.all_tasks()]
            fault.expect(listed == ["t0", "after"], f"{listed}")
        fault.wait_until(lambda: damages_counted(client) == 2, "both are counted")
        said = [line for line in server.said().splitlines() if "a record is damaged" in line]
        fault.expect(len(said) == 2, f"{said}")
        for i, line in enumerate(said):
            fault.expect(f"id=t{i + 1} " in line and " at byte " in line and "(pages " in line and
                         "table record, row " in line and "DELETE removes it" in line, line)
        fault.expect(client.good("GET", "/healthz")["status"] == "WARNING", "nothing is silent")


def test_a_damaged_task_can_be_removed_and_replaced(tocsin):
    with fault.folder() as folder, damage_large(tocsin, folder, [{"delay": "1h"}] * 4) as server:
        client = server.client()
        for method, path in (("GET", ""), ("GET", "/why"), ("POST", "/fire"), ("POST", "/pause")):
            status, answer, _ = client.call(method, f"/v1/tasks/t1{path}")
            fault.expect(status == 500 and "DELETE removes it" in answer["detail"], f"{path}: {status} {answer}")
        answer = client.good("DELETE", "/v1/tasks/t1")
        fault.expect(answer["id"] == "t1" and answer["status"] == "cancelled", f"{answer}")
        status, _, _ = client.call("PUT", "/v1/tasks/t2", {"delay": "0s"}, [("If-Match", '"1"')])
        fault.expect(status == 412, f"{status}")
        client.good("PUT", "/v1/tasks/t2", {"delay": "0s", "payload": "new"})
        runs = client.lease(wait="5s")
        fault.expect([run["payload"] for run in runs] == ["new"], f"{runs}")
        status, _, _ = client.call("GET", "/v1/tasks/none", None)
        fault.expect(status == 404, f"{status}")
        client.good("DELETE", "/v1/tasks/t3")
        listed = sorted(task["id"] for task in client.all_tasks())
        fault.expect(listed == ["t0", "t2"], f"{listed}")
        server.kill()
        why, again = start(tocsin, folder / "data")  # the dead are nobody's concern
        fault.expect(again is not None, f"{why}")
        with again:
            listed = sorted(task["id"] for task in again.client().all_tasks())
            fault.expect(listed == ["t0", "t2"], f"{listed}")
            fault.expect("a record is damaged" not in again.said(), again.said())


def test_a_damaged_task_that_comes_due_is_told(tocsin):
    bodies = [{"delay": "2s"}, {"delay": "2s"}, {"every": "2s"}]
    with fault.folder() as folder, damage_large(tocsin, folder, bodies) as server:
        client = server.client()
        runs = client.lease(wait="10s")
        while server.said().count("a record is damaged") < 2:
            runs += client.lease(wait="1s")
        fault.expect([run["task_id"] for run in runs] == ["t0"], f"{runs}")
        fault.expect(damages_counted(client) == 2, "both are counted")


def test_a_flipped_byte_in_the_log_is_never_silent(tocsin):
    fault.expect(try_flips(tocsin, False, "tocsin.db-wal", 40) > 0, "nothing was refused")


def test_a_torn_tail_is_cut_and_reported(tocsin):
    with fault.folder() as folder:
        told = make_store(tocsin, folder)
        log = folder / "data/tocsin.db-wal"
        frame = 24 + 4096
        # The commit that was under way: a frame of this log, with a sum that is not its own.
        text = log.read_bytes()
        torn = bytearray(text[32:32 + frame])
        torn[4:8] = bytes(4)
        for size in (frame, 100, 24):
            data = folder / f"torn{size}"
            shutil.copytree(folder / "data", data)
            with open(data / "tocsin.db-wal", "ab") as file:
                file.write(torn[:size])
            why, server = start(tocsin, data)
            fault.expect(server is not None, f"{size} bytes: {why}")
            with server:
                fault.expect(not missing_in_silence(server, told), "something is missing")
                fault.expect(f'msg="a torn tail was cut off the log" bytes={size}' in server.said(),
                             f"{size} bytes: {server.said()}")


def test_a_cut_file_is_refused_and_verify_counts_it(tocsin):
    with fault.folder() as folder:
        make_store(tocsin, folder, True)
        os.truncate(folder / "data/tocsin.db", 20000)
        why, server = start(tocsin, folder / "data")
        fault.expect(server is None and "damaged at byte 20000 (page 5): it ends there" in why, f"{why}")
        done = subprocess.run([tocsin, "verify", folder / "data"], capture_output=True, text=True, check=False)
        fault.expect(done.returncode == 1 and "nothing damaged" not in done.stdout and
                     "20000" in done.stderr, f"{done}")


def dump(tocsin, data):
    return subprocess.run([tocsin, "dump", data], capture_output=True, text=True, check=False)


# SQLite refuses such a file as a whole; what stands before the cut is there all the same.
def test_a_cut_file_is_dumped_up_to_the_cut(tocsin):
    with fault.folder() as folder:
        make_store(tocsin, folder, True)
        path = folder / "data/tocsin.db"
        text = path.read_bytes()
        whole = len(dump(tocsin, folder / "data").stdout.splitlines())
        for size, least in ((len(text) - 4096, 1), (len(text) // 2, 1), (len(text) - 5000, 1)):
            path.write_bytes(text[:size])
            done = dump(tocsin, folder / "data")
            count = len(done.stdout.splitlines())
            fault.expect(done.returncode == 1 and least <= count <= whole, f"{size}: {count} of {whole}: {done}")
            fault.expect(f"byte {size} (page {size // 4096 + 1}): the file ends there" in done.stderr, done.stderr)
            done = subprocess.run([tocsin, "verify", folder / "data"], capture_output=True, text=True, check=False)
            fault.expect(done.returncode == 1 and f"byte {size} (page " in done.stderr, f"{done}")
            fault.expect(path.stat().st_size == size, "it was changed")


# The counter beside the log knows of commits that the log has lost.
def test_a_cut_log_is_refused_unless_the_loss_is_accepted(tocsin):
    with fault.folder() as folder:
        make_store(tocsin, folder)
        log = folder / "data/tocsin.db-wal"
        with open(log, "r+b") as file:
            file.truncate(log.stat().st_size - 3 * (24 + 4096))
        for _ in range(2):
            why, server = start(tocsin, folder / "data")
            fault.expect(server is None and "acknowledged commits" in why and
                         "--accept-loss" in why, f"{why}")
        why, server = start(tocsin, folder / "data", "--accept-loss")
        fault.expect(server is not None, f"{why}")
        with server:
            fault.expect("acknowledged commits were lost" in server.said(), "nothing is silent")
            server.client().good("PUT", "/v1/tasks/new", {"delay": "1h"})
            server.kill()
        why, server = start(tocsin, folder / "data")  # once accepted, it is over
        fault.expect(server is not None, f"{why}")
        with server:
            server.client().good("GET", "/v1/tasks/new")


# The control of the one before: without its witness the loss is not seen.
def test_control_without_the_counter_a_cut_log_is_not_seen(tocsin):
    with fault.folder() as folder:
        told = make_store(tocsin, folder)
        log = folder / "data/tocsin.db-wal"
        with open(log, "r+b") as file:
            file.truncate(log.stat().st_size - 6 * (24 + 4096))
        (folder / "data/commits").unlink()
        why, server = start(tocsin, folder / "data")
        fault.expect(server is not None, f"{why}")
        with server:
            fault.expect(missing_in_silence(server, told), "nothing is missing: it tests nothing")


def test_a_counter_that_cannot_be_read_accuses_nobody(tocsin):
    with fault.folder() as folder:
        told = make_store(tocsin, folder)
        for text in (b"", b"tocsin-n", bytes(32), random.Random(1).randbytes(32)):
            data = folder / "copy"
            shutil.copytree(folder / "data", data)
            (data / "commits").write_bytes(text)
            why, server = start(tocsin, data)
            fault.expect(server is not None, f"{text}: {why}")
            with server:
                fault.expect(not missing_in_silence(server, told), "something is missing")
            shutil.rmtree(data)


def test_a_file_that_is_gone_is_refused_while_its_counter_is_there(tocsin):
    with fault.folder() as folder:
        make_store(tocsin, folder)
        for name in ("tocsin.db", "tocsin.db-wal", "tocsin.db-shm"):
            (folder / "data" / name).unlink(missing_ok=True)
        why, server = start(tocsin, folder / "data")
        fault.expect(server is None and "gone or empty" in why and "Restore" in why, f"{why}")


def test_a_directory_in_use_is_refused_with_the_pid(tocsin):
    with fault.folder() as folder, \
            fault.Server(tocsin, folder / "data", settings=SETTINGS) as server:
        server.start()
        why, other = start(tocsin, folder / "data")
        fault.expect(other is None and f"in use by process {server.process.pid}:" in why, f"{why}")
        server.client().good("PUT", "/v1/tasks/a", {"delay": "1h"})


if __name__ == "__main__":
    fault.run_tests(sys.modules[__name__], __doc__)
