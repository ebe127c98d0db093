// SPDX-License-Identifier: MIT
// The clock of one side: a ring that runs down, and the seconds in it.

import { fraction, type Reading, shownTime, urgency } from './clock';
import { setAttribute, setText, svg } from './dom';

const LENGTH = 1000;

export class Ring {
  readonly element: SVGSVGElement;
  private readonly arc = svg('circle', {
    class: 'ring-arc',
    cx: 32,
    cy: 32,
    r: 28,
    pathLength: LENGTH,
    'stroke-dasharray': `${LENGTH} ${LENGTH}`,
    transform: 'rotate(-90 32 32)',
  });
  private drawn = '';
  private readonly number = svg('text', { class: 'ring-number', x: 32, y: 32 });

  constructor() {
    this.element = svg(
      'svg',
      { class: 'ring', viewBox: '0 0 64 64', 'aria-hidden': 'true' },
      svg('circle', { class: 'ring-track', cx: 32, cy: 32, r: 28 }),
      this.arc,
      this.number,
    );
  }

  show({ ms, fullMs, spare }: Reading, running: boolean): void {
    const share = fraction(ms, fullMs);
    const offset = (LENGTH * (1 - share)).toFixed(1);
    if (offset !== this.drawn) {
      this.drawn = offset;
      this.arc.setAttribute('stroke-dashoffset', offset);
      setAttribute(this.arc, 'data-empty', share === 0);
    }
    const text = shownTime(ms);
    setText(this.number, text);
    setAttribute(this.number, 'data-size', Math.min(5, text.length));
    const mood = running ? urgency(ms, spare) : 'still';
    if (this.element.dataset.mood !== mood) this.element.dataset.mood = mood;
  }
}
