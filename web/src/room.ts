// SPDX-License-Identifier: MIT
// The screen of a game.

import { Board, pointName } from './board';
import { readClock, type Reading, shownSeconds, shownTime } from './clock';
import { clockText, duration } from './clock_text';
import { button, h, setAttribute, setText, svg } from './dom';
import { otherSide, type Point, type Side } from './frames';
import { type Word } from './i18n';
import { prefs } from './prefs';
import { Ring } from './ring';
import type { Session } from './session';
import { announce, copy, say, type Screen } from './shell';
import { sound } from './sound';
import { asksRestart, statusOf } from './status';
import { myTurn, type View } from './view';

const names: Record<Side, Word> = { X: 'black', O: 'white' };

// What the ring does not tell: the periods that are left, or that the bank is not touched yet.
function timeNote({ room }: View, { periods, delayMs }: Reading): string {
  const { mode, rules } = room.clock;
  if (mode === 'byoyomi' && rules) return say('periodsLeft', { n: periods, t: duration(prefs.language, rules.extraMs) });
  if (mode === 'byoyomi') return say('periodsOnly', { n: periods });
  return delayMs > 0 ? say('delayLeft', { n: shownSeconds(delayMs) }) : '';
}

class SeatCard {
  readonly ring = new Ring();
  readonly element: HTMLElement;
  private readonly name = h('div', { class: 'seat-name' });
  private readonly colour = h('span', { class: 'seat-colour' });
  private readonly note = h('span', { class: 'seat-condition' });
  private readonly time = h('div', { class: 'seat-time' });
  private readonly spoken = h('span', { class: 'unseen', role: 'timer', 'aria-live': 'off' });
  private readonly score = h('div', { class: 'seat-score' });

  constructor(side: Side) {
    const stone = svg(
      'svg',
      { class: `seat-stone seat-stone-${side}`, viewBox: '0 0 20 20', 'aria-hidden': 'true' },
      svg('circle', { cx: 10, cy: 10, r: 8.5 }),
    );
    this.element = h(
      'div',
      { class: 'seat', 'data-side': side },
      this.ring.element,
      h(
        'div',
        { class: 'seat-text' },
        h('div', { class: 'seat-line' }, stone, this.name),
        h('div', { class: 'seat-note' }, this.colour, this.note),
        this.time,
        this.spoken,
      ),
      this.score,
    );
  }

  showClock(view: View, side: Side, reading: Reading, on: boolean): void {
    this.ring.show(reading, on);
    setText(this.time, timeNote(view, reading));
    setText(this.spoken, say('clockOf', { who: say(names[side]), t: shownTime(reading.ms) }));
  }

  update(view: View, side: Side): void {
    const seat = view.room.seats[side];
    const turn = view.room.phase === 'PLAYING' && view.room.state.current === side;
    const mine = view.mySide === side;
    const name: Word = mine
      ? 'you'
      : seat.ai
        ? 'ai'
        : !seat.taken
          ? 'emptySeat'
          : view.mySide === null
            ? 'player'
            : 'opponentName';
    setText(this.name, say(name));
    setText(this.colour, say(names[side]));
    setText(this.note, this.condition(view, side, turn));
    const wins = view.room.series[side];
    setText(this.score, String(wins));
    setAttribute(this.score, 'data-none', view.room.series.X + view.room.series.O === 0);
    this.score.title = say('wins', { n: wins });
    setAttribute(this.element, 'data-turn', turn);
    setAttribute(this.element, 'data-empty', !seat.taken);
    setAttribute(this.element, 'data-away', seat.taken && !seat.connected && !seat.ai);
    setAttribute(this.element, 'data-won', view.room.phase === 'ENDED' && view.room.state.winner === side);
  }

  private condition(view: View, side: Side, turn: boolean): string {
    const seat = view.room.seats[side];
    if (!seat.taken) return '';
    if (!seat.connected && !seat.ai) return say('away');
    if (view.room.phase === 'WAITING' && !seat.ai) return say(seat.ready ? 'isReady' : 'notReady');
    return turn && view.mySide !== side ? say('thinking') : '';
  }
}

