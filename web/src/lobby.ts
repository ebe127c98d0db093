// SPDX-License-Identifier: MIT
// The first screen: start a game, or walk into one.

import { createRoom, listRooms, Refused } from './api';
import { Board } from './board';
import { button, h, setText, svg } from './dom';
import { EMPTY_BOARD, type Listing, SIZE } from './frames';
import { askToken, say, type Screen } from './shell';

const REFRESH_MS = 3000;

interface Choice<T> {
  value: T;
  label: string;
}

function choose<T extends string | number>(
  legend: string,
  name: string,
  choices: Choice<T>[],
  chosen: T,
  onChoice: (value: T) => void,
): HTMLElement {
  return h(
    'fieldset',
    { class: 'choice' },
    h('legend', {}, legend),
    h(
      'div',
      { class: 'segments' },
      ...choices.map(({ value, label }) => {
        const input = h('input', { type: 'radio', name, value, checked: value === chosen });
        input.addEventListener('change', () => onChoice(value));
        return h('label', { class: 'segment' }, input, h('span', {}, label));
      }),
    ),
  );
}

// A small game, decided: what it is all about, without a word.
function picture(): HTMLElement {
  const stones: [number, number, string][] = [
    [5, 9, 'X'], [6, 8, 'X'], [7, 7, 'X'], [8, 6, 'X'], [9, 5, 'X'],
    [6, 9, 'O'], [7, 8, 'O'], [8, 8, 'O'], [8, 7, 'O'], [6, 6, 'O'], [9, 7, 'X'], [10, 8, 'O'], [7, 10, 'X'],
    [5, 7, 'O'],
  ];
  const cells = EMPTY_BOARD.split('');
  for (const [x, y, stone] of stones) cells[y * SIZE + x] = stone;
  const board = new Board('', null);
  board.update({
    state: {
      gameId: 'picture',
      step: stones.length,
      board: cells.join(''),
      current: 'O',
      over: true,
      winner: 'X',
      lastMove: { x: 9, y: 5 },
      line: [5, 6, 7, 8, 9].map((x) => ({ x, y: 14 - x })),
    },
    pending: null,
    side: null,
    active: false,
  });
  return h('div', { class: 'picture' }, board.element);
}

function stones(room: Listing): SVGSVGElement {
  const dot = (cx: number, kind: string, there: boolean) =>
    svg('circle', { class: `dot dot-${kind}${there ? '' : ' dot-free'}`, cx, cy: 10, r: 7 });
  return svg(
    'svg',
    { class: 'dots', viewBox: '0 0 35 20', 'aria-hidden': 'true' },
    dot(9, 'x', room.players >= 1),
    dot(26, 'o', room.players >= 2 || room.mode === 'PVE'),
  );
}

function row(room: Listing): HTMLElement {
  const seats = room.mode === 'PVE' ? 1 : 2;
  const open = room.phase === 'WAITING' && room.players < seats;
  const phase = say(
    room.phase === 'WAITING' ? 'phaseWaiting' : room.phase === 'PLAYING' ? 'phasePlaying' : 'phaseEnded',
  );
  const about = [
    say(room.rule === 'RENJU' ? 'renju' : 'standard'),
    say('seconds', { n: room.turnSeconds }),
    room.spectators > 0 ? say('watchers', { n: room.spectators }) : '',
  ];
  return h(
    'li',
    {},
    h(
      'a',
      { class: 'game', href: `#/room/${encodeURIComponent(room.roomId)}` },
      stones(room),
      h(
        'span',
        { class: 'game-text' },
        h('span', { class: 'game-name' }, say(room.mode === 'PVE' ? 'versusMachine' : 'versusFriend')),
        h('span', { class: 'game-about' }, about.filter(Boolean).join(' · ')),
      ),
      h('span', { class: `phase phase-${room.phase.toLowerCase()}` }, phase),
      h('span', { class: open ? 'go go-join' : 'go' }, say(open ? 'join' : 'watch')),
    ),
  );
}

// Across a change of language, too.
const wish = { mode: 'PVP', rule: 'STANDARD', turnSeconds: 30 };

export class Lobby implements Screen {
  readonly element: HTMLElement;
  private readonly list = h('ul', { class: 'games' });
  private readonly note = h('p', { class: 'note', role: 'status' }, say('loading'));
  private readonly failure = h('p', { class: 'failure', role: 'alert' });
  private readonly more: HTMLButtonElement;
  private rooms: Listing[] = [];
  private next: string | null = null;
  private shown = '';
  private timer = 0;
  private closed = false;
  private readonly seen = () => {
    if (document.visibilityState === 'visible') void this.refresh();
  };

