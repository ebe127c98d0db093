// SPDX-License-Identifier: MIT
// How long to wait before the next attempt: doubling from half a second to 15 s, and a random part,
// so that not everybody comes back in the same moment after a restart of the server.

export const FIRST_MS = 500;
export const MOST_MS = 15000;

export function waitMs(attempt: number, chance: number): number {
  const ceiling = Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(attempt, 16));
  return Math.round(ceiling / 2 + (ceiling / 2) * chance);
}
