// SPDX-License-Identifier: MIT
// The board, drawn as SVG: crisp at every size, and each stone an element of its own. It knows where
// somebody points and what lies there; what may be played is the server's business.

import { h, setAttribute, svg } from './dom';
import { type GameState, type Point, type Side, SIZE } from './frames';

const CELL = 40;
// The names of the lines stand at the left and below, so there is more room there.
const LEFT = 40;
const TOP = 26;
const SPAN = (SIZE - 1) * CELL;
const WHOLE = LEFT + SPAN + TOP;
const RADIUS = 17.5;
const STARS: Point[] = [3, 11].flatMap((x) => [3, 11].map((y) => ({ x, y }))).concat({ x: 7, y: 7 });

let boards = 0;

export function pointName({ x, y }: Point): string {
  return `${String.fromCharCode(65 + x)}${SIZE - y}`;
}

const atX = (n: number) => LEFT + n * CELL;
const atY = (n: number) => TOP + n * CELL;
const index = ({ x, y }: Point) => y * SIZE + x;
const same = (a: Point | null, b: Point | null) => a !== null && b !== null && a.x === b.x && a.y === b.y;

export interface BoardEvents {
  onPlace(point: Point): void;
  onAim(point: Point | null): void; // touched once: once more places
  onCursor(point: Point): void; // moved by keys
}

export interface BoardLook {
  state: GameState;
  pending: Point | null;
  side: Side | null; // whose stone the hand holds
  active: boolean; // may it place?
}

export class Board {
  readonly element: HTMLDivElement;
  private readonly picture: SVGSVGElement;
  private readonly stones = svg('g', { class: 'stones' });
  private readonly marks = svg('g', { class: 'marks' });
  private readonly hand = svg('g', { class: 'hand' });
  private readonly shown: (SVGGElement | null)[] = Array.from({ length: SIZE * SIZE }, () => null);
  private readonly id = `b${++boards}`;
  private look: BoardLook | null = null;
  private hover: Point | null = null;
  private aim: Point | null = null;
  private cursor: Point = { x: 7, y: 7 };
  private byKeys = false;
  private touched = false;
  private drawn = '';
  private game = '';

  constructor(
    label: string,
    private readonly events: BoardEvents | null,
  ) {
    this.picture = svg(
      'svg',
      { viewBox: `0 0 ${WHOLE} ${WHOLE}`, class: 'board-picture', 'aria-hidden': 'true' },
      this.definitions(),
      ...ground(),
      this.stones,
      this.marks,
      this.hand,
    );
    this.element = h('div', { class: 'board' }, this.picture);
    if (events) this.listen(label);
    else this.element.setAttribute('aria-hidden', 'true');
  }

  update(look: BoardLook): void {
    this.look = look;
    if (!look.active) this.setAim(null);
    setAttribute(this.element, 'data-active', look.active);
    this.drawStones(look.state);
    this.drawMarks(look.state);
    this.drawHand();
  }

  // What was aimed at is meant.
  confirm(): void {
    const { aim } = this;
    if (!aim || !this.look?.active || this.look.pending) return;
    this.setAim(null);
    this.events?.onPlace(aim);
  }

  private definitions(): SVGDefsElement {
    const stone = (side: Side, stops: [string, string][]) =>
      svg(
        'radialGradient',
        { id: `${this.id}-${side}`, cx: '36%', cy: '30%', r: '78%' },
        ...stops.map(([offset, name]) => svg('stop', { offset, class: name })),
      );
    return svg(
      'defs',
      {},
      stone('X', [['0', 'x-light'], ['0.45', 'x-mid'], ['1', 'x-dark']]),
      stone('O', [['0', 'o-light'], ['0.6', 'o-mid'], ['1', 'o-dark']]),
    );
  }

  private stone(side: Side, { x, y }: Point, kind: string): SVGGElement {
    return svg(
      'g',
      { class: `stone ${kind}`, transform: `translate(${atX(x)} ${atY(y)})` },
      svg('circle', { class: 'shade', r: RADIUS, cx: 1.2, cy: 2.2 }),
      svg('circle', { class: `face face-${side}`, r: RADIUS, fill: `url(#${this.id}-${side})` }),
    );
  }

  private drawStones(state: GameState): void {
    const fresh = state.gameId !== this.game;
    this.game = state.gameId;
    for (let i = 0; i < SIZE * SIZE; i++) {
      const now = state.board[i];
      const old = this.drawn[i] ?? '.';
      if (now === old) continue;
      this.shown[i]?.remove();
      this.shown[i] = null;
      if (now !== 'X' && now !== 'O') continue;
      const point = { x: i % SIZE, y: Math.floor(i / SIZE) };
      const entering = !fresh && same(point, state.lastMove) ? 'enter' : '';
      const stone = this.stone(now, point, entering);
      this.shown[i] = stone;
      this.stones.append(stone);
    }
    this.drawn = state.board;
  }

  private drawMarks(state: GameState): void {
    this.marks.replaceChildren();
    const { lastMove, line } = state;
    const inLine = new Set(line?.map(index));
    this.shown.forEach((stone, i) => stone?.classList.toggle('aside', line !== null && !inLine.has(i)));
    const first = line?.[0];
    const last = line?.[line.length - 1];
    if (line && first && last) {
      this.marks.append(
        svg('line', {
          class: 'win-line',
          pathLength: 1,
          x1: atX(first.x),
          y1: atY(first.y),
          x2: atX(last.x),
          y2: atY(last.y),
        }),
        ...line.map(({ x, y }) => svg('circle', { class: 'win-stone', cx: atX(x), cy: atY(y), r: RADIUS + 1 })),
      );
    }
    if (lastMove && !line) {
      this.marks.append(svg('circle', { class: 'last', cx: atX(lastMove.x), cy: atY(lastMove.y), r: 5 }));
    }
  }

