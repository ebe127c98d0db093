#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cluster_test.py TOCSIN [NAME...] - several nodes on one Redis: one owns the records, the others
pass requests on, and one of them takes over when it dies, stands still, or ends.

C-03, C-04, C-12, C-13, C-15; laws 1, 3 and 5."""

import contextlib
import http.client
import json
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from countdown_race import TOPIC, frames_of_one_countdown, race_to_start
from player import Listener
from redis_server import Link, Redis, free_port
from support import DESCRIPTION, JSON, PATIENCE, TOCSIN, Answer, Server, alone, environment, holds, main, same, tocsin, wait_for

LEASE = 2.0  # seconds


class Node(Server):
    def __init__(self, redis, name, *flags, lease=LEASE, port=None, user="", password=None):
        secret = f"{user}:{password}@" if password else ""
        super().__init__("--set", f"node={name}", "--set", f"cluster.lease={int(lease * 1000)}ms",
                         "--set", f"cluster.renew={int(lease * 200)}ms", *flags, clock="system",
                         store=f"redis://{secret}127.0.0.1:{port or redis.port}", keep_port=True)
        self.name = name

    def connection(self):
        """One for each request: what follows on one that is passed on goes to the owner, whatever it is."""
        return http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)

    def ask(self, method, path, body=None, timeout=PATIENCE):
        """On a connection of its own, since roles change; None: it was cut, or nobody listens."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), JSON if body is not None else {})
            response = connection.getresponse()
            answer = Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()
        DESCRIPTION.check(method, path, answer)
        return answer

    def done(self, method, path, body=None):
        """The first answer that is no 503, and what it took."""
        begin = time.monotonic()
        answer = wait_for(lambda: (got := self.ask(method, path, body)) and got.status != 503 and got, f"{method} {path} at {self.name}")
        return answer, time.monotonic() - begin

    def cluster(self):
        answer = self.ask("GET", "/v1/info")
        return answer["cluster"] if answer else {"role": None, "owner": None, "epoch": 0}

    def owns(self):
        return self.cluster()["role"] == "owner"

    def follows(self, other):
        found = self.cluster()
        return found["role"] == "follower" and found["owner"] == {"node": other.name, "address": f"127.0.0.1:{other.port}"}


@contextlib.contextmanager
def cluster(*flags, names=("n1", "n2"), lease=LEASE, words=()):
    """The first owns the records; the others follow."""
    with contextlib.ExitStack() as stack:
        redis = stack.enter_context(Redis(*words))
        nodes = []
        try:
            for name in names:
                nodes.append(stack.enter_context(Node(redis, name, *flags, lease=lease)))
            yield redis, *nodes
            for node in nodes:
                if node.process.poll() is None:
                    same(node.stop(), 0, f"exit code; {node.said()}")
        except Exception:
            for node in nodes:
                print(f"---- {node.name}\n{node.said()}", end="", flush=True)
            raise


def events(node, query, count):
    """The first so many of /v1/events, and what else comes within a moment."""
    seen = []
    connection = http.client.HTTPConnection(node.host, node.port, timeout=PATIENCE)
    connection.request("GET", f"/v1/events?{query}")
    response = connection.getresponse()
    try:
        while True:
            line = response.fp.readline().decode()
            if line.startswith("data: "):
                seen.append(json.loads(line[6:]))
            if len(seen) >= count:
                connection.sock.settimeout(0.3)
            if not line:
                return seen
    except TimeoutError:
        return seen
    finally:
        connection.close()


class Load:
    """Threads that post tasks through all nodes until they are told to stop; what was answered 201."""

    def __init__(self, *nodes, threads=4):
        self.nodes, self.accepted, self.over = nodes, [], threading.Event()
        self.others = []
        self.threads = [threading.Thread(target=self.work, args=(n,), daemon=True) for n in range(threads)]

    def work(self, number):
        n = 0
        while not self.over.is_set():
            n += 1
            node, task = self.nodes[(number + n) % len(self.nodes)], f"load-{number}-{n}"
            answer = node.ask("POST", "/v1/tasks", {"id": task, "delay": "1h"}, timeout=5)
            if answer is not None and answer.status == 201:
                self.accepted.append(task)
            elif answer is not None and answer.status != 503:
                self.others.append(answer)
            else:
                time.sleep(0.02)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join(PATIENCE)

    def check(self, node):
        """Law 1: what was answered 2xx is there."""
        same(self.others, [])
        found, after = set(), ""
        while True:
            page = node.done("GET", f"/v1/tasks?limit=1000&prefix=load-{after}")[0]
            found.update(task["id"] for task in page["tasks"])
            if not page["next"]:
                break
            after = f"&after={page['next']}"
        same([task for task in self.accepted if task not in found], [], "acknowledged and gone")


