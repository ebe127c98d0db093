// SPDX-License-Identifier: MIT
// What is going on, in one line and a half.

import { type Ending, otherSide, type Side } from './frames';
import type { Word } from './i18n';
import { myTurn, type View } from './view';

export interface Status {
  line: Word;
  more: Word | null;
  mood: 'wait' | 'mine' | 'theirs' | 'won' | 'lost' | 'draw' | 'over';
}

export function statusOf(view: View): Status {
  switch (view.room.phase) {
    case 'WAITING':
      return waiting(view);
    case 'PLAYING':
      return playing(view);
    case 'ENDED':
      return ended(view);
  }
}

function waiting({ room, mySide }: View): Status {
  const { X, O } = room.seats;
  const say = (line: Word): Status => ({ line, more: null, mood: 'wait' });
  if (mySide === null) return say('waitPlayers');
  if (!room.seats[mySide].ready) return say('waitReady');
  if (!X.taken || !O.taken) return say('waitOther');
  return say(room.seats[otherSide(mySide)].connected ? 'waitTheirReady' : 'waitBack');
}

// Who asks for a new game before this one is over?
export function asksRestart({ room, mySide }: View): Side | null {
  if (room.phase !== 'PLAYING') return null;
  const asking = (['X', 'O'] as const).filter((side) => room.seats[side].wantsRestart);
  return asking.find((side) => side !== mySide) ?? asking[0] ?? null;
}

function offer(view: View): Word | null {
  const side = asksRestart(view);
  if (side === null) return null;
  return side === view.mySide ? 'youAsk' : side === 'X' ? 'blackAsks' : 'whiteAsks';
}

function playing(view: View): Status {
  const more = offer(view);
  if (myTurn(view)) return { line: view.pending ? 'sending' : 'yourMove', more, mood: 'mine' };
  if (view.mySide !== null) return { line: 'theirMove', more, mood: 'theirs' };
  return { line: view.room.state.current === 'X' ? 'blackMove' : 'whiteMove', more, mood: 'theirs' };
}

const endings: Record<Ending, Word> = { five: 'byLine', resign: 'byResign', timeout: 'onTime', draw: 'boardFull' };

// A server that does not say why leaves it to what was seen.
function ended({ room, mySide, timedOut, gaveUp }: View): Status {
  const { winner, line } = room.state;
  if (winner === 'DRAW' || winner === null) return { line: 'draw', more: 'boardFull', mood: 'draw' };
  const more: Word = room.endedBy ? endings[room.endedBy] : line ? 'byLine' : timedOut ? 'onTime' : gaveUp ? 'byResign' : 'resignOrTime';
  if (mySide === null) return { line: winner === 'X' ? 'blackWins' : 'whiteWins', more, mood: 'over' };
  return winner === mySide ? { line: 'youWin', more, mood: 'won' } : { line: 'youLose', more, mood: 'lost' };
}
