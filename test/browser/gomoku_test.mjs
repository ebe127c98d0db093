#!/usr/bin/env node
// SPDX-License-Identifier: MIT
// gomoku_test.mjs TOCSIN | --mock [NAME...] - people play on the page, in a real browser.
//
// TOCSIN is the binary; --mock plays against web/dev/mock.mjs instead. Each test has a server of its
// own. Prints "ok ..." or "FAILED ..." for each; pictures are left in build/artifacts/browser.
// Needs Chromium ($CHROMIUM, else /usr/bin/chromium) and `npm ci` in web/.

import assert from 'node:assert/strict';

import { launch, Server, Visitor } from './support.mjs';

const [how, ...names] = process.argv.slice(2);
if (!how) {
  console.error('usage: gomoku_test.mjs TOCSIN|--mock [NAME...]');
  process.exit(2);
}

async function seated(world, wish, options) {
  const room = await world.server.makeRoom(wish);
  const black = await Visitor.open(world, options);
  await black.enter(room);
  const white = await Visitor.open(world, options);
  await white.enter(room);
  return { room, black, white };
}

async function playing(world, wish = {}, options = {}) {
  const players = await seated(world, wish, options);
  await players.black.press('Ready');
  await players.white.press('Ready');
  await players.black.says('Your move');
  await players.white.says('Their move');
  return players;
}

// Black wins with the last of these.
const WIN = [[7, 7], [7, 8], [8, 7], [8, 8], [9, 7], [9, 8], [10, 7], [10, 8], [11, 7]];

async function alternate(black, white, moves, first = 0) {
  for (const [i, [x, y]] of moves.entries()) {
    const n = first + i;
    await (n % 2 === 0 ? black : white).put(x, y);
    await (n % 2 === 0 ? white : black).hasStones(n + 1);
  }
}

