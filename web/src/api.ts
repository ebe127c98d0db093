// SPDX-License-Identifier: MIT
// The few HTTP calls of the page.

import { bag, type Listing, readListing, text } from './frames';
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

async function call(method: string, path: string, body?: unknown): Promise<unknown> {
  const headers: Record<string, string> = {};
  if (prefs.token) headers.Authorization = `Bearer ${prefs.token}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const answer = await fetch(path, {
    method,
    headers,
    cache: 'no-store',
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const said = bag(await answer.json().catch(() => null));
  if (!answer.ok) throw new Refused(answer.status, text(said.code), text(said.detail, answer.statusText));
  return said;
}

export async function listRooms(after: string | null): Promise<{ rooms: Listing[]; next: string | null }> {
  const query = after === null ? '' : `?after=${encodeURIComponent(after)}`;
  const said = bag(await call('GET', `/v1/rooms${query}`));
  const rooms = Array.isArray(said.rooms) ? said.rooms.map(readListing) : [];
  const next = typeof said.next === 'number' ? String(said.next) : text(said.next) || null;
  return { rooms: rooms.filter((room) => room.roomId !== ''), next };
}

export async function createRoom(mode: string, rule: string, turnSeconds: number): Promise<string> {
  const said = bag(await call('POST', '/v1/rooms', { mode, rule, turn_seconds: turnSeconds }));
  return text(said.room_id);
}

export async function findRoom(id: string): Promise<void> {
  await call('GET', `/v1/rooms/${encodeURIComponent(id)}`);
}

export async function serverVersion(): Promise<string> {
  return text(bag(await call('GET', '/v1/info')).version);
}
