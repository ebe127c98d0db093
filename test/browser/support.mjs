// SPDX-License-Identifier: MIT
// What a test in a browser needs: the server in a temp directory on a free port, Chromium, and pages
// that watch themselves: an error on the console, a request to elsewhere, or something that the
// Content-Security-Policy had to stop, fails the test.

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
export const PICTURES = join(ROOT, 'build/artifacts/browser');
const { chromium } = createRequire(join(ROOT, 'web/package.json'))('playwright-core');

export const PATIENCE = 20000;
const READY = /tocsin ready on (http:\/\/\S+:(\d+)) /;

// ---- the server

export class Server {
  constructor(how, token = null) {
    this.how = how;
    this.token = token;
    this.folder = mkdtempSync(join(tmpdir(), 'tocsin-browser-'));
    this.port = 0;
    this.process = null;
  }

  command() {
    const address = `127.0.0.1:${this.port}`;
    if (this.how === '--mock') {
      const words = [join(ROOT, 'web/dev/mock.mjs'), '--port', String(this.port), '--data', join(this.folder, 'rooms')];
      return [process.execPath, this.token ? [...words, '--token', this.token] : words];
    }
    const words = ['serve', '--data', join(this.folder, 'data'), '--listen', address, '--log-level', 'warn'];
    if (this.token) {
      const config = join(this.folder, 'tocsin.yaml');
      writeFileSync(config, `tokens:\n  - name: ci\n    token: ${this.token}\n`, { mode: 0o600 });
      words.push('--config', config);
    }
    return [resolve(this.how), words];
  }

  async start() {
    const [file, words] = this.command();
    const child = spawn(file, words, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.process = child;
    let said = '';
    await new Promise((done, fail) => {
      const timer = setTimeout(() => fail(new Error(`no ready line: ${said}`)), PATIENCE);
      child.once('exit', (code) => fail(new Error(`the server ended with ${code}: ${said}`)));
      child.once('error', fail);
      child.stdout.on('data', (piece) => {
        said += piece;
        const match = READY.exec(said);
        if (!match) return;
        clearTimeout(timer);
        this.url = match[1];
        this.port = Number(match[2]); // the next start is at the same place
        done();
      });
    });
    return this;
  }

  async kill() {
    const ended = new Promise((done) => this.process.once('exit', done));
    this.process.kill('SIGKILL');
    await ended;
  }

  async release() {
    if (this.process && this.process.exitCode === null && this.process.signalCode === null) await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async makeRoom(wish = {}) {
    const answer = await fetch(`${this.url}/v1/rooms`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...(this.token ? { Authorization: `Bearer ${this.token}` } : {}) },
      body: JSON.stringify({ mode: 'PVP', rule: 'STANDARD', turn_seconds: 30, ...wish }),
    });
    const said = await answer.json();
    if (answer.status !== 201) throw new Error(`POST /v1/rooms: ${answer.status} ${JSON.stringify(said)}`);
    return said.room_id;
  }

  async room(id) {
    return (await fetch(`${this.url}/v1/rooms/${id}`)).json();
  }
}

// ---- the browser

// `more`: Playwright hides scrollbars, unless { ignoreDefaultArgs: ['--hide-scrollbars'] } is given.
export function launch(more = {}) {
  return chromium.launch({
    ...more,
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  });
}

// What a broken connection leaves on the console is no fault of the page.
const NETWORK = /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|WebSocket connection to .* failed|401 \(Unauthorized\)/;

export class Visitor {
  static async open(world, options = {}) {
    const { width = 1100, height = 760, touch = false, ...more } = options;
    const context = await world.browser.newContext({ viewport: { width, height }, locale: 'en-US', hasTouch: touch, isMobile: touch, ...more });
    context.setDefaultTimeout(PATIENCE);
    world.contexts.push(context);
    return new Visitor(world, context, await context.newPage());
  }