const tests = {
  async two_people_play_to_a_win_and_again(world) {
    const { room, black, white } = await playing(world);
    const guest = await Visitor.open(world);
    await guest.enter(room);
    await guest.says('Black to move');
    await black.page.getByText('1 watching').waitFor();
    await alternate(black, white, WIN.slice(0, 5));
    await black.picture('playing');
    assert.equal(await white.page.locator('.last').count(), 1, 'the last move is marked');
    await alternate(black, white, WIN.slice(5), 5);
    await black.says('You won');
    await white.says('You lost');
    await guest.says('Black won');
    assert.equal(await guest.page.locator('.win-stone').count(), 5);
    await black.picture('won');
    await black.page.locator('.seat[data-side="X"] .seat-score', { hasText: '1' }).waitFor();
    await white.press('Play again');
    await white.page.locator('.stones:empty').waitFor({ state: 'attached' });
    // Sides are swapped; what was won goes with the player.
    await black.page.locator('.seat[data-side="O"]', { hasText: 'You' }).waitFor();
    await black.page.locator('.seat[data-side="O"] .seat-score', { hasText: '1' }).waitFor();
    for (const player of [white, black]) {
      if (await player.page.getByRole('button', { name: 'Ready', exact: true }).isVisible()) await player.press('Ready');
    }
    await white.put(7, 7);
    await black.put(6, 6);
    await guest.hasStones(2);
  },

  async one_plays_the_machine_and_resigns(world) {
    const room = await world.server.makeRoom({ mode: 'PVE' });
    const player = await Visitor.open(world);
    await player.enter(room);
    await player.press('Ready');
    await player.put(7, 7);
    await player.hasStones(2);
    await player.put(7, 3);
    await player.hasStones(4);
    await player.picture('machine');
    await player.press('Resign');
    await player.press('Play on');
    await player.says('Your move');
    await player.press('Resign');
    await player.press('Yes, resign');
    await player.says('You lost');
  },

  async a_clock_runs_out(world) {
    const { black, white } = await playing(world, { turn_seconds: 5 });
    await black.page.locator('.seat[data-side="X"] .ring[data-mood="critical"]').waitFor();
    await black.put(7, 7);
    const start = Date.now();
    await white.says('You lost');
    const waited = Date.now() - start;
    assert.ok(waited > 3500 && waited < 7000, `${waited} ms`);
    await white.page.getByText('The time ran out.').waitFor();
    await black.says('You won');
    assert.equal(await white.page.locator('.seat[data-side="O"] .ring-number').textContent(), '0');
    await white.picture('out-of-time');
  },

  async why_a_game_ended_is_known_after_a_reload_and_a_crash(world) {
    const { room, black, white } = await playing(world, { turn_seconds: 5 });
    await white.says('You won');
    const other = await playing(world);
    await other.black.press('Resign');
    await other.black.press('Yes, resign');
    await other.white.says('You won');
    // A server that does not tell why leaves the page with a guess.
    const tells = (await world.server.room(room)).endedBy !== undefined;
    const empty = black.page.locator('.seat[data-side="X"] .ring-number', { hasText: /^0$/ });
    for (const kill of [false, true]) {
      if (kill) {
        await world.server.kill();
        await world.server.start();
      }
      for (const one of [black, white, other.black, other.white]) await one.page.reload();
      for (const one of [black, white]) await one.page.getByText(tells ? 'The time ran out.' : 'By resignation or on time.').waitFor();
      for (const one of [other.black, other.white]) await one.page.getByText(tells ? 'By resignation.' : 'By resignation or on time.').waitFor();
      if (tells) await empty.waitFor();
    }
    await black.picture('out-of-time-reloaded');
  },

  async a_reload_changes_nothing(world) {
    const { black, white } = await playing(world);
    await alternate(black, white, WIN.slice(0, 4));
    await black.page.reload();
    await black.says('Your move');
    await black.hasStones(4);
    await black.put(9, 7);
    await white.page.reload();
    await white.hasStones(5);
    await white.says('Your move');
  },

  async who_is_gone_is_seen_to_be_gone(world) {
    const { room, black, white } = await playing(world);
    await black.put(7, 7);
    await black.page.goto('about:blank');
    await white.page.locator('.seat[data-side="X"][data-away]').waitFor();
    await black.enter(room);
    await white.page.locator('.seat[data-side="X"]:not([data-away])').waitFor();
    await white.put(8, 8);
    await black.says('Your move');
  },

  async a_server_that_is_killed_goes_on(world) {
    const { black, white } = await playing(world, { turn_seconds: 60 });
    await alternate(black, white, WIN.slice(0, 6));
    await world.server.kill();
    await black.page.locator('.wire[data-state="waiting"], .wire[data-state="connecting"]').waitFor();
    await black.picture('reconnecting');
    assert.equal(await black.page.locator('.board[data-active]').count(), 0, 'nothing can be placed');
    await world.server.start();
    await black.page.locator('.wire[data-state="connected"]').waitFor();
    await white.page.locator('.wire[data-state="connected"]').waitFor();
    await black.hasStones(6);
    await alternate(black, white, WIN.slice(6), 6);
    await black.says('You won');
    await white.says('You lost');
  },

  async two_tabs_are_two_players_and_a_closed_one_comes_back(world) {
    const room = await world.server.makeRoom();
    const one = await Visitor.open(world);
    await one.enter(room);
    const two = await one.tab();
    await two.enter(room);
    await one.press('Ready');
    await two.press('Ready');
    await one.put(7, 7);
    await two.says('Your move');
    await two.page.close();
    const again = await one.tab();
    await again.enter(room);
    await again.says('Your move');
    await again.put(8, 8);
    await one.says('Your move');
    const third = await one.tab();
    await third.enter(room);
    await third.says('Black to move');
    await third.page.getByText('You are watching').waitFor();
  },

  async a_seat_that_is_taken_over_can_be_taken_back(world) {
    const { room, black } = await playing(world);
    const key = await black.page.evaluate((id) => localStorage.getItem(`tocsin.seats.${id}`), room);
    const elsewhere = await Visitor.open(world);
    await elsewhere.page.goto(world.server.url);
    await elsewhere.page.evaluate(([id, value]) => localStorage.setItem(`tocsin.seats.${id}`, value), [room, key]);
    await elsewhere.enter(room);
    await elsewhere.says('Your move');
    await black.page.getByText('now played from another window').waitFor();
    assert.equal(await black.page.locator('.board[data-active]').count(), 0);
    await black.press('Play here');
    await black.says('Your move');
    await elsewhere.page.getByText('now played from another window').waitFor();
    await black.put(7, 7);
  },

  async a_refused_stone_is_explained_and_taken_back(world) {
    const { black, white } = await playing(world, { rule: 'RENJU' });
    const row = [2, 3, 4, 6, 7];
    for (const [i, x] of row.entries()) {
      await black.put(x, 7);
      await white.put(2 * i, i % 2 === 0 ? 0 : 14);
    }
    await black.page.locator('.board[data-active]').waitFor();
    await black.page.mouse.click(...(await black.spot(5, 7)));
    await black.page.locator('.toast', { hasText: /forbid/i }).waitFor();
    assert.equal(await black.stones(), 10);
    await black.says('Your move');
    await black.picture('refused');
    await black.put(12, 12);
  },

  async a_finger_aims_and_then_places(world) {
    const room = await world.server.makeRoom({ mode: 'PVE' });
    const player = await Visitor.open(world, { width: 360, height: 740, touch: true });
    await player.enter(room);
    await player.page.getByRole('button', { name: 'Ready' }).tap();
    await player.page.locator('.board[data-active]').waitFor();
    const before = await player.spot(5, 5);
    await player.page.touchscreen.tap(...before);
    await player.page.getByRole('button', { name: 'Place F10' }).waitFor();
    assert.deepEqual(await player.spot(5, 5), before, 'the board stays under the finger');
    assert.equal(await player.stones(), 0);
    await player.page.touchscreen.tap(...(await player.spot(6, 5)));
    await player.page.getByRole('button', { name: 'Place G10' }).waitFor();
    assert.equal(await player.stones(), 0, 'another point is aimed at anew');
    await player.picture('small-aim');
    await player.page.touchscreen.tap(...(await player.spot(6, 5)));
    await player.hasStones(2);
    await player.page.locator('.board[data-active]').waitFor();
    const [free] = await player.freeSpots();
    await player.page.touchscreen.tap(...(await player.spot(...free)));
    await player.page.locator('.put').tap();
    await player.hasStones(4);
    await player.picture('small');
    for (const width of [320, 360, 768, 1280]) {
      await player.page.setViewportSize({ width, height: 700 });
      assert.ok(await player.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width} px`);
    }
  },

  async nothing_is_cut_off_on_the_smallest_screen(world) {
    for (const locale of ['en-US', 'zh-CN']) {
      const room = await world.server.makeRoom({ turn_seconds: undefined, clock: { mode: 'byoyomi', bank: '5m', extra: '30s', periods: 3 } });
      const black = await Visitor.open(world, { width: 320, height: 568, locale });
      await black.enter(room);
      const white = await Visitor.open(world, { width: 320, height: 568, locale });
      await white.enter(room);
      for (const one of [black, white]) await one.page.locator('[data-command="ready"]').click();
      await black.page.locator('.board[data-active]').waitFor();
      await white.page.goto('about:blank');
      await black.page.locator('.seat[data-away]').waitFor();
      assert.deepEqual(await black.cut(), []);
      await black.picture(`smallest-${locale}`);
      await black.page.goto(world.server.url);
      await black.page.locator('input[value="byoyomi"]').check({ force: true });
      assert.deepEqual(await black.cut(), []);
    }
  },

  async what_is_to_be_done_next_is_in_view_on_small_screens(world) {
    const command = (name) => `[data-command="${name}"]`;
    const periods = { turn_seconds: undefined, clock: { mode: 'byoyomi', bank: '5m', extra: '30s', periods: 3 } };
    const screens = [[320, 568, 'en-US', periods], [320, 568, 'zh-CN'], [360, 640, 'en-US'], [640, 320, 'en-US', periods], [320, 430, 'en-US']];
    for (const [width, height, locale, wish = {}] of screens) {
      const where = `${width} x ${height} ${locale}`;
      const room = await world.server.makeRoom(wish);
      const black = await Visitor.open(world, { width, height, locale, touch: true });
      await black.enter(room);
      assert.deepEqual(await black.outOfView(command('ready'), '.share-link', '.share button'), [], `${where}: alone`);
      const white = await Visitor.open(world, { width, height, locale, touch: true });
      await white.enter(room);
      assert.deepEqual(await white.outOfView(command('ready')), [], `${where}: both`);
      await white.picture(`ready-${width}-${height}-${locale}`);
      for (const one of [black, white]) await one.page.locator(command('ready')).tap();
      await black.page.locator('.board[data-active]').waitFor();
      assert.equal(await black.page.locator(command('askNew')).count(), 0, 'a game without a stone is new');
      await black.put(7, 7);
      await white.hasStones(1);
      // On the smallest of all the board alone is too high; then only what is to be done next is at hand.
      const buttons = height === 430 ? [] : [command('resign'), command('askNew')];
      assert.deepEqual(await black.outOfView('.ring', '.status-line', ...buttons), [], `${where}: the game`);
      const before = await white.spot(7, 7);
      await black.page.locator(command('askNew')).tap();
      await white.page.locator(command('agree')).waitFor();
      assert.deepEqual(await white.outOfView(command('agree')), [], `${where}: the offer`);
      assert.deepEqual(await white.spot(7, 7), before, `${where}: an offer does not move the board`);
      await white.picture(`offer-${width}-${height}-${locale}`);
      await white.page.locator(command('resign')).tap();
      await white.page.locator('.danger').tap();
      await black.page.locator(command('rematch')).waitFor();
      assert.deepEqual(await black.outOfView(command('rematch')), [], `${where}: the end`);
      await black.picture(`ended-${width}-${height}-${locale}`);
      for (const one of [black, white]) await one.context.close();
    }
  },

  async every_text_can_be_read_by_weak_eyes(world) {
    for (const colorScheme of ['light', 'dark']) {
      const { black, white, room } = await playing(world, {}, { colorScheme });
      await black.put(7, 7);
      await white.page.goto('about:blank');
      await black.page.locator('.seat[data-away]').waitFor();
      assert.deepEqual(await black.faint(), [], `${colorScheme}: the game`);
      await black.page.goto(world.server.url);
      await black.page.locator('.game').first().waitFor();
      assert.deepEqual(await black.faint(), [], `${colorScheme}: the lobby, ${room}`);
    }
  },

  async a_game_with_banks_and_periods(world) { // C-30
    const host = await Visitor.open(world);
    await host.page.goto(world.server.url);
    await host.page.getByRole('radio', { name: 'The machine' }).check();
    await host.page.getByRole('radio', { name: 'Byo-yomi' }).check();
    await host.page.getByRole('radio', { name: '1 min + 3 × 10 s' }).check();
    await host.press('Start');
    await host.page.locator('.facts', { hasText: 'Byo-yomi' }).waitFor();
    await host.page.locator('.seat[data-side="X"] .seat-time', { hasText: '3' }).waitFor();
    await host.press('Ready');
    await host.put(7, 7);
    await host.hasStones(2);
    await host.picture('byoyomi');
    const { black, white } = await playing(world, { turn_seconds: undefined, clock: { mode: 'fischer', bank: '5m', extra: '3s' } });
    await black.page.locator('.facts', { hasText: 'Fischer' }).waitFor();
    await black.page.locator('.seat[data-side="X"] .ring-number', { hasText: '5:0' }).waitFor();
    await black.put(7, 7);
    // What was not used, and three seconds more.
    await white.page.locator('.seat[data-side="X"] .ring-number', { hasText: '5:0' }).waitFor();
    await white.put(8, 8);
  },

  async a_machine_is_asked_for_another_game_in_the_middle(world) {
    const player = await Visitor.open(world);
    await player.enter(await world.server.makeRoom({ mode: 'PVE' }));
    await player.press('Ready');
    await player.put(7, 7);
    await player.hasStones(2);
    await player.press('Start over');
    await player.press('Play on');
    assert.equal(await player.stones(), 2);
    await player.press('Start over');
    await player.press('Yes, start over');
    // The machine has black now, and begins.
    await player.page.locator('.seat[data-side="O"]', { hasText: 'You' }).waitFor();
    await player.hasStones(1);
  },

  async a_new_game_in_the_middle_needs_both(world) {
    const { black, white } = await playing(world);
    await black.put(7, 7);
    await black.press('New game');
    await black.page.getByText('You asked for a new game').waitFor();
    await white.page.getByText('Black asks for a new game').waitFor();
    await white.picture('offer');
    assert.equal(await white.stones(), 1, 'nothing has happened yet');
    await white.press('Agree to a new game');
    await white.page.locator('.seat[data-side="X"]', { hasText: 'You' }).waitFor();
    await white.put(8, 8);
    await black.hasStones(1);
  },

  async keys_alone_are_enough(world) {
    const player = await Visitor.open(world);
    const { page } = player;
    await page.goto(world.server.url);
    const machine = page.getByRole('radio', { name: 'The machine' });
    await machine.focus();
    await page.keyboard.press('Space');
    await page.getByRole('button', { name: 'Start' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Ready' }).focus();
    await page.keyboard.press('Enter');
    await page.locator('.board[data-active]').focus();
    for (const key of ['ArrowRight', 'ArrowUp', 'ArrowUp', 'Enter']) await page.keyboard.press(key);
    await player.hasStones(2);
    await page.keyboard.press('ArrowDown');
    await page.locator('[aria-live]', { hasText: 'I9' }).waitFor({ state: 'attached' });
    await player.picture('keys');
  },

  async the_lobby_shows_what_there_is_in_both_languages_and_colours(world) {
    const host = await Visitor.open(world);
    const { page } = host;
    await page.goto(world.server.url);
    await page.getByText('Nobody is playing yet').waitFor();
    await page.getByRole('radio', { name: 'Renju' }).check();
    await host.press('Start');
    await page.locator('.share').waitFor();
    const link = await page.locator('.share-link').inputValue();
    const guest = await Visitor.open(world, { locale: 'zh-CN', colorScheme: 'dark' });
    await guest.page.goto(world.server.url);
    await guest.page.getByText('连珠禁手 · 每步 30 秒').waitFor();
    assert.equal(await guest.page.evaluate(() => document.documentElement.lang), 'zh-Hans');
    assert.equal(await guest.page.evaluate(() => document.documentElement.dataset.theme), 'dark');
    await guest.picture('lobby-dark-zh');
    await guest.page.locator('.game').click();
    await guest.page.getByRole('button', { name: '准备' }).waitFor();
    assert.equal(guest.page.url(), link);
    await guest.page.getByRole('button', { name: 'Switch to English' }).click();
    await guest.page.getByRole('button', { name: 'Ready' }).waitFor();
    await page.goBack();
    await page.locator('.game').waitFor();
    await host.picture('lobby');
    await page.goto(`${world.server.url}/#/room/no-such-room`);
    await page.getByRole('heading', { name: 'There is no such game' }).waitFor();
    assert.equal(await page.getByText('Connecting').count(), 0);
    await host.picture('missing');
    await page.getByRole('link', { name: 'To all games' }).click();
    await page.locator('.game').waitFor();
    // Names that no room can have are as good as names that no room has.
    for (const name of ['x'.repeat(3000), 'x'.repeat(20000), '%0A']) {
      await page.goto(world.server.url);
      await page.goto(`${world.server.url}/#/room/${name}`);
      await page.getByRole('heading', { name: 'There is no such game' }).waitFor();
    }
    world.complaints = world.complaints.filter((one) => !/400 \(Bad Request\)|404 \(Not Found\)|414 \(URI Too Long\)|431 \(Request Header/.test(one));
  },

  async the_lobby_says_what_can_be_done_with_a_game(world) {
    const { room, black, white } = await seated(world);
    const guest = await Visitor.open(world);
    await guest.page.goto(world.server.url);
    const row = (visitor, headline) => visitor.page.locator('.group', { hasText: headline }).locator(`.game[href="#/room/${room}"] .go`);
    const shows = (visitor, headline, word) => row(visitor, headline).filter({ hasText: word }).waitFor();
    // Both seats are taken: nobody else is waited for.
    await shows(guest, 'Waiting for players to be ready', 'Watch');
    await white.page.goto(world.server.url);
    await shows(white, 'Waiting for players to be ready', 'Back to the game');
    assert.equal(await white.page.getByText('Waiting for a player').isVisible(), false);
    await white.enter(room);
    await black.press('Ready');
    await white.press('Ready');
    await black.says('Your move');
    await white.page.goto(world.server.url);
    await shows(guest, 'Being played', 'Watch');
    await shows(white, 'Being played', 'Back to the game');
    // One's own room with a free seat is not joined once more; the newest stands first, one's own before it.
    const own = await world.server.makeRoom();
    await white.enter(own);
    await world.server.makeRoom();
    await white.page.goto(world.server.url);
    const open = white.page.locator('.group', { hasText: 'Waiting for a player' }).locator('.go');
    await open.nth(1).waitFor();
    assert.deepEqual(await open.allTextContents(), ['Back to the game', 'Join']);
    await white.picture('lobby-own');
    await white.page.setViewportSize({ width: 320, height: 568 });
    assert.deepEqual(await white.cut(), []);
    await open.first().click();
    await white.page.locator('.room[data-entered="true"] .seat', { hasText: 'You' }).waitFor();
  },

  async a_server_with_a_token_asks_for_it_once(world) {
    const room = await world.server.makeRoom();
    const guest = await Visitor.open(world);
    await guest.page.goto(`${world.server.url}/#/room/${room}`);
    await guest.page.getByLabel('Token', { exact: true }).fill('wrong');
    await guest.press('Go on');
    await guest.page.getByText('did not take this token').waitFor();
    // In the lobby, too, the next question comes with the answer, not with the next refresh.
    const visitor = await Visitor.open(world);
    await visitor.page.goto(world.server.url);
    await visitor.page.getByLabel('Token', { exact: true }).fill('wrong');
    const start = Date.now();
    await visitor.press('Go on');
    await visitor.page.getByText('did not take this token').waitFor();
    assert.ok(Date.now() - start < 2000, `${Date.now() - start} ms`);
    await guest.page.getByLabel('Token', { exact: true }).fill(world.server.token);
    await guest.press('Go on');
    await guest.press('Ready');
    await guest.page.reload();
    await guest.says('Waiting for the other player');
    assert.equal(await guest.page.locator('dialog').count(), 0);
  },

  async the_question_for_a_token_dims_the_whole_window(world) {
    const barred = await launch({ ignoreDefaultArgs: ['--hide-scrollbars'] });
    try {
      const visitor = await Visitor.open({ ...world, browser: barred });
      const { page } = visitor;
      const gutters = () => page.evaluate(() => innerWidth - document.documentElement.getBoundingClientRect().width);
      await page.goto(world.server.url);
      await page.locator('dialog[open]').waitFor();
      assert.equal(await gutters(), 0);
      await visitor.picture('token');
      await page.getByLabel('Token', { exact: true }).fill(world.server.token);
      await visitor.press('Go on');
      await page.locator('dialog').waitFor({ state: 'detached' });
      assert.ok((await gutters()) > 0, 'this browser has scrollbars');
    } finally {
      await barred.close();
    }
  },

  async a_token_that_no_header_can_carry_is_just_a_wrong_one(world) {
    const room = await world.server.makeRoom();
    const stored = (visitor) => visitor.page.evaluate(() => localStorage.getItem('tocsin.token'));
    for (const path of ['/', `/#/room/${room}`]) {
      const visitor = await Visitor.open(world);
      await visitor.page.goto(world.server.url + path);
      for (const wrong of ['中文token', 'caf\u00e9', 'a b']) {
        await visitor.page.getByLabel('Token', { exact: true }).fill(wrong);
        await visitor.press('Go on');
        await visitor.page.getByText('did not take this token').waitFor();
        await visitor.page.getByLabel('Token', { exact: true }).waitFor();
        assert.equal(await stored(visitor), null, 'what was wrong is forgotten');
      }
      // One that an earlier page has stored.
      await visitor.page.evaluate(() => localStorage.setItem('tocsin.token', '中文token'));
      await visitor.page.reload();
      await visitor.page.getByText('did not take this token').waitFor();
      await visitor.page.getByLabel('Token', { exact: true }).fill(world.server.token);
      await visitor.press('Go on');
      await visitor.page.locator(path === '/' ? '.game' : '.room[data-entered="true"]').waitFor();
      assert.equal(await stored(visitor), world.server.token);
      assert.equal(await visitor.page.locator('dialog').count(), 0);
    }
  },
};

const WITH_TOKEN = new Set([
  'a_server_with_a_token_asks_for_it_once',
  'the_question_for_a_token_dims_the_whole_window',
  'a_token_that_no_header_can_carry_is_just_a_wrong_one',
]);

const browser = await launch();
let passed = 0;
let failed = 0;
for (const [name, run] of Object.entries(tests)) {
  if (names.length > 0 && !names.some((word) => name.includes(word))) continue;
  const world = { browser, contexts: [], visitors: [], complaints: [] };
  world.server = new Server(how, WITH_TOKEN.has(name) ? 'a-token-for-this-test' : null);
  try {
    await world.server.start();
    await run(world);
    assert.deepEqual(world.complaints, []);
    passed++;
    console.log(`ok ${name}`);
  } catch (error) {
    failed++;
    for (const [i, visitor] of world.visitors.entries()) await visitor.picture(`failed-${name}-${i}`).catch(() => undefined);
    console.log(`${error.stack}\n${world.complaints.join('\n')}\nFAILED ${name}`);
  } finally {
    await Promise.all(world.contexts.map((context) => context.close()));
    await world.server.release();
  }
}
await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
