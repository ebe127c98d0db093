// SPDX-License-Identifier: MIT
// node dev/mock.mjs [--port N] [--data FILE] [--token T] [--host A] - a stand-in for the server,
// for those who work on the page: rooms, STOMP, clocks, a machine that plays, all in memory (in FILE
// when one is given, so that it can be killed). It judges less than the real one: of renju only the
// overline. It prints the real one's ready line.

import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { WebSocketServer } from 'ws';

import { buildPage } from '../build.mjs';

const { values: options } = parseArgs({
  options: {
    port: { type: 'string', default: '7401' },
    host: { type: 'string', default: '127.0.0.1' },
    data: { type: 'string' },
    token: { type: 'string' },
  },
});

const SIZE = 15;
const other = (side) => (side === 'X' ? 'O' : 'X');
const id = () => randomBytes(6).toString('hex');

// ---- rooms

const rooms = new Map();

function save() {
  if (!options.data) return;
  const kept = [...rooms.values()].map(({ timer, ticker, thought, ...room }) => ({ ...room, seats: {
    X: { ...room.seats.X, session: null }, O: { ...room.seats.O, session: null } }, watchers: [] }));
  writeFileSync(`${options.data}.new`, JSON.stringify(kept));
  renameSync(`${options.data}.new`, options.data);
}

function newState(gameId) {
  return { gameId, step: 0, board: '.'.repeat(SIZE * SIZE), current: 'X', over: false, winner: null,
    lastMove: null, line: null };
}

function newSeat(ai) {
  return { key: null, ready: ai, ai, session: null, wantsRestart: false };
}

function makeRoom(mode, rule, rules) {
  const room = { id: id(), gameId: id(), mode, rule, rules, clocks: newClocks(rules), started: null, phase: 'WAITING', endedBy: null, seq: 0, watchers: [],
    seats: { X: newSeat(false), O: newSeat(mode === 'PVE') }, series: { X: 0, O: 0, draws: 0 }, deadline: null };
  room.state = newState(room.gameId);
  rooms.set(room.id, room);
  save();
  return room;
}

function snapshot(room) {
  const seat = ({ key, ready, ai, session, wantsRestart }) => ({ taken: ai || key !== null, ready,
    connected: ai || session !== null, ai, wantsRestart });
  return { roomId: room.id, gameId: room.gameId, mode: room.mode, rule: room.rule, turnSeconds: turnSeconds(room),
    phase: room.phase, seats: { X: seat(room.seats.X), O: seat(room.seats.O) }, state: room.state, endedBy: room.endedBy, series: room.series,
    spectators: room.watchers.length,
    clock: clockReport(room),
    seq: room.seq };
}

function broadcast(room, type, payload) {
  room.seq++;
  const body = { roomId: room.id, gameId: room.gameId, type, seq: room.seq,
    payload: type === 'SNAPSHOT' ? { ...snapshot(room) } : payload };
  publish(`/topic/room.${room.id}`, body);
}

// ---- clocks, as src/service/countdown/clock.h has them

function readRules(wish) {
  const seconds = (text) => (typeof text === 'number' ? text : Number.parseFloat(text) * (/m$/.test(text) ? 60000 : 1000));
  const { mode = 'turn', bank, extra = 0, periods = 0 } = wish.clock ?? {};
  return { mode, bankMs: bank === undefined ? (wish.turn_seconds ?? 30) * 1000 : seconds(bank), extraMs: seconds(extra), periods };
}

function newClocks({ mode, bankMs, extraMs, periods }) {
  const bank = bankMs + (mode === 'fischer' || mode === 'bronstein' ? extraMs : 0);
  return { X: { bank, periods }, O: { bank, periods } };
}

function allowance({ mode, extraMs }, { bank, periods }) {
  return bank + (mode === 'delay' ? extraMs : mode === 'byoyomi' ? periods * extraMs : 0);
}

const turnSeconds = (room) => Math.ceil(allowance(room.rules, newClocks(room.rules).X) / 1000);

