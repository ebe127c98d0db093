# SPDX-License-Identifier: MIT
"""What the fault tests share: the server as a process, a client that speaks plain HTTP, the
shim that breaks disks and clocks, and the loop that runs tests and prints "ok ..." lines.

Only processes that were started here are ended, by their own handle; what was mounted or
written is gone at the end, also after a failure.
"""
import contextlib
import json
import mmap
import os
import pathlib
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PATIENCE = 30  # seconds for what should take a moment: these machines are slow at times
READY = "tocsin ready on http://"


def wait_until(condition, what, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"after {seconds} s still not so: {what}")
        time.sleep(0.01)


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def wall_ms():
    return time.time() * 1000


class Gone(Exception):
    """The server closed the connection, or is not there: whether it did what was asked is
    unknown."""


class Client:
    """One connection, kept open; a request at a time."""

    def __init__(self, port, timeout=PATIENCE):
        self.port, self.timeout, self.socket, self.rest = port, timeout, None, b""

    def close(self):
        if self.socket is not None:
            self.socket.close()
        self.socket, self.rest = None, b""

    def call(self, method, path, body=None, headers=(), raw=None):
        """(status, answer, headers): the answer decoded when it is JSON."""
        data = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        kind = "application/x-ndjson" if raw is not None else "application/json"
        head = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(data)}"]
        if data:
            head.append(f"Content-Type: {kind}")
        head += [f"{name}: {value}" for name, value in headers]
        try:
            if self.socket is None:
                self.socket = socket.create_connection(("127.0.0.1", self.port), self.timeout)
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.socket.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + data)
            return self.answer()
        except (OSError, ValueError) as error:
            self.close()
            raise Gone(str(error)) from error

    def receive(self):
        more = self.socket.recv(1 << 18)
        if not more:
            raise OSError("closed by the server")
        self.rest += more

    def answer(self):
        while b"\r\n\r\n" not in self.rest:
            self.receive()
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        lines = head.decode().split("\r\n")
        headers = dict((name.lower(), value) for name, value in
                       (line.split(": ", 1) for line in lines[1:]))
        size = int(headers.get("content-length", 0))
        while len(self.rest) < size:
            self.receive()
        body, self.rest = self.rest[:size], self.rest[size:]
        if headers.get("connection") == "close":
            self.close()
        if "json" in headers.get("content-type", "") and "ndjson" not in headers["content-type"]:
            body = json.loads(body)
        return int(lines[0].split(" ")[1]), body, headers

    def good(self, method, path, body=None, headers=()):
        """The answer of a request that must succeed."""
        status, answer, _ = self.call(method, path, body, headers)
        expect(200 <= status < 300, f"{method} {path}: {status} {answer}")
        return answer

    def lease(self, queue="default", most=100, wait="0s", ttl="30s"):
        return self.good("POST", f"/v1/queues/{queue}/lease",
                         {"max": most, "wait": wait, "ttl": ttl})["runs"]

    def all_tasks(self):
        tasks, after = [], ""
        while True:
            page = self.good("GET", f"/v1/tasks?limit=1000{after}")
            tasks += page["tasks"]
            if not page.get("next"):
                return tasks
            after = f"&after={page['next']}"

    def metric(self, name):
        status, text, _ = self.call("GET", "/metrics")
        expect(status == 200, f"/metrics: {status}")
        for line in text.decode().splitlines():
            if line.rsplit(" ", 1)[0] == name:
                return float(line.rsplit(" ", 1)[1])
        raise AssertionError(f"there is no metric {name}")


