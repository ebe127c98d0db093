// SPDX-License-Identifier: MIT
// Which seat key is this tab's own?
//
// Two wishes pull in opposite directions. Two tabs of one browser are to be two players, for a quick
// try alone; so a key belongs to a tab, and lives in its sessionStorage, where a reload finds it
// again. But who closed the tab by mistake wants the seat back in a new one; so every key is in
// localStorage too. Which of the two a new tab means is asked, not guessed: over a BroadcastChannel
// it asks who holds which keys of the room. A key that nobody answers for belongs to a tab that is
// gone, and is taken over; if all are held, this tab is somebody else and asks for a new seat. The
// same question keeps a duplicated tab, whose sessionStorage is a copy, from taking the seat of the
// first.

import { recall, remember } from './prefs';

const ANSWER_MS = 120;
const KEYS_MAX = 4;

export interface SeatKey {
  get(): string | null;
  set(key: string | null): void;
  release(): void;
}

function stored(room: string): string[] {
  try {
    const keys: unknown = JSON.parse(recall('localStorage', `seats.${room}`) ?? '[]');
    return Array.isArray(keys) ? keys.filter((key): key is string => typeof key === 'string') : [];
  } catch {
    return [];
  }
}

function heldByOthers(channel: BroadcastChannel | null): Promise<Set<string>> {
  const held = new Set<string>();
  if (channel === null) return Promise.resolve(held);
  return new Promise((resolve) => {
    const hear = (event: MessageEvent) => {
      if (typeof event.data?.holds === 'string') held.add(event.data.holds);
    };
    channel.addEventListener('message', hear);
    channel.postMessage({ who: true });
    setTimeout(() => {
      channel.removeEventListener('message', hear);
      resolve(held);
    }, ANSWER_MS);
  });
}

export async function findSeatKey(room: string): Promise<SeatKey> {
  const channel = 'BroadcastChannel' in window ? new BroadcastChannel(`tocsin.room.${room}`) : null;
  const own = recall('sessionStorage', `seat.${room}`);
  const known = stored(room);
  // Nobody to ask about, nothing to wait for.
  const held = own !== null || known.length > 0 ? await heldByOthers(channel) : new Set<string>();
  const candidates = own === null ? known : [own, ...known];
  let key = candidates.find((one) => !held.has(one)) ?? null;

  channel?.addEventListener('message', (event: MessageEvent) => {
    if (event.data?.who === true && key !== null) channel.postMessage({ holds: key });
  });
  return {
    get: () => key,
    set(next) {
      key = next;
      remember('sessionStorage', `seat.${room}`, next);
      if (next === null) return;
      const all = [next, ...stored(room).filter((one) => one !== next)].slice(0, KEYS_MAX);
      remember('localStorage', `seats.${room}`, JSON.stringify(all));
    },
    release: () => channel?.close(),
  };
}
