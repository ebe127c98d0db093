// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';

import { leftNow, readClock } from '../src/clock';
import { EMPTY_BOARD, type Frame, readFrame, readRoom, type Side } from '../src/frames';
import { asksRestart, statusOf } from '../src/status';
import { apply, enter, myTurn, place, refuse, sit, type View } from '../src/view';

const seat = { taken: true, ready: true, connected: true, ai: false, wantsRestart: false };

function state(more: object = {}) {
  return { gameId: 'g1', step: 0, board: EMPTY_BOARD, current: 'X', over: false, winner: null, lastMove: null, line: null, ...more };
}

function whole(more: object = {}) {
  return {
    roomId: 'r', gameId: 'g1', mode: 'PVP', rule: 'STANDARD', turnSeconds: 30, phase: 'PLAYING',
    seats: { X: seat, O: seat }, state: state(), series: { X: 0, O: 0, draws: 0 }, spectators: 0,
    clock: { side: 'X', leftMs: 30000, deadlineEpochMs: 5, running: true, mode: 'turn', banks: null }, seq: 10, ...more,
  };
}

function room(mySide: Side | null = 'X', more: object = {}): View {
  return enter(readRoom(whole(more)), mySide, null, 0);
}

function frame(type: string, seq: number, payload: object, gameId = 'g1', roomId = 'r'): Frame {
  const read = readFrame({ roomId, gameId, type, seq, payload });
  assert.ok(read);
  return read;
}

const played = (more: object = {}) =>
  ({ state: state({ step: 1, board: `X${EMPTY_BOARD.slice(1)}`, current: 'O', lastMove: { x: 0, y: 0 }, ...more }), series: { X: 1, O: 0, draws: 0 } });

test('an older frame, and one of another room, change nothing', () => {
  const view = room();
  assert.equal(apply(view, frame('STATE', 9, played()), 0), view);
  assert.equal(apply(view, frame('STATE', 11, played(), 'g1', 'other'), 0), view);
});

test('a STATE moves the game on', () => {
  const view = apply(place(room(), { x: 0, y: 0 }), frame('STATE', 11, played()), 1000);
  assert.equal(view.room.state.step, 1);
  assert.equal(view.room.series.X, 1);
  assert.equal(view.pending, null);
  assert.equal(view.room.seq, 11);
  assert.equal(myTurn(view), false);
  assert.equal(view.clock.side, 'O');
  assert.equal(leftNow(view.clock, 9000), 30000, 'stands until the first TICK');
});

test('a STATE that is no move keeps the stone pending, and the clock running', () => { // C-18
  const view = apply(place(room(), { x: 3, y: 4 }), frame('STATE', 11, { state: state(), series: null }), 1000);
  assert.deepEqual(view.pending, { x: 3, y: 4 });
  assert.equal(leftNow(view.clock, 1000), 29000);
});

test('ticks of another game are dropped, a STATE of it begins a new one', () => { // C-17, C-24
  const view = room();
  assert.equal(apply(view, frame('TICK', 11, { leftMs: 1, side: 'X' }, 'g2'), 0), view);
  assert.equal(apply(view, frame('TIMEOUT', 11, { side: 'X' }, 'g2'), 0), view);
  const next = apply(view, frame('STATE', 12, { state: state({ gameId: 'g2' }), series: null }, 'g2'), 0);
  assert.equal(next.room.gameId, 'g2');
  assert.equal(next.seated, false, 'sides may be swapped');
  assert.equal(myTurn(next), false);
  assert.equal(myTurn({ ...sit(next, 'X'), room: { ...next.room, phase: 'PLAYING' } }), true);
});

test('a TICK sets the clock, also from whole seconds alone', () => {
  const view = apply(room(), frame('TICK', 11, { leftMs: 24500, side: 'X', deadlineEpochMs: 9 }), 2000);
  assert.equal(leftNow(view.clock, 2500), 24000);
  const coarse = apply(room(), frame('TICK', 11, { left: 25, side: 'X', deadlineEpochMs: 9 }), 0);
  assert.equal(leftNow(coarse.clock, 0), 25000);
});