// What is left of a side's clock when so much of a turn was used.
function after({ mode, extraMs }, { bank, periods }, used) {
  if (mode === 'turn') return { bank, periods };
  if (mode === 'delay') return { bank: Math.max(0, bank - Math.max(0, used - extraMs)), periods };
  if (mode !== 'byoyomi') return { bank: Math.max(0, bank - used), periods };
  return { bank: Math.max(0, bank - used), periods: periods - Math.floor(Math.max(0, used - bank) / extraMs) };
}

function chargeMove(room, side) {
  if (room.started === null) return;
  const used = Date.now() - room.started;
  const { mode, extraMs } = room.rules;
  const left = after(room.rules, room.clocks[side], used);
  const back = mode === 'fischer' ? extraMs : mode === 'bronstein' ? Math.min(used, extraMs) : 0;
  room.clocks[side] = { ...left, bank: left.bank + back };
}

function clockReport(room) {
  const { mode, bankMs, extraMs, periods } = room.rules;
  const running = room.deadline !== null;
  const shown = (side) => after(room.rules, room.clocks[side], running && room.state.current === side ? Date.now() - room.started : 0);
  const both = (name) => ({ X: shown('X')[name], O: shown('O')[name] });
  return { side: running ? room.state.current : null, leftMs: running ? Math.max(0, room.deadline - Date.now()) : 0,
    deadlineEpochMs: room.deadline, running, mode, banks: mode === 'turn' ? null : both('bank'),
    ...(mode === 'byoyomi' ? { periods: both('periods') } : {}), rules: { bankMs, extraMs, periods } };
}

function stopClock(room) {
  clearTimeout(room.timer);
  clearInterval(room.ticker);
  room.deadline = null;
  room.started = null;
}

function runClock(room, deadline, started) {
  stopClock(room);
  room.deadline = deadline;
  room.started = started;
  const tick = () => broadcast(room, 'TICK', { left: Math.ceil((deadline - Date.now()) / 1000),
    leftMs: Math.max(0, deadline - Date.now()), side: room.state.current, deadlineEpochMs: deadline,
    serverEpochMs: Date.now() });
  tick();
  room.ticker = setInterval(tick, 1000);
  room.timer = setTimeout(() => timeout(room), Math.max(0, deadline - Date.now()));
}

function timeout(room) {
  const side = room.state.current;
  stopClock(room);
  finish(room, other(side), 'timeout');
  broadcast(room, 'TIMEOUT', { side });
  broadcastState(room);
}

function broadcastState(room) {
  save();
  broadcast(room, 'STATE', { state: room.state, series: room.series });
  broadcast(room, 'SNAPSHOT');
}

function finish(room, winner, endedBy, line = null) {
  stopClock(room);
  room.phase = 'ENDED';
  room.endedBy = endedBy;
  room.state = { ...room.state, over: true, winner, line };
  if (winner === 'DRAW') room.series.draws++;
  else room.series[winner]++;
}

function turn(room) {
  stopClock(room);
  if (room.phase !== 'PLAYING') return;
  if (room.seats[room.state.current].ai) {
    const { gameId } = room;
    room.thought = setTimeout(() => gameId === room.gameId && machineMoves(room), 1000 + Math.random() * 500);
  } else {
    const now = Date.now();
    runClock(room, now + allowance(room.rules, room.clocks[room.state.current]), now);
    save();
    broadcast(room, 'SNAPSHOT');
  }
}

// ---- moves

function lineThrough(board, x, y) {
  const stone = board[y * SIZE + x];
  for (const [dx, dy] of [[1, 0], [0, 1], [1, 1], [1, -1]]) {
    const line = [{ x, y }];
    for (const way of [1, -1]) {
      for (let n = 1; ; n++) {
        const at = { x: x + way * n * dx, y: y + way * n * dy };
        if (at.x < 0 || at.y < 0 || at.x >= SIZE || at.y >= SIZE || board[at.y * SIZE + at.x] !== stone) break;
        if (way === 1) line.push(at);
        else line.unshift(at);
      }
    }
    if (line.length >= 5) return line;
  }
  return null;
}

const put = (board, x, y, side) => board.slice(0, y * SIZE + x) + side + board.slice(y * SIZE + x + 1);

