// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';

import { clockText, duration } from '../src/clock_text';
import { fill, pickLanguage, say, sayRefusal, words } from '../src/i18n';

const holes = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();

test('every text is there in both languages, with the same holes', () => {
  for (const [name, pair] of Object.entries(words)) {
    assert.equal(pair.length, 2, name);
    for (const text of pair) assert.ok(text.trim().length > 0, name);
    assert.deepEqual(holes(pair[0]), holes(pair[1]), name);
  }
});

test('the Chinese column is Chinese', () => {
  const same = new Set(['product', 'switchLanguage', 'switchLanguageHint', 'saidStone']);
  for (const [name, pair] of Object.entries(words)) {
    if (!same.has(name)) assert.match(pair[1], /[\u4e00-\u9fff]/, name);
  }
});

test('holes are filled', () => {
  assert.equal(fill('{a} and {b}, {a}', { a: 1, b: 'x' }), '1 and x, 1');
  assert.equal(fill('{a}', {}), '{a}');
  assert.equal(say('en', 'seconds', { n: 30 }), '30 s');
  assert.equal(say('zh', 'seconds', { n: 30 }), '30 秒');
});

test('a code becomes a sentence, and an unknown one tells what the server said', () => {
  assert.equal(sayRefusal('en', 'NOT_YOUR_TURN', 'x'), 'It is not your turn.');
  assert.equal(sayRefusal('zh', 'TAKEN', 'x'), '这里已经有棋子了。');
  assert.equal(sayRefusal('en', 'SOMETHING', 'the moon is full'), 'The server refused: the moon is full');
  assert.equal(sayRefusal('en', '', ''), 'The server refused: ?');
  assert.equal(sayRefusal('en', 'BAD_SEAT', 'seatKey: it opens no seat in this room'), 'This is not your seat.');
  assert.equal(sayRefusal('en', 'FORBIDDEN', 'another connection holds this seat now'), words.kicked[0]);
});

test('the language is the one chosen, or the one of the browser', () => {
  assert.equal(pickLanguage('en', 'zh-CN'), 'en');
  assert.equal(pickLanguage(null, 'zh-TW'), 'zh');
  assert.equal(pickLanguage('xx', 'de-DE'), 'en');
});

test('a kind of clock is told with its numbers, or by its name', () => {
  const fischer = { bankMs: 300000, extraMs: 3000, periods: 0 };
  assert.equal(clockText('en', 'turn', null, 30), '30 s a move');
  assert.equal(clockText('zh', 'turn', null, 90), '每步 1 分 30 秒');
  assert.equal(clockText('en', 'fischer', fischer, 303), 'Fischer 5 min + 3 s');
  assert.equal(clockText('en', 'fischer', null, 303), 'Fischer');
  assert.equal(clockText('en', 'byoyomi', { bankMs: 300000, extraMs: 30000, periods: 3 }, 390), 'Byo-yomi 5 min + 3 × 30 s');
  assert.equal(clockText('zh', 'byoyomi', { bankMs: 0, extraMs: 30000, periods: 3 }, 90), '读秒 3 × 30 秒');
  assert.equal(duration('en', 0), '0 s');
  assert.equal(duration('en', 90061000), '1 d 1 h');
});

test('a forbidden move is named', () => {
  assert.equal(sayRefusal('en', 'FORBIDDEN_MOVE', 'double-three: two threes at once'), 'Forbidden: double three.');
  assert.equal(sayRefusal('en', 'FORBIDDEN_MOVE', 'something new'), 'Renju forbids black this point.');
  assert.equal(sayRefusal('en', 'TAKEN', 'a stone lies there'), 'There is a stone already.');
});
