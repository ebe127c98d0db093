// SPDX-License-Identifier: MIT
// Which screen? #/ is the lobby, #/room/ID a game.

import { Lobby } from './lobby';
import { prefs, setLanguage, showTheme } from './prefs';
import { RoomScreen } from './room';
import { Session } from './session';
import { askToken, mount, type Screen, toast } from './shell';
import { sayRefusal } from './i18n';

let screen: Screen | null = null;
let session: Session | null = null;

function roomOf(hash: string): string | null {
  const match = /^#\/room\/([^/]+)$/.exec(hash);
  if (!match?.[1]) return null;
  try {
    return decodeURIComponent(match[1]);
  } catch {
    return null;
  }
}

function enter(roomId: string): Session {
  const made: Session = new Session(roomId, {
    onChange: () => {
      if (session === made && screen instanceof RoomScreen) screen.update();
    },
    onRefused: (code, detail) => toast(sayRefusal(prefs.language, code, detail)),
    onUnauthorized: () => {
      void askToken().then(() => {
        if (session === made) void made.begin();
      });
    },
  });
  return made;
}

function show(fresh = false): void {
  const roomId = roomOf(location.hash);
  if (session && session.roomId !== roomId) {
    session.close();
    session = null;
  }
  if (roomId !== null) session ??= enter(roomId);
  screen?.close();
  screen = session ? new RoomScreen(session) : new Lobby();
  mount(screen, () => show(), fresh);
}

function go(): void {
  show(true);
  scrollTo(0, 0);
}

showTheme();
setLanguage(prefs.language);
document.addEventListener('DOMContentLoaded', () => {
  addEventListener('hashchange', go);
  show();
});
