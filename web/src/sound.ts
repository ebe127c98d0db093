// SPDX-License-Identifier: MIT
// Small sounds, made on the spot; silent unless switched on.

import { prefs } from './prefs';

let context: AudioContext | null = null;

function note(frequency: number, seconds: number, volume: number, delay = 0, type: OscillatorType = 'sine'): void {
  if (!prefs.sound) return;
  try {
    context ??= new AudioContext();
    if (context.state === 'suspended') void context.resume();
    const start = context.currentTime + delay;
    const oscillator = new OscillatorNode(context, { frequency, type });
    const gain = new GainNode(context, { gain: 0 });
    gain.gain.setValueAtTime(0, start);
    gain.gain.linearRampToValueAtTime(volume, start + 0.004);
    gain.gain.exponentialRampToValueAtTime(0.0001, start + seconds);
    oscillator.connect(gain).connect(context.destination);
    oscillator.start(start);
    oscillator.stop(start + seconds + 0.02);
  } catch {
    // No sound on this machine.
  }
}

export const sound = {
  stone(mine: boolean): void {
    note(mine ? 520 : 430, 0.07, 0.25, 0, 'triangle');
    note(mine ? 1040 : 860, 0.03, 0.08);
  },
  tick(): void {
    note(1200, 0.035, 0.06, 0, 'square');
  },
  end(won: boolean): void {
    const tones = won ? [523, 659, 784] : [440, 370, 330];
    tones.forEach((tone, i) => note(tone, 0.5, 0.14, i * 0.13));
  },
  begin(): void {
    note(660, 0.25, 0.12);
    note(880, 0.3, 0.1, 0.1);
  },
};
