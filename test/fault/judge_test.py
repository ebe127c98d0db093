#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""judge_test.py TOCSIN - does the judge see what it should, and nothing else?

The controls of the fault tests: short histories in which one promise is broken, each of which
must be named, beside the same ones with nothing broken. No server is asked.
"""
import sys

import fault
from judge import Judge, crc_of

DUE = 1_000_000


def row(gen, fence, **more):
    return {"run": f"r{fence}", "id": "a", "gen": gen, "crc": crc_of(gen), "attempt": 1,
            "fence": fence, "due": DUE + 100, "fired": DUE + 100, "until": DUE + 100 + 3000, **more}


def seen(gen, **more):
    return {"id": "a", "gen": gen, "status": "pending", "crc": crc_of(gen), **more}


class History:
    """Writes one down, and has it judged."""

    def __init__(self):
        self.judge, self.n = Judge(), 0

    def do(self, verb, at, status, gen=None, extra=None, told=None, task="a"):
        self.n += 1
        self.judge.take(["ask", self.n, DUE + at, verb, task, gen, extra or {}])
        if status is None:
            self.judge.take(["lost", self.n])
        else:
            self.judge.take(["told", self.n, DUE + at + 1, status, told])
        return self

    def create(self, gen, at=0, status=201, verb="create", kind="once"):
        return self.do(verb, at, status, gen, {"kind": kind, "delay": 100})

    def lease(self, at, *rows):
        return self.do("lease", at, 200, extra={"ttl": 3000}, told=list(rows), task=None)

    def end(self, verb, at, fence, status=200, told=None, **more):
        return self.do(verb, at, status, extra={"run": f"r{fence}", **more}, told=told, task=None)

    def check(self, *rows, word="seen"):
        self.judge.take([word, list(rows), DUE + 5000])
        return self

    def killed(self):
        self.judge.take(["killed"])
        return self

    def shows(self, kind=None):
        got = self.judge.violations
        if kind is None:
            fault.expect(not got, f"nothing was broken: {got}")
        else:
            fault.expect(len(got) >= 1 and all(text.startswith(kind + ":") for text in got),
                         f"{kind} was broken, it says {got}")


def test_an_ordinary_life_is_fine(_):
    (History().create(1).check(seen(1)).lease(101, row(1, 5)).end("ack", 110, 5)
     .check(word="seen at the end").shows())


def test_what_was_never_answered_may_be_either(_):
    History().create(1, status=None).check(seen(1)).shows()
    History().create(1, status=None).check().shows()
    for row_seen in (seen(1), seen(2)):
        History().create(1).create(2, verb="put", status=None).check(row_seen).shows()
    History().create(1).do("cancel", 5, None).check().shows()
    History().create(1).do("pause", 5, None).check(seen(1, status="paused")).shows()


def test_a_lost_task_is_named(_):
    History().create(1).check().shows("lost")
    History().create(1).check(seen(1), word="seen at the end").shows("lost")
    History().create(1).do("cancel", 5, 404).shows("lost")


def test_a_lost_replace_or_pause_is_named(_):
    History().create(1).create(2, verb="put", status=200).check(seen(1)).shows("lost")
    History().create(1).do("pause", 5, 200).check(seen(1)).shows("lost")
    History().create(1).check(seen(1, crc=0)).shows("lost")


def test_a_done_one_that_comes_again_is_named(_):
    done = History().create(1).lease(101, row(1, 5)).end("ack", 110, 5)
    done.killed().lease(3000, row(1, 1 << 32, until=DUE + 6000)).shows("again")
    History().create(1).lease(101, row(1, 5)).end("ack", 110, 5).check(seen(1)).shows("again")


def test_a_cancelled_replaced_or_paused_one_that_runs_is_named(_):
    late = {"until": DUE + 3500}
    History().create(1).do("cancel", 50, 200).lease(501, row(1, 5, **late)).shows("cancelled")
    History().create(1).do("pause", 50, 200).lease(501, row(1, 5, **late)).shows("cancelled")
    (History().create(1).create(2, 50, verb="put", status=200).lease(501, row(1, 5, **late))
     .shows("cancelled"))


def test_a_cancelled_one_that_is_back_is_named(_):
    History().create(1).do("cancel", 50, 200).check(seen(1)).shows("again")


def test_an_early_one_is_named(_):
    History().create(1).lease(50, row(1, 5, due=DUE + 50, fired=DUE + 50,
                                      until=DUE + 3050)).shows("early")
    History().create(1).lease(101, row(1, 5, due=DUE + 900)).shows("early")
    (History().create(1).lease(101, row(1, 5)).end("nack", 110, 5, delay=1000)
     .lease(500, row(1, 6, attempt=2, until=DUE + 3500)).shows("early"))


def test_a_fence_that_falls_or_comes_twice_is_named(_):
    other = History().create(1).lease(101, row(1, 7))
    other.killed().lease(500, row(1, 6)).shows("fence")
    History().create(1).lease(101, row(1, 7), row(1, 7, attempt=2)).shows("fence")


def test_an_attempt_that_does_not_rise_is_named(_):
    (History().create(1).lease(101, row(1, 5)).end("nack", 110, 5, delay=0)
     .lease(500, row(1, 6, until=DUE + 3500)).shows("attempt"))
    one, two = 1 << 32, 2 << 32
    (History().create(1).lease(101, row(1, one, attempt=2)).killed()
     .lease(500, row(1, two, attempt=2)).shows("attempt"))
    (History().create(1).lease(101, row(1, one)).killed()  # a first claim is not written
     .lease(500, row(1, two, until=DUE + 3500)).shows())


def test_a_good_lease_that_is_refused_is_named(_):
    History().create(1).lease(101, row(1, 5)).end("ack", 110, 5, 409, "FENCED").shows("fenced")


def test_a_gap_in_a_schedule_that_catches_up_everything_is_named(_):
    def of(*dues):
        history = History().create(1, kind="gapless")
        rows = [row(1, 5 + i, due=DUE + due, fired=DUE + due, until=DUE + due + 3000)
                for i, due in enumerate(dues)]
        return history.lease(5000, *rows).check(seen(1), word="seen at the end")

    of(500, 1000, 1500).shows()
    of(500, 1500).shows("gap")


if __name__ == "__main__":
    fault.run_tests(sys.modules[__name__], __doc__)
