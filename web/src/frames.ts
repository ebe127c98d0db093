// SPDX-License-Identifier: MIT
// What the server says about a room, read with suspicion: a field that is missing or of another
// type becomes its default, so that the rest of the page need not ask.

export type Side = 'X' | 'O';
export type Phase = 'WAITING' | 'PLAYING' | 'ENDED';
export type Winner = Side | 'DRAW';
export type Ending = 'five' | 'resign' | 'timeout' | 'draw';

export interface Point {
  x: number;
  y: number;
}

export const SIZE = 15;
export const EMPTY_BOARD = '.'.repeat(SIZE * SIZE);

export interface GameState {
  gameId: string;
  step: number;
  board: string; // 225 of ".XO", row by row
  current: Side;
  over: boolean;
  winner: Winner | null;
  lastMove: Point | null;
  line: Point[] | null;
}

export interface Seat {
  taken: boolean;
  ready: boolean;
  connected: boolean;
  ai: boolean;
  wantsRestart: boolean; // asks for a new game before this one is over
}

export interface Series {
  X: number;
  O: number;
  draws: number;
}

export type ClockMode = 'turn' | 'fischer' | 'bronstein' | 'delay' | 'byoyomi';

// As the room was made: 5 min + 3 s a move, 3 periods of 30 s.
export interface ClockRules {
  bankMs: number;
  extraMs: number;
  periods: number;
}

export interface Both {
  X: number;
  O: number;
}

export interface ClockReport {
  side: Side | null;
  leftMs: number; // until the flag falls, all banks and periods together
  deadlineEpochMs: number | null;
  running: boolean;
  mode: ClockMode;
  banks: Both | null; // ms
  periods: Both | null; // in byoyomi: left
  rules: ClockRules | null; // a server that does not say leaves out the numbers
}

export interface Room {
  roomId: string;
  gameId: string;
  mode: 'PVP' | 'PVE';
  rule: 'STANDARD' | 'RENJU';
  turnSeconds: number;
  phase: Phase;
  seats: Record<Side, Seat>;
  state: GameState;
  endedBy: Ending | null; // null also from a server that does not say
  series: Series;
  spectators: number;
  clock: ClockReport;
  seq: number;
}

export interface Tick {
  leftMs: number;
  side: Side | null;
  deadlineEpochMs: number | null;
}

export type Frame = { roomId: string; gameId: string; seq: number } & (
  | { type: 'TICK'; payload: Tick }
  | { type: 'TIMEOUT'; payload: { side: Side | null } }
  | { type: 'STATE'; payload: { state: GameState; series: Series | null } }
  | { type: 'SNAPSHOT'; payload: Room }
);

export interface Listing {
  roomId: string;
  mode: 'PVP' | 'PVE';
  rule: 'STANDARD' | 'RENJU';
  turnSeconds: number;
  clock: { mode: ClockMode; rules: ClockRules | null } | null;
  phase: Phase;
  players: number;
  spectators: number;
}

type Bag = Record<string, unknown>;

export function bag(value: unknown): Bag {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Bag) : {};
}

export function text(value: unknown, otherwise = ''): string {
  return typeof value === 'string' ? value : otherwise;
}

export function whole(value: unknown, otherwise = 0): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : otherwise;
}

export function side(value: unknown): Side | null {
  return value === 'X' || value === 'O' ? value : null;
}

export function otherSide(one: Side): Side {
  return one === 'X' ? 'O' : 'X';
}

function point(value: unknown): Point | null {
  const x = whole(bag(value).x, -1);
  const y = whole(bag(value).y, -1);
  return x >= 0 && x < SIZE && y >= 0 && y < SIZE ? { x, y } : null;
}

function points(value: unknown): Point[] | null {
  if (!Array.isArray(value)) return null;
  const found = value.map(point).filter((one): one is Point => one !== null);
  return found.length >= 2 ? found : null;
}

export function readState(value: unknown, gameId: string): GameState {
  const from = bag(value);
  const board = text(from.board);
  const winner = from.winner === 'DRAW' ? 'DRAW' : side(from.winner);
  return {
    gameId: text(from.gameId, gameId),
    step: whole(from.step),
    board: /^[.XO]{225}$/.test(board) ? board : EMPTY_BOARD,
    current: side(from.current) ?? 'X',
    over: from.over === true,
    winner,
    lastMove: point(from.lastMove),
    line: points(from.line),
  };
}

