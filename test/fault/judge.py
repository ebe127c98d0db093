#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""judge.py [LOG | --replay LOG] - was every promise kept?

A process of its own. It is told, line by line, what was asked and what was answered, each
before the teller goes on; it keeps its own log of that (LOG), asks the server itself what it
has after each restart, and names every violation (laws 1 to 4 of the design):

    lost        acknowledged (created, replaced, resumed ...) and not there
    again       acknowledged as done, and handed out once more
    cancelled   handed out after its cancel was acknowledged; so with replaced and paused ones
    early       handed out before it was due, or before a retry was to come
    fence       a fence that did not rise, or came twice
    attempt     an attempt that did not rise
    fenced      a good lease that was refused
    gap         a schedule that catches up everything has left something out

Operations whose answer was lost may have happened or not; what the server then shows decides.
--replay judges a kept log again, without a server.

Lines are JSON lists. Times are wall milliseconds of the teller, taken before the question and
after the answer. A `gen` is a number that is new with every create and replace; it stands in
the payload, so that a run tells which of them it belongs to.

    ["ask", n, t, verb, id, gen, extra]      ["told", n, t, status, extra]     ["lost", n]
    ["killed"]     ["check", port]     ["end", port]
"""
import collections
import json
import sys
import zlib

import fault

CLOCK_MS = 3  # rounding: the server answers in whole milliseconds, on two clocks
SHOWN = 20


def filler(gen):
    """What stands in the payload beside the number."""
    return f"{gen:x}." * (gen % 97)


def crc_of(gen):
    return zlib.crc32(filler(gen).encode())


class Gen:
    """One version of a task, as somebody asked for it."""

    def __init__(self, task_id, gen, kind):
        self.id, self.gen, self.kind = task_id, gen, kind
        self.not_before = 0      # of its first run
        self.dead_at = None      # replaced, cancelled, or seen not to be there: since then
        self.dead_why = ""
        self.held_at = None      # paused since
        self.asked_done = False  # an ack was sent, so it may be gone
        self.asked_end = False   # a replace or cancel was sent, so its runs may be void
        self.occasions = {}      # due (0 for a one-shot) -> Occasion
        self.fires = []          # [from, to] of fires by hand

    def end(self, at, why):
        if self.dead_at is None:
            self.dead_at, self.dead_why = at, why

    def hurry(self):
        """A retry that is fired by hand, or was paused and goes on, does not wait any longer."""
        for occasion in self.occasions.values():
            for run in occasion.runs:
                run.retry_at = 0


class Occasion:
    def __init__(self):
        self.acked = None  # the fence
        self.runs = []     # by the order they were handed out


class Run:
    def __init__(self, gen, occasion, fence, attempt, until):
        self.gen, self.occasion, self.fence, self.attempt = gen, occasion, fence, attempt
        self.until, self.nacked, self.retry_at = until, False, 0


class Task:
    def __init__(self):
        self.sure = None         # the Gen that is there
        self.maybe = []          # those that may be there instead
        self.cancel_maybe = False
        self.paused = False      # None: unknown


class Judge:
    def __init__(self):
        self.violations = []
        self.tasks = collections.defaultdict(Task)
        self.gens = {}
        self.asked = {}
        self.runs = {}           # by the name of the run
        self.fences = set()
        self.fence_max = 0       # of those handed out by calls that are answered
        self.epoch_kills = 0
        self.kills = 0
        self.counts = collections.Counter()

    def accuse(self, kind, text):
        self.violations.append(f"{kind}: {text}")

    # ---- what is asked

    def ask(self, n, t, verb, task_id, gen, extra):
        self.asked[n] = (t, verb, task_id, gen, extra, self.fence_max, self.kills)
        task = self.tasks[task_id] if task_id is not None else None
        if verb in ("put", "cancel"):
            for one in [task.sure, *task.maybe]:
                if one is not None:
                    one.asked_end = True
        if verb in ("create", "put"):
            made = self.gens[gen] = Gen(task_id, gen, extra["kind"])
            made.not_before = t + extra.get("delay", 0)
            task.maybe.append(made)
        elif verb in ("resume", "fire"):
            for one in [task.sure, *task.maybe]:
                if one is not None:
                    one.held_at = None
                    one.hurry()
                    if verb == "fire":
                        one.not_before = 0
                        one.fires.append([t, float("inf")])
        elif verb == "ack":
            self.runs[extra["run"]].gen.asked_done = True

    def lost(self, n):
        _, verb, task_id, gen, _, _, _ = self.asked.pop(n)
        self.counts["lost answers"] += 1
        task = self.tasks[task_id] if task_id is not None else None
        if verb == "cancel":
            task.cancel_maybe = True
        elif verb in ("pause", "resume", "fire"):
            task.paused = None

    # ---- what is told

    def told(self, n, t, status, extra):
        asked, verb, task_id, gen, about, fence_max, kills = self.asked.pop(n)
        good = 200 <= status < 300
        self.counts[verb if good else f"{verb} {status}"] += 1
        if status in (500, 501) or (status == 400):
            self.accuse("lost", f"{verb} {task_id}: answered {status} {extra}")
        handler = getattr(self, f"told_{verb}")
        handler(t, status, extra, self.tasks[task_id] if task_id is not None else None,
                self.gens.get(gen), about, (asked, fence_max, kills))

    def made(self, t, task, gen):
        for other in [task.sure, *task.maybe]:
            if other is not None and other is not gen:
                other.end(t, f"replaced by {gen.gen}")
        task.sure, task.maybe, task.paused, task.cancel_maybe = gen, [], False, False

    def told_create(self, t, status, _extra, task, gen, _about, _when):
        if status == 201:
            self.made(t, task, gen)
        elif gen in task.maybe:
            task.maybe.remove(gen)

    def told_put(self, t, status, _extra, task, gen, _about, _when):
        if status in (200, 201):
            self.made(t, task, gen)
        elif gen in task.maybe:
            task.maybe.remove(gen)

    def may_be_gone(self, task):
        return (task.sure is None or task.cancel_maybe or task.maybe or
                (task.sure.kind == "once" and task.sure.asked_done))

    def told_cancel(self, t, status, _extra, task, _gen, _about, _when):
        if status in (200, 202):
            for one in [task.sure, *task.maybe]:
                if one is not None:
                    one.end(t, "cancelled")
            task.sure, task.maybe, task.cancel_maybe = None, [], False
        elif status == 404:
            self.said_missing(task, "cancel")

    def said_missing(self, task, verb):
        if not self.may_be_gone(task):
            self.accuse("lost", f"{task.sure.id} (gen {task.sure.gen}): {verb} answered 404")

    def told_pause(self, t, status, _extra, task, _gen, _about, _when):
        if status == 200:
            task.paused = True
            if task.sure is not None and not task.maybe:
                task.sure.held_at = t
        elif status == 404:
            self.said_missing(task, "pause")

    def told_resume(self, _t, status, _extra, task, _gen, _about, _when):
        if status == 200:
            task.paused = False
        elif status == 404:
            self.said_missing(task, "resume")

    def told_fire(self, t, status, _extra, task, _gen, _about, _when):
        for one in [task.sure, *task.maybe]:
            if one is not None and one.fires:
                one.fires[-1][1] = t
                if status == 200 and one.kind == "once":
                    task.paused = False
        if status == 404:
            self.said_missing(task, "fire")

    # ---- runs

    def told_lease(self, t, status, extra, _task, _gen, about, when):
        if status != 200:
            return
        for row in extra:
            self.handed_out(t, row, about["ttl"], when)
        for row in extra:
            self.fence_max = max(self.fence_max, row["fence"])

    def handed_out(self, t, row, ttl, when):
        self.counts["runs"] += 1
        what = f"{row['id']} (gen {row['gen']}, run {row['run']}, attempt {row['attempt']})"
        gen = self.gens.get(row["gen"])
        if gen is None or gen.id != row["id"] or row["crc"] != crc_of(row["gen"]):
            self.accuse("lost", f"{what}: its payload is not what was stored")
            return
        fence, claimed = row["fence"], row["until"] - ttl
        if fence in self.fences or fence <= when[1]:
            self.accuse("fence", f"{what}: fence {fence} after {when[1]}")
        self.fences.add(fence)
        once = gen.kind == "once"
        # The due time of a retry is its own, so it does not tell which occurrence it is of.
        key = 0 if once else row["due"] if row["attempt"] == 1 else row["run"]
        occasion = gen.occasions.setdefault(key, Occasion())
        by_hand = any(begin - CLOCK_MS <= row["due"] <= end + CLOCK_MS for begin, end in gen.fires)
        if occasion.acked is not None and fence > occasion.acked and (once or not by_hand):
            self.accuse("again", f"{what}: fence {occasion.acked} was acknowledged as done")
        self.judge_time(t, row, what, gen, claimed, by_hand)
        run = Run(gen, occasion, fence, row["attempt"], row["until"])
        if occasion.runs and (once or not by_hand):
            self.judge_attempt(what, occasion.runs[-1], run, claimed)
        occasion.runs.append(run)
        self.runs[row["run"]] = run

    def judge_time(self, t, row, what, gen, claimed, by_hand):
        if gen.kind != "once" and row["attempt"] > 1:
            return
        latest = claimed if gen.kind == "once" else row["due"]
        if gen.dead_at is not None and latest > gen.dead_at + CLOCK_MS:
            self.accuse("cancelled", f"{what}: {gen.dead_why}, {latest - gen.dead_at:.0f} ms before")
        if gen.held_at is not None and latest > gen.held_at + CLOCK_MS and not by_hand:
            self.accuse("cancelled", f"{what}: paused, {latest - gen.held_at:.0f} ms before")
        if row["due"] > t + CLOCK_MS or row["fired"] + CLOCK_MS < row["due"]:
            self.accuse("early", f"{what}: due {row['due']}, handed out at {t:.0f}")
        if gen.kind == "once" and row["attempt"] == 1 and claimed + CLOCK_MS < gen.not_before:
            self.accuse("early", f"{what}: {gen.not_before - claimed:.0f} ms before its delay")
        if gen.kind == "cron" and not by_hand and row["due"] % 1000 != 0:
            self.accuse("early", f"{what}: due at {row['due']}, which is no whole second")

    def judge_attempt(self, what, before, run, claimed):
        if run.fence < before.fence:
            return  # told in another order than handed out
        must_rise = (run.fence >> 32 == before.fence >> 32 or before.attempt >= 2 or before.nacked)
        if run.attempt < before.attempt + must_rise:
            self.accuse("attempt", f"{what}: attempt {before.attempt} was before it")
        if before.nacked and claimed + CLOCK_MS < before.retry_at and run.gen.not_before:
            self.accuse("early", f"{what}: {before.retry_at - claimed:.0f} ms before its retry")

    def fenced(self, t, status, extra, run, when):
        """Only a lease that has ended, or is of another life of the server, may be refused."""
        if status == 409 and extra == "FENCED" and when[0] + CLOCK_MS < run.until and \
                when[2] == self.kills and run.fence >> 32 == self.fence_max >> 32 and \
                not run.gen.asked_end:
            self.accuse("fenced", f"{run.gen.id} (fence {run.fence}): refused {run.until - t:.0f} ms "
                        "before its lease ended")

    def told_ack(self, t, status, extra, _task, _gen, about, when):
        run = self.runs[about["run"]]
        self.fenced(t, status, extra, run, when)
        if status != 200 or extra == "superseded":
            return
        if run.occasion.acked is not None and run.occasion.acked != run.fence and \
                not run.gen.fires:
            self.accuse("again", f"{run.gen.id} (gen {run.gen.gen}): acknowledged as done under "
                        f"fences {run.occasion.acked} and {run.fence}")
        run.occasion.acked = max(run.fence, run.occasion.acked or 0)

    def told_nack(self, t, status, extra, _task, _gen, about, when):
        run = self.runs[about["run"]]
        self.fenced(t, status, extra, run, when)
        if status == 200 and extra != "superseded":
            run.nacked, run.retry_at = True, when[0] + about["delay"]

    def told_extend(self, t, status, extra, _task, _gen, about, when):
        run = self.runs[about["run"]]
        self.fenced(t, status, extra, run, when)
        if status == 200:
            run.until = max(run.until, extra)

    # ---- what is there

    def killed(self):
        self.kills += 1

    def check(self, seen, now):
        """After a restart, while nobody asks for anything: the server against the books."""
        there = {row["id"]: row for row in seen}
        for task_id, task in self.tasks.items():
            self.check_task(task_id, task, there.pop(task_id, None), now)
        for row in there.values():
            self.accuse("lost", f"{row['id']}: nobody ever asked for it")
        self.counts["checks"] += 1

    def check_task(self, task_id, task, row, now):
        sure = task.sure
        done = sure is not None and sure.kind == "once" and sure.asked_done
        if row is None:
            if not self.may_be_gone(task):
                self.accuse("lost", f"{task_id} (gen {sure.gen}, {sure.kind}): it is not there")
            if sure is not None and not done:
                sure.end(now, "not there after a restart")
            found = None
        else:
            found = self.gens.get(row["gen"])
            allowed = ([sure] if sure is not None else []) + task.maybe
            if found not in allowed:
                why = found.dead_why if found is not None else "never asked for"
                self.accuse("lost" if sure is not None else "again",
                            f"{task_id}: gen {row['gen']} is there ({why}), not "
                            f"{[one.gen for one in allowed]}")
            elif row["crc"] != crc_of(row["gen"]):
                self.accuse("lost", f"{task_id}: its payload is not what was stored")
            elif found.kind == "once" and found.occasions.get(0, Occasion()).acked is not None:
                self.accuse("again", f"{task_id} (gen {row['gen']}): done, and there again")
            elif task.paused is not None and found is sure and not task.maybe and \
                    (row["status"] == "paused") != task.paused:
                self.accuse("lost", f"{task_id}: {row['status']}, its last pause or resume is gone")
            if row["status"] == "failed":
                self.accuse("lost", f"{task_id}: failed, with attempts left")
        for one in task.maybe:
            if one is not found:
                one.end(now, "not there after a restart")
        if found is not None and found is not sure and sure is not None:
            sure.end(now, "replaced")
        if found is not None:
            found.held_at = None if row["status"] != "paused" else found.held_at
        task.sure, task.maybe, task.cancel_maybe = found, [], False
        task.paused = found is not None and row["status"] == "paused"

    def end(self, seen, now):
        """All is done: nothing may be left, and nothing may be missing."""
        self.check(seen, now)
        for row in seen:
            if self.gens[row["gen"]].kind == "once":
                self.accuse("lost", f"{row['id']} (gen {row['gen']}): {row['status']}, and never ran")
        for gen in self.gens.values():
            if gen.kind == "gapless":
                dues = sorted(due for due in gen.occasions if isinstance(due, int))
                self.counts["gapless occurrences"] += len(dues)
                for one, other in zip(dues, dues[1:]):
                    if other - one > 500 + 2 * CLOCK_MS:
                        self.accuse("gap", f"{gen.id}: nothing between {one} and {other}")

    def take(self, line):
        word = line[0]
        if word in ("ask", "told", "lost", "killed"):
            getattr(self, word)(*line[1:])
        elif word in ("seen", "seen at the end"):
            (self.check if word == "seen" else self.end)(line[1], line[2])


def look(port):
    """What the server has, by the judge's own question."""
    rows = []
    for task in fault.Client(port).all_tasks():
        payload = task["payload"]
        rows.append({"id": task["id"], "gen": payload["g"], "status": task["status"],
                     "crc": zlib.crc32(payload["x"].encode())})
    return rows


def report(judge):
    print(json.dumps({"violations": judge.violations[:SHOWN], "count": len(judge.violations),
                      "counts": judge.counts}), flush=True)


def listen(log):
    judge = Judge()
    for text in sys.stdin:
        line = json.loads(text)
        if line[0] in ("check", "end"):
            try:
                line = ["seen" if line[0] == "check" else "seen at the end", look(line[1]),
                        fault.wall_ms()]
            except (fault.Gone, AssertionError, KeyError, TypeError) as error:
                judge.accuse("lost", f"the server does not show what it has: {error!r}")
                line = ["no answer"]
            text = json.dumps(line) + "\n"
        log.write(text)
        judge.take(line)
        if line[0] not in ("ask", "told", "lost", "killed"):
            log.flush()
            report(judge)


def main():
    if sys.argv[1:2] == ["--replay"] and len(sys.argv) == 3:
        judge = Judge()
        with open(sys.argv[2], encoding="utf-8") as log:
            for text in log:
                judge.take(json.loads(text))
        report(judge)
        return 1 if judge.violations else 0
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], "w", encoding="utf-8") as log:
        listen(log)
    return 0


if __name__ == "__main__":
    sys.exit(main())
