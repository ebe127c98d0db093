#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""room_test.py TOCSIN [NAME...] - gomoku rooms: made over HTTP, played over STOMP (C-05 to C-11, C-30).

Players are python3-websockets (player.py), and @stomp/stompjs under node (test/stomp/game.mjs); where
it can be, time is moved by the test. Every answer over HTTP is checked against openapi.json, and so is
every room that is told over STOMP."""
import itertools
import json
import sys
import time

from player import Listener, Player
from stomp_packages import stompjs
from support import DESCRIPTION, expect, holds, main, same, test, wait_for

TOKEN = "a-token-of-sixteen-or-more"
SIDES = ("X", "O")
EMPTY = "." * 225
# X wins with the last of these, in a row of five.
WIN = [(7, 7), (7, 8), (8, 7), (8, 8), (9, 7), (9, 8), (10, 7), (10, 8), (11, 7)]
CLOCKS = ({"mode": "turn"}, {"mode": "turn", "bank": "45s"}, {"mode": "fischer", "bank": "1m", "extra": "5s"},
          {"mode": "bronstein", "bank": 60000, "extra": 5000}, {"mode": "delay", "bank": "1m", "extra": "5s"},
          {"mode": "byoyomi", "bank": "1m", "extra": "10s", "periods": 3})


def make(server, **wish):
    return server.post("/v1/rooms", wish, 201)["room_id"]


def fits(room):
    """A room as frames tell it is the one that the description has."""
    DESCRIPTION.fit(room, {"$ref": "#/components/schemas/Room"}, "room")
    return room


# ---- over HTTP

@test()
def rooms_of_every_kind_are_made(server):
    for mode, rule, clock in itertools.product(("PVP", "PVE"), ("STANDARD", "RENJU"), (None, *CLOCKS)):
        wish = {"mode": mode, "rule": rule, **({"clock": clock} if clock else {"turn_seconds": 5})}
        made = server.post("/v1/rooms", wish, 201)
        same(sorted(made.json), ["game_id", "mode", "phase", "room_id", "rule", "turn_seconds"])
        same((made["mode"], made["rule"], made["phase"]), (mode, rule, "WAITING"))
        room = server.get(f"/v1/rooms/{made['room_id']}")
        same((room["gameId"], room["turnSeconds"]), (made["game_id"], made["turn_seconds"]))
        same(room["clock"]["mode"], (clock or {"mode": "turn"})["mode"])
        bank = {"turn": None, "fischer": 65000, "bronstein": 65000}.get(room["clock"]["mode"], 60000)  # the first turn has its increment too
        same(room["clock"]["banks"], bank and {"X": bank, "O": bank})
        same(room["clock"].get("periods"), {"X": 3, "O": 3} if clock and "periods" in clock else None)
        same(room["seats"]["O"]["ai"], mode == "PVE")
        same((room["state"]["board"], room["state"]["current"], room["state"]["over"]), (EMPTY, "X", False))
    same([server.post("/v1/rooms", wish, 201)["turn_seconds"] for wish in
          ({}, {"turn_seconds": 3600}, {"clock": {"bank": "45s"}}, {"clock": {}, "turn_seconds": 7})], [30, 3600, 45, 7])
    answer = server.call("POST", "/v1/rooms", None, 201)
    same((answer["mode"], answer["rule"], answer["turn_seconds"]), ("PVP", "STANDARD", 30))


@test("--set", "gomoku.turn.seconds=12")
def the_time_of_a_turn_is_configured(server):
    """C-05."""
    same(server.post("/v1/rooms", {}, 201)["turn_seconds"], 12)


@test("--set", "gomoku.turn.aiTimed=true", "--set", "instance.id=gomoku-7f3a")
def the_machine_and_the_instance_are_configured(server):
    """C-05."""
    with Player(server.url, make(server, mode="PVE")) as player:
        same((player.resume(), player.do("ready"), player.place(7, 7)), (None, None, None))
        same(server.get(f"/v1/rooms/{player.room}")["clock"]["side"], "O")
    same(server.get("/v1/info")["node"], "gomoku-7f3a")


@test()
def bad_wishes_are_refused_by_name(server):
    for wish, word in (({"mode": "PVX"}, "mode"), ({"mode": None}, "mode"), ({"rule": 1}, "rule"),
                       ({"turn_seconds": 0}, "turn_seconds"), ({"turn_seconds": 3601}, "turn_seconds"),
                       ({"turn_seconds": "30"}, "turn_seconds"), ({"turn_seconds": 7.5}, "turn_seconds"),
                       ({"clock": 1}, "clock"), ({"clock": {"mode": "blitz"}}, "mode"),
                       ({"clock": {"mode": "fischer"}}, "clock.bank"), ({"clock": {"bank": "0s"}}, "clock.bank"),
                       ({"clock": {"bank": "soon"}}, "bank"), ({"clock": {"bank": "9999h"}}, "clock.bank"),
                       ({"clock": {"mode": "turn", "bank": "1m"}, "turn_seconds": 30}, "turn_seconds"),
                       ({"clock": {"mode": "turn", "extra": "1s"}}, "clock.extra"),
                       ({"clock": {"mode": "byoyomi", "bank": "1m", "extra": "5s"}}, "clock.periods"),
                       ({"clock": {"mode": "fischer", "bank": "1m", "periods": 2}}, "clock.periods"),
                       ({"clock": {"speed": 1}}, "speed"), ({"ai_timed": True}, "ai_timed"),
                       ({"mode": "PVE", "ai_timed": 1}, "ai_timed"), ({"room": 1}, "room"), ([], "object"),
                       ({"clock": {"lag_credit": "100ms"}}, "lag_credit"),
                       ({"clock": {"mode": "fischer", "bank": "1m", "lag_credit": "501ms"}}, "lag_credit"),
                       ({"clock": {"mode": "fischer", "bank": "1m", "lag_quota": "1s"}}, "lag_quota"),
                       ({"on_timeout": "lose"}, "on_timeout"), ({"reconnect_grace": "6m"}, "reconnect_grace"),
                       ({"clock": {"mode": "fischer", "bank": "1m"}, "on_timeout": "move"}, "on_timeout")):
        expect(server.post("/v1/rooms", wish, None), 400, "VALIDATE_FAILED", word)
    expect(server.post("/v1/rooms", b"{", None), 400, "VALIDATE_FAILED")
    same(server.get("/v1/rooms")["rooms"], [])


@test("--set", "gomoku.rooms=5")
def rooms_are_listed_found_and_limited(server):
    made = [make(server, mode=mode) for mode in ("PVP", "PVE", "PVP", "PVP", "PVE")]
    expect(server.post("/v1/rooms", {}, None), 429, "RATE_LIMITED", "gomoku.rooms")
    seen, after = [], ""
    while after is not None:
        page = server.get(f"/v1/rooms?limit=2{after}")
        same(len(page["rooms"]) <= 2, True)
        seen += page["rooms"]
        after = f"&after={page['next']}" if page["next"] is not None else None
    same([row["room_id"] for row in seen], made)
    same([row["players"] for row in seen], [0, 1, 0, 0, 1])
    for query, word in (("limit=0", "limit"), ("after=x", "after"), ("limit=1001", "limit"), ("phase=OVER", "phase"),
                        ("phase=", "phase"), ("order=oldest", "order"), ("order", "order"), ("x=1", "x")):
        expect(server.call("GET", f"/v1/rooms?{query}"), 400, "VALIDATE_FAILED", word)
    for name in ("x", "0" * 16, "room", "x" * 255, "%E6%A3%8B"):
        expect(server.call("GET", f"/v1/rooms/{name}"), 404, "NOT_FOUND", "room")
    expect(server.call("GET", "/v1/rooms/" + "x" * 256), 400, "VALIDATE_FAILED", "id")
    same((server.metric('tocsin_rooms{phase="waiting"}'), server.metric("tocsin_rooms_limit")), (5, 5))


@test(store="sqlite")
def a_lobby_shows_the_newest_that_wait(server):
    made = [make(server) for _ in range(30)]
    for room in made[10:20]:
        with Player(server.url, room) as player:
            same((player.resume(), player.do("ready")), (None, None))
            with Player(server.url, room) as other:
                same((other.resume(), other.do("ready")), (None, None))

    def listed(query):
        seen, after = [], ""
        while after is not None:
            page = server.get(f"/v1/rooms?limit=7&{query}{after}")
            seen += [row["room_id"] for row in page["rooms"]]
            after = f"&after={page['next']}" if page["next"] is not None else None
        return seen

    waiting = made[:10] + made[20:]
    same(listed("order=newest"), made[::-1])
    same(listed("order=newest&phase=WAITING"), waiting[::-1])
    same((listed("phase=WAITING"), listed("order=changed&phase=PLAYING")), (waiting, made[10:20]))
    same(listed("phase=ENDED"), [])
    for how in (15, 9):
        server.restart(how)
        same(listed("order=newest&phase=WAITING"), waiting[::-1])
        same(sorted(listed("order=newest")), sorted(made))


@test("--set", "gomoku.waiting_idle=5m")
def a_room_nobody_came_to_is_dropped_soon(server):
    empty, played = make(server), make(server, mode="PVE")
    with Player(server.url, played) as player, Player(server.url, make(server)) as alone:
        same((player.resume(), player.do("ready"), player.do("resign"), alone.resume()), (None, None, None, None))
        server.advance("4m")
        server.get(f"/v1/rooms/{empty}")
        server.advance("61s")
        wait_for(lambda: server.call("GET", f"/v1/rooms/{empty}").status == 404, "the empty room to be dropped")
        same(server.get(f"/v1/rooms/{alone.room}")["phase"], "WAITING")
    wait_for(lambda: server.metric("tocsin_room_sessions") == 0, "both to be gone")
    server.advance("5m1s")
    wait_for(lambda: server.call("GET", f"/v1/rooms/{alone.room}").status == 404, "the other to be dropped")
    same(server.get(f"/v1/rooms/{played}")["phase"], "ENDED")


@test(store="sqlite")
def a_room_is_made_once_by_its_key(server):
    key = {"Idempotency-Key": "once"}
    first = server.post("/v1/rooms", {"mode": "PVE"}, 201, key)
    for how in (None, 15, 9):
        if how is not None:
            server.restart(how)
        again = server.post("/v1/rooms", {"mode": "PVE"}, 201, key)
        same((again.body, again.headers["idempotency-replayed"]), (first.body, "true"))
        expect(server.post("/v1/rooms", {"mode": "PVP"}, None, key), 409, "CONFLICT", "Idempotency-Key")
    same(len(server.get("/v1/rooms")["rooms"]), 1)
    same("idempotency-replayed" in server.post("/v1/rooms", {}, 201, {"Idempotency-Key": "other"}).headers, False)


@test(token=TOKEN)
def rooms_need_the_token_where_there_is_one(server):
    for method, path in (("POST", "/v1/rooms"), ("GET", "/v1/rooms"), ("GET", "/v1/rooms/x")):
        body = {} if method == "POST" else None
        expect(server.call(method, path, body, None, {"Authorization": ""}), 401, "UNAUTHORIZED")
        expect(server.call(method, path, body, None, {"Authorization": "Bearer wrong-wrong-wrong"}), 401)
    with Player(server.url, make(server), passcode=TOKEN) as player:
        same((player.resume(), player.side), (None, "X"))


# ---- over STOMP

class Game:
    """Two at a board; play has begun."""

    def __init__(self, server, **wish):
        self.server, self.room = server, make(server, **wish)
        self.players = [Player(server.url, self.room) for _ in range(2)]
        for player, side in zip(self.players, SIDES):
            same((player.resume(), player.side), (None, side))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for player in self.players:
            player.close()

    def begin(self):
        for player in self.players:
            same(player.do("ready"), None)
        for player in self.players:
            player.next("STATE")
        return self

    def moves(self, points, first=0):
        """Each as it may; the STATE after the last one."""
        for step, (x, y) in enumerate(points, first):
            same(self.players[step % 2].place(x, y), None, f"stone {step + 1}")
        for player in self.players:
            state = player.reach(first + len(points))
        return state


def types(frames):
    return [frame["type"] for frame in frames]


def check_frames(player):
    """What holds for all frames of a room (C-09, C-24, C-19)."""
    seq = 0
    for frame in player.all:
        same(sorted(frame), ["gameId", "payload", "roomId", "seq", "type"])
        same((frame["roomId"], frame["seq"] > seq), (player.room, True), str(frame))
        seq, payload = frame["seq"], frame["payload"]
        if frame["type"] == "TICK":
            same(sorted(payload), ["deadlineEpochMs", "left", "leftMs", "side"])
            same((payload["side"] in SIDES, payload["left"]), (True, -(-payload["leftMs"] // 1000)))
        elif frame["type"] == "TIMEOUT":
            same(sorted(payload), ["side"])
        elif frame["type"] == "STATE":
            same(sorted(payload), ["series", "state"])
            DESCRIPTION.fit(payload["state"], {"$ref": "#/components/schemas/RoomState"}, "state")
            DESCRIPTION.fit(payload["series"], {"$ref": "#/components/schemas/RoomSeries"}, "series")
            same(payload["state"]["gameId"], frame["gameId"])
        else:
            same(frame["type"], "SNAPSHOT")
            same((fits(payload)["roomId"], payload["gameId"]), (player.room, frame["gameId"]))


@test()
def two_play_to_a_win(server):
    with Game(server) as game, Player(server.url, game.room) as guest:
        black, white = game.players
        seat = black.told("gomoku.seat")[0]
        same(sorted(seat), ["gameId", "roomId", "seatKey", "seq", "side", "type"])
        full = dict(black.told("gomoku.full")[0])
        same((full.pop("mySide"), full.pop("type"), fits(full)["phase"]), ("X", "FULL", "WAITING"))
        same((seat["type"], seat["gameId"], seat["seq"]), ("SEAT", full["gameId"], full["seq"]))
        same((guest.resume(), guest.side, guest.key, guest.told("gomoku.full")[0]["mySide"]), (None, None, None, None))
        same(black.do("ready"), None)
        same(black.next("SNAPSHOT")["payload"]["phase"], "WAITING")
        same((black.do("ready"), white.do("start")), (None, None))  # twice is once; start is ready
        state = white.next("STATE")["payload"]["state"]
        same((state["step"], state["current"], state["lastMove"], state["line"]), (0, "X", None, None))
        same(white.next("SNAPSHOT")["payload"]["phase"], "PLAYING")
        tick = white.next("TICK")["payload"]
        same(tick, {"left": 30, "leftMs": 30000, "side": "X", "deadlineEpochMs": server.now() + 30000})
        black.next("STATE")
        state = game.moves(WIN[:1])["payload"]["state"]
        same((state["board"][7 + 7 * 15], state["lastMove"], state["current"]), ("X", {"x": 7, "y": 7}, "O"))
        state = game.moves(WIN[1:], 1)["payload"]
        same(state["series"], {"X": 1, "O": 0, "draws": 0})
        state = state["state"]
        same((state["over"], state["winner"], state["step"]), (True, "X", 9))
        same([(point["x"], point["y"]) for point in state["line"]], [(x, 7) for x in range(7, 12)])
        room = fits(white.next("SNAPSHOT")["payload"])
        same((room["phase"], room["clock"]["running"], room["clock"]["side"], room["spectators"]), ("ENDED", False, None, 1))
        server.advance("1h")
        guest.reach(9)
        for player in (black, white, guest):
            check_frames(player)
            same("TIMEOUT" in types(player.all), False)
            same(player.told("errors"), [])
        expect(server.call("GET", f"/v1/countdowns/gomoku:{game.room}"), 404)
        same(server.metric('tocsin_rooms{phase="ended"}'), 1)
        same(server.metric("tocsin_room_frames_total") > 9, True)
        same(server.get(f"/v1/rooms/{game.room}")["state"], state)


@test(clock="system")
def stompjs_plays_a_game(server):
    """The client that pages use: a win, a refusal, resigning, another game with the sides swapped."""
    room = make(server, turn_seconds=60)
    seen = stompjs("game.mjs", server.url.replace("http", "ws", 1) + "/ws", room)
    same([seat["side"] for seat in seen["seats"]], ["X", "O", None])
    same(seen["mySides"], ["X", "O", None])
    same([(error["code"], error["type"], error["roomId"]) for error in seen["errors"]], [("NOT_YOUR_TURN", "ERROR", room)])
    won, resigned = seen["ends"]
    same((won["state"]["winner"], len(won["state"]["line"]), won["series"]), ("X", 5, {"X": 1, "O": 0, "draws": 0}))
    same(seen["swapped"], ["O", "X"])
    # Who had won is O now, and resigned.
    same((resigned["state"]["winner"], resigned["state"]["line"]), ("X", None))
    same(resigned["series"], {"X": 1, "O": 1, "draws": 0})
    same((seen["receipt"], seen["rising"]), (True, True))
    wait_for(lambda: server.metric("tocsin_room_sessions") == 0, "all to be gone")


@test()
def who_resigns_loses_and_another_game_swaps_sides(server):
    with Game(server) as game:
        first, second = game.begin().players
        game.moves([(7, 7)])
        same(first.do("resign"), None)  # out of turn
        end = second.next("STATE")["payload"]
        same((end["state"]["winner"], end["state"]["line"], end["series"]), ("O", None, {"X": 0, "O": 1, "draws": 0}))
        same(second.do("resign"), "NOT_PLAYING")
        old = second.game
        same(second.do("ready"), "NOT_WAITING")
        same(second.do("restart"), None)
        room = first.next_of(lambda where, body: where == first.topic and body["gameId"] != old
                             and body["type"] == "SNAPSHOT", "the new game")["payload"]
        same((room["phase"], room["state"]["board"], room["series"]), ("PLAYING", EMPTY, {"X": 1, "O": 0, "draws": 0}))
        for player, side in ((first, "O"), (second, "X")):
            wait_for(lambda p=player: len(p.told("gomoku.seat")) == 2, "the new side")
            seat = player.told("gomoku.seat")[-1]
            same((seat["side"], seat["seatKey"], seat["gameId"]), (side, player.key, f"{game.room}-2"))
        # Both pressed the button: sides are swapped once.
        same((first.do("restart"), first.do("restart", gameId=old)), (None, "STALE_GAME"))
        state = second.next_of(lambda where, body: where == second.topic and body["type"] == "STATE"
                               and body["gameId"] != old, "play")["payload"]["state"]
        same((state["step"], state["current"], state["gameId"]), (0, "X", f"{game.room}-2"))
        same(server.get(f"/v1/countdowns/gomoku:{game.room}")["version"], f"{game.room}-2:0")
        for player in (first, second):
            player.game = state["gameId"]
        same((first.place(0, 0), second.place(0, 0, old), second.place(0, 0)), ("NOT_YOUR_TURN", "STALE_GAME", None))
        same(second.do("resign", gameId=old), "STALE_GAME")
        second.reach(1)
        same(second.do("resign"), None)
        end = second.next("STATE")["payload"]
        same((end["state"]["winner"], end["series"]), ("O", {"X": 1, "O": 1, "draws": 0}))
        for player in (first, second):
            check_frames(player)


@test()
def a_game_is_left_off_when_both_want_it(server):
    """C-07: the old clock is stopped, nobody scores; and who is not here is waited for after the end."""
    with Game(server, turn_seconds=10) as game:
        first, second = game.begin().players
        game.moves([(7, 7)])
        same((first.do("restart"), first.do("ready")), (None, None))
        room = server.get(f"/v1/rooms/{game.room}")
        same([room["seats"][side]["wantsRestart"] for side in SIDES], [True, False])
        same(room["state"]["step"], 1)
        server.advance("9s")
        same(second.do("restart"), None)
        room = server.get(f"/v1/rooms/{game.room}")
        same((room["phase"], room["gameId"], room["state"]["board"]), ("PLAYING", f"{game.room}-2", EMPTY))
        same((room["series"], room["clock"]["leftMs"]), ({"X": 0, "O": 0, "draws": 0}, 10000))
        server.advance("9s")
        same(server.get(f"/v1/rooms/{game.room}")["phase"], "PLAYING")
        same(second.do("resign"), None)
        second.close()
        wait_for(lambda: not server.get(f"/v1/rooms/{game.room}")["seats"]["X"]["connected"], "the other to be gone")
        same(first.do("restart"), None)
        room = server.get(f"/v1/rooms/{game.room}")
        same((room["phase"], room["gameId"]), ("WAITING", f"{game.room}-3"))
        same([room["seats"][side]["ready"] for side in SIDES], [True, False])
        check_frames(first)


@test(store="sqlite")
def what_ended_a_game_is_there_after_a_crash(server):
    with Game(server) as won, Game(server) as left, Game(server, turn_seconds=5) as late:
        won.begin().moves(WIN)
        same(won.players[0].next("SNAPSHOT")["payload"]["endedBy"], "five")
        same(left.begin().players[1].do("resign"), None)
        late.begin()
        server.advance("5s")
        same(late.players[0].next("TIMEOUT")["payload"], {"side": "X"})
    server.restart(9)
    same([server.get(f"/v1/rooms/{game.room}")["endedBy"] for game in (won, left, late)], ["five", "resign", "timeout"])
    same(server.get(f"/v1/rooms/{make(server)}")["endedBy"], None)
    with Player(server.url, left.room) as guest:
        guest.resume()
        same((guest.told("gomoku.full")[-1]["endedBy"], "endedBy" in guest.told("gomoku.full")[-1]["state"]), ("resign", False))


@test(clock="system", store="sqlite")
def a_receipt_comes_after_what_it_is_for(server):
    with Game(server) as game:
        black, white = game.players

        def last_before_the_receipt(player, *wanted):
            frames = [body["type"] for where, body in player.ahead if where == player.topic]
            same(frames[-len(wanted):], list(wanted))

        same(black.do("ready"), None)
        last_before_the_receipt(black, "SNAPSHOT")
        same(white.do("ready"), None)
        last_before_the_receipt(white, "STATE", "SNAPSHOT", "TICK")
        for player, point in ((black, (7, 7)), (white, (7, 8))):
            same(player.place(*point), None)
            last_before_the_receipt(player, "STATE", "SNAPSHOT", "TICK")
        same(black.do("resign"), None)
        last_before_the_receipt(black, "STATE", "SNAPSHOT")
        same(white.do("restart"), None)
        last_before_the_receipt(white, "STATE", "SNAPSHOT", "TICK")
        same([frame["payload"]["state"]["step"] for frame in white.all if frame["type"] == "STATE"], [0, 1, 2, 2, 0])


@test()
def a_seat_is_kept_by_its_key(server):
    """C-10: spectators, a disconnect shows, the newest connection has the seat."""
    with Game(server) as game, Player(server.url, game.room) as guest:
        black, white = game.begin().players
        same((guest.resume(), guest.side), (None, None))
        server.advance("1s")
        same(server.get(f"/v1/rooms/{game.room}")["spectators"], 1)
        black.cut()
        wait_for(lambda: not server.get(f"/v1/rooms/{game.room}")["seats"]["X"]["connected"], "black to be gone")
        server.advance("1s")  # it is told a moment later, by the clock that the test moves
        guest.next_of(lambda where, body: where == guest.topic and body["type"] == "SNAPSHOT"
                      and not body["payload"]["seats"]["X"]["connected"], "told that black is gone")
        before = server.get(f"/v1/rooms/{game.room}")["clock"]["deadlineEpochMs"]
        with Player(server.url, game.room) as again, Player(server.url, game.room) as thief:
            same((thief.resume(), thief.side), (None, None))  # no free seat
            same((thief.resume("0" * 32), thief.told("errors")[-1]["detail"]),
                 ("BAD_SEAT", "seatKey: it opens no seat in this room"))
            same((again.resume(black.key), again.side, again.key), (None, "X", black.key))
            same(server.get(f"/v1/rooms/{game.room}")["clock"]["deadlineEpochMs"], before, "C-18")
            same(again.place(7, 7), None)
            with Player(server.url, game.room) as newest:
                same((newest.resume(black.key), newest.side), (None, "X"))
                kicked = again.next_of(lambda where, _: where == "/user/queue/gomoku.kicked", "kicked")
                same((kicked["roomId"], kicked["side"], kicked["gameId"]), (game.room, "X", newest.game))
                same((kicked["type"], sorted(kicked)), ("KICKED", ["detail", "gameId", "roomId", "seq", "side", "type"]))
                same(white.place(7, 8), None)
                same((again.place(8, 7), newest.place(8, 7)), ("FORBIDDEN", None))
                same((again.resume(black.key), again.place(0, 0)), (None, "NOT_YOUR_TURN"))
        same(server.get(f"/v1/rooms/{game.room}")["state"]["step"], 3)


@test()
def a_seat_left_before_the_first_game_is_free_again(server):
    room = make(server)
    with Player(server.url, room) as host, Player(server.url, room) as friend, Player(server.url, room) as next_one:
        same([player.resume() for player in (host, friend, next_one)], [None] * 3)
        same([player.side for player in (host, friend, next_one)], ["X", "O", None])
        friend.cut()
        wait_for(lambda: not server.get(f"/v1/rooms/{room}")["seats"]["O"]["connected"], "the friend to be gone")
        server.advance("29s")
        same((next_one.resume(), next_one.side), (None, None))
        server.advance("1001ms")
        same((next_one.resume(), next_one.side), (None, "O"))
        with Player(server.url, room) as again:
            same(again.resume(friend.key), "BAD_SEAT")
            same((again.resume(), again.side), (None, None))
        same((host.do("ready"), next_one.do("ready")), (None, None))
        next_one.next("STATE")
        next_one.cut()
        wait_for(lambda: not server.get(f"/v1/rooms/{room}")["seats"]["O"]["connected"], "the next one to be gone")
        server.advance("10m")
        with Player(server.url, room) as late, Player(server.url, room) as back:
            same((late.resume(), late.side), (None, None), "a game has begun")
            same((back.resume(next_one.key), back.side), (None, "O"))


@test()
def what_may_not_be_is_refused_and_told(server):
    other = make(server)
    with Game(server) as game, Player(server.url, other) as stranger:
        black, white = game.players
        same(stranger.resume(), None)
        same((black.place(0, 0), black.do("resign")), ("NOT_PLAYING", "NOT_PLAYING"))
        game.begin().moves([(7, 7)])
        place = {"roomId": game.room, "gameId": black.game, "x": 1, "y": 1}
        for player, body, code in (
                (black, {}, "NOT_YOUR_TURN"), (white, {"x": 7, "y": 7}, "TAKEN"), (white, {"x": 15}, "VALIDATE_FAILED"),
                (white, {"y": -1}, "VALIDATE_FAILED"), (white, {"x": 2 ** 40}, "VALIDATE_FAILED"),
                (white, {"gameId": f"{game.room}-0"}, "STALE_GAME"), (white, {"gameId": None}, "VALIDATE_FAILED"),
                (white, {"seatKey": stranger.key}, "BAD_SEAT"), (white, {"seatKey": black.key}, "FORBIDDEN"),
                (white, {"seatKey": None}, "BAD_SEAT"), (white, {"roomId": "0" * 16}, "NOT_FOUND"),
                (white, {"roomId": other}, "STALE_GAME"), (white, {"roomId": None}, "VALIDATE_FAILED"),
                (white, {"x": "1"}, "VALIDATE_FAILED"), (white, {"x": 1.5}, "VALIDATE_FAILED"),
                (white, {"more": 1}, "VALIDATE_FAILED"), (white, {"seatKey": "k" * 300}, "VALIDATE_FAILED")):
            same(player.do("place", **{**place, **body}), code, str(body))
        for text in ("", "{", "[]", "null", '"x"', '{"roomId":1}', '{"x":1}', "\u00e4" * 1000, '{"roomId":"a","roomId":"a"}',
                     "[" * 1000, json.dumps({"roomId": game.room, "gameId": "a", "seatKey": white.key, "x": 1})):
            same(white.raw("place", text), "VALIDATE_FAILED", text[:50])
        error = white.told("errors")[0]
        same((error["type"], error["roomId"], error["code"]), ("ERROR", game.room, "TAKEN"))
        same((error["gameId"], error["payload"]), (black.game, {"code": "TAKEN", "detail": error["detail"]}))
        for error in white.told("errors"):
            same(sorted(error), ["code", "detail", "gameId", "payload", "roomId", "seq", "type"])
            same((error["type"], error["payload"]), ("ERROR", {"code": error["code"], "detail": error["detail"]}))
        same(white.raw("place", json.dumps({"roomId": game.room, "more": 1})), "VALIDATE_FAILED")
        same((white.told("errors")[-1]["roomId"], white.raw("place", "{")), (game.room, "VALIDATE_FAILED"))
        same((white.told("errors")[-1]["roomId"], white.told("errors")[-1]["gameId"]), (None, None))
        same(white.raw("dance", "{}"), "NOT_FOUND")
        error = white.told("errors")[-1]
        same(error, {"roomId": None, "gameId": None, "type": "ERROR", "seq": 0, "code": "NOT_FOUND",
                     "detail": "destination: nobody takes what is sent there", "destination": "/app/gomoku.dance",
                     "payload": {"code": "NOT_FOUND", "detail": error["detail"]}})
        same((server.get(f"/v1/rooms/{game.room}")["state"]["step"], stranger.told("errors")), (1, []))
        same(types(stranger.all).count("STATE"), 0)
        same(server.metric("tocsin_room_commands_refused_total") > 10, True)
        for player in game.players:
            check_frames(player)
        expect(server.call("DELETE", f"/v1/countdowns/gomoku:{game.room}"), 409, "CONFLICT")
        expect(server.put(f"/v1/countdowns/gomoku:{game.room}", {"owner": "X", "for": "1h"}, None), 409)


@test()
def who_runs_out_of_time_loses(server):
    """C-02, C-07, C-08, C-09, C-22: every second, then TIMEOUT, STATE and SNAPSHOT."""
    with Game(server, turn_seconds=5) as game:
        black, white = game.begin().players
        clock = server.get(f"/v1/countdowns/gomoku:{game.room}")
        same((clock["owner"], clock["version"], clock["kind"], clock["left"]), ("X", f"{black.game}:0", "gomoku", 5))
        server.advance("3s")
        game.moves([(7, 7)])
        clock = server.get(f"/v1/countdowns/gomoku:{game.room}")
        same((clock["owner"], clock["version"], clock["left_ms"]), ("O", f"{black.game}:1", 5000))
        start = len(white.all)
        for _ in range(4):
            server.advance("1s")
        server.advance("999ms")
        same(server.get(f"/v1/rooms/{game.room}")["phase"], "PLAYING")
        server.advance("1ms")
        end = white.next("TIMEOUT")
        same((end["payload"], end["gameId"]), ({"side": "O"}, black.game))
        state = white.next("STATE")["payload"]
        same((state["state"]["winner"], state["state"]["over"], state["state"]["line"]), ("X", True, None))
        same(state["series"], {"X": 1, "O": 0, "draws": 0})
        same(white.next("SNAPSHOT")["payload"]["phase"], "ENDED")
        told = [frame for frame in white.all[start:] if frame["type"] != "SNAPSHOT" or frame["payload"]["phase"] == "ENDED"]
        same(types(told)[-4:], ["TICK", "TIMEOUT", "STATE", "SNAPSHOT"])
        ticks = [frame["payload"] for frame in told if frame["type"] == "TICK" and frame["payload"]["side"] == "O"]
        same([tick["left"] for tick in ticks if tick["leftMs"] < 5000], [4, 3, 2, 1])
        same({tick["deadlineEpochMs"] for tick in ticks}, {clock["deadline_ms"]})
        same(white.place(0, 0), "NOT_PLAYING")
        server.advance("1h")
        for player in game.players:
            check_frames(player)
            same(types(player.all).count("TIMEOUT"), 1)
        same(server.metric("tocsin_room_timeouts_total"), 1)


@test()
def a_flag_does_what_the_room_says(server):
    """C-31: pass, a default move, an event only."""
    for does, step, current, running in (("pass", 0, "O", True), ("move", 1, "O", True), ("event", 0, "X", False)):
        with Game(server, turn_seconds=5, on_timeout=does) as game:
            white = game.begin().players[1]
            server.advance("5s")
            same(white.next("TIMEOUT")["payload"], {"side": "X"}, does)
            state = white.next("STATE")["payload"]["state"]
            same((state["step"], state["current"], state["over"]), (step, current, False), does)
            room = white.next("SNAPSHOT")["payload"]
            same((room["phase"], room["clock"]["running"], room["clock"]["overdue"]), ("PLAYING", running, not running), does)
            same((game.players[0 if does == "event" else 1].place(0, 0), room["clock"]["onTimeout"]), (None, does))
            check_frames(white)


@test()
def who_lost_the_connection_has_grace(server):
    """C-31: once a game, and no longer than it says."""
    with Game(server, turn_seconds=5, reconnect_grace="3s") as game:
        black, white = game.begin().players
        black.cut()
        wait_for(lambda: not server.get(f"/v1/rooms/{game.room}")["seats"]["X"]["connected"], "black to be gone")
        server.advance("5s")
        room = server.get(f"/v1/rooms/{game.room}")
        same((room["phase"], room["clock"]["leftMs"], room["clock"]["graceMs"]), ("PLAYING", 3000, 3000))
        server.advance("2999ms")
        same(server.get(f"/v1/rooms/{game.room}")["phase"], "PLAYING")
        server.advance("1ms")
        same(white.next("TIMEOUT")["payload"], {"side": "X"})
        same(server.get(f"/v1/rooms/{game.room}")["state"]["winner"], "O")


@test(store="sqlite")
def a_step_of_the_wall_clock_moves_no_flag(server):
    """C-32: what the log says of a flag is by the clock that everybody reads."""
    with Game(server, turn_seconds=5) as game:
        black = game.begin().players[0]
        server.set_wall(server.now() + 3600000)
        server.advance("4999ms")
        room = server.get(f"/v1/rooms/{game.room}")
        same((room["phase"], room["clock"]["leftMs"]), ("PLAYING", 1))
        server.advance("1ms")
        black.next("TIMEOUT")
        connection = server.connection()
        connection.request("GET", "/v1/events?after=0")
        lines = iter(connection.getresponse().readline, b"")
        events = (json.loads(line[5:]) for line in lines if line.startswith(b"data:"))
        doc = next(event["doc"] for event in events if (event["kind"], event["type"]) == ("room", "timeout"))
        same((doc["version"], doc["side"], doc["deadlineEpochMs"]), (f"{black.game}:0", "X", room["clock"]["deadlineEpochMs"]))
        same(0 <= doc["at"] - doc["deadlineEpochMs"] <= 1, True, str(doc))


@test()
def banks_go_on_where_they_stopped(server):
    """C-30: Fischer."""
    with Game(server, clock={"mode": "fischer", "bank": "10s", "extra": "2s"}) as game:
        game.begin()
        server.advance("4s")
        game.moves([(7, 7)])
        server.advance("1s")
        game.moves([(8, 8)], 1)
        clock = server.get(f"/v1/rooms/{game.room}")["clock"]
        same((clock["side"], clock["leftMs"], clock["banks"]), ("X", 10000, {"X": 10000, "O": 13000}))
        server.advance("10s")
        same(game.players[0].next("TIMEOUT")["payload"], {"side": "X"})


@test(clock="system")
def lag_is_measured_and_credited(server):
    """C-31: by the kernel, of the connection that moves; on one machine it is next to nothing."""
    clock = {"mode": "fischer", "bank": "1m", "lag_credit": "500ms", "lag_quota": "2s"}
    with Game(server, clock=clock) as game:
        game.begin().moves([(7, 7)])
        clock = server.get(f"/v1/rooms/{game.room}")["clock"]
        same((0 <= clock["creditedMs"] <= 500, clock["lagLeft"]), (True, {"X": 2000 - clock["creditedMs"], "O": 2000}))


@test()
def renju_forbids_black_what_it_forbids(server):
    cases = (
        ("double-three", [(7, 5), (0, 0), (7, 6), (14, 0), (5, 7), (0, 14), (6, 7), (14, 14)], (7, 7)),
        ("overline", [(4, 7), (0, 0), (5, 7), (14, 0), (6, 7), (0, 14), (8, 7), (14, 14), (9, 7), (0, 7)], (7, 7)),
        ("double-four", [(4, 7), (3, 7), (5, 7), (7, 3), (6, 7), (0, 0), (7, 4), (14, 0), (7, 5), (0, 14), (7, 6), (14, 14)],
         (7, 7)))
    for name, moves, point in cases:
        for rule in ("RENJU", "STANDARD"):
            with Game(server, rule=rule) as game:
                game.begin().moves(moves)
                black = game.players[0]
                same(black.place(*point), "FORBIDDEN_MOVE" if rule == "RENJU" else None, f"{name} {rule}")
                if rule == "RENJU":
                    holds(black.told("errors")[-1]["detail"], name)
                    same(black.place(12, 12), None)


@test()
def the_machine_answers_in_its_time(server):
    """C-07, C-10: 1 to 1.5 s after its turn began; its clock does not run."""
    for rule in ("STANDARD", "RENJU"):
        with Player(server.url, make(server, mode="PVE", rule=rule, turn_seconds=5)) as player:
            same((player.resume(), player.side, player.do("ready")), (None, "X", None))
            player.next("STATE")
            for step in (0, 2, 4):
                state = server.get(f"/v1/rooms/{player.room}")["state"]
                point = next(i for i in (112, 98, 126, 84, 140, 70, 154) if state["board"][i] == ".")
                same(player.place(point % 15, point // 15), None)
                player.reach(step + 1)
                room = server.get(f"/v1/rooms/{player.room}")
                same((room["clock"]["running"], room["seats"]["O"]), (False, {"taken": True, "ready": True, "connected": True,
                                                                           "ai": True, "wantsRestart": False}))
                server.advance("999ms")
                time.sleep(0.6 if step == 0 else 0)
                same(server.get(f"/v1/rooms/{player.room}")["state"]["step"], step + 1)
                server.advance("501ms")
                state = player.reach(step + 2)["payload"]["state"]
                same((state["current"], state["board"].count("O")), ("X", step // 2 + 1))
                same(server.get(f"/v1/rooms/{player.room}")["clock"]["leftMs"], 5000)
            check_frames(player)
            same(player.do("resign"), None)
            same(player.next("STATE")["payload"]["state"]["winner"], "O")
            same(player.do("restart"), None)  # at once; the machine has X now
            state = player.next_of(lambda where, body: where == player.topic and body["type"] == "STATE"
                                   and body["payload"]["state"]["step"] == 0, "the next game")
            server.advance("1500ms")
            same(player.reach(1)["payload"]["state"]["board"].count("X"), 1)
            same(player.told("gomoku.seat")[-1]["side"], "O")


@test()
def a_machine_that_is_timed_has_a_clock(server):
    with Player(server.url, make(server, mode="PVE", ai_timed=True)) as player:
        player.resume()
        player.do("ready")
        player.next("STATE")
        same(player.place(7, 7), None)
        clock = server.get(f"/v1/countdowns/gomoku:{player.room}")
        same((clock["owner"], clock["left"]), ("O", 30))


# ---- countdowns

@test()
def a_countdown_is_told_on_its_topic(server):
    destination = "/topic/countdown.tea"
    with Listener(server.url, destination, "/topic/countdown.other") as cook:
        def told(kind):
            return cook.next_of(lambda where, body: where == destination and body["type"] == kind, kind)
        made = server.put("/v1/countdowns/tea", {"owner": "me", "for": "5s", "version": "v1"}, 201)
        frame = told("STARTED")
        same((sorted(frame), frame["key"], frame["version"]), (["key", "payload", "seq", "type", "version"], "tea", "v1"))
        same({name: frame["payload"][name] for name in ("owner", "state", "left", "deadline_ms")},
             {name: made[name] for name in ("owner", "state", "left", "deadline_ms")})
        same(told("TICK")["payload"], {"left": 5, "leftMs": 5000, "owner": "me", "deadlineEpochMs": made["deadline_ms"]})
        server.advance("1s")
        same(told("TICK")["payload"]["left"], 4)
        server.post("/v1/countdowns/tea/pause", {}, 200)
        same(told("PAUSED")["payload"]["left_ms"], 4000)
        server.advance("1h")
        server.post("/v1/countdowns/tea/give", {"ms": "1s"}, 200)
        same(told("GIVEN")["payload"]["left_ms"], 5000)
        server.post("/v1/countdowns/tea/resume", {}, 200)
        same(told("RESUMED")["payload"]["left_ms"], 5000)
        for _ in range(5):
            server.advance("1s")
        same(told("TIMEOUT")["payload"]["state"], "expired")
        server.delete("/v1/countdowns/tea", 200)
        told("STOPPED")
        frames = cook.frames(destination)
        same([f["type"] for f in frames if f["type"] != "TICK"],
             ["STARTED", "PAUSED", "GIVEN", "RESUMED", "TIMEOUT", "STOPPED"])
        same([f["payload"]["left"] for f in frames if f["type"] == "TICK"], [5, 4, 5, 4, 3, 2, 1])
        same([f["seq"] for f in frames], sorted({f["seq"] for f in frames}))
        same(cook.frames("/topic/countdown.other"), [])


if __name__ == "__main__":
    sys.exit(main())
