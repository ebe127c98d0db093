#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""room_test.py TOCSIN [PART] - gomoku with a clock while the server is killed, and while others do it
harm: whoever runs out of time loses, once, not early, and everybody plays on. (C-08, C-11 to C-19; law 8)

TOCSIN_ROOM_KILLS is the length of the loop; TOCSIN_SEED repeats one."""
import collections
import json
import os
import random
import resource
import socket
import sys
import threading
import time

import fault

sys.path.append(str(fault.ROOT / "test/process"))
from player import Listener, Player, frame  # noqa: E402, it is over there

KILLS = int(os.environ.get("TOCSIN_ROOM_KILLS") or 10)
ROOMS = 6
CLOCK_MS = 20  # between what one life of the server and the next take for the same instant
SETTINGS = {"TOCSIN_BALLAST_BYTES": "0"}
BROKEN = (AssertionError, OSError, fault.Gone, TimeoutError)
UPGRADE = (b"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
           b"Sec-WebSocket-Protocol: v12.stomp\r\n\r\n")


def url(server):
    return f"http://127.0.0.1:{server.port}"


def make(server, **wish):
    return server.client().good("POST", "/v1/rooms", wish)["room_id"]


def look(server, room):
    return server.client().good("GET", f"/v1/rooms/{room}")


def events(server):
    """All there are of rooms, in order."""
    with socket.create_connection(("127.0.0.1", server.port), fault.PATIENCE) as sock:
        last = server.client().good("GET", "/v1/info")["counts"]["high_seq"]
        sock.sendall(b"GET /v1/events?after=0 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        told, seq, stream = [], 0, sock.makefile("rb")
        while seq < last:
            line = stream.readline()
            if line.startswith(b"id:"):
                seq = int(line[3:])
            elif line.startswith(b"data:"):
                event = json.loads(line[5:])
                if event["kind"] == "room":
                    told.append(event)
    return told


class Seats:
    """Two players of a room, who come back with their keys."""

    def __init__(self, server, room):
        self.server, self.room, self.keys, self.players = server, room, [None, None], []

    def come(self):
        self.leave()
        self.players = [Player(url(self.server), self.room) for _ in range(2)]
        for i, player in enumerate(self.players):
            fault.expect(player.resume(self.keys[i]) is None, f"refused: {player.told('errors')}")
            self.keys[i] = player.key
        return self

    def by_side(self):
        return {player.told("gomoku.seat")[-1]["side"]: player for player in self.players}

    def both(self, verb):
        return [player.do(verb) for player in self.players]

    def leave(self):
        for player in self.players:
            try:
                player.close()
            except BROKEN:
                pass
        self.players = []


# ---- one game, step by step

def test_a_game_goes_on_after_kill_9(tocsin):
    with fault.folder() as folder, fault.Server(tocsin, folder / "data", settings=SETTINGS) as server:
        server.start()
        seats = Seats(server, make(server, clock={"bank": "4s"})).come()
        seats.both("ready")
        before = look(server, seats.room)
        fault.wait_until(lambda: look(server, seats.room)["clock"]["leftMs"] < 3500, "X's time to run")
        server.kill()  # in the middle of X's turn
        seats.leave()
        server.start()
        after = look(server, seats.room)
        moved = abs(after["clock"]["deadlineEpochMs"] - before["clock"]["deadlineEpochMs"])
        fault.expect(after["phase"] == "PLAYING" and moved <= CLOCK_MS, f"the deadline moved by {moved} ms")
        fault.expect(after["clock"]["leftMs"] <= 3500, f"its clock stood still: {after['clock']}")
        sides = seats.come().by_side()
        fault.expect(sides["X"].place(7, 7) is None, f"X plays on: {sides['X'].told('errors')}")
        deadline_ms = look(server, seats.room)["clock"]["deadlineEpochMs"]
        server.kill()  # O runs out while nobody is there
        seats.leave()
        fault.wait_until(lambda: time.time() * 1000 > deadline_ms + CLOCK_MS, "O's time to be over")
        server.start()
        room = fault.wait_until(lambda: (room := look(server, seats.room))["phase"] == "ENDED" and room, "the end")
        fault.expect(room["state"]["winner"] == "X" and room["series"] == {"X": 1, "O": 0, "draws": 0}, str(room))
        for _ in range(2):
            server.kill()
            server.start()
            fault.expect(look(server, seats.room)["series"] == {"X": 1, "O": 0, "draws": 0}, "punished twice")
        told = [event["type"] for event in events(server)]
        fault.expect(told.count("timeout") == 1 and told.count("ended") == 1, str(told))
        seats.come().both("restart")
        sides = seats.by_side()
        fault.expect(sides["X"].place(0, 0, f"{seats.room}-2") is None, "the next game")
        seats.leave()
        fault.expect(server.stop() == 0, "it stops")


# ---- a loop, and a judge

class Judge:
    """From the events of the server, and from what clients were told."""

    def __init__(self):
        self.faults, self.counts = [], collections.Counter()

    def need(self, good, what):
        if not good:
            self.faults.append(what)

    def events(self, told):
        ends, turns, series = {}, {}, {}
        for event in told:
            data, kind = event["doc"], event["type"]
            self.counts[kind] += 1
            if kind in ("moved", "timeout", "resigned"):
                version = data["version"]
                self.need(version not in turns, f"{version}: {turns.get(version)}, then {kind}")
                turns[version] = kind
                self.need(data["gameId"] not in ends, f"{version}: {kind} after the end")
            if kind == "timeout":
                self.need(data["at"] >= data["deadlineEpochMs"] - CLOCK_MS,
                          f"{data['version']}: {data['deadlineEpochMs'] - data['at']} ms early")
            if kind == "moved" and data["deadlineEpochMs"] is not None:
                self.need(data["leftMs"] > 0, f"{data['version']}: moved after its time, {data['leftMs']}")
            if kind == "ended":
                game, room = data["gameId"], data["roomId"]
                self.need(game not in ends, f"{game}: it ended twice")
                ends[game] = data["winner"]
                series[room] = series.get(room, 0) + 1
                self.need(sum(data["series"].values()) == series[room], f"{game}: {data['series']} after {series[room]}")
        return ends, series

    def frames(self, frames):
        """Of all clients, in all lives of the server."""
        timeouts, deadlines = {}, {}
        for one in frames:
            game, payload = one["gameId"], one["payload"]
            if one["type"] == "TIMEOUT":
                timeouts.setdefault(game, set()).add((one["seq"], payload["side"]))
            if one["type"] == "SNAPSHOT" and payload["clock"]["running"]:
                turn = f"{game}:{payload['state']['step']}"
                deadlines.setdefault(turn, []).append(payload["clock"]["deadlineEpochMs"])
        for game, said in timeouts.items():
            self.need(len(said) == 1, f"{game}: told of several timeouts: {said}")
        for turn, seen in deadlines.items():
            self.need(max(seen) - min(seen) <= CLOCK_MS, f"{turn}: its deadline moved: {sorted(set(seen))}")
        self.counts["timeouts told"], self.counts["turns seen"] = len(timeouts), len(deadlines)
        return timeouts


class Table(threading.Thread):
    """A room whose players move, or do not, and come back whenever the server does."""

    def __init__(self, server, room, up, seed):
        super().__init__(daemon=True)
        self.seats, self.up, self.chance = Seats(server, room), up, random.Random(seed)
        self.frames, self.over, self.error = [], False, None

    def run(self):
        while not self.over:
            self.up.wait()
            try:
                self.seats.come()
                while not self.over and self.up.is_set():
                    self.turn()
            except BROKEN as error:
                if self.up.is_set() and not any(player.gone for player in self.seats.players) and self.seats.players:
                    self.error = error
            finally:
                for player in self.seats.players:
                    self.frames += player.all
                self.seats.leave()
            time.sleep(0.02)

    def turn(self):
        room = look(self.seats.server, self.seats.room)
        sides = self.seats.by_side()
        if room["phase"] != "PLAYING":
            self.seats.both("ready" if room["phase"] == "WAITING" else "restart")
        elif self.chance.random() < 0.75:
            free = [i for i, stone in enumerate(room["state"]["board"]) if stone == "."]
            point = self.chance.choice(free)
            sides[room["state"]["current"]].place(point % 15, point // 15, room["gameId"])
            time.sleep(self.chance.random() * 0.15)
        else:
            time.sleep(self.chance.random() * 1.2)


def test_ten_kills_and_every_flag_falls_once(tocsin):
    seed = fault.seed()
    chance, judge, up = random.Random(seed), Judge(), threading.Event()
    with fault.folder() as folder, fault.Server(tocsin, folder / "data", settings=SETTINGS) as server:
        server.start()
        tables = [Table(server, make(server, clock={"bank": chance.randrange(300, 1200)}), up, seed + i) for i in range(ROOMS)]
        for table in tables:
            table.start()
        for _ in range(KILLS):
            up.set()
            time.sleep(0.3 + chance.random() * 1.2)
            up.clear()
            server.kill()
            time.sleep(chance.choice((0, 0, 0.1, 0.6)))
            server.start()
        up.set()
        time.sleep(1)
        for table in tables:
            table.over = True
        for table in tables:
            table.join(fault.PATIENCE)
            fault.expect(table.error is None and not table.is_alive(), f"{table.seats.room}: {table.error!r}")
        for table in tables:  # those who are gone run out of time
            fault.wait_until(lambda t=table: look(server, t.seats.room)["phase"] != "PLAYING", "the last flags fall")
        ends, series = judge.events(events(server))
        timeouts = judge.frames([frame_ for table in tables for frame_ in table.frames])
        for table in tables:
            room = look(server, table.seats.room)
            judge.need(sum(room["series"].values()) == series.get(room["roomId"], 0), f"{room['series']}: {series}")
        for game, said in timeouts.items():
            side = next(iter(said))[1]
            judge.need(ends.get(game) == {"X": "O", "O": "X"}[side], f"{game}: {side} ran out, {ends.get(game)} won")
    print(f"{KILLS} kills: {dict(judge.counts)}", flush=True)
    fault.expect(not judge.faults, "\n".join(judge.faults[:20]))
    fault.expect(judge.counts["timeout"] >= ROOMS and judge.counts["moved"] >= 20, "this tests too little")


def test_control_the_judge_sees_what_is_wrong(_tocsin):
    series = {"X": 1, "O": 0, "draws": 0}
    late = {"type": "timeout", "doc": {"version": "r-1:1", "gameId": "r-1", "at": 1000, "deadlineEpochMs": 1000}}
    early = {"type": "timeout", "doc": {**late["doc"], "at": 500}}
    ended = {"type": "ended", "doc": {"gameId": "r-1", "roomId": "r", "winner": "X", "series": series}}
    again = {"type": "ended", "doc": {**ended["doc"], "gameId": "r-2"}}
    for told, count in (([late, ended], 0), ([early], 1), ([late, late], 1), ([ended, late], 1), ([ended, again], 1)):
        judge = Judge()
        judge.events(told)
        fault.expect(len(judge.faults) == count, f"{told}: {judge.faults}")
    clock = {"running": True, "deadlineEpochMs": 1000}
    snapshot = {"type": "SNAPSHOT", "gameId": "r-1", "seq": 1, "payload": {"clock": clock, "state": {"step": 1}}}
    moved = {**snapshot, "payload": {"clock": {**clock, "deadlineEpochMs": 2000}, "state": {"step": 1}}}
    twice = [{"type": "TIMEOUT", "gameId": "r-1", "seq": seq, "payload": {"side": "X"}} for seq in (1, 2)]
    for told, count in (([snapshot, snapshot], 0), ([snapshot, moved], 1), (twice, 1), (twice[:1] * 2, 0)):
        judge = Judge()
        judge.frames(told)
        fault.expect(len(judge.faults) == count, f"{told}: {judge.faults}")


# ---- others do harm

def play(seats, moves, first=0):
    """The longest a move took."""
    worst = 0.0
    game = seats.players[0].game
    for step in range(first, first + moves):
        began = time.monotonic()
        player = seats.by_side()["XO"[step % 2]]
        point = step * 2  # never five in a row
        fault.expect(player.place(point % 15, point // 15, game) is None, f"{player.told('errors')}")
        worst = max(worst, time.monotonic() - began)
    return worst


def test_ten_thousand_silent_sockets(tocsin):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = min(10000, (hard if hard != resource.RLIM_INFINITY else 1 << 20) - 1000)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count + 500), hard))
    silent = []
    try:
        with fault.folder() as folder, \
                fault.Server(tocsin, folder / "data", "--store", "memory", settings={
                    **SETTINGS, "TOCSIN_LIMITS_CONNECTIONS": "20000", "TOCSIN_WS_CONNECTIONS": "15000",
                    "TOCSIN_LIMITS_HEAD_TIMEOUT": "2m"}) as server:
            server.start()
            seats = Seats(server, make(server)).come()
            seats.both("ready")
            before = server.rss_mib()
            for _ in range(count):
                sock = socket.create_connection(("127.0.0.1", server.port), fault.PATIENCE)
                sock.sendall(UPGRADE)
                silent.append(sock)
            client = server.client()
            fault.wait_until(lambda: client.metric("tocsin_ws_connections") == count + 2, "all of them")
            worst, grown = play(seats, 30), server.rss_mib() - before
            print(f"{count} silent sockets: {grown:.0f} MiB, a move took {worst * 1000:.0f} ms at worst", flush=True)
            fault.expect(grown < count * 16 / 1024, f"{grown:.0f} MiB for {count} sockets")
            fault.expect(worst < 3, f"a move took {worst:.1f} s")
            seats.leave()
    finally:
        for sock in silent:
            sock.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_spectator_who_never_reads_is_dropped(tocsin):
    """Fifty subscriptions, and a window that is full at once."""
    with fault.folder() as folder, \
            fault.Server(tocsin, folder / "data", "--store", "memory", settings={
                **SETTINGS, "TOCSIN_WS_QUEUE_BYTES": "64KiB"}) as server:
        server.start()
        seats = Seats(server, make(server)).come()
        seats.both("ready")
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(fault.PATIENCE)
        sock.connect(("127.0.0.1", server.port))
        sock.sendall(UPGRADE)
        texts = [frame("CONNECT", accept_version="1.2", host="localhost")]
        texts += [frame("SUBSCRIBE", id=i, destination=f"/topic/room.{seats.room}") for i in range(50)]
        for text in texts:
            data = text.encode()
            sock.sendall(bytes([0x81, 0x80 | len(data), 0, 0, 0, 0]) + data)
        client = server.client()
        fault.wait_until(lambda: client.metric("tocsin_ws_subscriptions") >= 50, "its subscriptions")
        moves = 0
        while client.metric('tocsin_ws_dropped_total{reason="slow"}') == 0:
            fault.expect(moves < 110, "it was never dropped")
            fault.expect(play(seats, 5, moves) < 3, "the players had to wait")
            moves += 5
        fault.expect(play(seats, 2, moves) < 3, "afterwards")
        fault.expect(all(not player.gone for player in seats.players), "players were dropped")
        fault.wait_until(lambda: client.metric("tocsin_ws_connections") == 2, "it is gone")
        sock.close()
        seats.leave()


def test_a_storm_of_reconnects_with_one_key(tocsin):
    """The last one who came has the seat; the game does not notice."""
    with fault.folder() as folder, fault.Server(tocsin, folder / "data", settings=SETTINGS) as server:
        server.start()
        seats = Seats(server, make(server)).come()
        seats.both("ready")
        before = look(server, seats.room)["clock"]["deadlineEpochMs"]
        crowd, lock = [], threading.Lock()

        def come():
            for _ in range(25):
                player = Player(url(server), seats.room)
                fault.expect(player.resume(seats.keys[0]) is None and player.side == "X", "refused")
                with lock:
                    crowd.append(player)
                if len(crowd) % 3 == 0:
                    player.cut()
        fault.in_threads([come] * 4)
        with Player(url(server), seats.room) as last:
            last.resume(seats.keys[0])
            clock = look(server, seats.room)["clock"]["deadlineEpochMs"]
            fault.expect(abs(clock - before) <= CLOCK_MS, f"the deadline moved from {before} to {clock}")
            codes = {player.place(0, 0, last.game) for player in crowd if not player.gone}
            fault.expect(codes == {"FORBIDDEN"}, f"those who were kicked: {codes}")
            fault.expect(last.place(0, 0, last.game) is None, "the last one has the seat")
        for player in crowd:
            if not player.gone:
                player.close()
        seats.leave()
        client = server.client()
        fault.wait_until(lambda: client.metric("tocsin_room_sessions") == 0, "nobody is left")
        with Listener(url(server)) as anybody:
            anybody.subscribe("/topic/x")


if __name__ == "__main__":
    fault.run_tests(sys.modules[__name__], __doc__)
