// SPDX-License-Identifier: MIT
// peer.mjs - the fan-out of bench-live on Node's ws, as a STOMP broker does it.
//
// CONNECT, SUBSCRIBE and receipts as STOMP 1.2 wants them; then, each whole second, one MESSAGE
// for each subscription, with its own subscription and message-id, as a broker writes them.
import { WebSocketServer } from "ws";

const LIFE_S = 3600;
const destination = "/topic/countdown.bench";
const subscriptions = [];
let messages = 0;

function parse(text) {
    const end = text.indexOf("\n\n");
    const lines = text.slice(0, end).split("\n");
    const headers = {};
    for (const line of lines.slice(1)) {
        const colon = line.indexOf(":");
        headers[line.slice(0, colon)] ??= line.slice(colon + 1);
    }
    return { command: lines[0], headers };
}

function frame(command, headers, body = "") {
    let text = command + "\n";
    for (const name in headers) text += name + ":" + headers[name] + "\n";
    return text + "\n" + body + "\0";
}

function take(socket, { command, headers }) {
    if (command === "CONNECT" || command === "STOMP")
        socket.send(frame("CONNECTED", { version: "1.2", "heart-beat": "0,0" }));
    else if (command === "SUBSCRIBE" && headers.destination === destination)
        subscriptions.push({ socket, id: headers.id });
    else
        socket.send(frame("ERROR", { message: "unknown" }));
    if (headers.receipt !== undefined) socket.send(frame("RECEIPT", { "receipt-id": headers.receipt }));
}

const first = Math.floor(Date.now() / 1000) + 1;
const deadline = (first + LIFE_S) * 1000;

function tick(left) {
    const body = JSON.stringify({ key: "bench", version: "1", type: "TICK", seq: LIFE_S - left,
        payload: { left, leftMs: left * 1000, owner: "me", deadlineEpochMs: deadline } });
    const size = Buffer.byteLength(body);
    for (const { socket, id } of subscriptions)
        socket.send(frame("MESSAGE", { subscription: id, "message-id": ++messages, destination,
            "content-type": "application/json", "content-length": size }, body));
    setTimeout(tick, deadline - (left - 1) * 1000 - Date.now(), left - 1);
}
setTimeout(tick, first * 1000 - Date.now(), LIFE_S);

const server = new WebSocketServer({ host: "127.0.0.1", port: 0, backlog: 4096, perMessageDeflate: false,
    handleProtocols: () => "v12.stomp" });
server.on("connection", (socket) => socket.on("message", (data) => take(socket, parse(data.toString()))));
server.on("listening", () => console.log(`ready on ${server.address().port}`));
