#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""operations_test.py TOCSIN [NAME...] - health, metrics, events, info, starting and stopping."""
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from support import DESCRIPTION, PATIENCE, TOCSIN, Server, alone, expect, holds, main, same, test, wait_for


# ---- health, info

@test(store="sqlite")
def health_and_readiness_are_told(server):
    same(server.get("/healthz").json, {"status": "UP", "reasons": [],
                                        "renewals": {"status": "UP", "active": 0, "in_trouble": 0}})
    same(server.get("/readyz").json, {"ready": True})
    head = server.call("HEAD", "/healthz")
    same((head.status, head.body), (200, b""))
    info = server.get("/v1/info")
    same((info["store"], info["cluster"]["role"], info["node"], info["clock"], info["epoch"]),
         ("sqlite", "solo", "n1", "manual", 1))
    server.restart()
    same(server.get("/v1/info")["epoch"], 2)


@test(clock="system")
def the_clock_of_a_real_server_cannot_be_moved(server):
    expect(server.post("/v1/clock/advance", {"by": "1h"}, None), 404, "NOT_FOUND", "--clock manual")


@test()
def an_advance_is_checked(server):
    for body, field in (({}, "by"), ({"by": "1s", "wall": 0}, "by"), ({"by": -1}, "by"), ({"by": "x"}, "by"),
                        ({"wall": "x"}, "wall"), ({"wall": -1}, "wall"), ({"wall": "9999-01-01T00:00:00Z"}, "wall"),
                        ({"by": 9007199254740}, "by"), ({"to": 1}, "to")):
        answer = expect(server.post("/v1/clock/advance", body, None), 400, "VALIDATE_FAILED")
        holds(answer["detail"], field)


# ---- metrics

def lint(text):
    return subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, check=False)


@test(store="sqlite")
def metrics_are_what_prometheus_takes(server):  # W-09
    server.add(id='a"\\\n'.replace("\n", ""), target={"type": "queue", "queue": 'q"\\x'})
    server.add(id="b", delay="1h")
    server.add(id="c", retry={"max": 0})
    for queue in ("q%22%5Cx", "default"):
        for run in server.lease(queue):
            server.nack(run, error="x") if run["task_id"] == "c" else server.ack(run)
    server.delete("/v1/tasks/b")
    answer = server.get("/metrics")
    same(answer.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8")
    done = lint(answer.body)
    same((done.returncode, done.stdout + done.stderr), (0, b""))
    for name, value in (("added", 3), ("executed", 1), ("failed", 1), ("cancelled", 1), ("fired", 2)):
        same(server.metric(f"tocsin_tasks_{name}_total"), value, name)
    text = answer.body.decode()
    holds(text, "tocsin_task_lateness_seconds_count 2", "tocsin_task_execution_seconds_count 1",
          'tocsin_wheel_timers{level="0"}', "tocsin_wheel_ticks_total", "tocsin_tasks_active")


@test()
def a_real_prometheus_scrapes_it(server):
    server.add(id="a", delay="1h")
    folder = tempfile.mkdtemp(prefix="tocsin-test-")
    child = None
    try:
        pathlib.Path(folder, "p.yml").write_text(
            "scrape_configs:\n  - job_name: tocsin\n    scrape_interval: 1s\n    scrape_timeout: 1s\n"
            f"    static_configs: [{{targets: ['127.0.0.1:{server.port}']}}]\n")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        child = subprocess.Popen(["prometheus", f"--config.file={folder}/p.yml", f"--storage.tsdb.path={folder}/d",
                                  f"--web.listen-address=127.0.0.1:{port}"], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)

        def seen():
            same(child.poll(), None, "prometheus lives")
            try:
                url = f"http://127.0.0.1:{port}/api/v1/query?query=tocsin_tasks_added_total"
                with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
                    result = json.load(answer)["data"]["result"]
                    return bool(result) and result[0]["value"][1] == "1"
            except OSError:
                return False

        wait_for(seen, "a sample")
    finally:
        if child is not None:
            child.terminate()
            child.wait()
        shutil.rmtree(folder, ignore_errors=True)


# ---- events

class Follower:
    """Reads /v1/events on a thread."""

    def __init__(self, server, query="", headers=None):
        self.connection = http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE)
        self.connection.request("GET", f"/v1/events{query}", headers=headers or {})
        self.response = self.connection.getresponse()
        same((self.response.status, self.response.getheader("Content-Type")), (200, "text/event-stream"))
        self.events, self.ended = [], False
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        try:
            self.read_frames()
        except (OSError, http.client.HTTPException):
            return  # closed by us
        self.ended = True

    def read_frames(self):
        frame = {}
        for line in self.response:
            line = line.decode().rstrip("\n")
            if line:
                name, _, value = line.partition(": ")
                frame[name] = value
                continue
            data = json.loads(frame["data"])
            DESCRIPTION.fit(data, {"$ref": "#/components/schemas/Event"}, "an event")
            same((frame["id"], frame["event"]), (str(data["seq"]), data["type"]))
            self.events.append(data)
            frame = {}

    def wait(self, server, count):
        wait_for(lambda: len(self.events) >= count, f"{count} events: {self.events}")
        return [(event["key"], event["type"]) for event in self.events]

    def close(self):
        self.connection.sock and self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.connection.close()


