// SPDX-License-Identifier: MIT
// game.mjs URL ROOM - two who play gomoku and one who watches, with @stomp/stompjs.
//
// Prints a line of JSON: what was seen. test/process/room_test.py runs and judges it.
import { Client } from "@stomp/stompjs";
import { WebSocket } from "ws";

globalThis.WebSocket = WebSocket;
const [url, roomId] = process.argv.slice(2);
const WIN = [[7, 7], [7, 8], [8, 7], [8, 8], [9, 7], [9, 8], [10, 7], [10, 8], [11, 7]];

class Player {
    frames = [];
    seats = [];
    fulls = [];
    errors = [];
    waiting = [];

    async connect() {
        this.client = new Client({ brokerURL: url, reconnectDelay: 0 });
        await new Promise((done) => { this.client.onConnect = done; this.client.activate(); });
        for (const [destination, into] of [[`/topic/room.${roomId}`, this.frames],
            ["/user/queue/gomoku.seat", this.seats], ["/user/queue/gomoku.full", this.fulls],
            ["/user/queue/errors", this.errors]]) {
            this.client.subscribe(destination, (message) => { into.push(JSON.parse(message.body)); this.look(); });
        }
        return this;
    }

    look() {
        this.waiting = this.waiting.filter(({ condition, done }) => !condition() || done());
    }

    until(condition) {
        return new Promise((done) => { this.waiting.push({ condition, done }); this.look(); });
    }

    send(verb, more = {}, headers = {}) {
        const seatKey = this.seats.at(-1)?.seatKey ?? undefined;
        this.client.publish({ destination: `/app/gomoku.${verb}`, headers,
            body: JSON.stringify({ roomId, seatKey, ...more }) });
    }

    async resume() {
        this.send("resume");
        await this.until(() => this.fulls.length > 0);
    }

    state() {
        return this.frames.filter((frame) => frame.type === "STATE").at(-1)?.payload;
    }

    async step(gameId, step) {
        await this.until(() => this.state()?.state.gameId === gameId && this.state().state.step === step);
    }

    async place(gameId, [x, y]) {
        this.send("place", { gameId, x, y });
    }
}

const players = await Promise.all([0, 1, 2].map(() => new Player().connect()));
const [first, second, guest] = players;
for (const player of players) await player.resume();
const seen = { seats: players.map((player) => player.seats[0]), mySides: players.map((player) => player.fulls[0].mySide),
    ends: [] };

const gameId = first.fulls[0].gameId;
first.send("ready");
second.send("ready");
await second.step(gameId, 0);
second.place(gameId, [0, 0]);
await second.until(() => second.errors.length === 1);
for (const [i, move] of WIN.entries()) {
    const player = i % 2 === 0 ? first : second;
    await player.step(gameId, i);
    player.place(gameId, move);
}
await guest.until(() => guest.state()?.state.over);
seen.ends.push(guest.state());

second.send("restart");
const swapped = [first, second].map((player) => player.until(() => player.seats.length === 2));
await Promise.all(swapped);
seen.swapped = [first, second].map((player) => player.seats[1].side);
first.send("ready");
const next = `${roomId}-2`;
await second.step(next, 0);
second.place(next, [7, 7]);
await first.step(next, 1);
const receipt = new Promise((done) => first.client.watchForReceipt("gone", () => done(true)));
first.send("resign", {}, { receipt: "gone" });
seen.receipt = await receipt;
await guest.until(() => guest.state()?.state.gameId === next && guest.state().state.over);
seen.ends.push(guest.state());
seen.errors = players.flatMap((player) => player.errors);
seen.rising = players.every(({ frames }) => frames.every((frame, i) => i === 0 || frame.seq > frames[i - 1].seq));
await Promise.all(players.map((player) => player.client.deactivate()));
console.log(JSON.stringify(seen));