export class RoomScreen implements Screen {
  readonly element: HTMLElement;
  private readonly seats: Record<Side, SeatCard> = { X: new SeatCard('X'), O: new SeatCard('O') };
  private readonly table = h('div', { class: 'seats' });
  private readonly line = h('div', { class: 'status-line' });
  private readonly more = h('div', { class: 'status-more' });
  private readonly putHere = button('', 'put', () => this.board.confirm());
  private readonly series = h('div', { class: 'series', title: say('seriesLabel') });
  private readonly status = h('div', { class: 'status', 'aria-live': 'polite' }, this.line, this.more, this.putHere, this.series);
  private readonly facts = h('div', { class: 'facts' });
  private readonly actions = h('div', { class: 'actions' });
  private readonly wireText = h('span');
  private readonly now = button(say('tryNow'), 'now', () => this.session.hurry());
  private readonly wire = h('div', { class: 'wire' }, h('span', { class: 'wire-dot' }), this.wireText, this.now);
  private readonly veil = h('div', { class: 'veil' }, h('span', {}, say('loadingRoom')));
  private readonly board: Board;
  private readonly address: string;
  private shownActions = '';
  private sure: 'resign' | 'restart' | null = null; // which of the two is asked about
  private aim: Point | null = null;
  private last: View | null = null;
  private lastSecond = -1;
  private lastPeriods = 0;
  private frame = 0;
  private closed = false;

  constructor(private readonly session: Session) {
    this.address = `${location.origin}/#/room/${encodeURIComponent(session.roomId)}`;
    this.board = new Board(say('boardLabel'), {
      onPlace: (point) => session.place(point),
      onAim: (point) => {
        this.aim = point;
        if (point) this.speakPoint(point.x, point.y);
        this.update();
      },
      onCursor: ({ x, y }) => this.speakPoint(x, y),
    });
    this.table.append(this.seats.X.element, this.seats.O.element);
    this.element = h(
      'div',
      { class: 'room' },
      h(
        'div',
        { class: 'side' },
        h('nav', { class: 'crumbs' }, h('a', { class: 'back', href: '#/' }, `← ${say('back')}`), this.wire),
        this.table,
        this.status,
      ),
      h('div', { class: 'stage' }, this.board.element, this.veil),
      h('div', { class: 'rest' }, this.actions, this.facts),
    );
    this.update();
    const turn = () => {
      if (this.closed) return;
      this.showClocks();
      this.frame = requestAnimationFrame(turn);
    };
    turn();
  }

  title(): string {
    const { view, missing, roomId } = this.session;
    const now = view ? say(statusOf(view).line) : say(missing ? 'noRoom' : 'room', { id: roomId });
    return `${now} · ${say('product')}`;
  }

  close(): void {
    this.closed = true;
    cancelAnimationFrame(this.frame);
  }

  update(): void {
    const { view, missing } = this.session;
    if (missing) {
      this.showMissing();
      return;
    }
    this.showWire();
    this.veil.hidden = view !== null;
    this.element.dataset.entered = String(view !== null);
    if (!view) return;
    this.element.dataset.phase = view.room.phase;
    document.title = this.title();
    const first = view.mySide ?? 'X';
    if (this.table.firstChild !== this.seats[first].element) this.table.prepend(this.seats[first].element);
    this.seats.X.update(view, 'X');
    this.seats.O.update(view, 'O');
    const status = statusOf(view);
    setText(this.line, this.session.kicked ? say('watching') : say(status.line));
    setText(this.more, this.statusMore(view));
    this.status.dataset.mood = status.mood;
    this.putHere.hidden = this.aim === null;
    if (this.aim) setText(this.putHere, say('putHere', { at: pointName(this.aim) }));
    const { series } = view.room;
    setText(this.series, series.X + series.O === 0 ? '' : `${series[first]} : ${series[otherSide(first)]}`);
    this.board.update({
      state: view.room.state,
      pending: view.pending,
      side: view.mySide,
      active: myTurn(view) && this.session.link.kind === 'connected',
    });
    this.showFacts(view);
    this.showActions(view);
    this.react(view);
    this.last = view;
  }