// null, or why not.
function move(room, side, x, y) {
  const { state } = room;
  if (room.phase !== 'PLAYING' || state.over) return ['NOT_PLAYING', 'no game is on'];
  if (state.current !== side) return ['NOT_YOUR_TURN', 'the other side is to move'];
  if (!(x >= 0 && x < SIZE && y >= 0 && y < SIZE)) return ['VALIDATE_FAILED', 'x, y: from 0 to 14 each'];
  if (state.board[y * SIZE + x] !== '.') return ['TAKEN', 'a stone lies there'];
  const board = put(state.board, x, y, side);
  const line = lineThrough(board, x, y);
  if (room.rule === 'RENJU' && side === 'X' && line && line.length > 5) return ['FORBIDDEN_MOVE', 'overline: six or more in a row are forbidden to black'];
  chargeMove(room, side);
  room.state = { ...state, board, step: state.step + 1, current: other(side), lastMove: { x, y } };
  if (line) finish(room, side, 'five', line);
  else if (!board.includes('.')) finish(room, 'DRAW', 'draw');
  stopClock(room);
  broadcastState(room);
  turn(room);
  return null;
}

function machineMoves(room) {
  const { board, current } = room.state;
  const free = [...board].flatMap((cell, i) => (cell === '.' ? [{ x: i % SIZE, y: Math.floor(i / SIZE) }] : []));
  const wins = (side) => free.find(({ x, y }) => lineThrough(put(board, x, y, side), x, y));
  const near = free.filter(({ x, y }) => [...board].some((cell, i) => cell !== '.' &&
    Math.max(Math.abs((i % SIZE) - x), Math.abs(Math.floor(i / SIZE) - y)) === 1));
  const any = near.length > 0 ? near : [{ x: 7, y: 7 }];
  const { x, y } = wins(current) ?? wins(other(current)) ?? any[Math.floor(Math.random() * any.length)];
  move(room, current, x, y);
}

// ---- STOMP

const sessions = new Set();

