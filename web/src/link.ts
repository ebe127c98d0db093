// SPDX-License-Identifier: MIT
// The connection to one room: STOMP over a WebSocket, made again when it breaks. A client of stompjs
// serves one attempt; when to try next is decided here, so that it can be shown, and cut short when
// the network is back or the tab is looked at again.

import { Client, type IMessage } from '@stomp/stompjs';

import { waitMs } from './backoff';
import { prefs } from './prefs';

export type LinkState =
  | { kind: 'connecting' }
  | { kind: 'connected' }
  | { kind: 'waiting'; until: number } // performance.now()
  | { kind: 'offline' };

export interface LinkEvents {
  onState(state: LinkState): void;
  onOpen(): void; // subscribed: now say who you are
  onMessage(source: Source, body: unknown): void;
  onUnauthorized(): void;
}

export type Source = 'topic' | 'seat' | 'full' | 'kicked' | 'errors';

const PERSONAL: [Source, string][] = [
  ['seat', '/user/queue/gomoku.seat'],
  ['full', '/user/queue/gomoku.full'],
  ['kicked', '/user/queue/gomoku.kicked'],
  ['errors', '/user/queue/errors'],
];

const HEARTBEAT_MS = 10000;
const CONNECT_MS = 8000;
const STEADY_MS = 5000; // a connection that lasted less was not worth its name: wait longer still

function parse(message: IMessage): unknown {
  try {
    return JSON.parse(message.body);
  } catch {
    return null;
  }
}

export class Link {
  private client: Client | null = null;
  private attempt = 0;
  private openedAt = 0;
  private timer = 0;
  private closed = false;
  private readonly wake = () => this.hurry();
  private readonly lost = () => this.offline();
  private readonly seen = () => {
    if (document.visibilityState === 'visible') this.hurry();
  };

  constructor(
    private readonly roomId: string,
    private readonly events: LinkEvents,
  ) {
    addEventListener('online', this.wake);
    addEventListener('offline', this.lost);
    document.addEventListener('visibilitychange', this.seen);
    this.connect();
  }

  // False: it could not even be handed over.
  send(command: string, body: object): boolean {
    if (!this.client?.connected) return false;
    this.client.publish({
      destination: `/app/gomoku.${command}`,
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    });
    return true;
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    removeEventListener('online', this.wake);
    removeEventListener('offline', this.lost);
    document.removeEventListener('visibilitychange', this.seen);
    this.drop();
  }

  // A new token, say.
  again(): void {
    this.attempt = 0;
    this.connect();
  }

  private connect(): void {
    clearTimeout(this.timer);
    this.drop();
    if (this.closed) return;
    this.events.onState({ kind: 'connecting' });
    const client = new Client({
      brokerURL: `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws`,
      connectHeaders: { host: location.hostname, ...(prefs.token ? { login: 'page', passcode: prefs.token } : {}) },
      reconnectDelay: 0,
      connectionTimeout: CONNECT_MS,
      heartbeatIncoming: HEARTBEAT_MS,
      heartbeatOutgoing: HEARTBEAT_MS,
      discardWebsocketOnCommFailure: true,
    });
    const current = () => this.client === client && !this.closed;
    client.onConnect = () => current() && this.open(client);
    client.onStompError = (frame) => {
      const said = `${frame.headers.message ?? ''} ${frame.headers.code ?? ''} ${frame.body}`;
      if (current() && /unauthori[sz]ed|passcode|token/i.test(said)) {
        this.drop();
        this.events.onUnauthorized();
      }
    };
    client.onWebSocketClose = () => current() && this.retry();
    this.client = client;
    client.activate();
  }

  private open(client: Client): void {
    this.openedAt = performance.now();
    client.subscribe(`/topic/room.${this.roomId}`, (message) => this.hear(client, 'topic', message));
    for (const [source, destination] of PERSONAL) {
      client.subscribe(destination, (message) => this.hear(client, source, message));
    }
    this.events.onState({ kind: 'connected' });
    this.events.onOpen();
  }

  private hear(client: Client, source: Source, message: IMessage): void {
    if (this.client === client && !this.closed) this.events.onMessage(source, parse(message));
  }

  private retry(): void {
    this.drop();
    if (!navigator.onLine) {
      this.offline();
      return;
    }
    if (this.openedAt > 0 && performance.now() - this.openedAt > STEADY_MS) this.attempt = 0;
    this.openedAt = 0;
    const wait = waitMs(this.attempt++, Math.random());
    this.events.onState({ kind: 'waiting', until: performance.now() + wait });
    this.timer = window.setTimeout(() => this.connect(), wait);
  }

  private hurry(): void {
    if (this.client === null && !this.closed) this.connect();
  }

  private offline(): void {
    clearTimeout(this.timer);
    this.drop();
    this.events.onState({ kind: 'offline' });
  }

  // Says goodbye if it still can, and does not wait for an answer.
  private drop(): void {
    const client = this.client;
    this.client = null;
    if (client) void client.deactivate({ force: !client.connected });
  }
}