  private statusMore(view: View): string {
    if (this.session.kicked) return say('kicked');
    if (this.session.link.kind !== 'connected' && view.room.phase === 'PLAYING') return say('clockGoesOn');
    const more = statusOf(view).more;
    if (more) return say(more);
    if (this.aim) return say('aimHint');
    return view.seated && view.mySide === null ? say('watching') : '';
  }

  private showMissing(): void {
    if (this.element.dataset.entered === 'missing') return;
    this.element.dataset.entered = 'missing';
    document.title = this.title();
    const head = h('h1', { tabindex: -1 }, say('noRoom'));
    this.element.replaceChildren(
      h('div', { class: 'card missing', role: 'alert' }, head, h('p', {}, say('noRoomMore')), h('a', { class: 'primary', href: '#/' }, say('toLobby'))),
    );
  }

  private showWire(): void {
    const { link } = this.session;
    const left = link.kind === 'waiting' ? shownSeconds(link.until - performance.now()) : 0;
    setText(this.wireText, link.kind === 'waiting' ? say('reconnecting', { n: Math.max(1, left) }) : say(link.kind));
    this.now.hidden = link.kind !== 'waiting';
    this.wire.dataset.state = link.kind;
    this.element.dataset.link = link.kind;
  }

  private showFacts({ room }: View): void {
    const facts = [
      say(room.rule === 'RENJU' ? 'renju' : 'standard'),
      clockText(prefs.language, room.clock.mode, room.clock.rules, room.turnSeconds),
      room.state.step > 0 ? say('move', { n: room.state.step }) : '',
      room.series.draws > 0 ? say('draws', { n: room.series.draws }) : '',
      room.spectators > 0 ? say('watchers', { n: room.spectators }) : '',
    ];
    setText(this.facts, facts.filter(Boolean).join(' · '));
  }

  private wanted(view: View): string {
    const { room, mySide } = view;
    if (this.session.kicked) return 'kicked';
    if (mySide === null || !view.seated) return 'none';
    if (room.phase === 'PLAYING') return this.sure ?? `play ${this.restart(view, mySide)}`;
    if (room.phase === 'ENDED') return 'again';
    const ready = room.seats[mySide].ready ? '' : 'ready ';
    return room.mode === 'PVP' && !room.seats[otherSide(mySide)].taken ? `${ready}share` : ready || 'none';
  }

  // How a new game can be had before this one is over; one without a stone is new.
  private restart(view: View, mySide: Side): 'startOver' | 'askNew' | 'agree' | 'asked' | 'new' {
    if (view.room.state.step === 0) return 'new';
    if (view.room.mode === 'PVE') return 'startOver';
    const asking = asksRestart(view);
    return asking === null ? 'askNew' : asking === mySide ? 'asked' : 'agree';
  }

  private showActions(view: View): void {
    if (view.room.phase !== 'PLAYING' || view.room.gameId !== this.last?.room.gameId) this.sure = null;
    const wanted = this.wanted(view);
    const off = this.session.link.kind !== 'connected';
    if (wanted !== this.shownActions) {
      this.shownActions = wanted;
      const held = this.actions.contains(document.activeElement);
      this.actions.replaceChildren(...this.makeActions(wanted));
      if (held) this.keepFocus(view);
    }
    for (const one of this.actions.querySelectorAll<HTMLButtonElement>('button[data-command]')) one.disabled = off;
  }

  // The button that was pressed is gone. What comes next: the board, or the safe answer of a question.
  private keepFocus(view: View): void {
    const buttons = this.actions.querySelectorAll('button');
    const next = this.sure ? buttons[buttons.length - 1] : myTurn(view) ? this.board.element : buttons[0];
    next?.focus({ preventScroll: true });
  }