@alone
def both_nodes_are_one_server():
    """Any node takes any request; the ready line is there as a follower, too."""
    with cluster() as (_, one, two):
        same((one.owns(), two.follows(one), two.records), (True, True, 0))
        for n in range(40):
            (one, two)[n % 2].add(id=f"t{n}", delay="0s" if n < 20 else "1h")
        for n in range(40):
            same((two, one)[n % 2].task(f"t{n}")["id"], f"t{n}")
        runs = one.lease(max=5) + two.lease(max=5, wait="5s")
        while len(runs) < 20:
            runs += (one, two)[len(runs) % 2].lease(max=3, wait="5s")
        same(sorted(run["task_id"] for run in runs), sorted(f"t{n}" for n in range(20)), "each once")
        for n, run in enumerate(runs):
            (two, one)[n % 2].ack(run)
        wait_for(lambda: two.state("t0") == "completed", "its end")
        same((one.metric("tocsin_cluster_owner"), two.metric("tocsin_cluster_owner")), (1, 0))
        same(two.get("/healthz").json, {"status": "UP", "reasons": []})
        same(one.get("/readyz")["ready"], two.get("/readyz")["ready"])
        with Node(None, "n3", port=int(one.words[one.words.index("--store") + 1].rsplit(":", 1)[1])) as three:
            same((three.records, three.task("t39")["id"]), (20, "t39"))


@alone
def a_countdown_started_through_both_nodes_is_one():
    """C-15: one owner, one stream of ticks through both nodes, one timeout."""
    with cluster() as (_, one, two):
        with Listener(one.url, TOPIC) as first, Listener(two.url, TOPIC) as second:
            for answer in race_to_start(one, two)[1]:
                same((answer.status, answer["code"]), (409, "CONFLICT"))
            same(frames_of_one_countdown(first), frames_of_one_countdown(second), "the same through both")
        same((one.metric("tocsin_countdown_timeouts_total"), one.metric("tocsin_countdown_ticks_total")), (1, 3))


@alone
def kill_9_of_the_owner_loses_nothing():
    """Laws 1 and 3, C-13: what was answered is there; each timeout comes once; soon."""
    with cluster("--set", "history.tasks=all") as (_, one, two):
        for n in range(20):  # before, while and after
            one.put(f"/v1/countdowns/c{n}", {"owner": "me", "for": f"{n * 250 + 300}ms"}, 201)
        run = (one.add(id="claimed", delay="0s"), one.lease_one(wait="5s", ttl="60s"))[1]
        with Load(one, two) as load:
            wait_for(lambda: len(load.accepted) > 50, "some load")
            before = one.cluster()["epoch"]
            one.kill()
            died = time.monotonic()
            wait_for(two.owns, "the take-over")
            took = time.monotonic() - died
            already = len(load.accepted)
            wait_for(lambda: len(load.accepted) > already + 50, "load after it")
        same(took < LEASE + 2, True, f"it took {took:.1f} s")
        same(two.cluster()["epoch"], before + 1, "fences rise")
        load.check(two)
        same(two.ask("POST", f"/v1/runs/{run['run']}/ack", {})["code"], "FENCED")
        wait_for(lambda: all(two.get(f"/v1/countdowns/c{n}")["state"] == "expired" for n in range(20)), "all ends")
        ends = [event["key"] for event in events(two, "after=0&kind=countdown", 40) if event["type"] == "timeout"]
        same(sorted(ends), sorted(f"c{n}" for n in range(20)), "each timeout once")
        again = two.lease_one(wait="20s")
        same((again["task_id"], again["fence"] > run["fence"]), ("claimed", True))
        one.start()
        wait_for(lambda: one.follows(two), "the first as a follower")
        same(one.task("claimed")["id"], "claimed")


