# SPDX-License-Identifier: MIT
"""A server in a temp directory on a free port, the binary as a user runs it, and what a test of
them needs.

    from support import test, main, same, holds

    @test()                       # a new server on a manual clock, its store in memory
    def a_task_waits_for_its_time(server):
        server.post("/v1/tasks", {"id": "a", "delay": "1h"}, 201)
        server.advance("1h")
        same(server.lease()[0]["task_id"], "a")

    @shared                       # a server as a user has it, one for all of these in a file
    def show_shows(server):
        same(tocsin("show", "x", url=server.url).returncode, 1)

    @alone                        # without one, or with its own: `with real_server() as server`

    sys.exit(main())

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
PATIENCE = 30.0  # seconds until a test gives up
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


def wait_for(condition, what):
    """The first true answer of condition; asks until the patience is at its end."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        answer = condition()
        if answer:
            return answer
        time.sleep(0.01)
    raise AssertionError(f"not in {PATIENCE:.0f} s: {what}")


# ---- the binary

def environment(**more):
    """A clean one."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("TOCSIN_") and name != "NO_COLOR"}
    return {**kept, **more}


def tocsin(*words, url=None, given=None, **more):
    """To its end; given: its standard input."""
    settings = environment(**more) if url is None else environment(TOCSIN_URL=url, **more)
    stdin = {"input": given} if given is not None else {"stdin": subprocess.DEVNULL}
    return subprocess.run([TOCSIN, *words], capture_output=True, text=True, timeout=PATIENCE,
                          env=settings, check=False, **stdin)


def start_tocsin(*words, url, **more):
    return subprocess.Popen([TOCSIN, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True,
                            env=environment(TOCSIN_URL=url, **more))


def end(process):
    """Ends a process that was started here."""
    if process.poll() is None:
        process.kill()
    process.wait(timeout=PATIENCE)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


# ---- the server


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
    def __init__(self, *flags, clock="manual", store="memory", token=None, address="127.0.0.1:0",
                 keep_port=False, binary=TOCSIN, variables=None):
        """keep_port: a start after a kill is where it was before. variables: of its environment."""
        self.folder = tempfile.mkdtemp(prefix="tocsin-test-")
        self.data, self.address, self.keep_port = os.path.join(self.folder, "data"), address, keep_port
        self.words = [binary, "serve", "--data", self.data, "--store", store, "--clock", clock,
                      "--log-level", "warn", *flags]
        if token:
            config = pathlib.Path(self.folder, "tocsin.yaml")
            config.write_text(f"tokens:\n  - name: ci\n    token: {token}\n")
            config.chmod(0o600)
            self.words += ["--config", str(config)]
        self.token, self.local, self.process = token, threading.local(), None
        self.variables = variables or {}
        self.start()

    def start(self):
        """A wait loop that also sees when the server has died."""
        self.log = open(os.path.join(self.folder, "log"), "ab")
        self.process = subprocess.Popen([*self.words, "--listen", self.address],
                                        stdout=subprocess.PIPE, stderr=self.log,
                                        stdin=subprocess.DEVNULL, text=True,
                                        env={**os.environ, **self.variables})
        line = self.process.stdout.readline()
        match = READY.fullmatch(line)
        if not match:
            raise AssertionError(f"no ready line but {line!r}: {self.said()}")
        self.scheme, self.host, self.port, self.records = match[1], match[2], int(match[3]), int(match[5])
        self.url = f"{self.scheme}://{self.host}:{self.port}"
        if self.keep_port:
            self.address = f"{self.host}:{self.port}"
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

    def kill(self):
        return self.stop(signal.SIGKILL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()

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


def real_server(*flags, **options):
    """As a user has it: the system's clock, a store on disk; a start after a kill is on its port."""
    return Server(*flags, clock="system", store="sqlite", keep_port=True, **options)


def test(*flags, **options):
    """A test that gets a server of its own."""
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


class Shared:
    """The server of all tests that share one, from the first of them to the end of the file."""
    lock, server = threading.Lock(), None

    @classmethod
    def get(cls):
        with cls.lock:
            if cls.server is None:
                cls.server = real_server()
            return cls.server

    @classmethod
    def release(cls):
        if cls.server is not None:
            cls.server.release()


def shared(function):
    """A test that gets the server of the file."""
    return alone(functools.wraps(function)(lambda: function(Shared.get())))


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

    try:
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            passed = sum(pool.map(one, chosen))
    finally:
        Shared.release()
    print(f"{passed} passed, {len(chosen) - passed} failed")
    return 0 if passed == len(chosen) else 1
