// SPDX-License-Identifier: MIT
// How much time is left? By what the server said and performance.now(), never by the wall clock of
// this machine, which may be wrong by minutes.

import type { ClockReport, Side } from './frames';

// Two reports of one deadline may differ by what a wall clock is corrected by.
const SAME_MS = 200;

export interface Clock extends ClockReport {
  receivedAt: number; // performance.now() when leftMs was true
}

export function startClock(report: ClockReport, now: number): Clock {
  return { ...report, receivedAt: now };
}

export function leftNow(clock: Clock, now: number): number {
  const gone = clock.running ? Math.max(0, now - clock.receivedAt) : 0;
  return Math.max(0, clock.leftMs - gone);
}

// A frame needs time to arrive, so what it says is never too little, only too much. Of two reports
// of one deadline the smaller is the better one; and the ring never jumps back.
export function mergeClock(old: Clock | null, report: ClockReport, now: number): Clock {
  const fresh = startClock(report, now);
  const same =
    old !== null &&
    old.running &&
    fresh.running &&
    old.side === fresh.side &&
    old.deadlineEpochMs !== null &&
    fresh.deadlineEpochMs !== null &&
    Math.abs(old.deadlineEpochMs - fresh.deadlineEpochMs) < SAME_MS;
  if (!same) return fresh;
  return { ...fresh, leftMs: Math.min(fresh.leftMs, leftNow(old, now)) };
}

export function stopClock(clock: Clock, now: number): Clock {
  return { ...clock, leftMs: leftNow(clock, now), running: false, receivedAt: now };
}

// How long the next turn of a side may take, by its bank and its periods.
export function wholeTurn(clock: ClockReport, of: Side, turnSeconds: number): number {
  const extra = clock.rules?.extraMs ?? 0;
  const bank = clock.banks?.[of] ?? turnSeconds * 1000;
  if (clock.mode === 'delay') return bank + extra;
  if (clock.mode === 'byoyomi') return bank + (clock.periods?.[of] ?? 0) * extra;
  return bank;
}

// What the clock of one side shows.
export interface Reading {
  ms: number;
  fullMs: number; // of a whole ring
  periods: number; // in byoyomi: left, with the one that runs
  delayMs: number; // in delay: before the bank is touched
  spare: boolean; // at zero the game is not lost yet: another period begins
}

export function readClock(clock: Clock, of: Side, turnSeconds: number, now: number): Reading {
  const moves = clock.side === of;
  const bank = clock.banks?.[of] ?? turnSeconds * 1000;
  const left = moves ? leftNow(clock, now) : wholeTurn(clock, of, turnSeconds);
  const fullMs = clock.mode === 'delay' || clock.mode === 'byoyomi' ? (clock.rules?.bankMs ?? turnSeconds * 1000) : turnSeconds * 1000;
  const plain = { ms: left, fullMs, periods: 0, delayMs: 0, spare: false };
  if (clock.mode === 'byoyomi') return readPeriods(clock, of, left, bank, plain);
  if (clock.mode !== 'delay') return plain;
  return { ...plain, ms: Math.min(left, bank), delayMs: moves ? Math.max(0, left - bank) : 0 };
}

// What is left until the flag falls is first the rest of the bank, then period by period.
function readPeriods(clock: Clock, of: Side, left: number, bank: number, plain: Reading): Reading {
  const periods = clock.periods?.[of] ?? 0;
  const each = clock.rules?.extraMs ?? 0;
  if (each <= 0) return { ...plain, ms: clock.side === of ? left : bank, periods };
  if (left > periods * each) return { ...plain, ms: left - periods * each, periods, spare: periods > 0 };
  const rest = Math.ceil(left / each);
  return { ...plain, ms: rest > 0 ? left - (rest - 1) * each : 0, fullMs: each, periods: rest, spare: rest > 1 };
}

// A turn of 30 s opens at 30 and shows 1 until the last moment.
export function shownSeconds(leftMs: number): number {
  return Math.max(0, Math.ceil(leftMs / 1000));
}

export function shownTime(leftMs: number): string {
  const seconds = shownSeconds(leftMs);
  const two = (n: number) => String(n).padStart(2, '0');
  if (seconds < 100) return String(seconds);
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${two(seconds % 60)}`;
  const hours = Math.floor(seconds / 3600);
  return hours < 100 ? `${hours}h${two(Math.floor((seconds % 3600) / 60))}` : `${Math.floor(hours / 24)}d`;
}

export function fraction(leftMs: number, fullMs: number): number {
  return fullMs <= 0 ? 0 : Math.min(1, Math.max(0, leftMs / fullMs));
}

export type Urgency = 'calm' | 'low' | 'critical';

export function urgency(leftMs: number, spare = false): Urgency {
  if (spare) return leftMs < 5000 ? 'low' : 'calm';
  return leftMs < 5000 ? 'critical' : leftMs < 10000 ? 'low' : 'calm';
}
