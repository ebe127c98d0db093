// SPDX-License-Identifier: MIT
// Which seat key is this tab's own?
//
// Two wishes pull in opposite directions. Two tabs of one browser are to be two players, for a quick
// try alone; so a key belongs to a tab, and lives in its sessionStorage, where a reload finds it
// again. But who closed the tab by mistake wants the seat back in a new one; so every key is in
// localStorage too. Which of the two a new tab means is not guessed: a tab holds a lock for its key
// (Web Locks), which the browser takes back when the tab is gone, however slow or asleep it is while it
// lives. A key whose lock is free belongs to nobody and is taken over; if all are held, this tab is
// somebody else and asks for a new seat. The same keeps a duplicated tab, whose sessionStorage is a
// copy, from taking the seat of the first.
//
// Browsers give locks to pages of https and of this machine only. Elsewhere the tabs ask each other over
// a BroadcastChannel; one that does not answer in time is taken for gone, and can take its seat back.

import { recall, remember } from './prefs';

const ANSWER_MS = 300;
const LOCK_MS = 500; // a tab that has just been closed, or reloaded, may still have it
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

export function hasSeat(room: string): boolean {
  return stored(room).length > 0;
}

// How tabs of one browser know of each other.
interface Claims {
  // The first of these keys that no other tab has; null: all are taken.
  first(keys: string[]): Promise<string | null>;
  take(key: string | null): void;
  release(): void;
}

class Locks implements Claims {
  private held: { key: string; free: () => void } | null = null;

  // What frees it again; null: another tab has it.
  private lock(key: string, patience?: AbortSignal): Promise<(() => void) | null> {
    return new Promise((resolve) => {
      const keep = () => new Promise<void>((free) => resolve(free));
      const options = patience === undefined ? {} : { signal: patience };
      navigator.locks.request(`tocsin.seat.${key}`, options, keep).catch(() => resolve(null));
    });
  }

  async first(keys: string[]): Promise<string | null> {
    const patience = new AbortController();
    const timer = setTimeout(() => patience.abort(), LOCK_MS);
    const tries = keys.map(async (key) => ({ key, free: await this.lock(key, patience.signal) }));
    let found: string | null = null;
    for (const one of tries) {
      const { key, free } = await one;
      if (free !== null && found === null) {
        found = key;
        this.held = { key, free };
        patience.abort(); // whoever waits no longer needs to
      } else {
        free?.();
      }
    }
    clearTimeout(timer);
    return found;
  }

  take(key: string | null): void {
    if (this.held?.key === key) return;
    this.release();
    if (key === null) return;
    const held = { key, free: () => {} };
    this.held = held;
    void this.lock(key).then((free) => {
      if (this.held === held) held.free = free ?? held.free;
      else free?.(); // it has gone on to another key meanwhile
    });
  }

  release(): void {
    this.held?.free();
    this.held = null;
  }
}

class Questions implements Claims {
  private key: string | null = null;

  constructor(private channel: BroadcastChannel) {
    channel.addEventListener('message', (event: MessageEvent) => {
      if (event.data?.who === true && this.key !== null) channel.postMessage({ holds: this.key });
    });
  }

  async first(keys: string[]): Promise<string | null> {
    const held = new Set<string>();
    const hear = (event: MessageEvent) => {
      if (typeof event.data?.holds === 'string') held.add(event.data.holds);
    };
    this.channel.addEventListener('message', hear);
    this.channel.postMessage({ who: true });
    await new Promise((resolve) => setTimeout(resolve, ANSWER_MS));
    this.channel.removeEventListener('message', hear);
    this.key = keys.find((one) => !held.has(one)) ?? null;
    return this.key;
  }

  take(key: string | null): void {
    this.key = key;
  }

  release(): void {
    this.channel.close();
  }
}

const nobodyElse: Claims = {
  first: (keys) => Promise.resolve(keys[0] ?? null),
  take() {},
  release() {},
};

function claimsOf(room: string): Claims {
  if ('locks' in navigator) return new Locks();
  if ('BroadcastChannel' in window) return new Questions(new BroadcastChannel(`tocsin.room.${room}`));
  return nobodyElse;
}

export async function findSeatKey(room: string): Promise<SeatKey> {
  const claims = claimsOf(room);
  const own = recall('sessionStorage', `seat.${room}`);
  const known = stored(room).filter((one) => one !== own);
  const candidates = own === null ? known : [own, ...known];
  let key = candidates.length > 0 ? await claims.first(candidates) : null;
  return {
    get: () => key,
    set(next) {
      key = next;
      claims.take(next);
      remember('sessionStorage', `seat.${room}`, next);
      if (next === null) return;
      const all = [next, ...stored(room).filter((one) => one !== next)].slice(0, KEYS_MAX);
      remember('localStorage', `seats.${room}`, JSON.stringify(all));
    },
    release: () => claims.release(),
  };
}
