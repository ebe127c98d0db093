# SPDX-License-Identifier: MIT
"""The binary on a terminal of its own, for tests of what it draws."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

from support import PATIENCE, TOCSIN, environment, same

SHOW_CURSOR, HIDE_CURSOR = "\x1b[?25h", "\x1b[?25l"


class Terminal:
    """The binary on a terminal of its own; `with` ends it."""

    def __init__(self, cols, rows, *words, **more):
        settings = environment(**{"TERM": "xterm", "LC_ALL": "C.UTF-8", **more})
        self.said, self.code = "", None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
            os.execve(TOCSIN, [TOCSIN, *words], settings)
        self.deadline = time.monotonic() + PATIENCE

    def read(self):
        """One piece of output; False at the end."""
        ready, _, _ = select.select([self.fd], [], [], max(0, self.deadline - time.monotonic()))
        if not ready:
            raise AssertionError(f"no output and no end after:\n{self.said[-2000:]}")
        try:
            piece = os.read(self.fd, 65536)
        except OSError:
            return False
        self.said += piece.decode(errors="replace")
        return piece != b""

    def until(self, *parts):
        while not all(part in self.said for part in parts):
            same(self.read(), True, f"goes on until {parts}")

    def finish(self):
        while self.read():
            pass
        self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


def mode(fd):
    return termios.tcgetattr(fd)[3] & (termios.ICANON | termios.ECHO)


def plain(text):
    return re.sub(r"\x1b\[\??[\d;]*[A-Za-z]", "", text).replace("\r", "")
