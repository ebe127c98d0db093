// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';

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
  assert.equal(sayRefusal('zh', 'OCCUPIED', 'x'), '这里已经有棋子了。');
  assert.equal(sayRefusal('en', 'SOMETHING', 'the moon is full'), 'The server refused: the moon is full');
  assert.equal(sayRefusal('en', '', ''), 'The server refused: ?');
});

test('the language is the one chosen, or the one of the browser', () => {
  assert.equal(pickLanguage('en', 'zh-CN'), 'en');
  assert.equal(pickLanguage(null, 'zh-TW'), 'zh');
  assert.equal(pickLanguage('xx', 'de-DE'), 'en');
});