  private drawHand(): void {
    this.hand.replaceChildren();
    const look = this.look;
    if (!look) return;
    if (look.pending && look.side) this.hand.append(this.stone(look.side, look.pending, 'pending'));
    if (this.byKeys && document.activeElement === this.element) {
      const { x, y } = this.cursor;
      this.hand.append(
        svg('rect', { class: 'cursor', x: atX(x) - 19, y: atY(y) - 19, width: 38, height: 38, rx: 7 }),
      );
    }
    if (!look.active || !look.side || look.pending) return;
    if (this.aim) {
      this.hand.append(
        svg('path', {
          class: 'aim',
          d: `M${LEFT} ${atY(this.aim.y)}H${LEFT + SPAN}M${atX(this.aim.x)} ${TOP}V${TOP + SPAN}`,
        }),
        this.stone(look.side, this.aim, 'aimed'),
        svg('circle', { class: 'aim-ring', cx: atX(this.aim.x), cy: atY(this.aim.y), r: RADIUS + 5 }),
      );
    } else {
      const ghost = this.byKeys ? this.cursor : this.hover;
      if (ghost && this.empty(ghost)) this.hand.append(this.stone(look.side, ghost, 'ghost'));
    }
  }

  private empty(point: Point): boolean {
    return this.look?.state.board[index(point)] === '.';
  }

  private setAim(point: Point | null): void {
    if (same(point, this.aim) || (point === null && this.aim === null)) return;
    this.aim = point;
    this.events?.onAim(point);
  }

  private where(event: MouseEvent): Point | null {
    const box = this.picture.getBoundingClientRect();
    const x = Math.round((((event.clientX - box.left) / box.width) * WHOLE - LEFT) / CELL);
    const y = Math.round((((event.clientY - box.top) / box.height) * WHOLE - TOP) / CELL);
    return x >= 0 && x < SIZE && y >= 0 && y < SIZE ? { x, y } : null;
  }

  private listen(label: string): void {
    const { element } = this;
    setAttribute(element, 'tabindex', 0);
    setAttribute(element, 'role', 'application');
    setAttribute(element, 'aria-label', label);
    element.addEventListener('pointerdown', (event) => {
      this.touched = event.pointerType === 'touch';
      this.byKeys = false;
    });
    element.addEventListener('pointermove', (event) => {
      if (event.pointerType === 'touch') return;
      const point = this.where(event);
      if (same(point, this.hover)) return;
      this.hover = point;
      this.byKeys = false;
      this.drawHand();
    });
    element.addEventListener('pointerleave', () => {
      this.hover = null;
      this.drawHand();
    });
    element.addEventListener('click', (event) => this.press(this.where(event)));
    element.addEventListener('keydown', (event) => this.key(event));
    element.addEventListener('blur', () => this.drawHand());
    element.addEventListener('focus', () => {
      this.byKeys = element.matches(':focus-visible');
      this.drawHand();
    });
  }

  // A finger covers five points: the first tap aims, the second on the same point places.
  private press(point: Point | null): void {
    if (!this.look?.active || this.look.pending) return;
    if (point === null || !this.empty(point)) {
      this.setAim(null);
      this.drawHand();
      return;
    }
    if (this.touched && !same(point, this.aim)) {
      this.setAim(point);
      this.drawHand();
      return;
    }
    this.setAim(null);
    this.events?.onPlace(point);
  }

  private key(event: KeyboardEvent): void {
    const moves: Record<string, [number, number]> = {
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
      ArrowUp: [0, -1],
      ArrowDown: [0, 1],
    };
    const move = moves[event.key];
    if (move) {
      const clamp = (n: number) => Math.min(SIZE - 1, Math.max(0, n));
      this.cursor = { x: clamp(this.cursor.x + move[0]), y: clamp(this.cursor.y + move[1]) };
      this.byKeys = true;
      this.setAim(null);
      this.drawHand();
      this.events?.onCursor(this.cursor);
    } else if (event.key === 'Enter' || event.key === ' ') {
      this.byKeys = true;
      this.touched = false;
      this.press(this.cursor);
    } else {
      return;
    }
    event.preventDefault();
  }
}

function ground(): SVGElement[] {
  let lines = '';
  for (let i = 0; i < SIZE; i++) lines += `M${LEFT} ${atY(i)}h${SPAN}M${atX(i)} ${TOP}v${SPAN}`;
  const names = svg('g', { class: 'names' });
  for (let i = 0; i < SIZE; i++) {
    names.append(
      svg('text', { x: atX(i), y: WHOLE - 10 }, String.fromCharCode(65 + i)),
      svg('text', { x: 15, y: atY(i) + 4 }, String(SIZE - i)),
    );
  }
  return [
    svg('rect', { class: 'wood', width: WHOLE, height: WHOLE, rx: 14 }),
    svg('path', { class: 'grid', d: lines }),
    svg('rect', { class: 'border', x: LEFT, y: TOP, width: SPAN, height: SPAN }),
    ...STARS.map(({ x, y }) => svg('circle', { class: 'star', cx: atX(x), cy: atY(y), r: 4 })),
    names,
  ];
}
