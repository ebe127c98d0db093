# SPDX-License-Identifier: MIT
"""A redis-server of its own for a test: started, stopped, killed, paused; and what it was told.

    with Redis() as redis:
        redis.say("SET", "k", "v", "PX", 5000)
        with redis.monitor() as monitor:
            ...
            same(monitor.told("PEXPIRE"), [])
"""
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

PATIENCE = 30.0
TRIES = 5  # a port can be taken between choice and bind


class Refusal(Exception):
    """An error reply."""


def free_port():
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        return chosen.getsockname()[1]


class Link:
    """One connection."""

    def __init__(self, port, password=None):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.file = self.socket.makefile("rb")
        if password is not None:
            self.say("AUTH", password)

    def send(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words) +
                            b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))

    def read(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("redis has hung up")
        kind, text = line[:1], line[1:-2]
        if kind == b"-":
            raise Refusal(text.decode())
        if kind == b":":
            return int(text)
        if kind == b"+":
            return text
        if int(text) < 0:
            return None
        if kind == b"*":
            return [self.read() for _ in range(int(text))]
        return self.file.read(int(text) + 2)[:-2]

    def say(self, *words):
        self.send(*words)
        return self.read()

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)  # also for a thread that reads
        except OSError:
            pass
        self.file.close()
        self.socket.close()


class Monitor:
    """Everything that is said to a redis from now on, by other connections than ours."""

    def __init__(self, redis):
        self.redis, self.lines, self.times, self.marks = redis, [], [], 0
        self.link = Link(redis.port, redis.password)
        self.link.say("MONITOR")
        self.thread = threading.Thread(target=self.follow, daemon=True)
        self.thread.start()

    def follow(self):
        try:
            while True:
                when, words = self.link.read().decode(errors="replace").split("] ", 1)
                self.times.append(float(when.split()[0]))  # of its clock, in seconds
                self.lines.append(words.replace('"', "").split(" "))
        except (OSError, ValueError, AttributeError):
            pass

    def mark(self, text=None):
        """How many lines there were when redis had done all it was told so far."""
        self.marks += 1
        text = text or f"mark-{id(self)}-{self.marks}"
        self.redis.say("ECHO", text)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            for at, words in enumerate(self.lines):
                if words[0] == "ECHO" and words[1] == text:
                    return at + 1
            time.sleep(0.005)
        raise AssertionError("MONITOR has not shown the mark")

    def told(self, verb, start=0):
        """The commands of this name, since then; scripts bring theirs too."""
        self.mark()
        return [words for words in self.lines[start:] if words[0].upper() == verb]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.link.close()
        self.thread.join(PATIENCE)


class Redis:
    def __init__(self, *words, password=None, started=True):
        self.folder = tempfile.mkdtemp(prefix="tocsin-redis-")
        self.words, self.password, self.port = list(words), password, None
        self.process = self.link = None
        if started:
            self.start()
        else:
            self.port = free_port()

    def start(self, *more):
        """Where it was before, if it was."""
        for _ in range(TRIES):
            port = self.port or free_port()
            secret = ["--requirepass", self.password] if self.password else []
            with open(os.path.join(self.folder, "log"), "ab") as log:
                self.process = subprocess.Popen(
                    ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", self.folder,
                     "--save", "", "--appendonly", "no", "--enable-debug-command", "local",
                     *secret, *self.words, *more],
                    stdout=log, stderr=log, stdin=subprocess.DEVNULL)
            if self.answers(port):
                self.port = port
                return
            self.process.wait()
        with open(os.path.join(self.folder, "log"), errors="replace") as log:
            raise AssertionError(f"redis-server does not start: {log.read()[-2000:]}")

    def answers(self, port):
        """False: it has died."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                link = Link(port, self.password)
            except Refusal:
                return True  # it is loading
            except OSError:
                time.sleep(0.01)
                continue
            try:
                if b"process_id:%d\r\n" % self.process.pid in link.say("INFO", "server"):
                    return True
            except Refusal:
                return self.process.poll() is None
            except (OSError, ValueError):
                pass
            finally:
                link.close()
            time.sleep(0.01)  # another's server has the port: ours will die of that
        return False

    def say(self, *words):
        if self.link is None:
            self.link = Link(self.port, self.password)
        try:
            return self.link.say(*words)
        except OSError:
            self.forget()
            raise

    def forget(self):
        if self.link is not None:
            self.link.close()
        self.link = None

    def ttl(self, key):
        return self.say("PTTL", key)

    def monitor(self):
        return Monitor(self)

    def calls(self, verb):
        """How often it was told this since its start, or CONFIG RESETSTAT."""
        for line in self.say("INFO", "commandstats").decode().splitlines():
            if line.startswith(f"cmdstat_{verb.lower()}:calls="):
                return int(line.split("=")[1].split(",")[0])
        return 0

    def pause(self):
        """It hangs: connections stay, and nothing is answered."""
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def end(self, how=signal.SIGTERM):
        self.forget()
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.send_signal(signal.SIGCONT)
            self.process.wait(PATIENCE)

    def kill(self):
        self.end(signal.SIGKILL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
