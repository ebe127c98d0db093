// SPDX-License-Identifier: MIT
// client.mjs URL CASE - what @stomp/stompjs, the client that pages use, makes of a Tocsin server.
//
// Prints a line of JSON: what was seen. test/process/stomp_test.py installs the packages, runs the
// cases and judges them.
import { Client } from "@stomp/stompjs";
import { WebSocket } from "ws";

globalThis.WebSocket = WebSocket;
const [url, name, passcode] = process.argv.slice(2);
const seen = { errors: [], closed: [] };

function client(more = {}) {
    const made = new Client({ brokerURL: url, reconnectDelay: 0,
        connectHeaders: passcode ? { login: "me", passcode } : {}, ...more });
    made.onStompError = (frame) => seen.errors.push([frame.headers.message, frame.body]);
    made.onWebSocketClose = (event) => seen.closed.push(event.code);
    return made;
}

const connected = (made) => new Promise((done) => { made.onConnect = () => done(made); made.activate(); });
const closed = (made) => new Promise((done) => {
    const before = made.onWebSocketClose;
    made.onWebSocketClose = (event) => { before(event); done(); };
});
const receipt = (made, id) => new Promise((done) => made.watchForReceipt(id, () => done(id)));
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

function message(made, destination, headers = {}) {
    let subscription;
    const come = new Promise((done) => {
        subscription = made.subscribe(destination, (m) => done(m), headers);
    });
    return { come, subscription };
}

const cases = {
    // Connect, subscribe, send, receive, receipts, unsubscribe, disconnect.
    async talk() {
        const made = await connected(client());
        seen.version = made.connectedVersion;
        seen.protocol = made.webSocket.protocol;
        const { come, subscription } = message(made, "/user/queue/errors");
        const done = receipt(made, "r:1\\");
        made.publish({ destination: "/app/nothing", body: "{}", headers: { receipt: "r:1\\" } });
        const got = await come;
        seen.message = { body: JSON.parse(got.body), destination: got.headers.destination,
            type: got.headers["content-type"], subscription: got.headers.subscription };
        seen.receipt = await done;
        subscription.unsubscribe({ receipt: "u" });
        await receipt(made, "u");
        await made.deactivate();
    },
    // Frames cut into many WebSocket messages, and frames that are binary.
    async split() {
        for (const more of [{ splitLargeFrames: true, maxWebSocketChunkSize: 100 },
            { forceBinaryWSFrames: true }, { appendMissingNULLonIncoming: false }]) {
            const made = await connected(client(more));
            const { come } = message(made, "/user/queue/errors");
            const done = receipt(made, "large");
            made.publish({ destination: "/app/x", binaryBody: new Uint8Array(5000).fill(0),
                headers: { receipt: "large" } });
            // stompjs cuts between code units: what takes two of them does not survive it.
            const text = more.splitLargeFrames ? "ä€" : "ä€🔔";
            made.publish({ destination: "/app/y", body: text.repeat(300) });
            await come;
            await done;
            await made.deactivate();
        }
    },
    async wrong() {
        const made = client();
        const gone = closed(made);
        made.activate();
        await gone;
        await made.deactivate();
    },
    // Heart-beats of a second both ways; nothing else is said for four.
    async beats() {
        const made = await connected(client({ heartbeatIncoming: 1000, heartbeatOutgoing: 1000 }));
        await sleep(4500);
        seen.still = made.connected;
        made.publish({ destination: "/app/x", headers: { receipt: "after" } });
        seen.receipt = await receipt(made, "after");
        await made.deactivate();
    },
    async transactions() {
        const made = await connected(client());
        const bodies = [];
        made.subscribe("/user/queue/errors", (m) => { bodies.push(JSON.parse(m.body).destination); m.ack(); },
            { ack: "client-individual" });
        const first = made.begin();
        made.publish({ destination: "/app/a", headers: { transaction: first.id } });
        const second = made.begin();
        made.publish({ destination: "/app/b", headers: { transaction: second.id } });
        made.publish({ destination: "/app/c" });
        second.abort();
        first.commit();
        made.publish({ destination: "/app/d", headers: { receipt: "all" } });
        await receipt(made, "all");
        seen.bodies = bodies;
        await made.deactivate();
    },
    // All at once, cut off, and back again, as after a network failure.
    async storm() {
        const count = 200;
        let connects = 0;
        const all = Array.from({ length: count }, () => client({ reconnectDelay: 50 }));
        const again = all.map((made) => new Promise((done) => {
            let times = 0;
            made.onConnect = () => {
                connects++;
                made.subscribe("/topic/storm", () => {});
                if (++times === 3) done();
                else made.webSocket.terminate();
            };
            made.activate();
        }));
        await Promise.all(again);
        seen.connects = connects;
        await Promise.all(all.map((made) => made.deactivate()));
        seen.closed = seen.closed.length;
    },
};

await cases[name]();
console.log(JSON.stringify(seen));
