// SPDX-License-Identifier: MIT
// node dev/shots.mjs OUT - pictures of every screen, taken from the mock with Chromium, to look at.

import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, '../../build/artifacts/page'));
mkdirSync(out, { recursive: true });

const mock = spawn(process.execPath, [join(here, 'mock.mjs'), '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
const base = await new Promise((done) => mock.stdout.on('data', (text) => done(/http:\S+/.exec(String(text))[0])));
process.on('exit', () => mock.kill('SIGKILL'));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'] });

async function open(options = {}) {
  const { scheme = 'light', locale = 'en-US', width = 1280, height = 800, touch = false } = options;
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, locale,
    deviceScaleFactor: width < 600 ? 2 : 1, hasTouch: touch, isMobile: touch });
  context.setDefaultTimeout(15000);
  const page = await context.newPage();
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && console.log('console:', message.text()));
  page.on('pageerror', (error) => console.log('page error:', error.message));
  return page;
}
const shot = (page, name) => page.screenshot({ path: join(out, `${name}.png`) });
const make = (body) => fetch(`${base}/v1/rooms`, { method: 'POST', body: JSON.stringify(body) }).then((a) => a.json());

async function put(page, x, y) {
  await page.locator('.board[data-active]').waitFor();
  const box = await page.locator('.board').boundingBox();
  await page.mouse.click(box.x + (box.width * (40 + 40 * x)) / 626, box.y + (box.width * (26 + 40 * y)) / 626);
  await page.locator('.board:not([data-active])').waitFor();
}

const MOVES = [[7, 7], [8, 6], [6, 6], [8, 8], [8, 7], [6, 8], [9, 7], [7, 6], [10, 7], [5, 9], [5, 5]];

async function game(room, one, two, count) {
  await one.goto(`${base}/#/room/${room.room_id}`);
  await one.getByRole('button', { name: /^(Ready|准备)$/ }).waitFor();
  await two.goto(`${base}/#/room/${room.room_id}`);
  await one.getByRole('button', { name: /^(Ready|准备)$/ }).click();
  await two.getByRole('button', { name: /^(Ready|准备)$/ }).click();
  for (const [i, [x, y]] of MOVES.slice(0, count).entries()) await put(i % 2 ? two : one, x, y);
}

const one = await open();
await one.goto(base);
await one.getByText('Nobody is playing').waitFor();
await shot(one, 'lobby-empty');

const first = await make({ turn_seconds: 30 });
await one.goto(`${base}/#/room/${first.room_id}`);
await one.locator('.share').waitFor();
await shot(one, 'room-waiting');

const two = await open({ scheme: 'dark' });
await game(first, one, two, 10);
await one.waitForTimeout(2500);
await one.mouse.move(400, 300);
await shot(one, 'game');
await shot(two, 'game-dark');

const small = await open({ width: 360, height: 740, touch: true, locale: 'zh-CN' });
await small.goto(`${base}/#/room/${first.room_id}`);
await small.locator('.status-line').waitFor();
await small.waitForTimeout(400);
await shot(small, 'small-watching-zh');

await put(one, 11, 7);
await one.waitForTimeout(1000);
await shot(one, 'won');
await shot(two, 'lost-dark');
await one.getByRole('button', { name: 'Play again' }).click();
await one.waitForTimeout(600);

