#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""demo_test.py TOCSIN - does `tocsin demo` do what it says, seen from outside?

Runs the binary as a user would: into a pipe, on terminals of several sizes, with keys,
signals and wrong options. Prints a line "ok ..." or "FAILED ..." per test, and at the
end the sum.
"""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

from support import PATIENCE, TOCSIN, alone, holds, main, same, tocsin

GEOMETRIES = ("fine", "default", "game", "order")
SHOW_CURSOR, HIDE_CURSOR = "\x1b[?25h", "\x1b[?25l"
ESCAPE = re.compile(r"\x1b\[(\??)([\d;]*)([A-Za-z])")


class Picture:
    """What a terminal would show: as much of one as the demonstration needs."""

    def __init__(self, cols, rows):
        self.cols, self.rows = cols, rows
        self.row = self.col = self.frames = 0
        self.prose = False  # the frames are over; what follows may wrap
        self.cells = [[" "] * cols for _ in range(rows)]

    def feed(self, text):
        at = 0
        while at < len(text):
            match = ESCAPE.match(text, at)
            if match:
                self.escape(*match.groups())
                at = match.end()
                continue
            same(text[at] in "\x1b\a\t", False, f"{text[at:at + 9]!r} is unknown to this test")
            self.put(text[at])
            at += 1

    def escape(self, private, numbers, verb):
        number = int(numbers) if numbers.isdigit() else 0
        if private:
            self.prose = verb == "h"
        if private or verb == "m":
            return
        if verb == "A":
            same(number <= self.row, True, f"up {number} from row {self.row}")
            self.row -= number
            self.frames += 1
        elif verb == "H":
            self.row = self.col = 0
        elif verb == "K":
            self.cells[self.row][self.col:] = [" "] * (self.cols - self.col)
        elif verb == "J":
            first = 0 if number == 2 else self.row
            for row in range(first, self.rows):
                start = self.col if row == self.row and number != 2 else 0
                self.cells[row][start:] = [" "] * (self.cols - start)
        else:
            raise AssertionError(f"unknown escape {private}{numbers}{verb}")

    def put(self, char):
        if char == "\r":
            self.col = 0
        elif char == "\n":
            self.row += 1
            if self.row == self.rows:
                self.cells = [*self.cells[1:], [" "] * self.cols]
                self.row -= 1
        else:
            if self.prose and self.col == self.cols:
                self.put("\r")
                self.put("\n")
            same(self.col < self.cols, True, f"row {self.row} is wider than {self.cols}")
            self.cells[self.row][self.col] = char
            self.col += 1

    def text(self):
        return "\n".join("".join(row).rstrip() for row in self.cells)


class Terminal:
    """The binary on a terminal of its own."""
    running = []

    def __init__(self, cols, rows, *arguments, **environment):
        self.said, self.rest, self.code = "", b"", None
        self.picture = Picture(cols, rows)
        settings = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **environment}
        if "NO_COLOR" not in environment:
            settings.pop("NO_COLOR", None)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
            os.execve(TOCSIN, [TOCSIN, "demo", *arguments], settings)
        self.deadline = time.monotonic() + PATIENCE
        Terminal.running.append(self)

    def read(self):
        """One piece of output; False at the end of it."""
        ready, _, _ = select.select([self.fd], [], [], max(0, self.deadline - time.monotonic()))
        if not ready:
            raise AssertionError(f"no output and no end for {PATIENCE} s after:\n{self.said}")
        try:
            piece = os.read(self.fd, 65536)
        except OSError:  # the other end is closed
            piece = b""
        self.rest += piece
        cut = self.rest.rfind(b"\n") + 1 if piece else len(self.rest)  # whole lines only
        whole, self.rest = self.rest[:cut].decode(), self.rest[cut:]
        self.said += whole
        self.picture.feed(whole)
        return piece != b""

    def frames(self, count):
        """Go on until so many more have been drawn."""
        wanted = self.picture.frames + count
        while self.picture.frames < wanted:
            same(self.read(), True, "goes on drawing")

    def resize(self, cols, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
        while "\x1b[2J" not in self.said:
            same(self.read(), True, "draws anew")
        self.picture = Picture(cols, rows)
        self.picture.feed(self.said[self.said.rindex("\x1b[H\x1b[2J"):])

    def end(self):
        while self.read():
            pass
        self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        Terminal.running.remove(self)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)

    def line_mode(self):
        flags = termios.tcgetattr(self.fd)[3]
        return bool(flags & termios.ICANON) and bool(flags & termios.ECHO)


def ended_well(terminal):
    same(terminal.code, 0, "exit code")
    same(terminal.said.count(HIDE_CURSOR), 1, "cursor hidden")
    same(terminal.said.rfind(SHOW_CURSOR) > terminal.said.rfind(HIDE_CURSOR), True, "cursor shown")
    summary = terminal.said[terminal.said.rfind(SHOW_CURSOR):]
    holds(summary, "Early:    0. Lost: 0. Unexpected: 0.", "Check:    OK", "Read next:")


@alone
def demo_into_a_pipe_says_it_in_plain_lines():
    done = tocsin("demo", "--seconds", "2.2")
    same((done.returncode, done.stderr), (0, ""))
    same("\x1b" in done.stdout or "\r" in done.stdout, False, "escape codes")
    lines = re.findall(r"^ +\d\.\d s  .* fired; late .*; early 0$", done.stdout, re.M)
    same(len(lines), 2, "lines")
    holds(done.stdout, "armed", "fired", "cancelled", "pending", "pushed back", "Lateness: half",
          "Early:    0. Lost: 0. Unexpected: 0.", "bytes each", "Check:    OK", "README.md")


@alone
def demo_on_a_dumb_terminal_says_it_in_plain_lines():
    terminal = Terminal(80, 24, "--seconds", "0.2", TERM="dumb")
    terminal.end()
    same(terminal.code, 0, "exit code")
    same("\x1b" in terminal.said, False, "escape codes")
    holds(terminal.said, "Early:    0.")


@alone
def demo_json_adds_up_on_every_geometry():
    for geometry in GEOMETRIES:
        done = tocsin("demo", "--json", "--seconds", "0.4", "--geometry", geometry, "--seed=7")
        same((done.returncode, done.stderr, done.stdout.count("\n")), (0, "", 1), geometry)
        seen = json.loads(done.stdout)
        same((seen["geometry"], seen["seed"], seen["check"], seen["good"]),
             (geometry, 7, "OK", True))
        same((seen["early"], seen["lost"], seen["unexpected"]), (0, 0, 0), geometry)
        same(seen["armed"], seen["fired"] + seen["cancelled"] + seen["pending"], geometry)
        same(sum(level["pending"] for level in seen["levels"]), seen["pending"], geometry)
        late = seen["lateness_us"]
        same(sum(row["count"] for row in late["histogram"]), seen["fired"], geometry)
        same(late["p50"] <= late["p90"] <= late["p99"] <= late["p999"] <= late["max"], True)
        same(seen["cancelled"] > 0 and seen["rearmed"] > 0, True, geometry)
        same(seen["seconds"] >= 0.4, True, geometry)


@alone
def demo_fits_80_by_24():
    terminal = Terminal(80, 24, "--seconds", "600")
    terminal.frames(8)
    shown = terminal.picture.text()
    holds(shown, "tocsin  a timing wheel at work", "256 x 256 ms", "┃", "armed", "p99",
          "none early", "0.01", "tea is ready", "lease ends", "backup starts  in 7 h 59 min")
    os.write(terminal.fd, b"q")
    terminal.end()
    ended_well(terminal)
    holds(terminal.said, "\x1b[0;36m")


@alone
def demo_fits_40_by_12():
    terminal = Terminal(40, 12, "--seconds", "1")
    terminal.frames(2)
    holds(terminal.picture.text(), "tocsin", "┃", "fired", "none early", "turn over")
    terminal.end()
    ended_well(terminal)


@alone
def demo_fits_what_is_hardly_a_terminal():
    for cols, rows in ((1, 1), (9, 3), (500, 200)):
        terminal = Terminal(cols, rows, "--seconds", "0.3")
        terminal.picture = Picture(500, 400)
        terminal.picture.row = 200
        terminal.end()
        ended_well(terminal)


@alone
def demo_follows_the_size_of_the_window():
    terminal = Terminal(120, 40, "--seconds", "20")
    terminal.frames(3)
    terminal.resize(60, 20)
    terminal.frames(3)
    holds(terminal.picture.text(), "tocsin", "none early")
    os.write(terminal.fd, b"q")
    terminal.end()
    ended_well(terminal)


@alone
def demo_ends_on_q_with_the_summary():
    terminal = Terminal(80, 24, "--seconds", "600")
    terminal.frames(2)
    same(terminal.line_mode(), False, "keys come one by one")
    os.write(terminal.fd, b"xyz q")
    terminal.end()
    ended_well(terminal)


@alone
def demo_gives_the_terminal_back_on_a_signal():
    for number in (signal.SIGINT, signal.SIGTERM):
        terminal = Terminal(80, 24, "--seconds", "600")
        terminal.frames(2)
        os.kill(terminal.pid, number)
        while "Read next:" not in terminal.said:
            same(terminal.read(), True, "summary")
        same(terminal.line_mode(), True, f"line mode after {number}")
        terminal.end()
        ended_well(terminal)


@alone
def demo_steps_aside_when_stopped_and_comes_back():
    terminal = Terminal(80, 24, "--seconds", "600")
    terminal.frames(2)
    os.write(terminal.fd, b"\x1a")
    while SHOW_CURSOR.encode() not in terminal.rest:
        same(terminal.read(), True, "cursor shown")
    _, status = os.waitpid(terminal.pid, os.WUNTRACED)
    same(os.WIFSTOPPED(status), True, "stopped by Ctrl-Z")
    same(terminal.line_mode(), True, "line mode while stopped")
    os.kill(terminal.pid, signal.SIGCONT)
    while "\x1b[2J" not in terminal.said:
        same(terminal.read(), True, "draws again")
    os.write(terminal.fd, b"q")
    terminal.end()
    same((terminal.code, terminal.said.count(SHOW_CURSOR)), (0, 2))


@alone
def demo_is_not_held_up_by_a_terminal_that_does_not_read():
    terminal = Terminal(200, 50, "--seconds", "1")
    terminal.picture = Picture(200, 400)
    terminal.picture.row = 200
    time.sleep(1.3)  # no synchronisation: this is the terminal that does not read
    terminal.end()
    same(terminal.code, 0, "exit code")
    latest = re.search(r"the latest ([\d.]+) (ms|s)\.", terminal.said)
    late_ms = float(latest[1]) * (1000 if latest[2] == "s" else 1)
    same(late_ms < 600, True, f"{late_ms} ms late")


@alone
def demo_without_color_or_unicode_uses_neither():
    terminal = Terminal(80, 24, "--seconds", "600", NO_COLOR="1", LC_ALL="C")
    terminal.frames(2)
    os.write(terminal.fd, b"q")
    terminal.end()
    ended_well(terminal)
    same(terminal.said.isascii(), True, "ASCII")
    same(set(re.findall(r"\x1b\[[\d;]*m", terminal.said)) <= {"\x1b[0m"}, True, "colours")


@alone
def options_that_are_wrong_are_refused_with_a_reason():
    for words, parts in (
            (["demo", "--seconds", "0"], ["--seconds", "'0'", "0.1 to 86400"]),
            (["demo", "--seconds", "-1"], ["--seconds", "'-1'"]),
            (["demo", "--seconds=1e3"], ["--seconds", "'1e3'"]),
            (["demo", "--seconds", "1.2345"], ["--seconds", "'1.2345'"]),
            (["demo", "--seconds", ""], ["--seconds", "''"]),
            (["demo", "--seconds"], ["--seconds", "needs a value"]),
            (["demo", "--geometry", "round"], ["--geometry", "'round'", "fine, default"]),
            (["demo", "--timers", "99"], ["--timers", "'99'", "100 to 1000000"]),
            (["demo", "--timers", "1000001"], ["--timers"]),
            (["demo", "--seed", "18446744073709551616"], ["--seed", "'18446744073709551616'"]),
            (["demo", "--seed", "7x"], ["--seed", "'7x'"]),
            (["demo", "--json=yes"], ["--json", "takes no value"]),
            (["demo", "--loud"], ["unknown option '--loud'"]),
            (["demo", "now"], ["unknown argument 'now'"]),
            (["dmeo"], ["unknown command 'dmeo'", "demo"]),
            (["--loud"], ["unknown option '--loud'"]),
            (["help", "dmeo"], ["'dmeo'"]),
            (["help", "demo", "now"], ["'now'"]),
            (["--version", "now"], ["'now'"]),
            ([], ["usage: tocsin"])):
        done = tocsin(*words)
        same((done.returncode, done.stdout), (2, ""), " ".join(words))
        holds(done.stderr, *parts)


@alone
def help_and_version_go_to_stdout():
    for words, parts in ((["--help"], ["usage: tocsin COMMAND", "demo"]),
                         (["-h"], ["usage: tocsin COMMAND"]),
                         (["help"], ["usage: tocsin COMMAND"]),
                         (["help", "demo"], ["usage: tocsin demo", "--seconds N", "exit codes"]),
                         (["demo", "--help"], ["usage: tocsin demo", "--geometry NAME"]),
                         (["demo", "--seed", "1", "-h"], ["usage: tocsin demo"]),
                         (["--version"], ["tocsin "])):
        done = tocsin(*words)
        same((done.returncode, done.stderr), (0, ""), " ".join(words))
        holds(done.stdout, *parts)


@alone
def output_that_cannot_be_written_is_no_success():
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([TOCSIN, "--help"], stdout=full, stderr=subprocess.PIPE, text=True,
                              timeout=PATIENCE, check=False)
    same(done.returncode, 1)
    holds(done.stderr, "cannot write")


if __name__ == "__main__":
    try:
        code = main(jobs=1)
    finally:
        while Terminal.running:  # of a test that failed
            Terminal.running.pop().kill()
    sys.exit(code)