  private makeActions(wanted: string): Node[] {
    const command = (label: Word, className: string, press: () => void) => {
      const element = button(say(label), className, press);
      element.dataset.command = label;
      return element;
    };
    const link = button(say('copyLink'), 'quiet', () => void copy(this.address, link));
    const resign = command('resign', 'quiet', () => this.ask('resign'));
    switch (wanted) {
      case 'kicked':
        return [command('takeBackSeat', 'primary', () => this.session.resume())];
      case 'resign':
        return this.question('resignSure', 'yes', 'resign');
      case 'restart':
        return this.question('startOverSure', 'startOverYes', 'restart');
      case 'play startOver':
        return [resign, command('startOver', 'quiet', () => this.ask('restart')), link];
      case 'play askNew':
        return [resign, command('askNew', 'quiet', () => this.session.command('restart')), link];
      case 'play new':
      case 'play asked':
        return [resign, link];
      case 'play agree':
        return [command('agree', 'primary', () => this.session.command('restart')), resign];
      case 'again':
        return [command('rematch', 'primary', () => this.session.command('restart')), link];
      case 'none':
        return [link];
      default: {
        const found: Node[] = [];
        if (wanted.startsWith('ready')) {
          found.push(command('ready', 'primary', () => this.session.command('ready')));
        }
        if (wanted.endsWith('share')) found.push(this.shareBox());
        else found.push(link);
        return found;
      }
    }
  }

  private shareBox(): HTMLElement {
    const field = h('input', { class: 'share-link', readonly: true, value: this.address, 'aria-label': say('share') });
    field.addEventListener('focus', () => field.select());
    const press: HTMLButtonElement = button(say('copy'), 'quiet', () => void copy(this.address, press));
    return h('div', { class: 'share' }, h('div', { class: 'share-label' }, say('share')), field, press);
  }

  private ask(about: 'resign' | 'restart' | null): void {
    this.sure = about;
    this.update();
    this.actions.scrollIntoView({ block: 'nearest' });
  }

  private question(text: Word, yes: Word, about: 'resign' | 'restart'): Node[] {
    const sure = button(say(yes), 'danger', () => {
      this.session.command(about);
      this.ask(null);
    });
    sure.dataset.command = about;
    return [h('span', { class: 'question', role: 'alert' }, say(text)), sure, button(say('no'), 'quiet', () => this.ask(null))];
  }

  private speakPoint(x: number, y: number): void {
    const { view } = this.session;
    if (!view) return;
    const stone = view.room.state.board[y * 15 + x];
    const at = pointName({ x, y });
    if (stone === 'X' || stone === 'O') announce(say('saidStone', { at, who: say(names[stone]) }));
    else announce(say('saidEmpty', { at }));
  }

  // What has changed is heard, by ear and by screen reader.
  private react(view: View): void {
    const { last } = this;
    if (!last || last === view) return;
    const { state } = view.room;
    const before = last.room.state;
    if (state.lastMove && state.step > before.step && state.gameId === before.gameId) {
      const who: Side = state.board[state.lastMove.y * 15 + state.lastMove.x] === 'X' ? 'X' : 'O';
      announce(say('saidMove', { who: say(names[who]), at: pointName(state.lastMove) }));
      sound.stone(who === view.mySide);
    }
    if (view.room.phase === 'ENDED' && last.room.phase === 'PLAYING') {
      sound.end(view.mySide === null || state.winner === view.mySide);
    }
    if (view.room.phase === 'PLAYING' && last.room.phase !== 'PLAYING') sound.begin();
  }

  private showClocks(): void {
    const { view, link } = this.session;
    if (link.kind === 'waiting') this.showWire();
    if (!view) return;
    const now = performance.now();
    for (const side of ['X', 'O'] as const) {
      const reading = readClock(view.clock, side, view.room.turnSeconds, now);
      const on = view.clock.running && view.clock.side === side;
      this.seats[side].showClock(view, side, reading, on);
      if (on && side === view.mySide) this.heed(view, reading);
    }
  }

  // The last seconds of one's own turn, and of a period.
  private heed(view: View, reading: Reading): void {
    const second = shownSeconds(reading.ms);
    if (reading.periods < this.lastPeriods && reading.periods > 0) announce(timeNote(view, reading));
    this.lastPeriods = reading.periods;
    if (second === this.lastSecond) return;
    this.lastSecond = second;
    if (second <= 5 && second > 0) sound.tick();
    if (second === 10 || second === 5) announce(say('saidSeconds', { n: second }));
  }
}
