# SPDX-License-Identifier: MIT
"""Somebody at a gomoku board: STOMP over WebSocket by Debian's python3-websockets.

    with Player(server.url, room_id) as black:
        black.resume()                      # a seat: black.side, black.key
        black.do("ready")                   # None, or the code it was refused with
        black.next("STATE")["payload"]      # the next frame of this type, whatever lies between

All players share one thread that reads for them; whoever tests waits for what it needs."""
import asyncio
import json
import sys
import threading

try:
    import websockets
except ModuleNotFoundError:  # this Python is not Debian's own, for which the package is
    sys.path.append("/usr/lib/python3/dist-packages")
    import websockets

PATIENCE = 30.0
QUEUES = ("gomoku.seat", "gomoku.full", "gomoku.kicked", "errors")


class Loop:
    lock, loop = threading.Lock(), None

    @classmethod
    def run(cls, coroutine):
        with cls.lock:
            if cls.loop is None:
                cls.loop = asyncio.new_event_loop()
                threading.Thread(target=cls.loop.run_forever, daemon=True).start()
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, cls.loop).result(PATIENCE)
        except websockets.WebSocketException as error:
            raise ConnectionError(f"the connection is gone: {error}") from error


def escaped(value):
    for letter, text in (("\\", "\\\\"), ("\n", "\\n"), (":", "\\c")):
        value = str(value).replace(letter, text)
    return value


def frame(command, body="", **headers):
    lines = "".join(f"{name.replace('_', '-')}:{escaped(value)}\n" for name, value in headers.items())
    return f"{command}\n{lines}\n{body}\0"


def parsed(text):
    head, _, body = text.partition("\n\n")
    command, *lines = head.split("\n")
    return command, dict(line.split(":", 1) for line in lines), body.rstrip("\n").rstrip("\0")


class Listener:
    """A connection with subscriptions: what came, in order."""

    def __init__(self, url, *destinations, passcode=None):
        self.changed, self.seen, self.receipts, self.gone = threading.Condition(), [], {}, False
        self.count, self.at, self.ahead = 0, 0, []
        self.url, self.login = url.replace("http", "ws", 1) + "/ws", {"login": "me", "passcode": passcode} if passcode else {}
        Loop.run(self.open())
        for destination in destinations:
            self.subscribe(destination)

    async def open(self):
        self.socket = await websockets.connect(self.url, subprotocols=["v12.stomp"], max_queue=None)
        await self.socket.send(frame("CONNECT", accept_version="1.2", host="localhost", **self.login))
        command, _, body = parsed(await self.socket.recv())
        if command != "CONNECTED":
            raise AssertionError(f"{command}: {body}")
        self.reader = asyncio.ensure_future(self.read())

    async def read(self):
        try:
            async for text in self.socket:
                if text.strip("\n"):
                    self.take(*parsed(text))
        except websockets.ConnectionClosed:
            pass
        with self.changed:
            self.gone = True
            self.changed.notify_all()

    def take(self, command, headers, body):
        with self.changed:
            if command == "MESSAGE":
                self.seen.append((headers["destination"].replace("\\c", ":"), json.loads(body)))
            elif command == "RECEIPT":
                self.receipts[headers["receipt-id"]] = len(self.seen)  # what had come before it
            else:
                self.seen.append((command, body))
            self.changed.notify_all()

    def wait(self, condition, what):
        held = []
        with self.changed:
            self.changed.wait_for(lambda: held or condition() and not held.append(1) or self.gone, PATIENCE)
            if not held:
                raise AssertionError(f"{'gone' if self.gone else 'not in time'}: {what}; the last was {str(self.seen[-3:])[:1000]}")

    def command(self, command, body="", **headers):
        """Sent, and its receipt has come: what came meanwhile is `ahead`."""
        self.count += 1
        name, before = f"r{self.count}", len(self.seen)
        Loop.run(self.socket.send(frame(command, body, receipt=name, **headers)))
        self.wait(lambda: name in self.receipts, f"the receipt of {command} {body}")
        self.ahead = self.seen[before:self.receipts[name]]

    def subscribe(self, destination):
        self.command("SUBSCRIBE", id=destination, destination=destination)

    def frames(self, destination):
        with self.changed:
            return [body for where, body in self.seen if where == destination]

    def next_of(self, wanted, what):
        """The next message that is wanted; those before it are passed over."""
        def find():
            while self.at < len(self.seen):
                self.at += 1
                if wanted(*self.seen[self.at - 1]):
                    return True
            return False
        self.wait(find, what)
        return self.seen[self.at - 1][1]

    def close(self):
        Loop.run(self.socket.close())

    def cut(self):
        """As when the network fails: no good-bye."""
        async def go():
            self.socket.transport.abort()
        Loop.run(go())
        self.wait(lambda: self.gone, "the end")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Player(Listener):
    def __init__(self, url, room, **options):
        self.room, self.side, self.key, self.game = room, None, None, None
        self.topic = f"/topic/room.{room}"
        super().__init__(url, self.topic, *(f"/user/queue/{queue}" for queue in QUEUES), **options)

    def told(self, queue):
        return self.frames(f"/user/queue/{queue}")

    @property
    def all(self):
        """Every frame of the room so far."""
        return self.frames(self.topic)

    def do(self, verb, **body):
        """None when it was done, else the code of its refusal."""
        return self.raw(verb, json.dumps({"roomId": self.room, **({"seatKey": self.key} if self.key else {}), **body}))

    def raw(self, verb, text):
        before = len(self.told("errors"))
        self.command("SEND", text, destination=f"/app/gomoku.{verb}")
        errors = self.told("errors")[before:]
        return errors[-1]["code"] if errors else None

    def resume(self, key=None):
        self.key = key
        before = len(self.told("gomoku.full"))
        code = self.do("resume")
        if code is None:
            self.wait(lambda: len(self.told("gomoku.full")) > before, "the room")
            seat = self.told("gomoku.seat")[-1]
            self.side, self.key = seat["side"], seat["seatKey"]
            self.game = self.told("gomoku.full")[-1]["gameId"]
        return code

    def place(self, x, y, game=None):
        return self.do("place", gameId=game or self.game, x=x, y=y)

    def next(self, kind):
        got = self.next_of(lambda where, body: where == self.topic and body["type"] == kind, kind)
        self.game = got["gameId"]
        return got

    def reach(self, step):
        """The STATE with so many stones."""
        return self.next_of(lambda where, body: where == self.topic and body["type"] == "STATE"
                            and body["payload"]["state"]["step"] == step, f"stone {step}")