export function readSeries(value: unknown): Series {
  const from = bag(value);
  return { X: whole(from.X), O: whole(from.O), draws: whole(from.draws) };
}

function readSeat(value: unknown): Seat {
  const from = bag(value);
  const ai = from.ai === true;
  return {
    taken: from.taken === true || ai,
    ready: from.ready === true || ai,
    connected: from.connected === true || ai,
    ai,
    wantsRestart: from.wantsRestart === true,
  };
}

function readPhase(value: unknown): Phase {
  return value === 'PLAYING' || value === 'ENDED' ? value : 'WAITING';
}

const ENDINGS: Ending[] = ['five', 'resign', 'timeout', 'draw'];

const MODES: ClockMode[] = ['turn', 'fischer', 'bronstein', 'delay', 'byoyomi'];

function readMode(value: unknown): ClockMode {
  return MODES.find((one) => one === value) ?? 'turn';
}

function readBoth(value: unknown): Both | null {
  const from = bag(value);
  return typeof from.X === 'number' && typeof from.O === 'number' ? { X: from.X, O: from.O } : null;
}

function readRules(value: unknown): ClockRules | null {
  const from = bag(value);
  if (typeof from.bankMs !== 'number') return null;
  return { bankMs: from.bankMs, extraMs: whole(from.extraMs), periods: whole(from.periods) };
}

function readClock(value: unknown, turnSeconds: number): ClockReport {
  const from = bag(value);
  return {
    side: side(from.side),
    leftMs: whole(from.leftMs, turnSeconds * 1000),
    deadlineEpochMs: typeof from.deadlineEpochMs === 'number' ? from.deadlineEpochMs : null,
    running: from.running === true,
    mode: readMode(from.mode),
    banks: readBoth(from.banks),
    periods: readBoth(from.periods),
    rules: readRules(from.rules),
  };
}

export function readRoom(value: unknown): Room {
  const from = bag(value);
  const seats = bag(from.seats);
  const gameId = text(from.gameId);
  const turnSeconds = whole(from.turnSeconds, 30);
  return {
    roomId: text(from.roomId),
    gameId,
    mode: from.mode === 'PVE' ? 'PVE' : 'PVP',
    rule: from.rule === 'RENJU' ? 'RENJU' : 'STANDARD',
    turnSeconds,
    phase: readPhase(from.phase),
    seats: { X: readSeat(seats.X), O: readSeat(seats.O) },
    state: readState(from.state, gameId),
    endedBy: ENDINGS.find((one) => one === from.endedBy) ?? null,
    series: readSeries(from.series),
    spectators: whole(from.spectators),
    clock: readClock(from.clock, turnSeconds),
    seq: whole(from.seq),
  };
}

export function readListing(value: unknown): Listing {
  const from = bag(value);
  return {
    roomId: text(from.room_id),
    mode: from.mode === 'PVE' ? 'PVE' : 'PVP',
    rule: from.rule === 'RENJU' ? 'RENJU' : 'STANDARD',
    turnSeconds: whole(from.turn_seconds, 30),
    clock: 'clock' in from ? { mode: readMode(bag(from.clock).mode), rules: readRules(from.clock) } : null,
    phase: readPhase(from.phase),
    players: whole(from.players),
    spectators: whole(from.spectators),
  };
}

// null: not a frame that this page knows.
export function readFrame(value: unknown): Frame | null {
  const from = bag(value);
  const payload = bag(from.payload);
  const head = { roomId: text(from.roomId), gameId: text(from.gameId), seq: whole(from.seq) };
  switch (from.type) {
    case 'TICK':
      return {
        ...head,
        type: 'TICK',
        payload: {
          leftMs: whole(payload.leftMs, whole(payload.left) * 1000),
          side: side(payload.side),
          deadlineEpochMs: typeof payload.deadlineEpochMs === 'number' ? payload.deadlineEpochMs : null,
        },
      };
    case 'TIMEOUT':
      return { ...head, type: 'TIMEOUT', payload: { side: side(payload.side) } };
    case 'STATE':
      return {
        ...head,
        type: 'STATE',
        payload: {
          state: readState(payload.state, head.gameId),
          series: payload.series === undefined ? null : readSeries(payload.series),
        },
      };
    case 'SNAPSHOT':
      return { ...head, type: 'SNAPSHOT', payload: readRoom(payload) };
    default:
      return null;
  }
}