function frame(command, headers, body = '') {
  const head = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`).join('');
  return `${command}\n${head}\n${body}\0`;
}

function tell(session, destination, body) {
  for (const [subscription, wanted] of session.subscriptions) {
    if (wanted === destination) {
      session.socket.send(frame('MESSAGE', { subscription, destination, 'message-id': id(),
        'content-type': 'application/json' }, JSON.stringify(body)));
    }
  }
}

function publish(destination, body) {
  for (const session of sessions) tell(session, destination, body);
}

function seatOf(room, key) {
  return ['X', 'O'].find((side) => key && room.seats[side].key === key) ?? null;
}

function sit(session, room, key) {
  let side = seatOf(room, key);
  if (key && !side) return ['BAD_SEAT', 'seatKey: not of this room'];
  side ??= ['X', 'O'].find((one) => !room.seats[one].ai && room.seats[one].key === null) ?? null;
  room.watchers = room.watchers.filter((one) => one !== session);
  if (side) {
    const seat = room.seats[side];
    if (seat.session && seat.session !== session) tell(seat.session, '/user/queue/gomoku.kicked', { roomId: room.id, side });
    seat.key ??= id() + id();
    seat.session = session;
  } else {
    room.watchers.push(session);
  }
  session.rooms.add(room);
  save();
  broadcast(room, 'SNAPSHOT');
  tell(session, '/user/queue/gomoku.seat', { roomId: room.id, side, seatKey: side && room.seats[side].key });
  tell(session, '/user/queue/gomoku.full', { ...snapshot(room), mySide: side });
  return null;
}

function begin(room) {
  room.phase = 'PLAYING';
  broadcastState(room);
  turn(room);
}

const commands = {
  resume: (session, room, body) => sit(session, room, body.seatKey),
  ready(session, room, body) {
    const side = seatOf(room, body.seatKey);
    if (!side) return ['BAD_SEAT', 'seatKey: not of this room'];
    room.seats[side].ready = true;
    if (room.phase === 'WAITING' && room.seats.X.ready && room.seats.O.ready) begin(room);
    else broadcast(room, 'SNAPSHOT');
    return null;
  },
  place(session, room, body) {
    const side = seatOf(room, body.seatKey);
    if (!side) return ['BAD_SEAT', 'seatKey: not of this room'];
    if (body.gameId !== room.gameId) return ['STALE_GAME', 'gameId: of another game'];
    return move(room, side, body.x, body.y);
  },
  resign(session, room, body) {
    const side = seatOf(room, body.seatKey);
    if (!side || room.phase !== 'PLAYING') return ['GAME_OVER', 'nothing to resign'];
    finish(room, other(side), 'resign');
    broadcastState(room);
    return null;
  },
  restart(session, room, body) {
    const side = seatOf(room, body.seatKey);
    if (!side) return ['BAD_SEAT', 'seatKey: not of this room'];
    if (room.phase === 'PLAYING' && room.state.step === 0) return null; // it is new
    if (room.phase === 'PLAYING' && room.mode === 'PVP' && !room.seats[other(side)].wantsRestart) {
      room.seats[side].wantsRestart = true;
      broadcast(room, 'SNAPSHOT');
      return null;
    }
    newGame(room, side);
    return null;
  },
};

// At once when both are here; else the room waits, and who asked is ready.
function newGame(room, asker) {
  const here = ({ ai, session }) => ai || session !== null;
  stopClock(room);
  clearTimeout(room.thought);
  room.gameId = id();
  room.endedBy = null;
  room.state = newState(room.gameId);
  room.clocks = newClocks(room.rules);
  for (const side of ['X', 'O']) room.seats[side].wantsRestart = false;
  const all = here(room.seats.X) && here(room.seats.O);
  for (const side of ['X', 'O']) room.seats[side].ready = all || side === asker || room.seats[side].ai;
  room.seats = { X: room.seats.O, O: room.seats.X };
  room.series = { X: room.series.O, O: room.series.X, draws: room.series.draws };
  if (all) {
    begin(room);
  } else {
    room.phase = 'WAITING';
    broadcastState(room);
  }
}

function onSend(session, destination, text) {
  const name = destination.replace('/app/gomoku.', '');
  let body = {};
  try {
    body = JSON.parse(text);
  } catch {
    // Stays empty, and is refused below.
  }
  const room = rooms.get(body.roomId);
  const refusal = !room ? ['NOT_FOUND', 'roomId: no such room'] : commands[name]?.(session, room, body);
  if (refusal) {
    tell(session, '/user/queue/errors', { roomId: body.roomId, gameId: room?.gameId ?? null, type: 'ERROR',
      code: refusal[0], detail: refusal[1] });
  }
}

function onFrame(session, text) {
  const end = text.indexOf('\n\n');
  const [command, ...lines] = text.slice(0, end).trim().split('\n');
  const headers = Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
  const body = text.slice(end + 2).replace(/\0[\n]*$/, '');
  switch (command) {
    case 'CONNECT':
    case 'STOMP':
      if (options.token && headers.passcode !== options.token) {
        session.socket.send(frame('ERROR', { message: 'UNAUTHORIZED' }, 'passcode: a token of this server is needed'));
        session.socket.close();
      } else session.socket.send(frame('CONNECTED', { version: '1.2', 'heart-beat': '10000,10000' }));
      break;
    case 'SUBSCRIBE':
      session.subscriptions.set(headers.id, headers.destination);
      break;
    case 'UNSUBSCRIBE':
      session.subscriptions.delete(headers.id);
      break;
    case 'SEND':
      onSend(session, headers.destination, body);
      break;
    case 'DISCONNECT':
      if (headers.receipt) session.socket.send(frame('RECEIPT', { 'receipt-id': headers.receipt }));
      break;
  }
}

function leave(session) {
  sessions.delete(session);
  for (const room of session.rooms) {
    room.watchers = room.watchers.filter((one) => one !== session);
    for (const side of ['X', 'O']) if (room.seats[side].session === session) room.seats[side].session = null;
    broadcast(room, 'SNAPSHOT');
  }
}

// ---- HTTP

const folder = await mkdtemp(join(tmpdir(), 'tocsin-page-'));
await buildPage(folder, { minify: false });

const types = { '/': ['index.html', 'text/html; charset=utf-8'], '/app.js': ['app.js', 'text/javascript; charset=utf-8'],
  '/app.css': ['app.css', 'text/css; charset=utf-8'], '/favicon.svg': ['favicon.svg', 'image/svg+xml'] };
const POLICY = "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'";

function answer(response, status, body) {
  response.writeHead(status, { 'Content-Type': status < 400 ? 'application/json' : 'application/problem+json' });
  response.end(JSON.stringify(body));
}

function listing(room) {
  const there = ({ key, ai }) => key !== null || ai;
  return { room_id: room.id, game_id: room.gameId, mode: room.mode, rule: room.rule, turn_seconds: turnSeconds(room), clock: room.rules,
    phase: room.phase, players: [room.seats.X, room.seats.O].filter(there).length, spectators: room.watchers.length };
}

function listRooms(response, query) {
  const limit = Number(query.get('limit') ?? 100);
  const found = [...rooms.values()].filter((room) => !query.has('phase') || room.phase === query.get('phase'));
  if (query.get('order') === 'newest') found.reverse();
  answer(response, 200, { rooms: found.slice(0, limit).map(listing), next: found.length > limit ? limit : null });
}

async function onRequest(request, response) {
  const { pathname, searchParams: query } = new URL(request.url, 'http://mock');
  const file = types[pathname];
  if (file) {
    const body = await readFile(join(folder, file[0]));
    response.writeHead(200, { 'Content-Type': file[1], 'Content-Security-Policy': POLICY, 'Cache-Control': 'no-cache',
      ETag: `"${createHash('sha256').update(body).digest('hex').slice(0, 16)}"` });
    response.end(body);
    return;
  }
  if (options.token && request.headers.authorization !== `Bearer ${options.token}`) {
    answer(response, 401, { status: 401, code: 'UNAUTHORIZED', title: 'Unauthorized', detail: 'a token is needed' });
  } else if (pathname === '/v1/info') {
    answer(response, 200, { version: 'mock' });
  } else if (pathname === '/v1/rooms' && request.method === 'POST') {
    let text = '';
    for await (const piece of request) text += piece;
    const wish = JSON.parse(text || '{}');
    answer(response, 201, listing(makeRoom(wish.mode ?? 'PVP', wish.rule ?? 'STANDARD', readRules(wish))));
  } else if (pathname === '/v1/rooms') {
    listRooms(response, query);
  } else if (pathname.startsWith('/v1/rooms/') && rooms.has(decodeURIComponent(pathname.slice(10)))) {
    answer(response, 200, snapshot(rooms.get(decodeURIComponent(pathname.slice(10)))));
  } else {
    answer(response, 404, { status: 404, code: 'NOT_FOUND', title: 'Not Found', detail: 'there is nothing here' });
  }
}

// ---- on with what was under way

if (options.data && existsSync(options.data)) {
  for (const room of JSON.parse(readFileSync(options.data, 'utf8'))) {
    rooms.set(room.id, room);
    if (room.phase !== 'PLAYING') continue;
    if (room.deadline !== null) runClock(room, room.deadline, room.started);
    else turn(room);
  }
}

const server = createServer((request, response) => {
  onRequest(request, response).catch((error) => answer(response, 500, { detail: String(error) }));
});
const sockets = new WebSocketServer({ server, path: '/ws', handleProtocols: (offered) => (offered.has('v12.stomp') ? 'v12.stomp' : false) });
sockets.on('connection', (socket) => {
  const session = { socket, subscriptions: new Map(), rooms: new Set() };
  sessions.add(session);
  const beat = setInterval(() => socket.send('\n'), 10000);
  socket.on('message', (data) => {
    const text = String(data);
    if (text.trim() !== '') onFrame(session, text.replace(/^\n+/, ''));
  });
  socket.on('close', () => {
    clearInterval(beat);
    leave(session);
  });
});
server.listen(Number(options.port), options.host, () => {
  console.log(`tocsin ready on http://${options.host}:${server.address().port} (store mock, ${rooms.size} records, node mock)`);
});
