#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""room_cli_test.py TOCSIN [NAME...] - does `tocsin room` ask for, draw and follow what it should?

Against a server that answers as the description of rooms says, and lets a test change the room.
"""
import contextlib
import http.server
import json
import os
import signal
import sys
import threading

from support import PATIENCE, alone, end, holds, main, same, start_tocsin, test, tocsin
from terminal import HIDE_CURSOR, SHOW_CURSOR, Terminal, mode, plain

SIDE = 15


def room(stones="", over=False, winner=None, line=None, **more):
    """stones: "Xhh Oih": a side, and small letters for x and y; the last one was put last."""
    board, last = ["."] * (SIDE * SIDE), None
    for stone in stones.split():
        last = {"x": ord(stone[1]) - ord("a"), "y": ord(stone[2]) - ord("a")}
        board[last["y"] * SIDE + last["x"]] = stone[0]
    step = len(stones.split())
    seat = {"taken": True, "ready": True, "connected": True, "ai": False}
    return {"roomId": "r1", "gameId": "g1", "mode": "PVP", "rule": "STANDARD", "turnSeconds": 30,
            "phase": "OVER" if over else "PLAYING", "seats": {"X": seat, "O": {**seat, "connected": False}},
            "state": {"gameId": "g1", "step": step, "board": "".join(board), "current": "XO"[step % 2],
                      "over": over, "winner": winner, "lastMove": last, "line": line},
            "series": {"X": 2, "O": 1, "draws": 0}, "spectators": 3,
            "clock": {"side": "XO"[step % 2], "leftMs": 22100, "deadlineEpochMs": 4102441200000,
                      "running": not over, "mode": "turn", "banks": None}, "seq": step + 1, **more}


class Rooms(http.server.ThreadingHTTPServer):
    """Answers; keeps the bodies it was sent."""
    daemon_threads = True

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.rooms, self.asked = {"r1": room()}, []
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if status < 300 else "application/problem+json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        wish = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, wish))
        self.answer(201, {"room_id": "r/2", "game_id": "g2", "mode": "PVP", "rule": "STANDARD",
                          "turn_seconds": 30, "phase": "WAITING", **wish})

    def do_GET(self):
        path, _, query = self.path.partition("?")
        name = path.removeprefix("/v1/rooms").strip("/")
        if not name:
            self.server.asked.append(query)
            self.answer(200, self.page(query))
        elif name in self.server.rooms:
            self.answer(200, self.server.rooms[name])
        else:
            self.answer(404, {"status": 404, "code": "NOT_FOUND", "title": "Not Found",
                              "detail": "there is no such room"})

    def page(self, query):
        """Two pages of one room each."""
        second = "after=7" in query
        return {"rooms": [{"room_id": "r2" if second else "r1", "game_id": "g1", "mode": "PVE",
                           "rule": "RENJU", "turn_seconds": 45, "phase": "WAITING", "players": 1,
                           "spectators": 2}], "next": None if second else 7}

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def fake(port=0):
    with Rooms(port) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def good(server, *words, **more):
    done = tocsin("room", *words, url=server.url, **more)
    same((done.returncode, done.stderr), (0, ""), " ".join(words))
    return done.stdout


@alone
def new_prints_the_id_and_the_address():
    with fake() as server:
        same(good(server, "new"), f"r/2\n{server.url}/#/room/r%2F2\n")
        made = json.loads(good(server, "new", "--mode", "pve", "--rule", "RENJU", "--turn-seconds", "10",
                               "--json"))
        same(made["room_id"], "r/2")
        same(server.asked, [("/v1/rooms", {}), ("/v1/rooms", {"mode": "PVE", "rule": "RENJU",
                                                              "turn_seconds": 10})])
        for words in (["--mode", "PVX"], ["--rule", "x"], ["--turn-seconds", "0"], ["extra"]):
            done = tocsin("room", "new", *words, url=server.url)
            same((done.returncode, done.stdout), (2, ""), words)


@test()
def a_room_has_the_clock_that_was_asked_for(server):
    """C-30, C-31: all that POST /v1/rooms takes, against a server that judges it."""
    clocks = {"turn:45s": "45s a move", "fischer:5m+3s": "5m + 3s a move", "delay:5m+3s": "5m, delay 3s",
              "bronstein:5m+3s": "5m, Bronstein 3s", "byoyomi:1m+3x10s": "1m + 3 x 10s"}
    for clock, said in clocks.items():
        name = good(server, "new", "--clock", clock).splitlines()[0]
        holds(good(server, "show", name, LC_ALL="C"), f"game      PVP, STANDARD, {said}\n")
        holds(good(server, "ls", LC_ALL="C"), f"{name}  PVP   STANDARD  WAITING  {said} ")
    holds(good(server, "show", name, LC_ALL="C"), "X         free, 1:00 + 3 x 10s\n")
    holds(good(server, "show", name, LC_ALL="C.UTF-8"), "1m + 3 × 10s\n")
    name = good(server, "new", "--mode", "pve", "--ai-timed", "no", "--clock", "FISCHER:5m+3s", "--on-timeout",
                "Pass", "--grace", "30s", "--lag-credit", "200ms", "--lag-quota", "4s").splitlines()[0]
    room = json.loads(good(server, "show", name, "--json"))
    same((room["clock"]["onTimeout"], room["clock"]["graceMs"], room["clock"]["lagLeft"]),
         ("pass", 30000, {"X": 4000, "O": 4000}))
    holds(good(server, "show", name), "timeout   pass, 30s more for one who is away\n")
    done = tocsin("room", "new", "--grace", "6m", url=server.url)
    same((done.returncode, done.stdout), (1, ""), "the server has the limits")
    holds(done.stderr, "reconnect_grace: more than 5m")


@alone
def what_cannot_go_together_is_said_in_the_words_of_the_options():
    for words, said in (
            ("--clock 5m+3s", "fischer:5m+3s, bronstein:5m+3s, delay:5m+3s or byoyomi:1m+3x10s"),
            ("--clock byoyomi:1m+10s", "byoyomi:1m+3x10s"),
            ("--clock turn:30s --turn-seconds 30", "one of them, not both"),
            ("--turn-seconds 3601", "from 1 to 3600"), ("--on-timeout loses", "resign, pass, move or event"),
            ("--grace soon", "a duration such as 30s"), ("--ai-timed no", "--mode PVE"),
            ("--lag-credit 100ms", "a --clock with a bank"), ("--clock turn:9s --lag-credit 1ms", "with a bank"),
            ("--clock fischer:5m+3s --lag-quota 1s", "needs a --lag-credit")):
        done = tocsin("room", "new", *words.split())
        same((done.returncode, done.stdout), (2, ""), words)
        holds(done.stderr, said)


@alone
def ls_follows_the_cursor():
    with fake() as server:
        table = good(server, "ls").splitlines()
        same([line.split() for line in table[1:]],
             [[name, "PVE", "RENJU", "WAITING", "45s", "a", "move", "1", "2"] for name in ("r1", "r2")])
        done = tocsin("room", "ls", "--limit", "1", url=server.url)
        same((done.returncode, len(done.stdout.splitlines())), (0, 2))
        holds(done.stderr, "there are more: --all shows them")
        server.asked.clear()
        good(server, "ls", "--phase", "waiting", "--newest")
        same([{*query.split("&")} >= {"phase=WAITING", "order=newest"} for query in server.asked], [True, True])
        same(tocsin("room", "ls", "--phase", "over", url=server.url).returncode, 2)


@alone
def show_draws_the_board():
    with fake() as server:
        server.rooms["r1"] = room("Xhh Oih Xoa Ogg")
        drawn = good(server, "show", "r1", LC_ALL="C")
        same([c for c in drawn if ord(c) > 126], [], "ASCII where the locale is")
        holds(drawn, "   A B C D E F G H I J K L M N O\n", " 8 . . . . . . . X O . . . . . .",
              " 9 . . . . . .(O). . . . . . . .", "15 . . . . . . . . . . . . . . X",
              "room      r1\n", "game      PVP, STANDARD, 30s a move\n", "turn      X to move, 0:23 left\n",
              "last      O G9 (x 6, y 6)\n", "series    X 2, O 1, draws 0\n", "X         ready, 0:23\n",
              "O         away\n", "watching  3\n")
        same(len({line.index("  r") for line in drawn.splitlines() if "room  " in line}), 1)
        server.rooms["r1"] = room("Xoa")
        columns = {line.index(word) for line in good(server, "show", "r1", LC_ALL="C.UTF-8").splitlines()
                   for word in ("room  ", "game  ", "turn  ") if word in line}
        same(len(columns), 1, "one column, also beside a last stone at the edge")
        holds(good(server, "show", "r1", LC_ALL="C.UTF-8"), "·(●)", "O ○ ")
        same(json.loads(good(server, "show", "r1", "--json")), server.rooms["r1"])


@alone
def what_is_not_there_is_refused():
    with fake() as server:
        for verb in ("show", "watch"):
            done = tocsin("room", verb, "no-such", url=server.url)
            same((done.returncode, done.stdout, done.stderr),
                 (1, "", f"tocsin room {verb}: no-such: there is no such room (404 NOT_FOUND)\n"))
            server.rooms["odd"] = {"state": {"board": "?"}}
            done = tocsin("room", verb, "odd", url=server.url)
            same((done.returncode, done.stdout), (1, ""))
            holds(done.stderr, "the answer is not a room")
            same(tocsin("room", verb, url=server.url).returncode, 2)
    for words in (["new"], ["ls"], ["show", "x"], ["watch", "x"]):
        same(tocsin("room", *words, url="http://127.0.0.1:1").returncode, 3, words)


@alone
def a_room_cannot_talk_to_the_terminal():
    with fake() as server:
        server.rooms["r1"] = room(phase="\x1b[2J", roomId="\x9bgotcha")
        said = good(server, "show", "r1")
        holds(said, "gotcha")
        same([c for c in said if c in "\x1b\x9b"], [])


@alone
def watch_says_a_line_for_each_change():
    with fake() as server:
        for words, first, second in (([], "PLAYING, move 0: X to move, 0:23 left\n",
                                      "OVER, move 1 X H8: over, X has won\n"), (["--json"], None, None)):
            server.rooms["r1"] = room()
            watch = start_tocsin("room", "watch", "r1", *words, url=server.url)
            try:
                for wanted, now in ((first, room("Xhh", over=True, winner="X")), (second, None)):
                    line = watch.stdout.readline()
                    same(line if wanted else json.loads(line), wanted or server.rooms["r1"])
                    server.rooms["r1"] = now or server.rooms["r1"]
                watch.send_signal(signal.SIGINT)
                same(watch.wait(timeout=PATIENCE), 0)
                same(watch.stdout.read(), "", "nothing without a change")
            finally:
                end(watch)


@alone
def watch_redraws_the_board_and_waits_for_its_server():
    with fake() as server:
        terminal = Terminal(100, 24, "room", "watch", "r1", TOCSIN_URL=server.url)
        port = server.server_port
        with terminal:
            before = mode(terminal.fd)
            terminal.until(HIDE_CURSOR, "q quits", "X to move")
            line = [{"x": x, "y": 7} for x in range(5)]
            server.rooms["r1"] = room("Xah Xbh Xch Xdh Xeh", over=True, winner="X", line=line)
            terminal.until("X has won", "\x1b[0;32m●")
            server.server_close()
            server.shutdown()
            terminal.until("reconnecting")
            with fake(port) as again:
                again.rooms["r1"] = room("Xhh")
                terminal.until("O to move", "\x1b[0;1;33m●")
                os.write(terminal.fd, b"q")
                same(terminal.finish(), 0)
            holds(terminal.said, SHOW_CURSOR)
            holds(plain(terminal.said), "(●)")
            same(mode(terminal.fd), before, "the keyboard is as it was")


if __name__ == "__main__":
    sys.exit(main(jobs=1))
