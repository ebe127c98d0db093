// SPDX-License-Identifier: MIT
// What is going on, in one line and a half.

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
  return say(X.taken && O.taken ? 'waitTheirReady' : 'waitOther');
}

function playing(view: View): Status {
  if (myTurn(view)) return { line: view.pending ? 'sending' : 'yourMove', more: null, mood: 'mine' };
  if (view.mySide !== null) return { line: 'theirMove', more: null, mood: 'theirs' };
  return { line: view.room.state.current === 'X' ? 'blackMove' : 'whiteMove', more: null, mood: 'theirs' };
}

function ended({ room, mySide, timedOut }: View): Status {
  const { winner, line } = room.state;
  if (winner === 'DRAW' || winner === null) return { line: 'draw', more: 'boardFull', mood: 'draw' };
  const more: Word = line ? 'byLine' : timedOut ? 'onTime' : 'byResign';
  if (mySide === null) return { line: winner === 'X' ? 'blackWins' : 'whiteWins', more, mood: 'over' };
  return winner === mySide ? { line: 'youWin', more, mood: 'won' } : { line: 'youLose', more, mood: 'lost' };
}
