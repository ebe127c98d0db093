// SPDX-License-Identifier: MIT
// Elements, in one expression each. Attributes only: inline styles and handlers are forbidden by the
// page's Content-Security-Policy.

type Child = Node | string | null | false;
type Attributes = Record<string, string | number | boolean | null>;

const SVG = 'http://www.w3.org/2000/svg';

function build<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value);
  for (const child of children) if (child !== null && child !== false) element.append(child);
  return element;
}

export function setAttribute(element: Element, name: string, value: string | number | boolean | null): void {
  if (value === null || value === false) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? '' : String(value));
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return build(document.createElement(tag), attributes, children);
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return build(document.createElementNS(SVG, tag) as SVGElementTagNameMap[K], attributes, children);
}

export function button(label: string, className: string, press: () => void): HTMLButtonElement {
  const element = h('button', { type: 'button', class: className }, label);
  element.addEventListener('click', press);
  return element;
}

// Only when it differs: a text that is set again is read out again.
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
