// SPDX-License-Identifier: MIT
// The screen of a game.

import { Board, pointName } from './board';
import { fraction, shownSeconds, sideLeft } from './clock';
import { button, h, setAttribute, setText, svg } from './dom';
import { otherSide, type Side } from './frames';
import { type Word } from './i18n';
import { Ring } from './ring';
import type { Session } from './session';
import { announce, copy, say, type Screen } from './shell';
import { sound } from './sound';
import { statusOf } from './status';
import { myTurn, type View } from './view';

const names: Record<Side, Word> = { X: 'black', O: 'white' };

class SeatCard {
  readonly ring = new Ring();
  readonly element: HTMLElement;
  private readonly name = h('div', { class: 'seat-name' });
  private readonly colour = h('span', { class: 'seat-colour' });
  private readonly note = h('span', { class: 'seat-condition' });
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
      h('div', { class: 'seat-text' }, h('div', { class: 'seat-line' }, stone, this.name), h('div', { class: 'seat-note' }, this.colour, this.note)),
      this.score,
    );
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
  private readonly series = h('div', { class: 'series', title: say('seriesLabel') });
  private readonly status = h('div', { class: 'status', 'aria-live': 'polite' }, this.line, this.more, this.series);
  private readonly facts = h('div', { class: 'facts' });
  private readonly actions = h('div', { class: 'actions' });
  private readonly wire = h('div', { class: 'wire', role: 'status' }, h('span', { class: 'wire-dot' }), h('span'));
  private readonly veil = h('div', { class: 'veil' }, h('span', {}, say('loadingRoom')));
  private readonly board: Board;
  private readonly address: string;
  private shownActions = '';
  private resigning = false;
  private aiming = false;
  private last: View | null = null;
  private lastSecond = -1;
  private frame = 0;
  private closed = false;

  constructor(private readonly session: Session) {
    this.address = `${location.origin}/#/room/${encodeURIComponent(session.roomId)}`;
    this.board = new Board(say('boardLabel'), {
      onPlace: (point) => session.place(point),
      onAim: (point) => {
        this.aiming = point !== null;
        if (point) this.speakPoint(point.x, point.y);
        this.update();
      },
      onCursor: ({ x, y }) => this.speakPoint(x, y),
    });
    this.table.append(this.seats.X.element, this.seats.O.element);
    this.element = h(
      'div',
      { class: 'room' },
      h('div', { class: 'stage' }, this.board.element, this.veil),
      h(
        'aside',
        { class: 'side' },
        h('nav', { class: 'crumbs' }, h('a', { class: 'back', href: '#/' }, `← ${say('back')}`), this.wire),
        this.table,
        this.status,
        this.actions,
        this.facts,
      ),
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
    const { view } = this.session;
    const now = view ? say(statusOf(view).line) : say('room', { id: this.session.roomId });
    return `${now} · ${say('product')}`;
  }

  close(): void {
    this.closed = true;
    cancelAnimationFrame(this.frame);
  }

  update(): void {
    const { view } = this.session;
    this.showWire();
    this.showVeil();
    if (!view) return;
    document.title = this.title();
    const first = view.mySide ?? 'X';
    if (this.table.firstChild !== this.seats[first].element) this.table.prepend(this.seats[first].element);
    this.seats.X.update(view, 'X');
    this.seats.O.update(view, 'O');
    const status = statusOf(view);
    setText(this.line, this.session.kicked ? say('watching') : say(status.line));
    setText(this.more, this.statusMore(view));
    this.status.dataset.mood = status.mood;
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
    const more = statusOf(view).more;
    if (more) return say(more);
    if (this.aiming) return say('aimHint');
    return view.seated && view.mySide === null ? say('watching') : '';
  }

  private showVeil(): void {
    const { view, missing } = this.session;
    this.veil.hidden = view !== null;
    if (missing) setText(this.veil, say('noRoom'));
    this.element.dataset.entered = String(view !== null);
  }

  private showWire(): void {
    const { link } = this.session;
    const left = link.kind === 'waiting' ? shownSeconds(link.until - performance.now()) : 0;
    const text =
      link.kind === 'waiting' ? say('reconnecting', { n: Math.max(1, left) }) : say(link.kind);
    this.wire.dataset.state = link.kind;
    const label = this.wire.lastElementChild;
    if (label) setText(label, text);
    this.element.dataset.link = link.kind;
  }

  private showFacts({ room }: View): void {
    const facts = [
      say(room.rule === 'RENJU' ? 'renju' : 'standard'),
      say('seconds', { n: room.turnSeconds }),
      room.state.step > 0 ? say('move', { n: room.state.step }) : '',
      room.series.draws > 0 ? say('draws', { n: room.series.draws }) : '',
      room.spectators > 0 ? say('watchers', { n: room.spectators }) : '',
    ];
    setText(this.facts, facts.filter(Boolean).join(' · '));
  }

  private wanted(view: View): string {
    const { room, mySide } = view;
    if (this.session.kicked) return 'kicked';
    if (room.phase === 'PLAYING') return mySide === null ? 'none' : this.resigning ? 'sure' : 'resign';
    if (mySide === null) return 'none';
    if (room.phase === 'ENDED') return 'again';
    const ready = room.seats[mySide].ready ? '' : 'ready ';
    return room.mode === 'PVP' && !room.seats[otherSide(mySide)].taken ? `${ready}share` : ready || 'none';
  }

  private showActions(view: View): void {
    if (view.room.phase !== 'PLAYING') this.resigning = false;
    const wanted = this.wanted(view);
    const off = this.session.link.kind !== 'connected';
    if (wanted !== this.shownActions) {
      this.shownActions = wanted;
      this.actions.replaceChildren(...this.makeActions(wanted));
    }
    for (const one of this.actions.querySelectorAll<HTMLButtonElement>('button[data-command]')) one.disabled = off;
  }

  private makeActions(wanted: string): Node[] {
    const command = (label: Word, className: string, press: () => void) => {
      const element = button(say(label), className, press);
      element.dataset.command = label;
      return element;
    };
    const link = button(say('copyLink'), 'quiet', () => void copy(this.address, link));
    switch (wanted) {
      case 'kicked':
        return [command('takeBackSeat', 'primary', () => this.session.resume())];
      case 'resign':
        return [command('resign', 'quiet', () => this.ask(true)), link];
      case 'sure':
        return [
          h('span', { class: 'question' }, say('resignSure')),
          command('yes', 'danger', () => {
            this.resigning = false;
            this.session.command('resign');
            this.update();
          }),
          button(say('no'), 'quiet', () => this.ask(false)),
        ];
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

  private ask(sure: boolean): void {
    this.resigning = sure;
    this.update();
    this.actions.querySelector('button')?.focus();
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
    const { clock, room } = view;
    for (const side of ['X', 'O'] as const) {
      const left = sideLeft(clock, side, room.turnSeconds, now);
      const full = Math.max(room.turnSeconds * 1000, clock.banks ? Math.max(clock.banks.X, clock.banks.O) : 0);
      const on = clock.running && clock.side === side;
      this.seats[side].ring.show(left, full, on);
      if (on) this.heed(view, side, left, fraction(left, full));
    }
  }

  // The last seconds of one's own turn.
  private heed(view: View, side: Side, left: number, share: number): void {
    const second = shownSeconds(left);
    if (second === this.lastSecond || share === 0) return;
    this.lastSecond = second;
    if (side !== view.mySide) return;
    if (second <= 5 && second > 0) sound.tick();
    if (second === 10 || second === 5) announce(say('saidSeconds', { n: second }));
  }
}