const pocket = await open({ width: 360, height: 740, touch: true });
const friend = await open({ width: 320, height: 568, touch: true, scheme: 'dark' });
const second = await make({ rule: 'RENJU', clock: { mode: 'byoyomi', bank: '3s', extra: '10s', periods: 3 } });
await pocket.goto(`${base}/#/room/${second.room_id}`);
await pocket.getByRole('button', { name: 'Ready' }).waitFor();
await shot(pocket, 'small-waiting');
await friend.goto(`${base}/#/room/${second.room_id}`);
await pocket.getByRole('button', { name: 'Ready' }).click();
await friend.getByRole('button', { name: 'Ready' }).click();
const tap = async (page, x, y, times) => {
  await page.locator('.board[data-active]').waitFor();
  const box = await page.locator('.board').boundingBox();
  for (let i = 0; i < times; i++) await page.touchscreen.tap(box.x + (box.width * (40 + 40 * x)) / 626, box.y + (box.width * (26 + 40 * y)) / 626);
};
await tap(pocket, 7, 7, 2);
await tap(friend, 8, 8, 2);
await tap(pocket, 8, 7, 2);
await friend.waitForTimeout(6500);
await tap(friend, 6, 7, 1);
await friend.waitForTimeout(100);
await shot(friend, 'smallest-aim-dark');
await shot(pocket, 'small-critical');

for (const [name, options] of Object.entries({ 'missing': {}, 'small-missing-zh': { width: 320, height: 568, locale: 'zh-CN', scheme: 'dark' } })) {
  const page = await open(options);
  await page.goto(`${base}/#/room/nothing-here`);
  await page.locator('.missing').waitFor();
  await shot(page, name);
}

// A Fischer clock; one is away, the other asks for a new game; a machine, and the question.
for (const [name, options] of Object.entries({ fischer: {}, 'smallest-fischer-zh': { width: 320, height: 568, touch: true, locale: 'zh-CN' } })) {
  const black = await open(options);
  const white = await open({ ...options, scheme: 'dark' });
  await game(await make({ clock: { mode: 'fischer', bank: '5m', extra: '3s' } }), black, white, 0);
  if (options.touch) await tap(black, 7, 7, 2);
  else await put(black, 7, 7);
  await white.getByRole('button', { name: /^(New game|重新开局)$/ }).click();
  await black.getByRole('button', { name: /^(Agree to a new game|同意重新开局)$/ }).waitFor();
  await shot(black, `${name}-offer`);
  await white.goto('about:blank');
  await black.locator('.seat[data-away]').waitFor();
  await shot(black, `${name}-away`);
}
const machine = await open({ width: 320, height: 568, touch: true });
await machine.goto(`${base}/#/room/${(await make({ mode: 'PVE', clock: { mode: 'delay', bank: '1m', extra: '5s' } })).room_id}`);
await machine.getByRole('button', { name: 'Ready' }).click();
await tap(machine, 7, 7, 2);
await machine.waitForTimeout(100);
await shot(machine, 'smallest-machine');
await machine.getByRole('button', { name: 'Start over' }).click();
await shot(machine, 'smallest-start-over');

await make({ mode: 'PVE', turn_seconds: 60 });
await make({ rule: 'RENJU', turn_seconds: 10 });
for (const [name, options] of Object.entries({ lobby: {}, 'lobby-dark-zh': { scheme: 'dark', locale: 'zh-CN' },
  'lobby-zh': { locale: 'zh-CN' }, 'small-lobby': { width: 360, height: 740, touch: true }, 'smallest-lobby-zh': { width: 320, height: 568, touch: true, locale: 'zh-CN' },
  'tablet-lobby': { width: 768, height: 1100 } })) {
  const page = await open(options);
  await page.goto(base);
  if (/zh|tablet/.test(name)) await page.locator('input[name="clock"][value="byoyomi"]').check({ force: true });
  await page.locator('.game').first().waitFor();
  await page.screenshot({ path: join(out, `${name}.png`), fullPage: true });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  if (wide) console.log(`${name}: scrolls sideways`);
}
const side = await open({ width: 740, height: 360, touch: true });
await side.goto(`${base}/#/room/${first.room_id}`);
await side.waitForTimeout(600);
await shot(side, 'landscape');
const tablet = await open({ width: 768, height: 1024 });
await tablet.goto(`${base}/#/room/${first.room_id}`);
await tablet.waitForTimeout(600);
await shot(tablet, 'tablet-watching');
mock.kill('SIGKILL');
await one.waitForTimeout(1200);
await shot(one, 'reconnecting');
await browser.close();
