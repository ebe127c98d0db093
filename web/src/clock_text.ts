// SPDX-License-Identifier: MIT
// A kind of clock in words: "30 s a move", "Fischer 5 min + 3 s", "Byo-yomi 5 min + 3 × 30 s".

import type { ClockMode, ClockRules } from './frames';
import { type Language, say, type Word } from './i18n';

const names: Record<ClockMode, Word> = {
  turn: 'clockTurn',
  fischer: 'clockFischer',
  bronstein: 'clockBronstein',
  delay: 'clockDelay',
  byoyomi: 'clockByoyomi',
};

// Of those that can be chosen.
const hints: Partial<Record<ClockMode, Word>> = {
  turn: 'clockTurnHint',
  fischer: 'clockFischerHint',
  byoyomi: 'clockByoyomiHint',
};

// The two largest units: nobody counts the seconds of a game by post.
export function duration(language: Language, ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  const parts: [Word, number][] = [
    ['days', Math.floor(seconds / 86400)],
    ['hours', Math.floor(seconds / 3600) % 24],
    ['minutes', Math.floor(seconds / 60) % 60],
    ['seconds', seconds % 60],
  ];
  const told = parts.filter(([, n]) => n > 0).slice(0, 2);
  if (told.length === 0) return say(language, 'seconds', { n: 0 });
  return told.map(([word, n]) => say(language, word, { n })).join(' ');
}

export function clockName(language: Language, mode: ClockMode): string {
  return say(language, names[mode]);
}

export function clockHint(language: Language, mode: ClockMode): string {
  const hint = hints[mode];
  return hint ? say(language, hint) : '';
}

// Without the kind: what a choice of one kind is called.
export function clockAmounts(language: Language, mode: ClockMode, rules: ClockRules): string {
  const bank = rules.bankMs > 0 ? duration(language, rules.bankMs) : '';
  const extra = rules.extraMs > 0 ? duration(language, rules.extraMs) : '';
  const added = mode === 'byoyomi' ? `${rules.periods} × ${extra}` : extra;
  return [bank, added].filter(Boolean).join(' + ');
}

export function clockText(language: Language, mode: ClockMode, rules: ClockRules | null, turnSeconds: number): string {
  if (mode === 'turn') return say(language, 'aMove', { t: duration(language, turnSeconds * 1000) });
  const name = clockName(language, mode);
  return rules ? `${name} ${clockAmounts(language, mode, rules)}` : name;
}
