# SPDX-License-Identifier: MIT
"""What the tests of the binary share: a server of their own, the binary as a user runs it, and
the loop over all tests of a file."""
import inspect
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.error
import urllib.request

PATIENCE = 30.0  # seconds until a test gives up
READY = re.compile(r"tocsin ready on (https?://\S+) ")


def same(seen, wanted, what=""):
    if seen != wanted:
        raise AssertionError(f"{what}: {seen!r} instead of {wanted!r}")


def holds(text, *parts):
    for part in parts:
        if part not in text:
            raise AssertionError(f"{part!r} is missing in:\n{text}")


def wait_for(condition, what):
    """The first true answer of condition; asks until the patience is at its end."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        answer = condition()
        if answer:
            return answer
        time.sleep(0.01)
    raise AssertionError(f"it did not happen in {PATIENCE:.0f} s: {what}")


def end(process):
    """Ends a process that was started here."""
    if process.poll() is None:
        process.kill()
    process.wait(timeout=PATIENCE)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


class Server:
    """tocsin serve on a free port with a folder of its own; `with` ends it."""

    def __init__(self, tocsin, *options, address="127.0.0.1:0"):
        self.tocsin, self.options = tocsin, options
        self.folder = tempfile.TemporaryDirectory(prefix="tocsin-test-")
        self.data = os.path.join(self.folder.name, "data")
        self.address = address
        self.process = None
        self.start()

    def start(self):
        """Again on the same port and folder, after a kill."""
        self.log = open(os.path.join(self.folder.name, "log"), "ab")
        self.process = subprocess.Popen(
            [self.tocsin, "serve", "--data", self.data, "--listen", self.address, *self.options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, text=True)
        match = READY.match(self.process.stdout.readline())
        if not match:
            raise AssertionError("the server did not start:\n" +
                                 open(os.path.join(self.folder.name, "log")).read())
        self.url = match[1]
        self.address = self.url.split("://")[1]

    def kill(self):
        self.process.kill()
        self.process.wait(timeout=PATIENCE)
        self.process.stdout.close()
        self.log.close()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        same(self.process.wait(timeout=PATIENCE), 0, "the server's exit code")
        self.process.stdout.close()
        self.log.close()

    def ask(self, method, path, body=None):
        """(status, JSON) of a request."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def task(self, task_id):
        return self.ask("GET", f"/v1/tasks/{task_id}")[1]

    def status(self, task_id):
        return self.task(task_id).get("status")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
        self.folder.cleanup()


class Tocsin:
    """The binary as a user runs it, with a clean environment."""

    def __init__(self, path):
        self.path = path

    def environment(self, **more):
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith("TOCSIN_") and name != "NO_COLOR"}
        return {**kept, **more}

    def run(self, *arguments, url=None, given=None, **more):
        settings = self.environment(**more)
        if url is not None:
            settings["TOCSIN_URL"] = url
        stdin = {"input": given} if given is not None else {"stdin": subprocess.DEVNULL}
        return subprocess.run([self.path, *arguments], capture_output=True, text=True,
                              timeout=PATIENCE, env=settings, check=False, **stdin)

    def start(self, *arguments, url, **more):
        return subprocess.Popen([self.path, *arguments], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.environment(TOCSIN_URL=url, **more))


def run_tests(module, **given):
    """Runs every test_... of the module; those that take a server get the one that is shared."""
    tests = [(name, value) for name, value in vars(module).items() if name.startswith("test_")]
    failed = 0
    for name, test in tests:
        what = name.removeprefix("test_").replace("_", " ")
        wanted = {key: given[key] for key in inspect.signature(test).parameters}
        try:
            test(**wanted)
            print(f"ok {what}", flush=True)
        except Exception:  # whatever it was, the others are to run
            failed += 1
            traceback.print_exc(file=sys.stdout)
            print(f"FAILED {what}", flush=True)
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0