class Server:
    """`tocsin serve` on a data directory; may be started and ended again and again."""

    def __init__(self, tocsin, data, *options, settings=None, shim=None, wrap=()):
        self.command = [*wrap, str(tocsin), "serve", "--listen", "127.0.0.1:0", "--data",
                        str(data), *options]
        self.data = pathlib.Path(data)
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("TOCSIN_")}
        self.environment.update(settings or {})
        if shim is not None:
            self.environment.update(shim.environment)
        self.process, self.port, self.ready_line = None, 0, ""
        self.log = tempfile.TemporaryFile()

    def launch(self):
        """Starts it, and does not wait until it is ready."""
        expect(self.process is None, "it runs already")
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=self.log,
                                        stdin=subprocess.DEVNULL, env=self.environment)
        return self

    def start(self):
        if self.launch().becomes_ready():
            return self
        code = self.process.wait()
        raise AssertionError(f"it did not start: exit {code}\n{self.said()}")

    def becomes_ready(self, seconds=PATIENCE):
        """False: it ended instead."""
        alarm = threading.Timer(seconds, self.process.kill)
        alarm.start()
        try:
            line = self.process.stdout.readline().decode()
        finally:
            alarm.cancel()
        self.ready_line = line
        if not line.startswith(READY):
            return False
        self.port = int(line[len(READY):].split(" ")[0].rsplit(":", 1)[1])
        return True

    def client(self, timeout=PATIENCE):
        return Client(self.port, timeout)

    def ends(self, seconds=PATIENCE):
        code = self.process.wait(seconds)
        self.process.stdout.close()
        self.process = None
        return code

    def kill(self):
        self.process.kill()
        return self.ends()

    def stop(self, seconds=PATIENCE):
        self.process.send_signal(signal.SIGTERM)
        return self.ends(seconds)

    def said(self):
        """All of its log so far."""
        self.log.seek(0)
        text = self.log.read().decode(errors="replace")
        self.log.seek(0, os.SEEK_END)
        return text

    def rss_mib(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        return 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process is not None:
            self.process.kill()
            self.ends()
        self.log.close()


class Shim:
    """shim.c, loaded in front of the C library. Its numbers can be set while the server runs;
    their order is that of struct control there."""
    NAMES = ("syncs", "fail_at", "syncs_after", "swallow", "wall_offset_ns", "on")
    library = None

    def __init__(self, folder, data=None, disk=None):
        if Shim.library is None:
            Shim.library = pathlib.Path(scratch(), "shim.so")
            subprocess.run(["cc", "-std=c11", "-O1", "-Wall", "-fPIC", "-shared",
                            "-D_GNU_SOURCE", HERE / "shim.c", "-o", Shim.library, "-ldl",
                            "-lpthread"], check=True)
        path = pathlib.Path(folder, "control")
        path.write_bytes(bytes(4096))
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 4096)
        self.environment = {"LD_PRELOAD": str(Shim.library), "SHIM_CONTROL": str(path)}
        if data is not None:
            self.environment["SHIM_DATA"] = str(pathlib.Path(data).resolve())
        if disk is not None:
            pathlib.Path(disk).mkdir()
            self.environment["SHIM_DISK"] = str(pathlib.Path(disk).resolve())

    def __getitem__(self, name):
        return struct.unpack_from("=q", self.map, 8 * self.NAMES.index(name))[0]

    def __setitem__(self, name, value):
        struct.pack_into("=q", self.map, 8 * self.NAMES.index(name), value)


@contextlib.contextmanager
def small_disk(folder, mebibytes):
    """A file system of its own, or None where that is not allowed."""
    path = pathlib.Path(folder, "small")
    path.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=700", "tocsin-test",
                           path], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"skipped: a small disk cannot be mounted here ({done.stderr.strip()})", flush=True)
        yield None
        return
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=False)


_scratch = None


def scratch():
    """A folder for the life of this process."""
    global _scratch
    if _scratch is None:
        _scratch = tempfile.TemporaryDirectory(prefix="tocsin-fault-")
    return _scratch.name


@contextlib.contextmanager
def folder():
    path = tempfile.mkdtemp(dir=scratch())
    try:
        yield pathlib.Path(path)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def seed():
    """Printed, so that a failure can be had again."""
    value = int(os.environ.get("TOCSIN_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"seed {value} (TOCSIN_SEED={value} repeats it)", flush=True)
    return value


def in_threads(functions):
    """Runs them all; the first that failed is raised."""
    errors = []

    def guarded(function):
        try:
            function()
        except BaseException as error:  # handed on below
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def terminated(*_):
    """The one who runs us gives up: clean up on the way out."""
    raise SystemExit(1)


def run_tests(module, doc):
    """Every function test_* of the module, given the path of the binary; a word after that
    takes only those whose names contain it."""
    if len(sys.argv) not in (2, 3):
        sys.exit(doc)
    signal.signal(signal.SIGTERM, terminated)
    tocsin = pathlib.Path(sys.argv[1]).resolve()
    part = sys.argv[2] if len(sys.argv) == 3 else ""
    passed = failed = 0
    for name, test in list(vars(module).items()):
        if not name.startswith("test_") or part not in name:
            continue
        began = time.monotonic()
        try:
            test(tocsin)
            passed += 1
            print(f"ok {name[5:]} ({time.monotonic() - began:.1f} s)", flush=True)
        except Exception:
            failed += 1
            traceback.print_exc(file=sys.stdout)
            print(f"FAILED {name[5:]}", flush=True)
    print(f"{passed} passed, {failed} failed", flush=True)
    if _scratch is not None:
        _scratch.cleanup()
    sys.exit(0 if passed and not failed else 1)
