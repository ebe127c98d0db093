// SPDX-License-Identifier: MIT
// The first screen: start a game, or walk into one.

import { createRoom, listRooms, Refused, type RoomWish } from './api';
import { Board } from './board';
import { clockAmounts, clockHint, clockName, clockText } from './clock_text';
import { button, h, setAttribute, setText, svg } from './dom';
import { type ClockMode, type ClockRules, EMPTY_BOARD, type Listing, type Phase, SIZE } from './frames';
import type { Word } from './i18n';
import { prefs } from './prefs';
import { hasSeat } from './seat_key';
import { askToken, say, type Screen } from './shell';

const REFRESH_MS = 3000;
const FIRST_ROWS = 10;
const MORE_ROWS = 30;

const minutes = (bank: number, extra: number, periods = 0): ClockRules => ({
  bankMs: bank * 60000,
  extraMs: extra * 1000,
  periods,
});

// What can be chosen of each kind.
const CLOCKS: Partial<Record<ClockMode, ClockRules[]>> = {
  turn: [10, 30, 60, 120].map((seconds) => minutes(seconds / 60, 0)),
  fischer: [minutes(1, 2), minutes(3, 2), minutes(5, 3), minutes(10, 5)],
  byoyomi: [minutes(1, 10, 3), minutes(3, 20, 3), minutes(5, 30, 3), minutes(10, 30, 5)],
};

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
    dot(9, 'x', room.players >= (room.mode === 'PVE' ? 2 : 1)), // the machine counts, too
    dot(26, 'o', room.players >= 2 || room.mode === 'PVE'),
  );
}

// A seat that nobody has: then one can join.
function isOpen(room: Listing): boolean {
  return room.phase === 'WAITING' && room.players < 2;
}

// Not over, and one plays in it.
function isOwn(room: Listing): boolean {
  return room.phase !== 'ENDED' && hasSeat(room.roomId);
}

function row(room: Listing): HTMLElement {
  const open = isOpen(room) || isOwn(room);
  const about = [
    say(room.rule === 'RENJU' ? 'renju' : 'standard'),
    clockText(prefs.language, room.clock?.mode ?? 'turn', room.clock?.rules ?? null, room.turnSeconds),
    room.spectators > 0 ? say('watchers', { n: room.spectators }) : '',
  ];
  const go: Word = isOwn(room) ? 'backToGame' : open ? 'join' : room.phase === 'ENDED' ? 'look' : 'watch';
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
      h('span', { class: open ? 'go go-join' : 'go' }, say(go)),
    ),
  );
}

// Those rooms of a group that belong under one headline.
class Rows {
  readonly element: HTMLElement;
  private readonly list = h('ul', { class: 'games' });
  private shown = '';

  constructor(
    title: Word | null,
    private readonly has: (room: Listing) => boolean = () => true,
  ) {
    this.element = h('div', { class: 'group' }, title && h('h3', {}, say(title)), this.list);
    this.element.hidden = true;
  }

  // Only what has changed is drawn anew, and nothing while a row is pressed.
  show(all: Listing[]): void {
    const rooms = all.filter(this.has);
    const text = JSON.stringify(rooms.map((room) => [room, isOwn(room)]));
    if (text === this.shown || this.list.matches(':active')) return;
    this.shown = text;
    this.element.hidden = rooms.length === 0;
    const focused = this.list.contains(document.activeElement) ? (document.activeElement as HTMLAnchorElement).hash : '';
    this.list.replaceChildren(...rooms.map(row));
    if (focused) this.list.querySelector<HTMLAnchorElement>(`a[href="${CSS.escape(focused)}"]`)?.focus();
  }
}

// The rooms of one phase, one's own first, then the newest, as many as were asked for.
class Group {
  readonly elements: HTMLElement[];
  count = 0;
  private readonly more: HTMLButtonElement;
  private limit = FIRST_ROWS;

  constructor(
    private readonly phase: Phase,
    refresh: () => void,
    private readonly parts: Rows[],
  ) {
    this.more = button(say('moreRooms'), 'quiet more', () => {
      this.limit += MORE_ROWS;
      refresh();
    });
    this.more.hidden = true;
    this.elements = [...parts.map((part) => part.element), this.more];
  }

  async load(): Promise<void> {
    const page = await listRooms(this.phase, this.limit);
    const rooms = page.rooms.sort((a, b) => Number(isOwn(b)) - Number(isOwn(a)));
    this.count = rooms.length;
    this.more.hidden = !page.more;
    for (const part of this.parts) part.show(rooms);
  }
}

