# SPDX-License-Identifier: MIT
"""Clients that do everything a task allows at once, and tell the judge of each step before
they go on. They survive their server, and go on with the next one when told where it is."""
import itertools
import json
import pathlib
import random
import subprocess
import sys
import threading
import zlib

import fault
import judge as books

QUEUES = ("north", "south")
OWNERS, WORKERS = 4, 3
OWN_MAX = 120
LEASE_MS = (400, 3000)


class Judged:
    """The judge, as a process."""

    def __init__(self, log):
        self.log = pathlib.Path(log)
        self.process = subprocess.Popen([sys.executable, pathlib.Path(books.__file__), str(log)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lock = threading.Lock()
        self.numbers = itertools.count(1)

    def tell(self, *line):
        with self.lock:
            self.process.stdin.write(json.dumps(line) + "\n")
            self.process.stdin.flush()

    def verdict(self, word, port):
        self.tell(word, port)
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(fault.PATIENCE)
        self.process.stdout.close()


class World:
    """Where the server is, and whether anybody may ask it anything."""

    def __init__(self, judged, seed):
        self.judged, self.seed = judged, seed
        self.condition = threading.Condition()
        self.port, self.life, self.parked, self.over = 0, 0, 0, False
        self.acknowledged = 0
        self.gens = itertools.count(1)
        self.threads = [threading.Thread(target=Owner(self, i).live) for i in range(OWNERS)]
        self.threads += [threading.Thread(target=Worker(self, i).live) for i in range(WORKERS)]
        self.errors = []
        self.no_more = False  # owners only watch
        for thread in self.threads:
            thread.start()
        self.wait_parked()

    def go(self, port):
        with self.condition:
            self.port, self.life = port, self.life + 1
            self.condition.notify_all()

    def wait_parked(self):
        """Everybody has noticed that the server is gone, and said what was lost."""
        with self.condition:
            if not self.condition.wait_for(lambda: self.parked == len(self.threads),
                                           fault.PATIENCE * 2):
                raise AssertionError("a client has not noticed that its server is gone")

    def park(self, life):
        """Until there is another life of the server. False: it is over."""
        with self.condition:
            self.parked += 1
            self.condition.notify_all()
            self.condition.wait_for(lambda: self.life > life or self.over)
            self.parked -= 1
            return not self.over

    def wait_for(self, acknowledged, seconds):
        fault.wait_until(lambda: self.errors or self.acknowledged >= acknowledged,
                         f"{acknowledged} operations are acknowledged", seconds)
        if self.errors:
            raise self.errors[0]

    def count(self, n=1):
        with self.condition:
            self.acknowledged += n

    def close(self):
        with self.condition:
            self.over = True
            self.condition.notify_all()
        for thread in self.threads:
            thread.join()


class Somebody:
    def __init__(self, world, number, what):
        self.world, self.number = world, number
        self.random = random.Random(f"{world.seed}/{what}/{number}")
        self.client, self.life = None, 0

    def live(self):
        while self.world.park(self.life):
            self.life = self.world.life
            self.client = fault.Client(self.world.port, 60)
            try:
                while not self.world.over:
                    self.step()
            except fault.Gone:
                pass
            except Exception as error:  # ours, not the server's
                self.world.errors.append(error)
                raise
            finally:
                self.client.close()

    def ask(self, verb, task_id, gen, about, method, path, body=None, headers=(), told=None):
        """One operation; the judge hears of it before and after."""
        judged = self.world.judged
        n = next(judged.numbers)
        judged.tell("ask", n, fault.wall_ms(), verb, task_id, gen, about)
        try:
            status, answer, _ = self.client.call(method, path, body, headers)
        except fault.Gone:
            judged.tell("lost", n)
            raise
        extra = told(status, answer) if told is not None else None
        judged.tell("told", n, fault.wall_ms(), status, extra)
        if verb != "lease" and 200 <= status < 300:
            self.world.count()
        return status, answer


class Owner(Somebody):
    """Makes tasks, and has second thoughts. Nobody else touches its tasks but workers."""

    def __init__(self, world, number):
        super().__init__(world, number, "owner")
        self.own, self.made, self.again = [], itertools.count(), None
        self.schedules = {}

    def body(self, gen):
        """A one-shot that is due soon."""
        delay = self.random.choice((0, 1, 50, 300, 1000, 2500))
        return {"delay": delay, "payload": {"g": gen, "x": books.filler(gen)},
                "target": {"type": "queue", "queue": self.random.choice(QUEUES)},
                "retry": {"max": 1000, "base": "50ms", "factor": 1, "cap": "50ms", "jitter": 0}}

    def schedule_body(self, gen, kind):
        body = {**self.body(gen), "overlap": "allow"}
        del body["delay"]
        if kind == "cron":
            return {**body, "cron": "* * * * * *"}
        return {**body, "every": "500ms", "misfire": "all" if kind == "gapless" else "once"}

    def step(self):
        if self.again is not None:
            self.retry_create()
        elif self.world.no_more:
            threading.Event().wait(0.02)
            self.set_free()
        else:
            verbs, weights = zip(*((self.create, 30), (self.create_keyed, 6), (self.replace, 20),
                                   (self.cancel, 12), (self.pause, 8), (self.resume, 8),
                                   (self.fire, 6), (self.schedule, 2), (self.batch, 3)))
            self.random.choices(verbs, weights)[0]()

    def pick(self):
        if not self.own:
            self.create()
        return self.random.choice(self.own)

    def add(self, task_id):
        self.own.append(task_id)
        if len(self.own) > OWN_MAX:
            self.own.pop(0)

    def create(self, headers=()):
        gen, task_id = next(self.world.gens), f"o{self.number}-{next(self.made)}"
        body = {"id": task_id, **self.body(gen)}
        self.add(task_id)
        self.ask("create", task_id, gen, {"kind": "once", "delay": body["delay"]}, "POST",
                 "/v1/tasks", body, headers, self.why)
        return task_id, gen, body

    @staticmethod
    def why(status, answer):
        return answer.get("detail") if status >= 400 else None

    def create_keyed(self):
        """When the answer is lost it asks again, with the same key, and must not be told 409."""
        gen, task_id = next(self.world.gens), f"o{self.number}-{next(self.made)}"
        body = {"id": task_id, **self.body(gen)}
        self.again = (gen, task_id, body)
        self.retry_create()

    def retry_create(self):
        gen, task_id, body = self.again
        judged = self.world.judged
        n = next(judged.numbers)
        judged.tell("ask", n, fault.wall_ms(), "create", task_id, gen,
                    {"kind": "once", "delay": 0})
        try:
            status, answer, _ = self.client.call("POST", "/v1/tasks", body,
                                                 [("Idempotency-Key", f"key-{task_id}")])
        except fault.Gone:
            judged.tell("lost", n)
            raise
        judged.tell("told", n, fault.wall_ms(), status, self.why(status, answer))
        fault.expect(status == 201, f"{task_id} with its key again: {status} {answer}")
        self.again = None
        self.add(task_id)
        self.world.count()

    def replace(self):
        gen, task_id = next(self.world.gens), self.pick()
        body = self.body(gen)
        self.ask("put", task_id, gen, {"kind": "once", "delay": body["delay"]}, "PUT",
                 f"/v1/tasks/{task_id}", body, told=self.why)

    def cancel(self):
        task_id = self.pick()
        self.ask("cancel", task_id, None, {}, "DELETE", f"/v1/tasks/{task_id}", told=self.why)
        if task_id in self.own:
            self.own.remove(task_id)

    def simple(self, verb, task_id):
        return self.ask(verb, task_id, None, {}, "POST", f"/v1/tasks/{task_id}/{verb}",
                        told=self.why)

    def pause(self):
        self.simple("pause", self.pick())

    def resume(self):
        self.simple("resume", self.pick())

    def fire(self):
        self.simple("fire", self.pick())

    def schedule(self):
        """A handful of schedules each: made, fired by hand, paused, replaced and ended."""
        kind = self.random.choice(("every", "cron"))
        task_id = f"s{self.number}-{kind}"
        gapless = f"s{self.number}-gapless"
        if self.number == 0 and gapless not in self.schedules:
            kind, task_id = "gapless", gapless
        verb = self.random.choice(("put", "put", "fire", "pause", "resume", "cancel"))
        if task_id not in self.schedules or (verb == "put" and kind != "gapless"):
            gen = next(self.world.gens)
            self.schedules[task_id] = kind
            self.ask("put", task_id, gen, {"kind": kind}, "PUT", f"/v1/tasks/{task_id}",
                     self.schedule_body(gen, kind), told=self.why)
        elif verb == "cancel":
            del self.schedules[task_id]
            self.ask("cancel", task_id, None, {}, "DELETE", f"/v1/tasks/{task_id}", told=self.why)
        else:
            self.simple(verb, task_id)

    def batch(self):
        judged = self.world.judged
        rows = []
        for _ in range(self.random.randrange(2, 20)):
            gen, task_id = next(self.world.gens), f"o{self.number}-{next(self.made)}"
            rows.append((next(judged.numbers), gen, task_id, {"id": task_id, **self.body(gen)}))
        for n, gen, task_id, body in rows:
            judged.tell("ask", n, fault.wall_ms(), "create", task_id, gen,
                        {"kind": "once", "delay": body["delay"]})
        lines = "".join(json.dumps(row[3]) + "\n" for row in rows)
        try:
            status, answer, _ = self.client.call("POST", "/v1/tasks/batch", raw=lines.encode())
        except fault.Gone:
            for row in rows:
                judged.tell("lost", row[0])
            raise
        answers = [json.loads(line) for line in answer.decode().splitlines()]
        fault.expect(status == 200 and len(answers) == len(rows), f"batch: {status} {answer}")
        for (n, _, task_id, _), one in zip(rows, answers):
            made = one.get("id") == task_id
            judged.tell("told", n, fault.wall_ms(), 201 if made else one.get("status", 500), None)
            self.add(task_id)
            self.world.count(made)

    def set_free(self):
        """At the end: nothing stays paused, and the rhythms stop but the gapless one's."""
        self.client.good("GET", "/v1/info")
        for task in self.client.all_tasks() if self.number == 0 else ():
            if task["status"] == "paused":
                self.simple("resume", task["id"])
            elif task["id"].startswith("s") and not task["id"].endswith("gapless"):
                self.ask("cancel", task["id"], None, {}, "DELETE", f"/v1/tasks/{task['id']}",
                         told=self.why)


class Worker(Somebody):
    def __init__(self, world, number):
        super().__init__(world, number, "worker")

    @staticmethod
    def rows(status, answer):
        if status != 200:
            return answer
        return [{"run": run["run"], "id": run["task_id"], "gen": run["payload"]["g"],
                 "crc": zlib.crc32(run["payload"]["x"].encode()), "attempt": run["attempt"],
                 "fence": run["fence"], "due": run["due_ms"], "fired": run["fired_ms"],
                 "until": run["lease_until_ms"]} for run in answer["runs"]]

    @staticmethod
    def end(status, answer):
        if status == 200:
            return "superseded" if answer.get("superseded") else answer.get("lease_until_ms")
        return answer.get("code")

    def step(self):
        ttl = self.random.choice(LEASE_MS)
        _, answer = self.ask("lease", None, None, {"ttl": ttl}, "POST",
                             f"/v1/queues/{self.random.choice(QUEUES)}/lease",
                             {"max": self.random.choice((1, 5, 30)), "wait": 100, "ttl": ttl},
                             told=self.rows)
        runs = [run["run"] for run in answer.get("runs", ())]
        if len(runs) > 3 and self.random.random() < 0.4:
            self.ack_all(runs)
            return
        for run in runs:
            self.work(run)

    def work(self, run):
        chance = 0.0 if self.world.no_more else self.random.random()
        if chance > 0.95:
            return  # it forgets: the lease ends
        if chance > 0.85:
            delay = self.random.choice((0, 100))
            self.ask("nack", None, None, {"run": run, "delay": delay}, "POST",
                     f"/v1/runs/{run}/nack", {"error": "not now", "delay": delay}, told=self.end)
            return
        if chance > 0.75:
            self.ask("extend", None, None, {"run": run}, "POST", f"/v1/runs/{run}/extend",
                     {"ttl": 3000}, told=self.end)
        self.ask("ack", None, None, {"run": run}, "POST", f"/v1/runs/{run}/ack", {},
                 told=self.end)

    def ack_all(self, runs):
        judged = self.world.judged
        asked = [(next(judged.numbers), run) for run in runs]
        for n, run in asked:
            judged.tell("ask", n, fault.wall_ms(), "ack", None, None, {"run": run})
        try:
            status, answer, _ = self.client.call("POST", "/v1/runs/ack", {"runs": runs})
        except fault.Gone:
            for n, _ in asked:
                judged.tell("lost", n)
            raise
        fault.expect(status == 200, f"/v1/runs/ack: {status} {answer}")
        for (n, _), one in zip(asked, answer["results"]):
            code = one.get("status") if isinstance(one.get("status"), int) else 200
            judged.tell("told", n, fault.wall_ms(), code, self.end(code, one))
            self.world.count(code == 200)
