// SPDX-License-Identifier: MIT
// What stands around every screen: header, footer, toasts, the question for a token.

import { serverVersion } from './api';
import { button, h, setText, svg } from './dom';
import { say as sayIn, type Word } from './i18n';
import { forgetToken, nextTheme, prefs, setLanguage, setSound, setToken } from './prefs';

export function say(word: Word, values: Record<string, string | number> = {}): string {
  return sayIn(prefs.language, word, values);
}

export interface Screen {
  element: HTMLElement;
  title(): string;
  close(): void;
}

const icons = {
  auto: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 4v16a8 8 0 0 1 0-16z',
  light: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M19 5l-2 2M7 17l-2 2',
  dark: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z',
  on: 'M4 9.5v5h3.5L12 18.5v-13L7.5 9.5zM15.5 9a4 4 0 0 1 0 6M18 6.5a7.5 7.5 0 0 1 0 11',
  off: 'M4 9.5v5h3.5L12 18.5v-13L7.5 9.5zM16 9.5l5 5M21 9.5l-5 5',
};

function icon(name: keyof typeof icons): SVGSVGElement {
  return svg(
    'svg',
    { class: `icon icon-${name}`, viewBox: '0 0 24 24', 'aria-hidden': 'true' },
    svg('path', { d: icons[name] }),
  );
}

export function bell(): SVGSVGElement {
  return svg(
    'svg',
    { class: 'bell', viewBox: '0 0 32 32', 'aria-hidden': 'true' },
    svg('circle', { class: 'bell-ring', cx: 16, cy: 16, r: 13 }),
    svg('path', { class: 'bell-arc', d: 'M16 3a13 13 0 0 1 11.26 19.5' }),
    svg('circle', { class: 'bell-stone', cx: 16, cy: 16, r: 6 }),
  );
}

const themeWords = { auto: 'themeAuto', light: 'themeLight', dark: 'themeDark' } as const;

function header(redraw: () => void): HTMLElement {
  const tool = (label: string, picture: Node | string, press: () => void) => {
    const element = button('', 'tool', () => {
      press();
      redraw();
    });
    element.title = label;
    element.setAttribute('aria-label', label);
    element.append(picture);
    return element;
  };
  const language = tool(say('switchLanguageHint'), say('switchLanguage'), () =>
    setLanguage(prefs.language === 'en' ? 'zh' : 'en'),
  );
  language.classList.add('tool-text');
  language.lang = prefs.language === 'en' ? 'zh-Hans' : 'en';
  const sounds = tool(say(prefs.sound ? 'soundOn' : 'soundOff'), icon(prefs.sound ? 'on' : 'off'), () =>
    setSound(!prefs.sound),
  );
  sounds.setAttribute('aria-pressed', String(prefs.sound));
  return h(
    'header',
    { class: 'top' },
    h('a', { class: 'brand', href: '#/' }, bell(), h('span', {}, say('product'))),
    h(
      'div',
      { class: 'tools' },
      language,
      tool(say(themeWords[prefs.theme]), icon(prefs.theme), nextTheme),
      sounds,
    ),
  );
}

let version = '';
let versionText: HTMLElement | null = null;

// Asked once; a server with a token does not tell before it has one.
async function tellVersion(): Promise<void> {
  try {
    version ||= await serverVersion();
  } catch {
    return;
  }
  if (version && versionText) setText(versionText, say('version', { v: version }));
}

function footer(): HTMLElement {
  versionText = h('span', { class: 'version' });
  void tellVersion();
  return h('footer', { class: 'bottom' }, h('span', {}, say('footer')), versionText);
}

// These stay when the screen changes: a live region speaks only of what changes inside it, and a
// question must not vanish with the screen that asked it.
const announcer = h('div', { class: 'unseen', 'aria-live': 'polite' });
const toasts = h('div', { class: 'toasts', role: 'status' });
const stage = h('div', { class: 'page' });

export function announce(text: string): void {
  setText(announcer, text);
}

export function toast(text: string): void {
  const element = h('div', { class: 'toast' }, text);
  toasts.replaceChildren(element);
  setTimeout(() => element.remove(), 4000);
}

// `fresh`: another screen, which one begins to read at its head. The same one in another language
// or colour leaves the focus on the button that asked for it.
export function mount(screen: Screen, redraw: () => void, fresh: boolean): void {
  const tools = [...document.querySelectorAll('.tool')];
  const pressed = document.activeElement ? tools.indexOf(document.activeElement) : -1;
  document.title = screen.title();
  const main = h('main', { class: 'main', id: 'main', tabindex: -1 }, screen.element);
  stage.replaceChildren(header(redraw), main, footer());
  if (!stage.isConnected) document.body.replaceChildren(stage, toasts, announcer);
  else if (fresh) main.focus({ preventScroll: true });
  else if (pressed >= 0) document.querySelectorAll<HTMLElement>('.tool')[pressed]?.focus();
}

// One question at a time, however many calls were refused meanwhile.
let asking: Promise<void> | null = null;

export function askToken(): Promise<void> {
  asking ??= new Promise<void>((resolve) => {
    const wrong = prefs.token !== null;
    forgetToken();
    const input = h('input', {
      type: 'password',
      id: 'token',
      autocomplete: 'off',
      spellcheck: 'false',
      required: true,
    });
    const form = h(
      'form',
      {},
      h('h2', { id: 'token-title' }, say('tokenTitle')),
      h('p', { id: 'token-text' }, wrong ? say('tokenWrong') : say('tokenText')),
      h('label', { for: 'token' }, say('tokenLabel')),
      input,
      h('button', { class: 'primary', type: 'submit' }, say('tokenSave')),
    );
    const dialog = h('dialog', { class: 'ask', 'aria-labelledby': 'token-title', 'aria-describedby': 'token-text' }, form);
    dialog.addEventListener('cancel', (event) => event.preventDefault());
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      if (input.value.trim() === '') return;
      setToken(input.value.trim());
      dialog.close();
      dialog.remove();
      asking = null;
      void tellVersion();
      resolve();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
  return asking;
}

export async function copy(text: string, from: HTMLButtonElement): Promise<void> {
  const label = from.textContent ?? '';
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Not a secure context, or forbidden: the old way.
    const area = h('textarea', { class: 'unseen' });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  setText(from, say('copied'));
  setTimeout(() => setText(from, label), 1600);
}