@alone
def who_waits_for_an_owner_is_answered_by_the_next():
    """Not cut off, and not told 503, when the lease is shorter than the wait."""
    with cluster() as (_, one, two):
        one.kill()
        answers = []
        threads = [threading.Thread(target=lambda n=n: answers.append(two.ask("POST", "/v1/tasks", {"id": f"w{n}", "delay": "1h"})))
                   for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        same([answer and answer.status for answer in answers], [201] * 8)
        same(two.owns(), True)


class Relay:
    """Between a node and its Redis: what passes is looked at, and may be held back for ever."""

    def __init__(self, redis, holds_after):
        self.redis, self.word, self.held = redis, holds_after, threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                near = self.listener.accept()[0]
                far = socket.create_connection(("127.0.0.1", self.redis.port))
                threading.Thread(target=self.carry, args=(near, far, self.word), daemon=True).start()
                threading.Thread(target=self.carry, args=(far, near, None), daemon=True).start()

    def carry(self, source, to, word):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 20):
                to.sendall(data)
                if word is not None and word in data:
                    self.held.set()  # Redis has it; nothing more comes from there
                    return
        with contextlib.suppress(OSError):
            to.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


@alone
def the_holder_is_seen_while_a_timeout_is_handled():
    """C-03, C-04, C-12: by name, with its node and its time; and gone afterwards."""
    with cluster("--set", "countdown.holder.ttl.seconds=7") as (redis, one, two), redis.monitor() as monitor:
        made = two.put("/v1/countdowns/chess:room-1", {"owner": "X", "for": "400ms", "version": "g:3"}, 201)
        same(json.loads(redis.say("GET", "countdown:chess:room-1")),
             {"key": "chess:room-1", "owner": "X", "version": "g:3", "deadlineEpochMs": made["deadline_ms"]})
        same(redis.say("PTTL", "countdown:chess:room-1"), -1)
        wait_for(lambda: two.get("/v1/countdowns/chess:room-1")["state"] == "expired", "its end")
        monitor.mark()
        lines = [words for words in monitor.lines if words[1:2] in (["countdown:chess:room-1"], ["countdown:holder:chess:room-1"])
                 and words[0].upper() not in ("GET", "PTTL")]
        told = [(words[0].upper(), words[1].removeprefix("countdown:")) for words in lines]
        same(told[0], ("SET", "chess:room-1"))
        holder, = (words for words in lines if words[0].upper() == "SET" and words[1] == "countdown:holder:chess:room-1")
        same((holder[2], holder[3].upper(), int(holder[4])), ("n1", "PX", 7000))
        after = told[told.index(("SET", "holder:chess:room-1")) + 1:]
        same(("SET", "holder:chess:room-1") in after, False, "held once")
        same((redis.say("EXISTS", "countdown:chess:room-1"), redis.say("EXISTS", "countdown:holder:chess:room-1")), (0, 0))
        same(sorted(key for key in redis.say("KEYS", "*") if not key.startswith(b"tocsin:{p0}:")), [])


@alone
def an_owner_that_dies_in_the_middle_of_a_timeout_is_followed_by_one_judge():
    """C-04, C-12, C-13: the claim is durable, the node dead; the other judges, once."""
    with Redis() as redis, Relay(redis, b"countdown:holder:k") as relay, \
            Node(redis, "n1", "--set", "countdown.holder.ttl.seconds=6", port=relay.port) as one, Node(redis, "n2") as two:
        wait_for(lambda: two.follows(one), "the first as the owner")
        two.put("/v1/countdowns/k", {"owner": "me", "for": "300ms"}, 201)
        same(relay.held.wait(PATIENCE), True)
        wait_for(lambda: redis.say("EXISTS", "countdown:holder:k"), "the holder")
        one.kill()
        same(redis.say("GET", "countdown:holder:k"), b"n1")
        same(0 < redis.say("PTTL", "countdown:holder:k") <= 6000, True)
        same(redis.say("EXISTS", "countdown:k"), 1, "the state stays until it is done")
        wait_for(two.owns, "the take-over")
        wait_for(lambda: two.get("/v1/countdowns/k")["state"] == "expired", "its end")
        same((redis.say("EXISTS", "countdown:k"), redis.say("EXISTS", "countdown:holder:k")), (0, 0))
        same([event["type"] for event in events(two, "after=0&kind=countdown&key=k", 2) if event["type"] == "timeout"], ["timeout"])


