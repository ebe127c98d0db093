// SPDX-License-Identifier: MIT
// Frames in, what the page shows out: a pure function, so that every order of frames can be tried
// without a server.
//
//   old seq                      dropped
//   other gameId                 only STATE and SNAPSHOT are taken: they begin a new game
//   the answer to resume (full)  replaces all, whatever its seq: the server may have started again

import { type Clock, mergeClock, stopClock, wholeTurn } from './clock';
import { type Frame, type GameState, otherSide, type Point, type Room, type Side } from './frames';

export interface View {
  room: Room;
  clock: Clock;
  mySide: Side | null;
  seated: boolean; // the server has said which side is ours; a new game swaps sides, so it must again
  pending: Point | null; // sent, and not yet in a STATE
  timedOut: Side | null; // whose time ran out in this game
  gaveUp: boolean; // seen to end without a line and without a timeout
}

// Who has run out of time, by the room's own word; it stands at zero, however the news came.
function flagged({ endedBy, state: { winner } }: Room): Side | null {
  return endedBy === 'timeout' && winner !== null && winner !== 'DRAW' ? otherSide(winner) : null;
}

function atZero(clock: Clock, side: Side | null): Clock {
  return side === null ? clock : { ...clock, side, leftMs: 0, running: false };
}

export function enter(room: Room, mySide: Side | null, old: View | null, now: number): View {
  const sameGame = old !== null && old.room.gameId === room.gameId;
  return {
    room,
    clock: atZero(mergeClock(sameGame ? old.clock : null, room.clock, now), flagged(room)),
    mySide,
    seated: true,
    pending: null,
    timedOut: sameGame ? old.timedOut : null,
    gaveUp: sameGame && old.gaveUp,
  };
}

export function sit(view: View, mySide: Side | null): View {
  return { ...view, mySide, seated: true };
}

export function place(view: View, point: Point): View {
  return { ...view, pending: point };
}

export function refuse(view: View): View {
  return { ...view, pending: null };
}

export function myTurn(view: View): boolean {
  const { room, mySide } = view;
  if (!view.seated || mySide === null || room.phase !== 'PLAYING' || room.state.over) return false;
  return room.state.current === mySide;
}

// The view itself when the frame is not for it.
export function apply(view: View, frame: Frame, now: number): View {
  if (frame.roomId !== view.room.roomId || frame.seq < view.room.seq) return view;
  const sameGame = frame.gameId === view.room.gameId;
  switch (frame.type) {
    case 'TICK':
      return sameGame && !view.room.state.over ? tick(view, frame, now) : view;
    case 'TIMEOUT':
      return sameGame ? timeout(view, frame, now) : view;
    case 'STATE':
      return state(view, frame, now);
    case 'SNAPSHOT':
      return snapshot(view, frame, now);
  }
}

function tick(view: View, frame: Extract<Frame, { type: 'TICK' }>, now: number): View {
  const report = { ...view.room.clock, ...frame.payload, running: true };
  return {
    ...view,
    room: { ...view.room, seq: frame.seq, phase: 'PLAYING' },
    clock: mergeClock(view.clock, report, now),
  };
}

function timeout(view: View, frame: Extract<Frame, { type: 'TIMEOUT' }>, now: number): View {
  return {
    ...view,
    room: { ...view.room, seq: frame.seq },
    clock: atZero(stopClock(view.clock, now), frame.payload.side),
    pending: null,
    timedOut: frame.payload.side,
  };
}

// Until the first TICK of a new turn its clock shows the whole turn and stands still.
function clockAfter(view: View, next: GameState, now: number): Clock {
  if (next.over) return stopClock(view.clock, now);
  if (next.step === view.room.state.step && next.gameId === view.room.state.gameId) return view.clock;
  const leftMs = wholeTurn(view.clock, next.current, view.room.turnSeconds);
  return { ...view.clock, side: next.current, leftMs, running: false, deadlineEpochMs: null, receivedAt: now };
}

function seenToGiveUp(view: View, next: GameState): boolean {
  if (view.gaveUp) return true;
  const decided = next.over && (next.winner === 'X' || next.winner === 'O');
  return decided && next.line === null && view.timedOut === null && view.room.phase === 'PLAYING';
}

function state(view: View, frame: Extract<Frame, { type: 'STATE' }>, now: number): View {
  const next = frame.payload.state;
  const sameGame = frame.gameId === view.room.gameId;
  const phase = next.over ? 'ENDED' : next.step > 0 ? 'PLAYING' : sameGame ? view.room.phase : 'WAITING';
  return {
    ...view,
    room: {
      ...view.room,
      gameId: frame.gameId,
      seq: frame.seq,
      phase,
      state: next,
      endedBy: sameGame ? view.room.endedBy : null,
      series: frame.payload.series ?? view.room.series,
    },
    clock: clockAfter(view, next, now),
    seated: sameGame && view.seated,
    pending: sameGame && next.step === view.room.state.step && !next.over ? view.pending : null,
    timedOut: sameGame ? view.timedOut : null,
    gaveUp: sameGame && seenToGiveUp(view, next),
  };
}

// The clock of a game that is over stands where it stood; what is in the banks is told.
function clockOf(view: View, room: Room, sameGame: boolean, now: number): Clock {
  if (!room.state.over || !sameGame) return mergeClock(view.clock, room.clock, now);
  const { banks, periods, rules } = room.clock;
  return atZero({ ...stopClock(view.clock, now), banks, periods, rules }, flagged(room));
}

function snapshot(view: View, frame: Extract<Frame, { type: 'SNAPSHOT' }>, now: number): View {
  const room = { ...frame.payload, roomId: frame.roomId, gameId: frame.gameId, seq: frame.seq };
  const sameGame = frame.gameId === view.room.gameId;
  const moved = !sameGame || room.state.step !== view.room.state.step || room.state.over;
  return {
    ...view,
    room,
    seated: sameGame && view.seated,
    clock: clockOf(view, room, sameGame, now),
    pending: moved ? null : view.pending,
    timedOut: sameGame ? view.timedOut : null,
    gaveUp: sameGame && view.gaveUp,
  };
}