test('a TICK after the end is too late', () => {
  const over = apply(room(), frame('STATE', 11, played({ over: true, winner: 'X' })), 0);
  assert.equal(apply(over, frame('TICK', 12, { leftMs: 5, side: 'O' }), 0), over);
});

test('a timeout, its STATE and its SNAPSHOT tell one story', () => { // C-08
  let view = apply(room(), frame('TIMEOUT', 11, { side: 'X' }), 30000);
  assert.equal(leftNow(view.clock, 30000), 0);
  view = apply(view, frame('STATE', 12, { state: state({ over: true, winner: 'O' }), series: { X: 0, O: 1, draws: 0 } }), 30001);
  view = apply(view, frame('SNAPSHOT', 13, whole({ phase: 'ENDED', state: state({ over: true, winner: 'O' }) })), 30002);
  assert.deepEqual(statusOf(view), { line: 'youLose', more: 'onTime', mood: 'lost' });
  assert.equal(leftNow(view.clock, 40000), 0);
});

test('a SNAPSHOT keeps who we are, and shows who has left', () => {
  const gone = { X: seat, O: { ...seat, connected: false } };
  const view = apply(room('O'), frame('SNAPSHOT', 11, whole({ seats: gone, spectators: 3 })), 0);
  assert.equal(view.mySide, 'O');
  assert.equal(view.room.seats.O.connected, false);
  assert.equal(view.room.spectators, 3);
});

test('the answer to resume replaces all, whatever its seq', () => {
  const view = enter(readRoom(whole({ seq: 2, gameId: 'g9' })), 'O', place(room(), { x: 1, y: 1 }), 0);
  assert.equal(view.room.seq, 2);
  assert.equal(view.pending, null);
  assert.equal(view.mySide, 'O');
  assert.notEqual(apply(view, frame('STATE', 3, played({ gameId: 'g9' }), 'g9'), 0), view);
});

test('a refused stone is taken back', () => {
  assert.equal(refuse(place(room(), { x: 1, y: 1 })).pending, null);
});

test('every phase has its line, for players and for those who watch', () => {
  const line = (view: View) => statusOf(view).line;
  const free = { taken: false, ready: false, connected: false, ai: false };
  assert.equal(line(room(null, { phase: 'WAITING' })), 'waitPlayers');
  assert.equal(line(room('X', { phase: 'WAITING', seats: { X: { ...seat, ready: false }, O: free } })), 'waitReady');
  assert.equal(line(room('X', { phase: 'WAITING', seats: { X: seat, O: free } })), 'waitOther');
  assert.equal(line(room('X', { phase: 'WAITING', seats: { X: seat, O: { ...seat, ready: false } } })), 'waitTheirReady');
  const away = { X: seat, O: { ...seat, ready: false, connected: false } };
  assert.equal(line(room('X', { phase: 'WAITING', seats: away })), 'waitBack');
  assert.equal(line(room('X')), 'yourMove');
  assert.equal(line(place(room('X'), { x: 0, y: 0 })), 'sending');
  assert.equal(line(room('O')), 'theirMove');
  assert.equal(line(room(null)), 'blackMove');
  const end = (winner: string) => ({ phase: 'ENDED', state: state({ over: true, winner }) });
  assert.equal(line(room('X', end('X'))), 'youWin');
  assert.equal(line(room('O', end('X'))), 'youLose');
  assert.equal(line(room(null, end('O'))), 'whiteWins');
  assert.equal(line(room('X', end('DRAW'))), 'draw');
});

test('what is not as promised does no harm', () => {
  assert.equal(readFrame(null), null);
  assert.equal(readFrame({ type: 'OTHER' }), null);
  const empty = readRoom('no');
  assert.equal(empty.state.board, EMPTY_BOARD);
  assert.equal(empty.phase, 'WAITING');
  assert.equal(readRoom(whole({ state: state({ board: 'XO' }) })).state.board, EMPTY_BOARD);
  const line = [{ x: 1, y: 2 }, { x: 2, y: 2 }];
  assert.deepEqual(readRoom(whole({ state: state({ line: [...line, 31, null, { x: 1 }] }) })).state.line, line);
  assert.equal(readRoom(whole({ state: state({ lastMove: { x: 15, y: 0 } }) })).state.lastMove, null);
});

