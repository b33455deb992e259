import { escapeHtml } from '../../text/escaping.ts';

/** Markup that is safe to send: literals of the code, and escaped values. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type HtmlValue = string | number | Html | undefined | readonly HtmlValue[];

/** Puts escaped values into markup. Keeps {@link Html} as it is, joins lists, and omits undefined. */
export function markup(literals: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(literals.map((literal, index) => literal + render(values[index])).join(''));
}

function render(value: HtmlValue): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(render).join('');
  return escapeHtml(String(value));
}

/** `columns` maps headings to CSS classes. The first cell of a row is its heading. Narrow screens use `data-label`. */
export function table(
  caption: HtmlValue,
  columns: Readonly<Record<string, string>>,
  rows: readonly HtmlValue[][],
): Html {
  const [headings, styles] = [Object.keys(columns), Object.values(columns)];
  const cellOf = (value: HtmlValue, index: number) =>
    markup`<td data-label="${headings[index + 1]}" class="${styles[index + 1]}">${value}</td>`;
  const title = caption === undefined ? undefined : markup`<caption>${caption}</caption>`;
  const head = headings.map((heading) => markup`<th scope="col">${heading}</th>`);
  const body = rows.map(([first, ...cells]) => markup`<tr><th scope="row">${first}</th>${cells.map(cellOf)}</tr>`);
  return markup`<table class="stack">${title}<thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>`;
}

/** Returns a list, or undefined without entries. */
export function list(style: string, entries: readonly HtmlValue[]): Html | undefined {
  if (entries.length === 0) return undefined;
  return markup`<ul class="${style}">${entries.map((entry) => markup`<li>${entry}</li>`)}</ul>`;
}

/** Returns a list of terms and descriptions. Omits a term without a description. */
export function facts(style: string, rows: readonly (readonly [term: string, description: HtmlValue])[]): Html {
  const present = rows.filter(([, description]) => description !== undefined);
  const pairs = present.map(([term, text]) => markup`<div><dt>${term}</dt><dd>${text}</dd></div>`);
  return markup`<dl class="${style}">${pairs}</dl>`;
}

export function join(values: readonly HtmlValue[], separator: HtmlValue): HtmlValue {
  return values.flatMap((value, index) => (index === 0 ? [value] : [separator, value]));
}

/** Isolates a name, because it may run from right to left. */
export const isolate = (name: string | number | undefined): Html => markup`<bdi>${name}</bdi>`;

/** Allows line breaks after each slash, so that paths do not break inside a word. */
export function breakable(text: string): HtmlValue {
  return join(text.split(/(?<=\/)/), markup`<wbr />`);
}

export function fold(summary: HtmlValue, content: HtmlValue, isOpen: boolean): Html {
  return markup`<details${isOpen ? new Html(' open') : undefined}><summary>${summary}</summary>${content}</details>`;
}

/** Separator in a line. A constant, because the program must be ASCII, and the build does not escape templates. */
export const DOT = ' \u00b7 ';
export const NONE = '\u2013';
/** Signs beside colours. Every font has these signs. */
export const TICK = '\u2713';
export const CROSS = '\u2717';