@test("--set", "history.tasks=all", store="sqlite")
def events_tell_what_happens_in_order(server):
    live = Follower(server)
    server.add(id="a", retry={"max": 1, "base": "1s", "jitter": 0})
    server.nack(server.lease_one(), error="first")
    server.advance("1s")
    server.nack(server.lease_one(), error="second")
    server.post("/v1/incidents/a/retry")
    server.ack(server.lease_one())
    server.add(id="b", delay="1h")
    for verb in ("pause", "resume", "fire"):
        server.post(f"/v1/tasks/b/{verb}")
    server.put("/v1/tasks/b", {"delay": "1h"})
    server.delete("/v1/tasks/b")
    wanted = [("a", "created"), ("a", "attempt_failed"), ("a", "failed"), ("a", "completed"), ("b", "created"),
              ("b", "paused"), ("b", "resumed"), ("b", "fired"), ("b", "replaced"), ("b", "cancelled")]
    same(live.wait(server, len(wanted)), wanted)
    same([event["seq"] for event in live.events], list(range(1, len(wanted) + 1)))
    same(live.events[1]["doc"], {"task_id": "a", "attempt": 1, "error": "first"})
    for follower in (Follower(server, "?after=7"), Follower(server, "", {"Last-Event-ID": "7"})):
        same(follower.wait(server, 3), wanted[7:])
        follower.close()
    live.close()
    server.restart()
    again = Follower(server, "?after=0")
    same(again.wait(server, len(wanted)), wanted, "they are durable")
    server.add(id="c")
    same(again.wait(server, len(wanted) + 1)[-1], ("c", "created"))
    same(server.stop(), 0)
    again.thread.join()
    same(again.ended, True, "SIGTERM ends the stream in order")


@test(store="sqlite")
def by_default_only_failures_are_kept(server):
    server.add(id="a", retry={"max": 0})
    server.nack(server.lease_one(), error="no")
    follower = Follower(server)
    same(follower.wait(server, 1), [("a", "failed")])
    follower.close()
    for query in ("after=x", "after=-1", "before=1", "after=1&after=2"):
        expect(server.get(f"/v1/events?{query}", None), 400, "VALIDATE_FAILED")


@test("--set", "history.tasks=all", store="sqlite")
def whoever_begins_to_follow_misses_nothing(server):
    """While events are being written, many begin at the end."""
    stop, made = threading.Event(), []

    def write():
        while not stop.is_set():
            server.add(id=f"t{len(made)}", delay="1h")
            made.append(1)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(30):
            high = server.get("/v1/info")["counts"]["high_seq"]
            follower = Follower(server, f"?after={high}")
            follower.wait(server, 5)
            same([e["seq"] for e in follower.events[:5]], list(range(high + 1, high + 6)))
            follower.close()
    finally:
        stop.set()
        writer.join()


# ---- stopping

@test()
def sigterm_answers_waiting_leases_and_ends_well(server):
    seen = []
    threads = [threading.Thread(target=lambda: seen.append(server.lease(wait="1h"))) for _ in range(5)]
    for thread in threads:
        thread.start()
    wait_for(lambda: server.get("/v1/info")["counts"]["waiting_leases"] == 5, "they wait")
    start = time.monotonic()
    same(server.stop(), 0)
    same(time.monotonic() - start < 5, True, "at once")
    for thread in threads:
        thread.join()
    same(seen, [[]] * 5)


@test(store="sqlite")
def what_is_under_way_at_sigterm_is_answered(server):
    """A pipelined heap of requests, then the signal: each that was taken is answered, and true."""
    with socket.create_connection((server.host, server.port), PATIENCE) as client:
        for n in range(200):
            body = b'{"id":"t%d","delay":"1h"}' % n
            client.sendall(b"POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                           b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        seen = client.recv(100)
        server.process.send_signal(signal.SIGTERM)
        while True:
            more = client.recv(1 << 20)
            if not more:
                break
            seen += more
    same(server.stop(0), 0)
    acknowledged = seen.count(b"HTTP/1.1 201 Created")
    server.start()
    same(acknowledged >= 1 and server.records >= acknowledged, True, f"{server.records} of {acknowledged}")


@alone
def the_ready_line_says_where_and_what():
    server = Server("--set", "node=north-1", store="sqlite")
    try:
        same(server.records, 0)
        server.add(id="a", delay="1h")
        server.restart()
        same(server.records, 1)
        done = subprocess.run([*server.words, "--listen", "127.0.0.1:0"], capture_output=True, text=True, timeout=PATIENCE, check=False)
        same((done.returncode, done.stdout), (1, ""), "a second one on the same folder")
        holds(done.stderr, "tocsin serve: ", f"is in use by process {server.process.pid}: stop it first")
        os.kill(server.process.pid, 0)
        address = f"{server.host}:{server.port}"
        done = subprocess.run([TOCSIN, "serve", "--data", os.path.join(server.folder, "other"), "--listen", address],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        same((done.returncode, done.stdout), (1, ""), "a second one on the same port")
        same(done.stderr.splitlines()[-1],
             f"tocsin serve: cannot listen on {address}: Address already in use; another tocsin may be running; "
             "--listen 127.0.0.1:0 picks a free port")
    finally:
        server.release()


if __name__ == "__main__":
    sys.exit(main())