  constructor() {
    this.more = button(say('moreRooms'), 'quiet more', () => void this.extend());
    this.more.hidden = true;
    this.element = h(
      'div',
      { class: 'lobby' },
      h(
        'section',
        { class: 'hero' },
        picture(),
        h('h1', {}, say('lobbyTitle')),
        h('p', { class: 'lead' }, say('lobbyLead')),
      ),
      this.form(),
      h(
        'section',
        { class: 'card open' },
        h('h2', {}, say('openRooms')),
        this.list,
        this.note,
        this.more,
      ),
    );
    document.addEventListener('visibilitychange', this.seen);
    void this.refresh();
  }

  title(): string {
    return `${say('lobbyTitle')} · ${say('product')}`;
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    document.removeEventListener('visibilitychange', this.seen);
  }

  private form(): HTMLElement {
    const hint = h('p', { class: 'hint' }, say(wish.rule === 'RENJU' ? 'renjuHint' : 'standardHint'));
    const start = h('button', { class: 'primary', type: 'submit' }, say('create'));
    const form = h(
      'form',
      { class: 'card new' },
      h('h2', {}, say('newGame')),
      choose(
        say('opponent'),
        'mode',
        [
          { value: 'PVP', label: say('friend') },
          { value: 'PVE', label: say('machine') },
        ],
        wish.mode,
        (value) => (wish.mode = value),
      ),
      choose(
        say('rules'),
        'rule',
        [
          { value: 'STANDARD', label: say('standard') },
          { value: 'RENJU', label: say('renju') },
        ],
        wish.rule,
        (value) => {
          wish.rule = value;
          setText(hint, say(value === 'RENJU' ? 'renjuHint' : 'standardHint'));
        },
      ),
      hint,
      choose(
        say('turnTime'),
        'turn',
        [10, 30, 60, 120].map((value) => ({ value, label: say('seconds', { n: value }) })),
        wish.turnSeconds,
        (value) => (wish.turnSeconds = value),
      ),
      start,
      this.failure,
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.create(start);
    });
    return form;
  }

  private async create(start: HTMLButtonElement): Promise<void> {
    start.disabled = true;
    setText(start, say('creating'));
    setText(this.failure, '');
    try {
      const id = await createRoom(wish.mode, wish.rule, wish.turnSeconds);
      location.hash = `#/room/${encodeURIComponent(id)}`;
    } catch (error) {
      if (error instanceof Refused && error.status === 401) await askToken();
      else setText(this.failure, error instanceof Refused ? say('cannotCreate', { why: error.message }) : say('cannotReach'));
    }
    start.disabled = false;
    setText(start, say('create'));
  }

  private async refresh(): Promise<void> {
    clearTimeout(this.timer);
    try {
      const first = await listRooms(null);
      if (this.closed) return;
      // What was loaded by hand below the first page stays as it was.
      const known = new Set(first.rooms.map((room) => room.roomId));
      const below = this.next === null || this.rooms.length <= first.rooms.length ? [] : this.rooms;
      this.show([...first.rooms, ...below.filter((room) => !known.has(room.roomId))]);
      if (below.length === 0) this.setNext(first.next);
      setText(this.note, this.rooms.length === 0 ? say('noRooms') : '');
    } catch (error) {
      if (this.closed) return;
      if (error instanceof Refused && error.status === 401) await askToken();
      else if (error instanceof Refused && this.rooms.length === 0) setText(this.note, say('notHere'));
      else setText(this.note, say('cannotReach'));
    }
    if (!this.closed && document.visibilityState === 'visible') {
      this.timer = window.setTimeout(() => void this.refresh(), REFRESH_MS);
    }
  }

  private async extend(): Promise<void> {
    if (this.next === null) return;
    try {
      const page = await listRooms(this.next);
      this.show([...this.rooms, ...page.rooms]);
      this.setNext(page.next);
    } catch {
      setText(this.note, say('cannotReach'));
    }
  }

  private setNext(next: string | null): void {
    this.next = next;
    this.more.hidden = next === null;
  }

  // Only what has changed is drawn anew: a row that is being pressed stays where it is.
  private show(rooms: Listing[]): void {
    this.rooms = rooms;
    const text = JSON.stringify(rooms);
    if (text === this.shown) return;
    this.shown = text;
    const focused = document.activeElement instanceof HTMLAnchorElement ? document.activeElement.hash : '';
    this.list.replaceChildren(...rooms.map(row));
    if (focused) this.list.querySelector<HTMLAnchorElement>(`a[href="${CSS.escape(focused)}"]`)?.focus();
  }
}
