// SPDX-License-Identifier: MIT
// How much time is left? By what the server said and performance.now(), never by the wall clock of
// this machine, which may be wrong by minutes.

import type { ClockReport, Side } from './frames';

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
    old.deadlineEpochMs === fresh.deadlineEpochMs;
  if (!same) return fresh;
  return { ...fresh, leftMs: Math.min(fresh.leftMs, leftNow(old, now)) };
}

export function stopClock(clock: Clock, now: number): Clock {
  return { ...clock, leftMs: leftNow(clock, now), running: false, receivedAt: now };
}

// What the clock of one side shows, in ms.
export function sideLeft(clock: Clock, of: Side, turnSeconds: number, now: number): number {
  if (clock.side === of) return leftNow(clock, now);
  return clock.banks ? clock.banks[of] : turnSeconds * 1000;
}

// A turn of 30 s opens at 30 and shows 1 until the last moment.
export function shownSeconds(leftMs: number): number {
  return Math.max(0, Math.ceil(leftMs / 1000));
}

export function shownTime(leftMs: number): string {
  const seconds = shownSeconds(leftMs);
  if (seconds < 100) return String(seconds);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

export function fraction(leftMs: number, fullMs: number): number {
  return fullMs <= 0 ? 0 : Math.min(1, Math.max(0, leftMs / fullMs));
}

export type Urgency = 'calm' | 'low' | 'critical';

export function urgency(leftMs: number): Urgency {
  return leftMs < 5000 ? 'critical' : leftMs < 10000 ? 'low' : 'calm';
}
