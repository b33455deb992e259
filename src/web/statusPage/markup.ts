import { ago } from '../../text/wording.ts';

/** Markup that is safe to send: only our own literals, and escaped values. */
export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

export type HtmlValue = string | number | Html | undefined | readonly HtmlValue[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Puts values into markup, escaped. Markup of this tag stays as it is, lists are joined, undefined is left out. */
export function html(literals: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  const parts = literals.map((literal, index) => literal + render(values[index]));
  return new Html(parts.join(''));
}

function render(value: HtmlValue): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.markup;
  if (typeof value === 'object') return value.map(render).join('');
  return String(value).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

/** A table. A row's first cell is its heading; on narrow screens each cell shows the heading of its column. */
export function table(
  caption: HtmlValue,
  headings: readonly string[],
  rows: readonly (readonly [HtmlValue, ...(HtmlValue | { readonly style: string; readonly value: HtmlValue })[]])[],
): Html {
  return html`<table class="stack">
    ${
      caption === undefined
        ? undefined
        : html`<caption>
            ${caption}
          </caption>`
    }
    <thead>
      <tr>
        ${headings.map((heading) => html`<th scope="col">${heading}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        ([first, ...cells]) =>
          html`<tr>
            <th scope="row">${first}</th>
            ${cells.map((cell, index) => {
              const { style, value } = typeof cell === 'object' && 'style' in cell ? cell : { style: '', value: cell };
              return html`<td data-label="${headings[index + 1]}" class="${style}">${value}</td>`;
            })}
          </tr>`,
      )}
    </tbody>
  </table>`;
}

/** Undefined without entries. */
export function list(style: string, entries: readonly HtmlValue[]): Html | undefined {
  if (entries.length === 0) return undefined;
  return html`<ul class="${style}">
    ${entries.map((entry) => html`<li>${entry}</li>`)}
  </ul>`;
}

/** Terms, and what is said of each. */
export function facts(style: string, rows: readonly (readonly [term: string, said: HtmlValue])[]): Html {
  return html`<dl class="${style}">
    ${rows.map(
      ([term, said]) =>
        html`<div>
          <dt>${term}</dt>
          <dd>${said}</dd>
        </div>`,
    )}
  </dl>`;
}

/** Values with a separator in between. */
export function joined(values: readonly HtmlValue[], separator: HtmlValue): HtmlValue {
  return values.flatMap((value, index) => (index === 0 ? [value] : [separator, value]));
}

/** A text with paths, which may break after a slash instead of inside a word. */
export function breakable(text: string): HtmlValue {
  return joined(text.split(/(?<=\/)/), html`<wbr />`);
}

/** A part of the page that is folded away behind its sum. */
export function fold(sum: HtmlValue, content: HtmlValue, isOpen: boolean): Html {
  return html`<details${isOpen ? new Html(' open') : undefined}>
    <summary>${sum}</summary>
    ${content}
  </details>`;
}

/** A bar of parts, in thousandths of it; `label` says them to a screen reader, undefined where a text beside it does. */
export function bar(
  label: string | undefined,
  parts: readonly { readonly paint: Html; readonly from: number; readonly length: number }[],
): Html {
  const said = label === undefined ? html`aria-hidden="true"` : html`role="img" aria-label="${label}"`;
  return html`<svg class="bar" viewBox="0 0 1000 16" preserveAspectRatio="none" ${said}>
    <rect class="track" width="1000" height="16" />
    ${parts.map(
      ({ paint, from, length }) =>
        html`<rect ${paint} x="${from.toFixed(1)}" width="${length.toFixed(1)}" height="16" />`,
    )}
  </svg>`;
}

/** The separator in a line; a constant, because the program must be ASCII, and the build does not escape templates. */
export const DOT = ' · ';
export const DASH = ' – ';
/** Signs beside colours; every font has them. */
export const TICK = '✓';
export const CROSS = '✗';

/** `3 min 2 s ago`, with the time itself in the markup; `never` for undefined. */
export function timeAgo(at: number | undefined, now: number): HtmlValue {
  if (at === undefined) return 'never';
  return html`<time datetime="${new Date(at * 1000).toISOString()}">${ago(at, now)}</time>`;
}
