// SPDX-License-Identifier: MIT
// What this browser remembers. A browser that forbids storage gets a page that forgets, not one that
// breaks.

import { type Language, pickLanguage } from './i18n';

function storage(kind: 'localStorage' | 'sessionStorage'): Storage | null {
  try {
    return window[kind];
  } catch {
    return null;
  }
}

export function recall(kind: 'localStorage' | 'sessionStorage', name: string): string | null {
  try {
    return storage(kind)?.getItem(`tocsin.${name}`) ?? null;
  } catch {
    return null;
  }
}

export function remember(kind: 'localStorage' | 'sessionStorage', name: string, value: string | null): void {
  try {
    if (value === null) storage(kind)?.removeItem(`tocsin.${name}`);
    else storage(kind)?.setItem(`tocsin.${name}`, value);
  } catch {
    // Full or forbidden: then it is forgotten.
  }
}

export type Theme = 'auto' | 'light' | 'dark';
const THEMES: Theme[] = ['auto', 'light', 'dark'];

export const prefs = {
  language: pickLanguage(recall('localStorage', 'language'), navigator.language),
  theme: (THEMES.find((one) => one === recall('localStorage', 'theme')) ?? 'auto') as Theme,
  sound: recall('localStorage', 'sound') === 'on',
  token: recall('localStorage', 'token'),
};

export function setLanguage(language: Language): void {
  prefs.language = language;
  remember('localStorage', 'language', language);
  document.documentElement.lang = language === 'zh' ? 'zh-Hans' : 'en';
}

export function nextTheme(): void {
  prefs.theme = THEMES[(THEMES.indexOf(prefs.theme) + 1) % THEMES.length] ?? 'auto';
  remember('localStorage', 'theme', prefs.theme);
  showTheme();
}

const systemDark = matchMedia('(prefers-color-scheme: dark)');
systemDark.addEventListener('change', () => showTheme());

export function showTheme(): void {
  const theme = prefs.theme === 'auto' ? (systemDark.matches ? 'dark' : 'light') : prefs.theme;
  document.documentElement.dataset.theme = theme;
}

export function setSound(on: boolean): void {
  prefs.sound = on;
  remember('localStorage', 'sound', on ? 'on' : null);
}

export function setToken(token: string): void {
  prefs.token = token;
  remember('localStorage', 'token', token);
}

// The server did not take it. What another tab has stored meanwhile stays.
export function forgetToken(): void {
  if (recall('localStorage', 'token') === prefs.token) remember('localStorage', 'token', null);
  prefs.token = null;
}
