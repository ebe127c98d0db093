// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';

import { waitMs } from '../src/backoff';
import { fraction, leftNow, mergeClock, shownSeconds, shownTime, sideLeft, startClock, stopClock, urgency } from '../src/clock';
import type { ClockReport } from '../src/frames';

const report = (more: Partial<ClockReport> = {}): ClockReport => ({
  side: 'X',
  leftMs: 30000,
  deadlineEpochMs: 1000,
  running: true,
  mode: 'per-turn',
  banks: null,
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

test('the side that does not move shows its turn, or its bank', () => {
  assert.equal(sideLeft(startClock(report(), 0), 'O', 30, 1000), 30000);
  assert.equal(sideLeft(startClock(report({ banks: { X: 1, O: 7000 } }), 0), 'O', 30, 1000), 7000);
  assert.equal(sideLeft(startClock(report(), 0), 'X', 30, 1000), 29000);
});

test('colours change below 10 s and below 5 s', () => {
  assert.deepEqual([10000, 9999, 5000, 4999, 0].map(urgency), ['calm', 'low', 'low', 'critical', 'critical']);
});

test('the ring is between empty and full', () => {
  assert.deepEqual([fraction(-1, 10), fraction(5, 10), fraction(20, 10), fraction(1, 0)], [0, 0.5, 1, 0]);
});

test('waiting grows, has a limit, and is never the same for all', () => {
  const most = [0, 1, 2, 3, 4, 5, 6, 100].map((n) => waitMs(n, 1));
  assert.deepEqual(most, [500, 1000, 2000, 4000, 8000, 15000, 15000, 15000]);
  assert.equal(waitMs(3, 0), 2000);
});
