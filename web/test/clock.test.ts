// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';

import { waitMs } from '../src/backoff';
import { fraction, leftNow, mergeClock, readClock, shownSeconds, shownTime, startClock, stopClock, urgency, wholeTurn } from '../src/clock';
import type { ClockReport } from '../src/frames';

const report = (more: Partial<ClockReport> = {}): ClockReport => ({
  side: 'X',
  leftMs: 30000,
  deadlineEpochMs: 1000,
  running: true,
  mode: 'turn',
  banks: null,
  periods: null,
  rules: null,
  ...more,
});

test('a turn of 30 s opens at 30 and shows 1 until the last moment', () => { // C-22
  assert.equal(shownSeconds(30000), 30);
  assert.equal(shownSeconds(29999), 30);
  assert.equal(shownSeconds(29000), 29);
  assert.equal(shownSeconds(1), 1);
  assert.equal(shownSeconds(0), 0);
  assert.equal(shownSeconds(-5), 0);
});

test('long times are shown in minutes', () => {
  assert.equal(shownTime(99000), '99');
  assert.equal(shownTime(99001), '1:40');
  assert.equal(shownTime(600000), '10:00');
  assert.equal(shownTime(3600000), '1h00');
  assert.equal(shownTime(99 * 3600000 + 59 * 60000), '99h59');
  assert.equal(shownTime(366 * 86400000), '366d');
});

test('time runs from what was received, and never below zero', () => {
  const clock = startClock(report(), 500);
  assert.equal(leftNow(clock, 500), 30000);
  assert.equal(leftNow(clock, 1500), 29000);
  assert.equal(leftNow(clock, 100000), 0);
  assert.equal(leftNow(clock, 400), 30000);
});

test('a clock that stands does not run', () => {
  assert.equal(leftNow(startClock(report({ running: false }), 0), 5000), 30000);
  const stopped = stopClock(startClock(report(), 0), 4000);
  assert.equal(leftNow(stopped, 9000), 26000);
});

test('a late frame of the same deadline does not turn the clock back', () => {
  const clock = startClock(report(), 0);
  const later = mergeClock(clock, report({ leftMs: 29300 }), 1000);
  assert.equal(leftNow(later, 1000), 29000);
});

test('a frame that says less is believed', () => {
  const later = mergeClock(startClock(report(), 0), report({ leftMs: 20000 }), 1000);
  assert.equal(leftNow(later, 1000), 20000);
});

test('another deadline or another side is a new clock', () => {
  const clock = startClock(report({ leftMs: 3000 }), 0);
  assert.equal(leftNow(mergeClock(clock, report({ deadlineEpochMs: 2000 }), 1000), 1000), 30000);
  assert.equal(leftNow(mergeClock(clock, report({ side: 'O' }), 1000), 1000), 30000);
});

test('a wall clock that is set a little does not make a new deadline', () => {
  const later = mergeClock(startClock(report(), 0), report({ deadlineEpochMs: 1040, leftMs: 29500 }), 1000);
  assert.equal(leftNow(later, 1000), 29000);
});

test('the side that does not move shows its turn, or its bank', () => {
  const shown = (more: Partial<ClockReport>, side: 'X' | 'O') => readClock(startClock(report(more), 0), side, 30, 1000).ms;
  assert.equal(shown({}, 'O'), 30000);
  assert.equal(shown({}, 'X'), 29000);
  assert.equal(shown({ mode: 'fischer', banks: { X: 1, O: 7000 } }, 'O'), 7000);
});

test('byoyomi shows the bank, then one period after the other', () => { // C-30
  const rules = { bankMs: 5000, extraMs: 10000, periods: 3 };
  const clock = startClock(
    report({ mode: 'byoyomi', leftMs: 35000, banks: { X: 5000, O: 0 }, periods: { X: 3, O: 2 }, rules }),
    0,
  );
  const at = (now: number) => {
    const { ms, fullMs, periods, spare } = readClock(clock, 'X', 35, now);
    return [ms, fullMs, periods, spare];
  };
  assert.deepEqual(at(1000), [4000, 5000, 3, true]);
  assert.deepEqual(at(5000), [10000, 10000, 3, true]);
  assert.deepEqual(at(14999), [1, 10000, 3, true]);
  assert.deepEqual(at(15000), [10000, 10000, 2, true]);
  assert.deepEqual(at(26000), [9000, 10000, 1, false]);
  assert.deepEqual(at(35000), [0, 10000, 0, false]);
  const other = readClock(clock, 'O', 35, 20000);
  assert.deepEqual([other.ms, other.periods], [10000, 2], 'a period stands whole until the turn');
  assert.equal(wholeTurn(clock, 'O', 35), 20000);
});

test('byoyomi without its rules shows what is left in all', () => {
  const clock = startClock(report({ mode: 'byoyomi', leftMs: 35000, banks: { X: 5000, O: 5000 }, periods: { X: 3, O: 3 } }), 0);
  assert.equal(readClock(clock, 'X', 35, 1000).ms, 34000);
  assert.equal(readClock(clock, 'O', 35, 1000).ms, 5000);
});

test('with a delay the bank stands until the delay is over', () => { // C-30
  const clock = startClock(
    report({ mode: 'delay', leftMs: 63000, banks: { X: 60000, O: 9000 }, rules: { bankMs: 60000, extraMs: 3000, periods: 0 } }),
    0,
  );
  const at = (now: number) => readClock(clock, 'X', 63, now);
  assert.deepEqual([at(1000).ms, at(1000).delayMs], [60000, 2000]);
  assert.deepEqual([at(4000).ms, at(4000).delayMs], [59000, 0]);
  assert.deepEqual([readClock(clock, 'O', 63, 0).ms, readClock(clock, 'O', 63, 0).delayMs], [9000, 0]);
});

test('colours change below 10 s and below 5 s', () => {
  assert.deepEqual([10000, 9999, 5000, 4999, 0].map((ms) => urgency(ms)), ['calm', 'low', 'low', 'critical', 'critical']);
  assert.deepEqual([9999, 4999, 0].map((ms) => urgency(ms, true)), ['calm', 'low', 'low'], 'a period is left');
});

test('the ring is between empty and full', () => {
  assert.deepEqual([fraction(-1, 10), fraction(5, 10), fraction(20, 10), fraction(1, 0)], [0, 0.5, 1, 0]);
});

test('waiting grows, has a limit, and is never the same for all', () => {
  const most = [0, 1, 2, 3, 4, 5, 6, 100].map((n) => waitMs(n, 1));
  assert.deepEqual(most, [500, 1000, 2000, 4000, 8000, 15000, 15000, 15000]);
  assert.equal(waitMs(3, 0), 2000);
});