  constructor(world, context, page) {
    this.world = world;
    this.context = context;
    this.page = page;
    world.visitors.push(this);
    page.on('pageerror', (error) => world.complaints.push(`page error: ${error.message}`));
    page.on('console', (message) => {
      if (message.type() === 'error' && !NETWORK.test(message.text())) world.complaints.push(`console: ${message.text()}`);
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(world.server.url)) world.complaints.push(`a request to ${request.url()}`);
    });
  }

  // Another tab of the same browser.
  async tab() {
    return new Visitor(this.world, this.context, await this.context.newPage());
  }

  async enter(room) {
    await this.page.goto(`${this.world.server.url}/#/room/${encodeURIComponent(room)}`);
    await this.page.locator('.room[data-entered="true"]').waitFor();
  }

  press(name) {
    return this.page.getByRole('button', { name, exact: true }).click();
  }

  async says(line) {
    await this.page.locator('.status-line', { hasText: line }).waitFor();
  }

  stones() {
    return this.page.locator('.stones .stone').count();
  }

  async hasStones(count) {
    await this.page.waitForFunction((n) => document.querySelectorAll('.stones .stone').length === n, count);
  }

  async spot(x, y) {
    const box = await this.page.locator('.board').boundingBox();
    return [box.x + (box.width * (40 + 40 * x)) / 626, box.y + (box.height * (26 + 40 * y)) / 626];
  }

  async freeSpots() {
    const taken = await this.page.locator('.stones .stone').evaluateAll((all) => all.map((one) => one.getAttribute('transform')));
    return [[2, 2], [12, 2], [2, 12], [12, 12]].filter(([x, y]) => !taken.includes(`translate(${40 + 40 * x} ${26 + 40 * y})`));
  }

  // Texts that do not fit where they stand, and a page that is wider than the screen.
  cut() {
    return this.page.evaluate(() => {
      const own = (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');
      const seen = [...document.querySelectorAll('.page *')].filter((one) => own(one) && one.checkVisibility() && !one.closest('svg, .unseen'));
      const found = seen.filter((one) => one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent);
      return document.documentElement.scrollWidth > innerWidth ? [...found, 'the page'] : found;
    });
  }

  // Which of these cannot be seen whole, or not be hit, on a page that was not scrolled?
  outOfView(...selectors) {
    return this.page.evaluate((wanted) => {
      scrollTo(0, 0);
      return wanted.filter((selector) => {
        const one = document.querySelector(selector);
        if (!one) return true;
        const { left, right, top, bottom } = one.getBoundingClientRect();
        const hit = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
        return left < 0 || top < 0 || right > innerWidth || bottom > innerHeight || !one.contains(hit);
      });
    }, selectors);
  }

  // Texts with less than 4.5 to 1 between them and what is behind them (WCAG AA).
  faint() {
    return this.page.evaluate(() => {
      const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
      const rgba = (colour) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
      };
      const light = ([r, g, b]) => {
        const part = (n) => (n / 255 <= 0.04045 ? n / 255 / 12.92 : ((n / 255 + 0.055) / 1.055) ** 2.4);
        return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
      };
      const ground = (one) => {
        for (let at = one; at; at = at.parentElement) {
          const colour = rgba(getComputedStyle(at).backgroundColor);
          if (colour[3] > 250) return colour;
        }
        return [255, 255, 255];
      };
      const own = (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');
      return [...document.querySelectorAll('.page *')]
        .filter((one) => own(one) && one.checkVisibility() && !one.closest('.unseen, .picture, .board, :disabled'))
        .flatMap((one) => {
          const style = getComputedStyle(one);
          const [a, b] = [light(rgba(one instanceof SVGElement ? style.fill : style.color)), light(ground(one))].sort((x, y) => y - x);
          const ratio = (a + 0.05) / (b + 0.05);
          return ratio < 4.5 ? [`${one.textContent}: ${ratio.toFixed(2)}`] : [];
        });
    });
  }

  // Waits for the turn, and until the server has said that the stone lies.
  async put(x, y) {
    await this.page.locator('.board[data-active]').waitFor();
    const before = await this.stones();
    await this.page.mouse.click(...(await this.spot(x, y)));
    await this.page.waitForFunction((n) => document.querySelectorAll('.stones .stone').length > n, before);
  }

  async picture(name) {
    mkdirSync(PICTURES, { recursive: true });
    await this.page.screenshot({ path: join(PICTURES, `${name}.png`) });
  }
}
