# SPDX-License-Identifier: MIT
"""A server in a temp directory on a free port, and what a test of it needs.

    from server_support import test, main, same, holds

    @test()                       # a new server on a manual clock, its store in memory
    def a_task_waits_for_its_time(server):
        server.post("/v1/tasks", {"id": "a", "delay": "1h"}, 201)
        server.advance("1h")
        same(server.lease()[0]["task_id"], "a")

    sys.exit(main(__doc__))

Every answer is checked against the server's own description (src/server/openapi.json).
"""
import concurrent.futures
import functools
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import openapi_check

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOCSIN = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else sys.exit("usage: TEST TOCSIN [NAME...]")
PATIENCE = 20.0  # seconds until a test gives up on the server
READY = re.compile(r"tocsin ready on (https?)://(\S+):(\d+) \(store (\w+), (\d+) records, node (\S+)\)\n")
DESCRIPTION = openapi_check.Description(json.loads((ROOT / "src/server/openapi.json").read_text()))
JSON = {"Content-Type": "application/json"}

tests = []


def same(seen, wanted, what=""):
    if seen != wanted:
        raise AssertionError(f"{what}: {repr(seen)[:1500]} instead of {repr(wanted)[:1500]}")


def holds(text, *parts):
    for part in parts:
        if part not in text:
            raise AssertionError(f"{part!r} is missing in: {text}")


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @functools.cached_property
    def json(self):
        return json.loads(self.body)

    @property
    def lines(self):
        return [json.loads(line) for line in self.body.splitlines()]

    def __getitem__(self, name):
        return self.json[name]

    def __repr__(self):
        return f"{self.status} {self.body[:600]!r}"


def expect(answer, status, *parts):
    """Of a problem: its code, and what its detail holds."""
    if answer.status != status:
        raise AssertionError(f"{status} is wanted: {answer!r}")
    if parts:
        same(answer["code"], parts[0], answer["detail"])
        holds(answer["detail"], *parts[1:])
    return answer


