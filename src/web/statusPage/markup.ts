/** Markup that is safe to send: only our own literals, and escaped values. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type HtmlValue = string | number | Html | undefined | readonly HtmlValue[];

const ENTITIES = new Map(Object.entries({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }));

/** Puts values into markup, escaped. Markup of this tag stays as it is, lists are joined, undefined is left out. */
export function markup(literals: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(literals.map((literal, index) => literal + render(values[index])).join(''));
}

function render(value: HtmlValue): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(render).join('');
  return String(value).replace(/[&<>"']/g, (character) => ENTITIES.get(character) ?? '');
}

/**
 * Returns a table with the columns of these headings and classes. A row's first cell is its heading; on narrow screens each cell
 * shows the heading of its column.
 */
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

/** Returns undefined without entries. */
export function list(style: string, entries: readonly HtmlValue[]): Html | undefined {
  if (entries.length === 0) return undefined;
  return markup`<ul class="${style}">${entries.map((entry) => markup`<li>${entry}</li>`)}</ul>`;
}

/** Returns terms with their descriptions; leaves out a term whose description is undefined. */
export function facts(style: string, rows: readonly (readonly [term: string, description: HtmlValue])[]): Html {
  const present = rows.filter(([, description]) => description !== undefined);
  const pairs = present.map(([term, text]) => markup`<div><dt>${term}</dt><dd>${text}</dd></div>`);
  return markup`<dl class="${style}">${pairs}</dl>`;
}

/** Returns values with a separator in between. */
export function join(values: readonly HtmlValue[], separator: HtmlValue): HtmlValue {
  return values.flatMap((value, index) => (index === 0 ? [value] : [separator, value]));
}

/** Isolates a name, which may be written from right to left. */
export const isolate = (name: string | number | undefined): Html => markup`<bdi>${name}</bdi>`;

/** Lets a text with paths break after a slash instead of inside a word. */
export function breakable(text: string): HtmlValue {
  return join(text.split(/(?<=\/)/), markup`<wbr />`);
}

/** Returns a part of the page that is folded behind its summary. */
export function fold(summary: HtmlValue, content: HtmlValue, isOpen: boolean): Html {
  return markup`<details${isOpen ? new Html(' open') : undefined}><summary>${summary}</summary>${content}</details>`;
}

/** The separator in a line; a constant, because the program must be ASCII, and the build does not escape templates. */
export const DOT = ' \u00b7 ';
export const NONE = '\u2013';
/** Signs beside colours; every font has them. */
export const TICK = '\u2713';
export const CROSS = '\u2717';
