import type { Breakdown, Part } from './breakdown.ts';
import { html, type Html } from './html.ts';
import { inWords } from './words.ts';

const WIDTH = 1000;
const HEIGHT = 24;

/** Colours for components, as the style sheet has them: more than any application has components. */
const PALETTE_SIZE = 16;

/** The style class of each part of a breakdown. */
export type ColoursOf = (breakdown: Breakdown) => (part: Part) => string;

/**
 * Colours for every component of a page, in the order of their names: a component has one colour on the whole page, but
 * where a bar would have two parts of the same colour, the later one takes the next that is free in this bar.
 */
export function colours(breakdowns: Iterable<Breakdown>): ColoursOf {
  const names = new Set<string>();
  for (const { parts } of breakdowns) {
    for (const { kind, name } of parts) if (kind === 'component') names.add(name);
  }
  const wanted = new Map([...names].toSorted().map((name, index) => [name, index % PALETTE_SIZE]));
  return ({ parts }) => {
    const components = parts.filter(({ kind }) => kind === 'component');
    const taken = new Map<number, string>();
    for (const { name } of components) {
      let colour = wanted.get(name) ?? 0;
      while (taken.has(colour) && taken.size < PALETTE_SIZE) colour = (colour + 1) % PALETTE_SIZE;
      taken.set(colour, name);
    }
    const given = new Map([...taken].map(([colour, name]) => [name, `c${colour}`]));
    return ({ kind, name }) => (kind === 'component' ? (given.get(name) ?? 'c0') : kind);
  };
}

/** A stacked bar that fills its line; parts of 0 or less cannot be drawn and stand in the legend only. */
export function drawBar({ parts, responseTime }: Breakdown, colourOf: (part: Part) => string): Html | undefined {
  const drawn = parts.filter(({ seconds }) => seconds > 0);
  const sum = drawn.reduce((total, { seconds }) => total + seconds, 0);
  if (sum === 0) return undefined;
  const scale = WIDTH / Math.max(sum, responseTime ?? 0);
  let from = 0;
  const rectangles = drawn.map((part) => {
    const x = from;
    from += part.seconds * scale;
    return html`<rect class="${colourOf(part)}" x="${digits(x)}" y="0" width="${digits(from - x)}" height="${HEIGHT}"
      ><title>${part.name}: ${inWords(part.seconds)} (${part.metric})</title></rect
    >`;
  });
  const description = drawn.map(({ name, seconds }) => `${name} ${inWords(seconds)}`).join(', ');
  return html`<svg
    class="bar"
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    preserveAspectRatio="none"
    role="img"
    aria-label="${description}"
  >
    ${rectangles}${responseMark(responseTime, scale)}
  </svg>`;
}

/** Where the response time ends; work in parallel makes the parts longer than it. */
function responseMark(responseTime: number | undefined, scale: number): Html | undefined {
  if (responseTime === undefined) return undefined;
  const x = Math.min(WIDTH - 2, responseTime * scale);
  return html`<line class="mark" x1="${digits(x)}" x2="${digits(x)}" y1="0" y2="${HEIGHT}"
    ><title>Response time: ${inWords(responseTime)}</title></line
  >`;
}

/** The parts in words, each with its colour and its share of their sum. */
export function legend({ parts }: Breakdown, colourOf: (part: Part) => string): Html {
  const sum = parts.reduce((total, { seconds }) => total + Math.max(0, seconds), 0);
  const share = ({ seconds }: Part) =>
    sum > 0 && seconds > 0 ? html` <small>${Math.round((100 * seconds) / sum)} %</small>` : undefined;
  return html`<ul class="parts">
    ${parts.map(
      (part) =>
        html`<li title="${part.metric}">
          ${swatch(colourOf(part))} <bdi>${part.name}</bdi> <b>${inWords(part.seconds)}</b>${share(part)}
        </li>`,
    )}
  </ul>`;
}

export function swatch(colour: string): Html {
  return html`<svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
    <rect class="${colour}" width="10" height="10" rx="2" />
  </svg>`;
}

function digits(value: number): string {
  return value.toFixed(2);
}
