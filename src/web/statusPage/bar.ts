import type { Breakdown, Part } from './breakdown.ts';
import { html, type Html } from './html.ts';
import { inWords } from './words.ts';

const WIDTH = 1000;
const HEIGHT = 24;
const PALETTE_SIZE = 8;

/** Style class of a part: components keep their colour over the whole page, whatever applications they appear in. */
export type ColourOf = (part: Part) => string;

/** Colours for every component of a page, in the order of their names. */
export function colours(breakdowns: Iterable<Breakdown>): ColourOf {
  const names = new Set<string>();
  for (const { parts } of breakdowns) {
    for (const { kind, name } of parts) if (kind === 'component') names.add(name);
  }
  const order = [...names].toSorted();
  return ({ kind, name }) => (kind === 'component' ? `c${order.indexOf(name) % PALETTE_SIZE}` : kind);
}

/** A stacked bar that fills its line; parts of 0 or less cannot be drawn and stand in the legend only. */
export function drawBar({ parts, responseTime }: Breakdown, colourOf: ColourOf): Html | undefined {
  const drawn = parts.filter(({ seconds }) => seconds > 0);
  const sum = drawn.reduce((total, { seconds }) => total + seconds, 0);
  if (sum === 0) return undefined;
  const scale = WIDTH / Math.max(sum, responseTime ?? 0);
  let from = 0;
  const rectangles = drawn.map((part) => {
    const x = from;
    from += part.seconds * scale;
    return html`<rect class="${colourOf(part)}" x="${digits(x)}" y="0" width="${digits(from - x)}" height="${HEIGHT}"
      ><title>${part.name}: ${inWords(part.seconds)}</title></rect
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
export function legend({ parts }: Breakdown, colourOf: ColourOf): Html {
  const sum = parts.reduce((total, { seconds }) => total + Math.max(0, seconds), 0);
  const share = ({ seconds }: Part) =>
    sum > 0 && seconds > 0 ? html` <small>${Math.round((100 * seconds) / sum)} %</small>` : undefined;
  return html`<ul class="parts">
    ${parts.map(
      (part) =>
        html`<li>${swatch(colourOf(part))} <bdi>${part.name}</bdi> <b>${inWords(part.seconds)}</b>${share(part)}</li>`,
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