class Server:
    def __init__(self, *flags, clock="manual", store="memory", token=None):
        self.folder = tempfile.mkdtemp(prefix="tocsin-test-")
        self.words = [TOCSIN, "serve", "--listen", "127.0.0.1:0", "--data",
                      os.path.join(self.folder, "data"), "--store", store, "--clock", clock,
                      "--log-level", "warn", *flags]
        if token:
            config = pathlib.Path(self.folder, "tocsin.yaml")
            config.write_text(f"tokens:\n  - name: ci\n    token: {token}\n")
            config.chmod(0o600)
            self.words += ["--config", str(config)]
        self.token, self.local, self.process = token, threading.local(), None
        self.start()

    def start(self):
        """A wait loop that also sees when the server has died."""
        self.log = open(os.path.join(self.folder, "log"), "ab")
        self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, stderr=self.log,
                                        stdin=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        match = READY.fullmatch(line)
        if not match:
            raise AssertionError(f"no ready line but {line!r}: {self.said()}")
        self.scheme, self.host, self.port, self.records = match[1], match[2], int(match[3]), int(match[5])
        self.generation = object()

    def said(self):
        return pathlib.Path(self.folder, "log").read_text(errors="replace")

    def stop(self, how=signal.SIGTERM):
        """Its exit code. how 0: it was told already."""
        self.process.send_signal(how)
        code = self.process.wait(PATIENCE)
        rest = self.process.stdout.read()
        self.process.stdout.close()
        self.log.close()
        same(rest, "", "stdout after the ready line")
        return code

    def restart(self, how=signal.SIGTERM):
        same(self.stop(how), 0 if how == signal.SIGTERM else -how, self.said())
        self.start()

    def release(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- asking

    def connection(self):
        if getattr(self.local, "generation", None) is not self.generation:
            self.local.http = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
            self.local.generation = self.generation
        return self.local.http

    def call(self, method, path, body=None, status=None, headers=None):
        """One request on this thread's own connection; body: an object, or bytes as they are."""
        given = dict(headers or {})
        if self.token and "Authorization" not in given:
            given["Authorization"] = f"Bearer {self.token}"
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None and "Content-Type" not in given:
            given.update(JSON)
        connection = self.connection()
        connection.request(method, path, body, given)
        response = connection.getresponse()
        answer = Answer(response.status, {k.lower(): v for k, v in response.getheaders()},
                        response.read())
        DESCRIPTION.check(method, path, answer)
        if status is not None:
            expect(answer, status)
        return answer

    def get(self, path, status=200, headers=None):
        return self.call("GET", path, None, status, headers)

    def post(self, path, body=None, status=200, headers=None):
        return self.call("POST", path, body, status, headers)

    def put(self, path, body=None, status=200, headers=None):
        return self.call("PUT", path, body, status, headers)

    def delete(self, path, status=200, headers=None):
        return self.call("DELETE", path, None, status, headers)

    # ---- what tests do all the time

    def add(self, status=201, **task):
        return self.post("/v1/tasks", task, status)

    def task(self, id, status=200):
        return self.get(f"/v1/tasks/{id}", status)

    def state(self, id):
        return self.task(id)["status"]

    def lease(self, queue="default", **body):
        return self.post(f"/v1/queues/{queue}/lease", {"max": 100, **body})["runs"]

    def lease_one(self, queue="default", **body):
        runs = self.lease(queue, **body)
        same(len(runs), 1, f"runs of {queue}")
        return runs[0]

    def ack(self, run, status=200, **body):
        return self.post(f"/v1/runs/{run['run']}/ack", body, status)

    def nack(self, run, status=200, **body):
        return self.post(f"/v1/runs/{run['run']}/nack", body, status)

    def extend(self, run, status=200, **body):
        return self.post(f"/v1/runs/{run['run']}/extend", body, status)

    def advance(self, by):
        """On the manual clock: time passes, and all that has come due by it is done."""
        return self.post("/v1/clock/advance", {"by": by})["now_ms"]

    def set_wall(self, wall):
        return self.post("/v1/clock/advance", {"wall": wall})["now_ms"]

    def now(self):
        return self.get("/v1/info")["now_ms"]

    def metric(self, name):
        for line in self.get("/metrics").body.decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[-1])
        raise AssertionError(f"there is no metric {name}")

    def wait_until(self, condition, what):
        """For what only the system's clock can bring."""
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"not in time: {what}")
            time.sleep(0.01)

    def raw(self, text):
        """Bytes as they are on a connection of their own; what came back until it was closed."""
        with socket.create_connection((self.host, self.port), PATIENCE) as connection:
            connection.sendall(text)
            seen = b""
            while True:
                more = connection.recv(65536)
                if not more:
                    return seen
                seen += more


def test(*flags, **options):
    """A test that gets a server of its own; on=2 would be two of them, one after the other."""
    def add(function):
        @functools.wraps(function)
        def run():
            server = Server(*flags, **options)
            try:
                function(server)
                if server.process.poll() is None:
                    same(server.stop(), 0, f"exit code; {server.said()}")
            except Exception:
                print(server.said(), end="", flush=True)
                raise
            finally:
                server.release()
        tests.append(run)
        return run
    return add


def alone(function):
    """A test that makes its servers itself."""
    tests.append(function)
    return function


def main(jobs=2):
    chosen = [t for t in tests if not sys.argv[2:] or any(word in t.__name__ for word in sys.argv[2:])]

    def one(run):
        try:
            run()
            print(f"ok {run.__name__}", flush=True)
            return True
        except Exception:  # whatever it was, the others are to run
            print(f"{traceback.format_exc()}FAILED {run.__name__}", flush=True)
            return False

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        passed = sum(pool.map(one, chosen))
    print(f"{passed} passed, {len(chosen) - passed} failed")
    return 0 if passed == len(chosen) else 1
