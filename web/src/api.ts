// SPDX-License-Identifier: MIT
// The few HTTP calls of the page.

import { bag, type ClockMode, type ClockRules, type Listing, type Phase, readListing, text } from './frames';
import { prefs } from './prefs';

export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
  ) {
    super(detail);
  }
}

// A browser throws at a header with other letters, which would pass for a server out of reach. No
// token of a server has any: without it the answer is the one that a wrong token gets.
const SENDABLE = /^[!-~]+$/;

async function call(method: string, path: string, body?: unknown): Promise<unknown> {
  const { token } = prefs;
  const headers: Record<string, string> = {};
  if (token && SENDABLE.test(token)) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const answer = await fetch(path, {
    method,
    headers,
    cache: 'no-store',
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (answer.status === 401 && token !== prefs.token) return call(method, path, body); // there is a new one meanwhile
  const said = bag(await answer.json().catch(() => null));
  if (!answer.ok) throw new Refused(answer.status, text(said.code), text(said.detail, answer.statusText));
  return said;
}

export interface Page {
  rooms: Listing[];
  more: boolean;
}

// The newest of a phase.
export async function listRooms(phase: Phase, limit: number): Promise<Page> {
  const said = bag(await call('GET', `/v1/rooms?phase=${phase}&order=newest&limit=${Math.min(limit, 1000)}`));
  const rooms = Array.isArray(said.rooms) ? said.rooms.map(readListing) : [];
  return { rooms: rooms.filter((room) => room.roomId !== ''), more: (said.next ?? null) !== null };
}

export interface RoomWish {
  mode: string;
  rule: string;
  clock: { mode: ClockMode } & ClockRules;
}

export async function createRoom({ mode, rule, clock }: RoomWish): Promise<string> {
  const { bankMs, extraMs, periods } = clock;
  const kind = { mode: clock.mode, bank: bankMs, extra: extraMs, ...(clock.mode === 'byoyomi' ? { periods } : {}) };
  const time = clock.mode === 'turn' ? { turn_seconds: bankMs / 1000 } : { clock: kind };
  return text(bag(await call('POST', '/v1/rooms', { mode, rule, ...time })).room_id);
}

export async function findRoom(id: string): Promise<void> {
  await call('GET', `/v1/rooms/${encodeURIComponent(id)}`);
}

export async function serverVersion(): Promise<string> {
  return text(bag(await call('GET', '/v1/info')).version);
}