@alone
def an_owner_that_stood_still_is_fenced():
    """Law 5: stopped for longer than its lease, it answers nothing with 2xx, and follows."""
    with cluster() as (_, one, two):
        one.add(id="before", delay="0s")
        run = one.lease_one(wait="5s", ttl="60s")
        waiting = socket.create_connection((one.host, one.port), PATIENCE)
        body = b'{"id":"late","delay":"1h"}'
        one.process.send_signal(signal.SIGSTOP)
        waiting.sendall(b"POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                        b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        reading = socket.create_connection((one.host, one.port), PATIENCE)  # what is answered from memory
        reading.sendall(b"GET /v1/queues HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_for(two.owns, "the take-over")
        two.add(id="meanwhile", delay="1h")
        epoch = two.cluster()["epoch"]
        one.process.send_signal(signal.SIGCONT)
        for connection in (waiting, reading):
            with contextlib.suppress(ConnectionError):
                said = connection.recv(65536)
                same(said[:12] in (b"", b"HTTP/1.1 503"), True, said)
            connection.close()
        wait_for(lambda: one.follows(two), "that it follows")
        same((one.cluster()["epoch"], two.cluster()["epoch"]), (epoch, epoch), "it did not take over")
        same(one.task("meanwhile")["id"], "meanwhile")
        same(one.get("/v1/tasks/late", None).status, 404, "what it was asked while it stood still")
        same(one.ask("POST", f"/v1/runs/{run['run']}/ack", {})["code"], "FENCED")
        again = one.lease_one(wait="20s")
        same((again["task_id"], again["fence"] > run["fence"]), ("before", True), "fences only rise")
        holds(one.said(), "this node does not own the records any more: it follows")
        same(one.metric("tocsin_cluster_leases_lost_total"), 1)


@alone
def without_redis_nobody_answers_and_with_it_all_goes_on():
    """Law 5: 503 meanwhile; what was answered is there when it is back."""
    with cluster(words=("--appendonly", "yes", "--appendfsync", "always")) as (redis, one, two):
        with Load(one, two) as load:
            wait_for(lambda: len(load.accepted) > 50, "some load")
            redis.kill()
            for node in (one, two):
                wait_for(lambda node=node: (found := node.ask("GET", "/healthz")) and found.status == 503, f"{node.name} is down")
            wait_for(lambda: one.cluster()["role"] == "follower", "the end of its term")
            down = one.ask("GET", "/healthz")
            same(down["status"], "DOWN")
            holds(down["reasons"][0], "Redis is not reached")
            same(one.ask("GET", "/readyz").status, 503)
            refused = wait_for(lambda: two.ask("POST", "/v1/tasks", {"id": "x", "delay": "1h"}), "an answer")
            same((refused.status, refused["code"], refused.headers["retry-after"]), (503, "UNAVAILABLE", "1"))
            redis.start()
            begin, already = time.monotonic(), len(load.accepted)
            wait_for(lambda: len(load.accepted) > already + 50, "load after it")
            same(time.monotonic() - begin < LEASE + 5, True, "soon")
        load.check(two)


@alone
def a_node_that_ends_hands_over_at_once():
    """SIGTERM: not when its lease would have ended, and nothing that was answered is lost."""
    with cluster(lease=6.0) as (_, one, two):
        one.add(id="mine", delay="0s")
        run = one.lease_one(wait="5s", ttl="60s")
        with Load(one, two) as load:
            wait_for(lambda: len(load.accepted) > 50, "some load")
            begin = time.monotonic()
            one.process.send_signal(signal.SIGTERM)
            wait_for(two.owns, "the hand-over")
            took = time.monotonic() - begin
            already = len(load.accepted)
            wait_for(lambda: len(load.accepted) > already + 20, "load after it")
        same(one.stop(0), 0)
        same(took < 1.5, True, f"{took:.2f} s")
        load.check(two)
        two.ack(run)  # a claim that was handed over stays good
        same(two.state("mine"), "completed")


@alone
def a_redis_that_hangs_is_given_up_and_taken_up_again():
    """Law 5: connections stay, and nothing is answered; no request of before hangs for ever."""
    with cluster() as (redis, one, two):
        with Load(one, two, threads=8) as load:
            wait_for(lambda: len(load.accepted) > 50, "some load")
            redis.pause()
            try:
                for node in (one, two):
                    wait_for(lambda node=node: (found := node.ask("GET", "/healthz", timeout=3)) and found.status == 503, f"{node.name} is down")
                wait_for(lambda: (found := two.ask("GET", "/v1/tasks/load-0-1", timeout=5)) and found.status == 503, "a refusal")
            finally:
                redis.go_on()
            already = len(load.accepted)
            wait_for(lambda: len(load.accepted) > already + 50, "load after it")
        load.check(two)
        same(max(one.cluster()["epoch"], two.cluster()["epoch"]) > 1, True)


@alone
def a_follower_that_ends_lets_answers_through():
    with cluster() as (_, one, two):
        two.add(id="a", delay="1h")
        waiting = threading.Thread(target=lambda: two.ask("POST", "/v1/queues/default/lease", {"wait": "20s"}))
        waiting.start()
        wait_for(lambda: two.metric("tocsin_cluster_tunnels") > 0, "a call that waits")
        begin = time.monotonic()
        two.process.send_signal(signal.SIGTERM)
        same(two.stop(0), 0)
        same(time.monotonic() - begin < 5, True, "who waits for work does not hold it up")
        waiting.join()
        same((one.owns(), one.task("a")["id"]), (True, "a"))


@alone
def of_three_nodes_one_owns_whoever_is_killed():
    with cluster(names=("n1", "n2", "n3")) as (redis, *nodes):
        epochs = [nodes[0].cluster()["epoch"]]
        for n in range(3):
            owner, = (node for node in nodes if node.owns())
            others = [node for node in nodes if node is not owner]
            others[0].done("POST", "/v1/tasks", {"id": f"t{n}", "delay": "1h"})
            owner.kill()
            wait_for(lambda others=others: any(node.owns() for node in others), "a take-over")
            same(sum(node.owns() for node in others), 1)
            owner.start()
            epochs.append(owner.cluster()["epoch"])
        same(epochs, sorted(set(epochs)), "epochs rise")
        for node in nodes:
            same(sorted(task["id"] for task in node.done("GET", "/v1/tasks")[0]["tasks"]), ["t0", "t1", "t2"])


@alone
def with_tls_a_follower_passes_on_what_it_cannot_read():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-keyout", f"{folder}/key", "-out", f"{folder}/certificate", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
        with cluster("--set", f"tls.certificate={folder}/certificate", "--set", f"tls.key={folder}/key") as (_, one, two):
            for node in (one, two):
                trusted = ("--url", f"https://127.0.0.1:{node.port}", "--ca-file", f"{folder}/certificate")
                ended = tocsin("add", *trusted, "--id", f"at-{node.name}", "--delay", "1h")
                same((node.scheme, ended.returncode), ("https", 0), ended.stderr)
                shown = json.loads(tocsin("info", *trusted, "--json").stdout)
                same((shown["node"], shown["cluster"]["role"]), ("n1", "owner"), "whoever is asked, the owner answers")
            same(tocsin("show", *trusted, "at-n1").returncode, 0)


@alone
def what_the_owner_knows_the_next_one_knows():
    """Every service: schedules, countdowns, named leases, renewals, rooms, Idempotency-Keys."""
    with cluster() as (_, one, two):
        key = {"Idempotency-Key": "once"}
        first = two.post("/v1/tasks", {"id": "a", "delay": "1h"}, 201, key)
        two.put("/v1/tasks/every", {"every": "1h"}, 201)
        two.put("/v1/countdowns/c", {"owner": "me", "for": "1h"}, 201)
        lease = two.put("/v1/leases/l", {"holder": "me", "ttl": "1h"}, None)
        renewal = two.post("/v1/renewals", {"keys": ["k"], "every": "1m", "redis": "mock"}, 201)["id"]
        room = two.post("/v1/rooms", {"mode": "PVP"}, 201)["room_id"]
        one.kill()
        wait_for(two.owns, "the take-over")
        again = two.post("/v1/tasks", {"id": "a", "delay": "1h"}, 201, key)
        same((again.body, again.headers["idempotency-replayed"]), (first.body, "true"))
        same((two.state("every"), two.get("/v1/countdowns/c")["state"]), ("pending", "running"))
        held = two.get("/v1/leases/l")
        same((held["holder"], held["fence"]), ("me", lease["fence"]))
        same((two.get(f"/v1/renewals/{renewal}")["id"], two.get(f"/v1/rooms/{room}")["room_id"]), (renewal, room))


# ---- what is said, and what is refused

@alone
def a_password_is_not_shown():
    with Redis(password="s3cret") as redis, Node(redis, "n1", "--log-level", "debug", password="s3cret") as one:
        same(one.cluster()["redis"], f"redis://:***@127.0.0.1:{redis.port}")
        same("s3cret" in one.said() + one.get("/v1/info").body.decode() + one.get("/metrics").body.decode(), False)
        shown = tocsin("serve", "--store", f"redis://ada:s3cret@127.0.0.1:{redis.port}/2", "--print-config").stdout
        holds(shown, f"store: \"redis://ada:***@127.0.0.1:{redis.port}/2\"")
        same("s3cret" in shown, False)


def refused(*words, **more):
    ended = subprocess.run([TOCSIN, "serve", "--listen", "127.0.0.1:0", *words], capture_output=True, text=True,
                           timeout=PATIENCE, env=environment(**more), check=False)
    same("s3cret" in ended.stdout + ended.stderr, False)
    return ended.returncode, ended.stdout, ended.stderr


@alone
def what_cannot_work_is_refused_at_the_start():
    with Redis(password="open sesame") as redis:
        where = f"127.0.0.1:{redis.port}"
        code, out, err = refused("--store", f"redis://:s3cret@{where}")
        same((code, out), (1, ""))
        holds(err, "WRONGPASS")
        code, out, err = refused("--store", "redis://:s3cret@", "--clock", "manual")
        same((code, out), (2, ""))
        code, out, err = refused("--store", f"redis://:s3cret@{where}", "--clock", "manual")
        same((code, out), (2, ""))
        holds(err, "clock: manual, but the store is a Redis that nodes share")
        code, out, err = refused(TOCSIN_STORE=f"redis://:s3cret@{where}", TOCSIN_CLUSTER_RENEW="2s")
        same((code, out), (2, ""))
        holds(err, "cluster.renew: 2s is more than a third of cluster.lease (5s)")
    with Redis("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru") as redis:
        code, out, err = refused("--store", f"redis://127.0.0.1:{redis.port}")
        same((code, out), (1, ""))
        holds(err, "noeviction")


@alone
def a_node_waits_for_a_redis_that_is_not_there_yet():
    port = free_port()
    process = subprocess.Popen([TOCSIN, "serve", "--listen", "127.0.0.1:0", "--store", f"redis://127.0.0.1:{port}"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    try:
        said = ""
        while "redis is not reached" not in said:
            said = process.stderr.readline()
        redis = Redis(started=False)
        redis.port = port
        with redis:
            redis.start()
            holds(process.stdout.readline(), "tocsin ready on http://127.0.0.1:", "(store redis, 0 records, node tocsin-")
            process.send_signal(signal.SIGTERM)
            same(process.wait(PATIENCE), 0)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


@alone
def records_that_are_gone_are_not_taken_for_none():
    """FLUSHALL under a running cluster: an alarm, not an empty store."""
    with Redis() as redis, Node(redis, "n1") as one, Node(redis, "n2") as two:
        wait_for(lambda: two.follows(one), "the first as the owner")
        two.add(id="a", delay="1h")
        Link(redis.port).say("FLUSHALL")
        code = wait_for(lambda: one.process.poll() or two.process.poll(), "the end of whoever takes over")
        same(code, 4, "a person must look first")
        node = one if one.process.poll() else two
        holds(node.said(), "the records are gone from Redis")


def is_down(node, *words):
    found = node.ask("GET", "/healthz")
    return found is not None and found.status == 503 and all(word in str(found["reasons"]) for word in words)


@alone
def a_follower_that_cannot_reach_the_owner_is_down():
    """Also when nobody asks for anything: nothing listens there, or a node that owns nothing either."""
    with Redis() as redis, Node(redis, "n2") as two:
        wrong = free_port()
        for address, why in ((f"127.0.0.1:{wrong}", "connection refused"), (f"127.0.0.1:{two.port}", "does not own the records either")):
            wait_for(two.owns, "the second as the owner")
            with Node(redis, "n1", "--set", f"cluster.address={address}") as one:
                wait_for(lambda: two.cluster()["owner"] == {"node": "n2", "address": f"127.0.0.1:{two.port}"}, "two to own")
                two.process.send_signal(signal.SIGSTOP)
                wait_for(one.owns, "the first as the owner")
                two.process.send_signal(signal.SIGCONT)
                wait_for(lambda: is_down(two, f"the owner at {address} cannot be reached", why), f"{address}: it is down")
                ready = two.ask("GET", "/readyz")
                same((ready.status, f"the owner at {address}" in ready["detail"]), (503, True))
                holds(two.said(), "requests cannot be passed on")
                same(one.get("/readyz")["ready"], True)
            wait_for(lambda: two.owns() and two.ask("GET", "/healthz").status == 200, "it owns, and is well")


@alone
def what_keeps_all_nodes_from_owning_is_said():
    """A Redis that may evict keys since; something else in the key of the lease."""
    with cluster() as (redis, one, two):
        redis.say("CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru")
        one.kill()
        wait_for(lambda: is_down(two, "no node owns the records, and this one cannot", "maxmemory-policy"), "it is down")
        redis.say("CONFIG", "SET", "maxmemory-policy", "noeviction")
        wait_for(lambda: two.owns() and two.ask("GET", "/healthz").status == 200, "it owns, and is well")
        redis.say("SET", "tocsin:{p0}:owner", "mine!")
        wait_for(lambda: is_down(two, "tocsin:{p0}:owner holds something that is not a lease"), "it is down")
        holds(two.said(), 'level=error msg="the key tocsin:{p0}:owner holds something that is not a lease')
        same((two.ask("GET", "/readyz").status, redis.say("GET", "tocsin:{p0}:owner")), (503, b"mine!"))
        redis.say("DEL", "tocsin:{p0}:owner")
        wait_for(lambda: two.owns() and two.ask("GET", "/healthz").status == 200, "it owns, and is well")


@alone
def another_program_s_key_of_a_countdown_s_name_is_overwritten():
    """C-03: as docs/operations.md warns; of whatever kind it was."""
    with cluster(names=("n1",)) as (redis, one):
        redis.say("LPUSH", "countdown:k", "theirs")
        one.put("/v1/countdowns/k", {"owner": "me", "for": "1h"}, 201)
        same(json.loads(redis.say("GET", "countdown:k"))["owner"], "me")
        same((one.ask("DELETE", "/v1/countdowns/k").status < 300, redis.say("EXISTS", "countdown:k")), (True, 0))


@alone
def an_address_of_this_machine_alone_is_warned_of():
    """When Redis is reached by another one: other nodes may be elsewhere."""
    warning = "other machines cannot reach this node"
    with Redis() as redis:
        for host, words, expected in (("127.0.0.1", (), False), ("0.0.0.0", (), True), ("0.0.0.0", ("--set", "cluster.address=10.0.0.1:7400"), False)):
            with Server("--set", "node=n1", "--log-level", "warn", *words, clock="system", store=f"redis://{host}:{redis.port}") as node:
                same(node.stop(), 0)
                same(warning in node.said(), expected, node.said())


@alone
def no_node_takes_an_emptied_redis_for_a_new_one():
    """Of three nodes each finds what the first has found, and ends."""
    with Redis() as redis, Node(redis, "n1", lease=1.0) as one, Node(redis, "n2", lease=1.0) as two, Node(redis, "n3", lease=1.0) as three:
        wait_for(lambda: two.follows(one) and three.follows(one), "the first as the owner")
        two.add(id="a", delay="1h")
        Link(redis.port).say("FLUSHALL")
        for node in (one, two, three):
            holds(str(wait_for(lambda node=node: node.process.poll() and node.said(), f"the end of {node.name}")), "the records are gone from Redis")
        same(Link(redis.port).say("EXISTS", "tocsin:{p0}:meta"), 0)


@alone
def a_full_redis_refuses_new_work_and_nothing_else():
    """At maxmemory the lease is kept and taken over, and what makes room goes on."""
    with cluster(lease=1.0) as (redis, one, two):
        for task in ("a", "b", "c"):
            one.add(id=task, delay="1h")
        one.add(id="due", delay="0s")
        run = two.lease_one(wait="5s")
        one.put("/v1/countdowns/k", {"owner": "o", "for": "2s", "version": "1"}, 201)
        redis.say("CONFIG", "SET", "maxmemory", "1")
        answer = two.post("/v1/tasks", {"id": "new", "delay": "1h"}, None)
        same((answer.status, answer["code"]), (507, "UNAVAILABLE"))
        health = one.ask("GET", "/healthz")
        same((health.status, health["status"]), (200, "WARNING"))
        holds(health["reasons"][0], "Redis is full (maxmemory)")
        two.ack(run)
        two.delete("/v1/tasks/a")
        wait_for(lambda: one.get("/v1/countdowns/k")["state"] == "expired", "its timeout")
        same((one.owns(), one.metric("tocsin_cluster_leases_lost_total"), one.metric("tocsin_cluster_renew_failures_total")), (True, 0, 0))
        one.kill()
        wait_for(two.owns, "the second as the owner")
        two.delete("/v1/tasks/b")
        same(two.post("/v1/tasks", {"id": "new", "delay": "1h"}, None).status, 507)
        redis.say("CONFIG", "SET", "maxmemory", "0")
        wait_for(lambda: two.post("/v1/tasks", {"id": "new", "delay": "1h"}, None).status == 201, "new work")
        wait_for(lambda: two.ask("GET", "/healthz")["status"] == "UP", "an end of it")
        holds(two.said(), "redis is full: new work is refused")


@alone
def commits_that_redis_has_lost_are_told_and_work_goes_on():
    """A Redis without an append-only file is killed: what came after its dump is gone, and that is said."""
    with Redis() as redis, Node(redis, "n1", lease=1.0) as one:
        one.add(id="old", delay="1h")
        redis.say("SAVE")
        for n in range(3):
            one.add(id=f"new{n}", delay="1h")
        redis.kill()
        redis.start()
        wait_for(lambda: (got := one.ask("POST", "/v1/tasks", {"id": "first", "delay": "1h"})) and got.status == 201, "work that goes on")
        same(one.done("GET", "/v1/tasks/new1")[0].status, 404)
        same((one.done("GET", "/v1/tasks/old")[0].status, one.done("POST", "/v1/tasks", {"id": "x", "delay": "1h"})[0].status), (200, 201))
        health = one.ask("GET", "/healthz")
        same((health.status, health["status"], len(health["reasons"])), (200, "WARNING", 1))
        holds(health["reasons"][0], "Redis has lost 3 commits that it had answered")
        same(one.metric("tocsin_cluster_lost_commits_total"), 3)
        holds(one.said(), "redis has lost commits that it had answered", "commits=3", "appendfsync always")
        same("verify" in one.said() or "damaged" in one.said(), False, one.said())


@alone
def a_redis_user_needs_the_rights_that_the_manual_says():
    """The line of docs/operations.md is enough for everything; without the names of countdowns none begins."""
    manual = pathlib.Path(__file__).parents[2] / "docs" / "operations.md"
    line, = (line.split() for line in manual.read_text().splitlines() if line.startswith("    ACL SETUSER tocsin "))
    with Redis() as redis:
        redis.say(*line)
        user = {"user": "tocsin", "password": next(word[1:] for word in line if word.startswith(">"))}
        with Node(redis, "n1", lease=1.0, **user) as one, Node(redis, "n2", lease=1.0, **user) as two:
            two.add(id="a", delay="0s")
            two.ack(two.lease_one(wait="5s"))
            two.put("/v1/countdowns/k", {"owner": "o", "for": "1s", "version": "1"}, 201)
            wait_for(lambda: two.get("/v1/countdowns/k")["state"] == "expired", "its timeout")
            same((one.stop(), two.done("GET", "/v1/countdowns/k")[0].status, two.owns()), (0, 200, True))
            redis.say("ACL", "SETUSER", "tocsin", "resetkeys", "~tocsin:*")
            answer = two.ask("PUT", "/v1/countdowns/l", {"owner": "o", "for": "1h", "version": "1"})
            same(answer.status, 503)
            wait_for(lambda: "NOPERM" in two.said(), "that it is told")
            holds(two.said(), "the store refuses commits")
            same(two.stop(), 0)
        code, _, said = refused("--store", f"redis://tocsin:{user['password']}@127.0.0.1:{redis.port}")
        same(code, 1)
        holds(said, "this Redis user may not write countdown:*")


sys.exit(main())