test('a machine is always there and ready', () => {
  const view = room('X', { seats: { X: seat, O: { ai: true } }, mode: 'PVE' });
  assert.deepEqual(view.room.seats.O, { taken: true, ready: true, connected: true, ai: true, wantsRestart: false });
});

test('who asks for a new game is named, to players and to those who watch', () => {
  const asked = { seats: { X: seat, O: { ...seat, wantsRestart: true } } };
  assert.equal(statusOf(room('X', asked)).more, 'whiteAsks');
  assert.equal(statusOf(room('O', asked)).more, 'youAsk');
  assert.equal(statusOf(room(null, asked)).more, 'whiteAsks');
  assert.equal(statusOf(room('X')).more, null);
  assert.equal(asksRestart(room('X', { ...asked, phase: 'ENDED' })), null);
});

test('a game that ended before our eyes without a line or a timeout was given up', () => {
  const over = { state: state({ over: true, winner: 'O' }), series: null };
  assert.equal(statusOf(apply(room(), frame('STATE', 11, over), 0)).more, 'byResign');
  assert.equal(statusOf(room('X', { phase: 'ENDED', state: over.state })).more, 'resignOrTime');
});

test('why a game ended is the server\'s word where it gives one', () => {
  const over = (endedBy: unknown, winner = 'O') => ({ phase: 'ENDED', endedBy, state: state({ over: true, winner }),
    clock: { side: null, leftMs: 0, running: false, mode: 'turn', banks: null } });
  const more = (endedBy: unknown) => statusOf(room('X', over(endedBy))).more;
  assert.deepEqual(['five', 'resign', 'timeout', null, 'magic'].map(more), ['byLine', 'byResign', 'onTime', 'resignOrTime', 'resignOrTime']);
  assert.equal(statusOf(room('X', over('draw', 'DRAW'))).more, 'boardFull');
  const shown = (view: View, side: Side) => readClock(view.clock, side, 30, 99).ms;
  const late = room('X', over('timeout'));
  assert.deepEqual([shown(late, 'X'), shown(late, 'O')], [0, 30000], 'who ran out stands at zero');
  const told = apply(room('X'), frame('SNAPSHOT', 11, whole(over('timeout'))), 10);
  assert.deepEqual([shown(told, 'X'), statusOf(told).more], [0, 'onTime'], 'without the TIMEOUT, too');
  assert.equal(shown(room('X', over('resign')), 'X'), 30000);
  const next = apply(late, frame('STATE', 12, { state: state({ gameId: 'g2' }), series: null }, 'g2'), 0);
  assert.equal(next.room.endedBy, null, 'a new game has not ended');
});

test('after a broken connection the clock of the same turn goes on, and never back', () => { // C-18
  const before = room('X');
  const late = whole({ clock: { side: 'X', leftMs: 21500, deadlineEpochMs: 5, running: true, mode: 'turn', banks: null } });
  assert.equal(leftNow(enter(readRoom(late), 'X', before, 9000).clock, 9000), 21000);
  assert.equal(leftNow(enter(readRoom({ ...late, gameId: 'g2' }), 'X', before, 9000).clock, 9000), 21500);
});

test('a bank is counted down, and the next turn begins with the whole one', () => {
  const rules = { bankMs: 60000, extraMs: 10000, periods: 2 };
  const clock = { side: 'X', leftMs: 80000, deadlineEpochMs: 5, running: true, mode: 'byoyomi', banks: { X: 60000, O: 30000 }, periods: { X: 2, O: 1 }, rules };
  const view = apply(room('X', { clock, turnSeconds: 80 }), frame('STATE', 11, played()), 1000);
  assert.equal(view.clock.side, 'O');
  assert.equal(leftNow(view.clock, 1000), 40000);
});
