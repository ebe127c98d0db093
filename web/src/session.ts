// SPDX-License-Identifier: MIT
// One room, as long as this tab is in it: the connection, the seat, and what is known. The screen
// looks at it and may be thrown away and made anew (another language) without leaving the room.

import { findRoom, Refused } from './api';
import { bag, type Point, readFrame, readRoom, type Side, side, text } from './frames';
import { Link, type LinkState } from './link';
import { findSeatKey, type SeatKey } from './seat_key';
import { apply, enter, myTurn, place, refuse, sit, type View } from './view';

// A name that no room can have is told by another number than one that no room has.
const NO_ROOM = [400, 404, 414, 431];

export interface SessionEvents {
  onChange(): void;
  onRefused(code: string, detail: string): void;
  onUnauthorized(): void;
}

export class Session {
  view: View | null = null;
  link: LinkState = { kind: 'connecting' };
  kicked = false;
  missing = false;
  private wire: Link | null = null;
  private key: SeatKey | null = null;
  private entered = false; // on this connection
  private side: Side | null = null; // by the last word on our seat
  private closed = false;

  constructor(
    readonly roomId: string,
    private readonly events: SessionEvents,
  ) {
    void this.begin();
  }

  // HTTP tells "no such room" and "no token" apart better than a WebSocket that does not open.
  async begin(): Promise<void> {
    try {
      await findRoom(this.roomId);
    } catch (error) {
      if (this.closed) return;
      if (error instanceof Refused && error.status === 401) {
        this.events.onUnauthorized();
        return;
      }
      if (error instanceof Refused && NO_ROOM.includes(error.status)) {
        this.lose();
        return;
      }
      // Not to be reached: the connection below goes on trying.
    }
    this.key ??= await findSeatKey(this.roomId);
    if (this.closed) {
      this.key.release();
      return;
    }
    if (this.wire) this.wire.again();
    else
      this.wire = new Link(this.roomId, {
        onState: (state) => {
          this.link = state;
          if (state.kind !== 'connected' && this.view) this.view = refuse(this.view);
          this.events.onChange();
        },
        onOpen: () => {
          this.entered = false;
          this.resume();
        },
        onMessage: (source, body) => this.hear(source, body),
        onUnauthorized: () => this.events.onUnauthorized(),
      });
  }

  // There is no such room, or no longer: nothing to be connected to.
  private lose(): void {
    this.missing = true;
    this.view = null;
    this.wire?.close();
    this.wire = null;
    this.events.onChange();
  }

  // Not when the wait is over, but now.
  hurry(): void {
    this.wire?.again();
  }

  close(): void {
    this.closed = true;
    this.wire?.close();
    this.key?.release();
  }

  resume(): void {
    const seatKey = this.key?.get() ?? null;
    this.wire?.send('resume', { roomId: this.roomId, ...(seatKey === null ? {} : { seatKey }) });
  }

  place(point: Point): void {
    const { view } = this;
    if (!view || !myTurn(view) || view.pending) return;
    if (!this.command('place', { gameId: view.room.gameId, ...point })) return;
    this.view = place(view, point);
    this.events.onChange();
  }

  command(name: 'ready' | 'resign' | 'restart' | 'place', more: object = {}): boolean {
    const seatKey = this.key?.get() ?? null;
    return this.wire?.send(name, { roomId: this.roomId, ...more, seatKey }) ?? false;
  }

  private hear(source: string, body: unknown): void {
    switch (source) {
      case 'topic':
        this.hearTopic(body);
        break;
      case 'seat':
        this.hearSeat(body);
        break;
      case 'full':
        this.hearFull(body);
        break;
      case 'kicked':
        this.kicked = true;
        if (this.view) this.view = refuse(sit(this.view, null));
        break;
      case 'errors':
        this.hearError(body);
        break;
    }
    this.events.onChange();
  }

  private hearTopic(body: unknown): void {
    const frame = readFrame(body);
    if (!frame || !this.view) return;
    const before = this.view;
    this.view = apply(before, frame, performance.now());
    // Sides are swapped from game to game: ask which one is ours now.
    if (this.view.room.gameId !== before.room.gameId && !this.kicked) this.resume();
  }

  private hearSeat(body: unknown): void {
    const from = bag(body);
    if (text(from.roomId) !== this.roomId) return;
    this.key?.set(text(from.seatKey) || null);
    this.side = side(from.side);
    if (this.view) this.view = sit(this.view, this.side);
  }

  private hearFull(body: unknown): void {
    const room = readRoom(body);
    if (room.roomId !== this.roomId) return;
    this.entered = true;
    this.kicked = false;
    if ('mySide' in bag(body)) this.side = side(bag(body).mySide);
    this.view = enter(room, this.side, this.view, performance.now());
  }

  private hearError(body: unknown): void {
    const from = { ...bag(body), ...bag(bag(body).payload) };
    const about = text(from.roomId);
    if (about !== '' && about !== this.roomId) return;
    if (!this.entered && this.key?.get()) {
      // A key of an earlier life of this room: then as somebody new.
      this.key.set(null);
      this.resume();
      return;
    }
    if (text(from.code) === 'NOT_FOUND') {
      this.lose();
      return;
    }
    if (this.view) this.view = refuse(this.view);
    this.events.onRefused(text(from.code), text(from.detail));
  }
}
