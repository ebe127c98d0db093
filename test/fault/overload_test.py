#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""overload_test.py TOCSIN [PART] - more than it can take, too slowly, or nonsense: it refuses
with Retry-After, stays within its memory, and fires on time for everybody else.
(laws 2, 7 and 8)"""
import json
import multiprocessing
import random
import resource
import socket
import statistics
import sys
import threading
import time

import fault

SETTINGS = {"TOCSIN_BALLAST_BYTES": "0"}
LATE_MEDIAN_MS, LATE_WORST_MS = 100, 1500  # two noisy cores, shared with those who flood
RSS_MIB = 700


def connect(server):
    sock = socket.create_connection(("127.0.0.1", server.port), fault.PATIENCE)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def request(method, path, body=b"", kind="application/json"):
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    if body:
        head += f"Content-Type: {kind}\r\n"
    return head.encode() + b"\r\n" + body


class Trickle:
    """A task every 20 ms, scheduled beforehand, and a waiting worker; how late each came."""

    def __init__(self, server):
        self.late, self.fired, self.server, self.stop, self.error = [], [], server, False, None
        self.thread = threading.Thread(target=self.guard)
        client = server.client()
        for i in range(600):
            client.good("PUT", f"/v1/tasks/trickle-{i}", {
                "delay": 700 + 20 * i, "target": {"type": "queue", "queue": "trickle"}})

    def guard(self):
        try:
            self.work()
        except Exception as error:  # raised again by the test
            self.error = error

    def work(self):
        """It only takes: whoever waits for an ack is not waiting for work."""
        client = self.server.client()
        began = fault.wall_ms()
        while not self.stop:
            runs = client.lease("trickle", most=10, wait="200ms", ttl="5m")
            now = fault.wall_ms()
            runs = [run for run in runs if run["due_ms"] > began]  # making them took a while
            self.late += [now - run["due_ms"] for run in runs]
            self.fired += [run["fired_ms"] - run["due_ms"] for run in runs]
            for run in runs:
                fault.expect(now >= run["due_ms"] - 1, f"early: {run}")

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        self.stop = True
        self.thread.join()
        if kind is None and self.error is not None:
            raise self.error

    def until(self, count=60):
        """Waits until so many have come."""
        fault.wait_until(lambda: self.error or len(self.late) >= count, f"{count} of the trickle")

    def judge(self, what, least=20):
        fault.expect(len(self.late) >= least, f"{what}: only {len(self.late)} came")
        said = [f"{what}: {len(self.late)} came"]
        for name, late in (("fired", self.fired), ("came", self.late)):
            said.append(f"{name} late by {statistics.median(late):.1f} ms (median), "
                        f"{max(late):.1f} ms (worst)")
        print("; ".join(said), flush=True)
        fault.expect(statistics.median(self.late) <= LATE_MEDIAN_MS and
                     max(self.late) <= LATE_WORST_MS, "; ".join(said))


def flood(server, stop, refused, statuses, headers):
    """Pipelines batches, as fast as the server answers."""
    line = json.dumps({"delay": "1h", "payload": "p" * 200}).encode() + b"\n"
    batch = request("POST", "/v1/tasks/batch", line * 2000, "application/x-ndjson")
    single = request("POST", "/v1/tasks", line) * 30
    while not stop.is_set():
        client = server.client()
        client.socket = connect(server)
        try:
            for _ in range(10):
                client.socket.sendall(batch + single)
                for _ in range(31):
                    status, answer, head = client.answer()
                    statuses.append(status)
                    if status in (429, 503):
                        refused.set()
                        headers.append("retry-after" in head)
        except OSError:
            pass
        finally:
            client.close()


def flooding(server, stop, refused, results):
    """In a process of its own, so that whoever measures is not held up by it."""
    statuses, headers = [], []
    threads = [threading.Thread(target=flood, args=(server, stop, refused, statuses, headers))
               for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results.send((statuses, headers))


def flooded(server, trickle):
    """Until something was refused, and enough has come beside it."""
    context = multiprocessing.get_context("fork")
    stop, refused = context.Event(), context.Event()
    ours, theirs = multiprocessing.Pipe()
    process = context.Process(target=flooding, args=(server, stop, refused, theirs))
    process.start()
    most = 0

    def enough():
        nonlocal most
        most = max(most, server.rss_mib())
        return trickle.error or refused.is_set() and len(trickle.late) >= 150

    try:
        fault.wait_until(enough, "something is refused: this tests too little")
    finally:
        stop.set()
        statuses, headers = ours.recv()
        process.join()
    return statuses, headers, most


def test_a_flood_is_refused_and_firing_keeps_its_lateness(tocsin):
    with fault.folder() as folder, \
            fault.Server(tocsin, folder / "data",
                         settings={**SETTINGS, "TOCSIN_LIMITS_TASKS_PENDING": "60000"}) as server:
        server.start()
        with Trickle(server) as trickle:
            statuses, headers, most = flooded(server, trickle)
        print(f"flooded: answers {({code: statuses.count(code) for code in set(statuses)})}, "
              f"{most:.0f} MiB at most")
        fault.expect(all(headers), "no Retry-After")
        fault.expect(set(statuses) <= {200, 201, 429, 503}, f"{set(statuses)}")
        fault.expect(most < RSS_MIB, f"{most:.0f} MiB")
        trickle.judge("while flooded")
        fault.expect(server.stop() == 0, "it does not stop")


def test_ten_thousand_idle_connections_are_held(tocsin):
    wanted = 10000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted + 500:
        try:
            hard = wanted + 1000
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (ValueError, OSError):
            print(f"skipped: only {soft} files may be open here", flush=True)
            return
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with fault.folder() as folder, \
            fault.Server(tocsin, folder / "data", settings=SETTINGS) as server:
        server.start()
        before = server.rss_mib()
        idle = []
        try:
            for _ in range(wanted):
                idle.append(connect(server))
            client = server.client()
            fault.wait_until(lambda: client.metric("tocsin_http_connections") > wanted,
                             "all are open")
            each = (server.rss_mib() - before) * 1024 / wanted
            with Trickle(server) as trickle:
                trickle.until()
            trickle.judge(f"beside {wanted} idle connections of {each:.1f} KiB each")
            for sock in idle[::500]:  # they are held, not forgotten
                sock.sendall(request("GET", "/healthz"))
                fault.expect(sock.recv(4096).startswith(b"HTTP/1.1 200"), "no answer")
        finally:
            for sock in idle:
                sock.close()


def cut_off(sock, seconds):
    """What it was sent before it was closed; None: it was not."""
    sock.settimeout(seconds)
    said = b""
    try:
        while True:
            more = sock.recv(65536)
            if not more:
                return said
            said += more
    except ConnectionError:
        return said
    except socket.timeout:
        return None


def test_slow_clients_are_cut_off_and_hurt_nobody(tocsin):
    settings = {**SETTINGS, "TOCSIN_LIMITS_HEAD_TIMEOUT": "1s", "TOCSIN_LIMITS_BODY_TIMEOUT": "1s",
                "TOCSIN_LIMITS_IDLE_TIMEOUT": "2s", "TOCSIN_LIMITS_WRITE_TIMEOUT": "1s"}
    with fault.folder() as folder, fault.Server(tocsin, folder / "data", settings=settings) as server:
        client = server.start().client()
        for i in range(60):
            client.good("PUT", f"/v1/tasks/b{i}", {"delay": "1h", "payload": "x" * 60000})
        heads = [connect(server) for _ in range(50)]
        bodies = [connect(server) for _ in range(50)]
        readers = [connect(server) for _ in range(5)]
        for sock in bodies:
            sock.sendall(request("POST", "/v1/tasks", b"x" * 1000)[:-900])
        for sock in readers:  # asks for much, and reads nothing
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.sendall(request("GET", "/v1/tasks?limit=1000") * 20)
        with Trickle(server) as trickle:
            for byte in b"GET /healthz HTTP/1.1":  # a byte at a time is not progress
                for sock in heads:
                    try:
                        sock.sendall(bytes([byte]))
                    except OSError:
                        pass
                time.sleep(0.1)  # that is what they are: slow
            said = [cut_off(sock, 5) for sock in heads + bodies]
            trickle.until()
        trickle.judge("beside slow clients")
        fault.expect(None not in said, "a slow client was not cut off")
        fault.expect(all(text.startswith(b"HTTP/1.1 408") for text in said if text),
                     f"{set(text[:30] for text in said)}")
        client = server.client()
        fault.wait_until(lambda: client.metric("tocsin_http_connections") <= 3,
                         "slow readers are cut off, too", 15)
        for sock in heads + bodies + readers:
            sock.close()


def test_hostile_bytes_hurt_nobody(tocsin):
    chance = random.Random(fault.seed())
    good = request("POST", "/v1/tasks", b'{"delay":"1h"}')
    pieces = [b"\r\n", b"\n", b"\0", b"Content-Length: 5\r\nContent-Length: 6\r\n", b"\xff" * 40,
              b"Transfer-Encoding: chunked\r\n", b"HTTP/1.1", b"GET " + b"/" * 20000, b"PRI * HTTP/2.0",
              b"\x16\x03\x01\x02\x00\x01", b"{" * 500, b"ffffffffffffffff\r\n", b"%00%ff%"]
    with fault.folder() as folder, fault.Server(tocsin, folder / "data", settings=SETTINGS) as server:
        server.start()
        with Trickle(server) as trickle:
            for i in range(100000):
                if i >= 500 and (trickle.error or len(trickle.late) >= 60):
                    break
                sock = connect(server)
                text = bytearray(good)
                for _ in range(chance.randrange(1, 5)):
                    at = chance.randrange(len(text))
                    if chance.random() < 0.5:
                        text[at] = chance.randrange(256)
                    else:
                        text[at:at] = chance.choice(pieces)
                try:
                    sock.sendall(text[:chance.randrange(1, len(text) + 1)])
                except OSError:
                    pass
                sock.close()
        trickle.judge("beside hostile bytes")
        fault.expect(server.process.poll() is None, "it is gone")
        fault.expect(server.client().good("GET", "/healthz")["status"] == "UP", "it is not well")
        fault.expect(server.rss_mib() < 200, f"{server.rss_mib()} MiB")


if __name__ == "__main__":
    fault.run_tests(sys.modules[__name__], __doc__)