// Across a change of language, too.
const wish = { mode: 'PVP', rule: 'STANDARD', clock: 'turn' as ClockMode };
const rulesWished: Partial<Record<ClockMode, number>> = { turn: 1, fischer: 2, byoyomi: 2 };

function wishedRules(): ClockRules {
  const rules = CLOCKS[wish.clock] ?? [];
  return rules[rulesWished[wish.clock] ?? 0] ?? minutes(0.5, 0);
}

export class Lobby implements Screen {
  readonly element: HTMLElement;
  private readonly note = h('p', { class: 'note', role: 'status' }, say('loading'));
  private readonly failure = h('p', { class: 'failure', role: 'alert' });
  private readonly waiting = this.group('WAITING', new Rows('groupWaiting', isOpen), new Rows('groupFull', (room) => !isOpen(room)));
  private readonly playing = this.group('PLAYING', new Rows('groupPlaying'));
  private readonly ended = this.group('ENDED', new Rows(null));
  private readonly endedPart: HTMLDetailsElement;
  private timer = 0;
  private closed = false;
  private readonly seen = () => {
    if (document.visibilityState === 'visible') void this.refresh();
  };

  constructor() {
    this.endedPart = h('details', { class: 'group ended' }, h('summary', {}, say('groupEnded')), ...this.ended.elements);
    this.endedPart.hidden = true;
    this.endedPart.addEventListener('toggle', () => this.endedPart.open && void this.refresh());
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
        this.note,
        ...this.waiting.elements,
        ...this.playing.elements,
        this.endedPart,
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

  private group(phase: Phase, ...parts: Rows[]): Group {
    return new Group(phase, () => void this.refresh(), parts);
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
      ...this.clockChoice(),
      start,
      this.failure,
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.create(start);
    });
    return form;
  }

  // The kind of clock, and below it the times of that kind.
  private clockChoice(): HTMLElement[] {
    const hint = h('p', { class: 'hint hint-clock' });
    const times = h('div', { class: 'times' });
    const show = () => {
      const choices = (CLOCKS[wish.clock] ?? []).map((rules, value) => ({
        value,
        label: clockAmounts(prefs.language, wish.clock, rules),
      }));
      setText(hint, clockHint(prefs.language, wish.clock));
      setAttribute(times, 'data-long', wish.clock !== 'turn');
      times.replaceChildren(
        choose(say('clockTime'), 'time', choices, rulesWished[wish.clock] ?? 0, (value) => (rulesWished[wish.clock] = value)),
      );
    };
    show();
    const kinds = choose(
      say('clockKind'),
      'clock',
      (Object.keys(CLOCKS) as ClockMode[]).map((value) => ({ value, label: clockName(prefs.language, value) })),
      wish.clock,
      (value) => {
        wish.clock = value;
        show();
      },
    );
    return [kinds, hint, times];
  }

  private async create(start: HTMLButtonElement): Promise<void> {
    const asked: RoomWish = { mode: wish.mode, rule: wish.rule, clock: { mode: wish.clock, ...wishedRules() } };
    start.disabled = true;
    setText(start, say('creating'));
    setText(this.failure, '');
    try {
      const id = await createRoom(asked);
      if (!this.closed) location.hash = `#/room/${encodeURIComponent(id)}`;
    } catch (error) {
      if (error instanceof Refused && error.status === 401) {
        await askToken();
        if (!this.closed) return this.create(start);
      } else {
        setText(this.failure, error instanceof Refused ? say('cannotCreate', { why: error.message }) : say('cannotReach'));
      }
    }
    start.disabled = false;
    setText(start, say('create'));
  }

  // What ended is asked for until there is some, and then only while it is unfolded.
  private async load(): Promise<void> {
    const wanted = [this.waiting, this.playing];
    if (this.endedPart.open || this.ended.count === 0) wanted.push(this.ended);
    await Promise.all(wanted.map((group) => group.load()));
    this.endedPart.hidden = this.ended.count === 0;
    setText(this.note, this.waiting.count + this.playing.count === 0 ? say('noRooms') : '');
  }

  private async refresh(): Promise<void> {
    clearTimeout(this.timer);
    try {
      await this.load();
    } catch (error) {
      if (this.closed) return;
      if (error instanceof Refused && error.status === 401) {
        await askToken();
        if (!this.closed) void this.refresh();
        return;
      }
      const empty = this.waiting.count + this.playing.count === 0;
      setText(this.note, error instanceof Refused && empty ? say('notHere') : say('cannotReach'));
    }
    clearTimeout(this.timer);
    if (!this.closed && document.visibilityState === 'visible') {
      this.timer = window.setTimeout(() => void this.refresh(), REFRESH_MS);
    }
  }
}
