#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""stomp_test.py TOCSIN [NAME...] - STOMP over WebSocket, with clients that others have written.

@stomp/stompjs under node (test/stomp), Debian's python3-websockets, and sockets that do what no
client would."""
import asyncio
import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

import stomp_packages
from support import PATIENCE, Server, alone, expect, holds, main, same, test, wait_for

try:
    import websockets
except ModuleNotFoundError:  # this Python is not Debian's own, for which the package is
    sys.path.append("/usr/lib/python3/dist-packages")
    import websockets

TOKEN = "a-token-of-sixteen-or-more"
PROTOCOL = ["v12.stomp"]
KEY = "dGhlIHNhbXBsZSBub25jZQ=="
REQUEST = ("GET /ws HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           f"Sec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\n" "{}\r\n")


# ---- stompjs

def stompjs(server, case, *more):
    return stomp_packages.stompjs("client.mjs", ws_url(server), case, *more)


def ws_url(server):
    return server.url.replace("http", "ws", 1) + "/ws"


@test(clock="system")
def stompjs_connects_subscribes_sends_and_leaves(server):
    seen = stompjs(server, "talk")
    same((seen["version"], seen["protocol"]), ("1.2", "v12.stomp"))
    same(seen["receipt"], "r:1\\")
    refusal = {"code": "NOT_FOUND", "detail": "destination: nobody takes what is sent there"}
    same(seen["message"], {
        "body": {"roomId": None, "gameId": None, "type": "ERROR", "seq": 0, "destination": "/app/nothing", **refusal,
                 "payload": refusal},
        "destination": "/user/queue/errors", "type": "application/json", "subscription": "sub-0"})
    same((seen["errors"], seen["closed"]), ([], [1000]))
    wait_for(lambda: server.metric("tocsin_ws_connections") == 0, "the connection to be closed")
    same(server.metric("tocsin_ws_subscriptions"), 0)


@test(clock="system")
def stompjs_may_split_frames_and_send_them_as_binary(server):
    seen = stompjs(server, "split")
    same((seen["errors"], seen["closed"]), ([], [1000, 1000, 1000]))


@test(clock="system", token=TOKEN)
def stompjs_is_refused_without_the_passcode(server):
    for passcode in ((), ("wrong-wrong-wrong-wrong",)):
        seen = stompjs(server, "wrong", *passcode)
        same(seen["errors"], [["not allowed", "passcode: a token of this server is needed"]])
        same(seen["closed"], [1008])
    same(stompjs(server, "talk", TOKEN)["errors"], [])
    same(server.metric('tocsin_http_refused_total{reason="unauthorized"}'), 2)


@test("--set", "ws.heart_beat=1s", clock="system")
def stompjs_and_the_server_keep_each_other_awake(server):
    seen = stompjs(server, "beats")
    same((seen["still"], seen["receipt"], seen["closed"]), (True, "after", [1000]))
    same(server.metric('tocsin_ws_dropped_total{reason="silent"}'), 0)


@test(clock="system")
def stompjs_has_transactions_and_acks(server):
    seen = stompjs(server, "transactions")
    same(seen["bodies"], ["/app/c", "/app/a", "/app/d"])
    same((seen["errors"], seen["closed"]), ([], [1000]))


@test(clock="system")
def a_reconnect_storm_passes(server):
    seen = stompjs(server, "storm")
    same(seen["connects"], 600)
    wait_for(lambda: server.metric("tocsin_ws_connections") == 0, "all to be gone")
    same(server.metric("tocsin_ws_subscriptions"), 0)
    same(server.metric("tocsin_ws_topics"), 0)
    same(server.metric("tocsin_ws_sessions_total"), 600)


# ---- python3-websockets

def frame(command, body="", **headers):
    lines = "".join(f"{name.replace('_', '-')}:{value}\n" for name, value in headers.items())
    return f"{command}\n{lines}\n{body}\0"


CONNECT = frame("CONNECT", accept_version="1.2")


async def connect(server, **options):
    socket_ = await websockets.connect(ws_url(server), subprotocols=PROTOCOL, **options)
    await socket_.send(CONNECT)
    holds(await socket_.recv(), "CONNECTED\nversion:1.2\n")
    return socket_


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, PATIENCE))


async def echo(socket_, name):
    """It is served: a receipt comes back."""
    await socket_.send(frame("SEND", "x", destination="/app/x", receipt=name))
    answer = await socket_.recv()
    same(answer, frame("RECEIPT", receipt_id=name))


@test(clock="system")
def python_connects_and_gets_receipts(server):
    async def go():
        socket_ = await connect(server)
        same(socket_.subprotocol, "v12.stomp")
        await echo(socket_, "1")
        await (await socket_.ping())  # answered
        await socket_.send(frame("SUBSCRIBE", id="0", destination="/topic/a", receipt="s"))
        same(await socket_.recv(), frame("RECEIPT", receipt_id="s"))
        same(server.metric("tocsin_ws_topics"), 1)
        # Several frames in a message, and one in several.
        await socket_.send("\n\n" + frame("SEND", destination="/app/x", receipt="2") * 2 + "\n")
        same([await socket_.recv() for _ in range(2)], [frame("RECEIPT", receipt_id="2")] * 2)
        for letter in frame("SEND", destination="/app/x", receipt="3"):
            await socket_.send(letter.encode())
        same(await socket_.recv(), frame("RECEIPT", receipt_id="3"))
        async def fragments():
            yield "SEND\ndestination:/app/"
            yield "x\nreceipt:4\n\n"
            yield "ä\0"
        await socket_.send(fragments())
        same(await socket_.recv(), frame("RECEIPT", receipt_id="4"))
        await socket_.close(1000)
        same(socket_.close_code, 1000)
    run(go())


@test(clock="system")
def what_is_refused_is_an_error_and_the_end(server):
    async def go(text, message, code):
        socket_ = await connect(server)
        await socket_.send(text)
        holds(await socket_.recv(), "ERROR\n", f"message:{message}\n")
        await socket_.wait_closed()
        same(socket_.close_code, code)
    for text, message, code in (("NONSENSE\n\n\0", "malformed frame", 1002),
                                ("NONSENSE\nreceipt:7\n\n\0", "malformed frame\nversion:1.2\nreceipt-id:7", 1002),
                                (frame("SUBSCRIBE", id="0", destination="/app/x"), "SUBSCRIBE is refused", 1002),
                                (CONNECT, "connected already", 1002)):
        run(go(text, message, code))
    same(server.metric('tocsin_ws_dropped_total{reason="refused"}'), 4)


@test(clock="system")
def a_client_without_stomp_gets_nothing_done(server):
    async def go():
        socket_ = await websockets.connect(ws_url(server), subprotocols=PROTOCOL)
        await socket_.send(frame("SEND", destination="/app/x", receipt="1"))
        holds(await socket_.recv(), "message:CONNECT comes first\n", "receipt-id:1\n")
        await socket_.wait_closed()
        socket_ = await websockets.connect(ws_url(server), subprotocols=PROTOCOL)
        await socket_.send(frame("CONNECT", accept_version="1.0,1.1"))
        holds(await socket_.recv(), "ERROR\n", "version:1.2\n")
        await socket_.wait_closed()
    run(go())


@test("--set", "allowed_origins=https://app.example.org", clock="system")
def a_foreign_origin_is_403(server):
    async def go(origin):
        socket_ = await connect(server, origin=origin)
        await socket_.close()
    run(go("https://app.example.org"))
    run(go(server.url))
    for origin in ("https://evil.example.org", "http://localhost:1", "null"):
        try:
            run(go(origin))
            raise AssertionError(f"{origin} was let in")
        except websockets.InvalidStatusCode as refused:
            same(refused.status_code, 403)
    same(server.metric('tocsin_http_refused_total{reason="foreign"}'), 3)


@test(clock="system")
def what_is_no_handshake_is_refused_with_a_reason(server):
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": KEY,
               "Sec-WebSocket-Version": "13"}
    for more, status, word in (({"Upgrade": "h2c"}, 400, "Upgrade"), ({"Connection": "close"}, 400, "Connection"),
                               ({"Sec-WebSocket-Version": "8"}, 426, "Sec-WebSocket-Version"),
                               ({"Sec-WebSocket-Key": "x"}, 400, "Sec-WebSocket-Key"),
                               ({"Sec-WebSocket-Protocol": "mqtt"}, 400, "v12.stomp")):
        with Connection(server) as connection:
            headers = "".join(f"{k}: {v}\r\n" for k, v in {**upgrade, **more}.items())
            connection.send(f"GET /ws HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n".encode())
            head, _, body = connection.read_until(b"}").decode().partition("\r\n\r\n")
            holds(head, f"HTTP/1.1 {status} ", "application/problem+json")
            same(json.loads(body)["status"], status)
            holds(json.loads(body)["detail"], word)
            if status == 426:
                holds(head, "\r\nSec-WebSocket-Version: 13\r\n")
    expect(server.call("GET", "/ws"), 400, "BAD_REQUEST", "Upgrade: websocket")
    expect(server.call("POST", "/ws", {}), 405, "BAD_REQUEST")


# ---- who breaks the rules

class Connection:
    """A socket, and nothing that would keep it from breaking a rule."""

    def __init__(self, server, receive_bytes=None):
        self.socket = socket.socket()
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(PATIENCE)
        self.socket.connect((server.host, server.port))
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def upgrade(self, more=""):
        self.send(REQUEST.format("localhost", more).encode())
        holds(self.read_until(b"\r\n\r\n").decode(), "HTTP/1.1 101 ")
        return self

    def stomp(self, text=CONNECT):
        self.send_frame(1, text.encode())
        holds(self.frame()[1].decode(), "CONNECTED\n")
        return self

    def send(self, data):
        self.socket.sendall(data)

    def send_frame(self, opcode, payload, masked=True, length=None):
        size = len(payload) if length is None else length
        mask = 0x80 if masked else 0
        if size < 126:
            head = bytes([0x80 | opcode, mask | size])
        elif size < 65536:
            head = bytes([0x80 | opcode, mask | 126]) + size.to_bytes(2, "big")
        else:
            head = bytes([0x80 | opcode, mask | 127]) + size.to_bytes(8, "big")
        self.send(head + (b"\0\0\0\0" if masked else b"") + payload)

    def read_until(self, end):
        while end not in self.rest:
            more = self.socket.recv(65536)
            if not more:
                raise AssertionError(f"it ended after {self.rest[:500]!r}")
            self.rest += more
        at = self.rest.index(end) + len(end)
        seen, self.rest = self.rest[:at], self.rest[at:]
        return seen

    def take(self, size):
        while len(self.rest) < size:
            more = self.socket.recv(65536)
            if not more:
                raise EOFError
            self.rest += more
        seen, self.rest = self.rest[:size], self.rest[size:]
        return seen

    def frame(self):
        """(opcode, payload)"""
        first, size = self.take(2)
        if size == 126:
            size = int.from_bytes(self.take(2), "big")
        elif size == 127:
            size = int.from_bytes(self.take(8), "big")
        return first & 15, self.take(size)

    def close_code(self):
        """Of the close frame that comes, and then the end."""
        while True:
            opcode, payload = self.frame()
            if opcode == 8:
                same(self.socket.recv(1), b"", "after the close frame")
                return int.from_bytes(payload[:2], "big")

    def served(self, name):
        self.send_frame(1, frame("SEND", destination="/app/x", receipt=name).encode())
        while True:
            if self.frame()[1] == frame("RECEIPT", receipt_id=name).encode():
                return


@test(clock="system")
def who_breaks_the_protocol_is_told_which_rule(server):
    with Connection(server) as other:
        other.upgrade().stomp()
        for send, code in ((lambda c: c.send_frame(1, b"hello", masked=False), 1002),
                           (lambda c: c.send(b"\xf1\x80\0\0\0\0"), 1002),
                           (lambda c: c.send_frame(3, b""), 1002),
                           (lambda c: c.send_frame(9, b"x" * 126), 1002),
                           (lambda c: c.send_frame(1, b"\xff"), 1007),
                           (lambda c: c.send_frame(8, b"\x03\xe8bye"), 1000),
                           (lambda c: c.send_frame(8, b"\x03\xed"), 1002)):
            with Connection(server) as connection:
                connection.upgrade().stomp()
                send(connection)
                same(connection.close_code(), code)
        other.served("still here")
    same(server.metric('tocsin_ws_dropped_total{reason="broken"}'), 6)


@test(clock="system")
def a_frame_of_10_mb_is_refused_and_others_are_not_harmed(server):
    with Connection(server) as other, Connection(server) as connection:
        other.upgrade().stomp()
        connection.upgrade().stomp()
        try:
            connection.send_frame(2, b"x" * (10 << 20))
        except (BrokenPipeError, ConnectionResetError):
            pass  # it was cut off before all was sent
        try:
            same(connection.close_code(), 1009)
        except ConnectionResetError:
            pass  # 4 MB of what nobody wants is enough
        other.served("still here")
    with Connection(server) as connection:  # one that says so and sends nothing
        connection.upgrade().stomp()
        connection.send_frame(2, b"", length=10 << 20)
        same(connection.close_code(), 1009)
    same(server.metric('tocsin_ws_dropped_total{reason="too_large"}'), 2)
    holds(server.get("/healthz").body.decode(), "UP")


@test("--set", "ws.queue_bytes=64KiB", clock="system")
def who_never_reads_is_dropped_and_others_are_not_harmed(server):
    one = frame("SEND", destination="/app/x", receipt="r" * 250).encode()
    with Connection(server) as other, Connection(server, receive_bytes=4096) as connection:
        other.upgrade().stomp()
        connection.upgrade().stomp()
        connection.send_frame(1, frame("SUBSCRIBE", id="0", destination="/user/queue/errors").encode())
        worst = 0.0
        try:
            for i in range(2000):
                connection.send_frame(1, one * 100)
                if i % 50 == 0:
                    start = time.monotonic()
                    other.served(f"still here {i}")
                    worst = max(worst, time.monotonic() - start)
        except (BrokenPipeError, ConnectionResetError):
            pass
        wait_for(lambda: server.metric('tocsin_ws_dropped_total{reason="slow"}') == 1, "it to be dropped")
        wait_for(lambda: server.metric("tocsin_ws_connections") == 1, "it to be cut off")
        other.served("after")
        same(worst < 2.0, True, f"the other one waited {worst:.3f} s")


@test("--set", "limits.head_timeout=2s", clock="system")
def a_thousand_silent_sockets_do_no_harm(server):
    silent = [Connection(server) for _ in range(1000)]
    try:
        for connection in silent:
            connection.send(REQUEST.format("localhost", "").encode())
        for connection in silent:
            holds(connection.read_until(b"\r\n\r\n").decode(), "HTTP/1.1 101 ")
        same(server.metric("tocsin_ws_connections"), 1000)
        with Connection(server) as other:
            other.upgrade().stomp()
            other.served("served")
            for connection in silent[:10]:
                same(connection.close_code(), 1008)  # no CONNECT in time
            other.served("still served")
    finally:
        for connection in silent:
            connection.socket.close()
    wait_for(lambda: server.metric("tocsin_ws_connections") == 0, "all to be gone")


@test("--set", "ws.heart_beat=1s", clock="system")
def who_breaks_its_heart_beat_is_cut_off(server):
    with Connection(server) as connection:
        connection.upgrade().stomp(frame("CONNECT", accept_version="1.2", heart_beat="1000,1000"))
        start = time.monotonic()
        beats = 0
        while True:
            opcode, payload = connection.frame()
            if opcode == 8:
                break
            same(payload, b"\n")
            beats += 1
        same(int.from_bytes(payload[:2], "big"), 1008)
        took = time.monotonic() - start
        same(1.9 < took < 6.0 and beats >= 1, True, f"{took:.1f} s, {beats} beats")
    same(server.metric('tocsin_ws_dropped_total{reason="silent"}'), 1)


@test("--set", "ws.connections=3", clock="system")
def as_many_as_may_be_and_no_more(server):
    connections = [Connection(server).upgrade() for _ in range(3)]
    with Connection(server) as more:
        more.send(REQUEST.format("localhost", "").encode())
        holds(more.read_until(b"}").decode(), "HTTP/1.1 503 ", "Retry-After: 1", "ws.connections")
    connections[0].socket.close()
    wait_for(lambda: server.metric("tocsin_ws_connections") == 2, "one to be gone")
    connections[0] = Connection(server).upgrade().stomp()
    for connection in connections:
        connection.socket.close()


# ---- the server ends

@test(clock="system")
def a_server_that_stops_says_good_bye(server):
    with Connection(server) as connection, Connection(server) as deaf:
        connection.upgrade().stomp()
        deaf.upgrade()
        server.process.terminate()
        same(connection.close_code(), 1001)
        connection.socket.close()
        start = time.monotonic()
        same(server.process.wait(PATIENCE), 0)
        same(time.monotonic() - start < 10, True, "a client that does not answer does not hold it up")


# ---- TLS

@alone
def it_works_over_tls():
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = os.path.join(folder, "key.pem"), os.path.join(folder, "certificate.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-keyout", key, "-out", certificate, "-days", "1", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        with Server("--set", f"tls.certificate={certificate}", "--set", f"tls.key={key}", clock="system") as server:
            async def go():
                socket_ = await connect(server, ssl=ssl.create_default_context(cafile=certificate))
                for i in range(3):
                    await echo(socket_, str(i))
                await socket_.send(frame("SEND", "x" * 200000, destination="/app/x", receipt="large"))
                same(await socket_.recv(), frame("RECEIPT", receipt_id="large"))
                await socket_.close()
            run(go())
            same(server.stop(), 0)


if __name__ == "__main__":
    sys.exit(main())
