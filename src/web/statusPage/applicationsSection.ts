import { html, type Html, counted, DOT, inWords } from './markup.ts';
import type { AccountStatus, ApplicationView, EntityStatus } from '../dependencies.ts';
import { breakdownKey, type Breakdown, type Part } from './breakdown.ts';

const PAGE_SIZE = 50;

interface ApplicationsView {
  /** Those that match the search. */
  readonly rows: readonly ApplicationRow[];
  /** How many there are without the search. */
  readonly total: number;
  readonly search: string;
  /** Counts from 1; cut to the pages there are. */
  readonly page: number;
  /** Where the form and the page links go. */
  readonly address: string;
  readonly coloursOf: ColoursOf;
}

/** The response-time breakdown of every application, searchable and in pages. */
export function applicationsSection(view: ApplicationsView): Html {
  const pages = Math.max(1, Math.ceil(view.rows.length / PAGE_SIZE));
  const page = Math.min(Math.max(1, view.page), pages);
  const shown = view.rows.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE);
  return html`<section aria-labelledby="applications">
    <h2 id="applications">Response time of each application</h2>
    ${searchForm(view)}
    <p class="key">
      ${swatch('queue')} request queueing ${swatch('c0')}${swatch('c1')}${swatch('c2')} components (database, caches,
      external services) ${swatch('total')} application code: what is left of the total time. The black mark is the
      response time; what lies beyond it ran in parallel. All bars have full width: compare the numbers.
    </p>
    ${shown.length === 0 ? html`<p>${nothingToShow(view)}</p>` : undefined}
    <ol class="applications" start="${(page - 1) * PAGE_SIZE + 1}">
      ${shown.map((row) => applicationItem(row, view.coloursOf))}
    </ol>
    ${pages > 1 ? pageLinks(view, page, pages) : undefined}
  </section>`;
}

function applicationItem({ account, application, breakdown, absence }: ApplicationRow, coloursOf: ColoursOf): Html {
  const { responseTime } = breakdown ?? {};
  const colourOf = breakdown === undefined ? undefined : coloursOf(breakdown);
  return html`<li>
    <div class="title">
      <h3><bdi>${application.name}</bdi></h3>
      <span class="of"
        ><bdi>${account}</bdi
        >/${application.id}${application.language === undefined ? '' : html`${DOT}<bdi>${application.language}</bdi>`}</span
      >
      ${responseTime === undefined ? undefined : html`<span class="response">${inWords(responseTime)}</span>`}
    </div>
    ${breakdown === undefined || colourOf === undefined ? html`<p class="absent">No breakdown: ${absence}</p>` : html`${drawBar(breakdown, colourOf)}${legend(breakdown, colourOf)}${belowZero(breakdown.parts)}`}
  </li>`;
}

function belowZero(parts: readonly { kind: string; seconds: number }[]): Html | undefined {
  const below = parts.some(({ kind, seconds }) => kind === 'total' && seconds < 0);
  return below
    ? html`<p class="absent">
        Application code is below zero: components overlapped, their times add up to more than the whole.
      </p>`
    : undefined;
}

function searchForm({ search, address, rows, total }: ApplicationsView): Html {
  const found = search === '' ? counted(total, 'application') : `${rows.length} of ${counted(total, 'application')}`;
  return html`<form class="search" method="get" action="${address}#applications" role="search">
    <label for="q">Search by name, account or id</label>
    <input id="q" name="q" type="search" value="${search}" maxlength="200" autocomplete="off" />
    <button type="submit">Search</button>
    <span>${found}</span>
    ${search === '' ? undefined : html`<a href="${address}#applications">Show all</a>`}
  </form>`;
}

function nothingToShow({ search, total }: ApplicationsView): string {
  if (total === 0) return 'No application list has been read yet; a scrape of the metrics reads it.';
  return `No application matches "${search}".`;
}

function pageLinks({ address, search }: ApplicationsView, page: number, pages: number): Html {
  const link = (to: number, text: string, rel: string) =>
    to < 1 || to > pages
      ? html`<span class="off">${text}</span>`
      : html`<a
          rel="${rel}"
          href="${address}?${new URLSearchParams({ ...(search === '' ? {} : { q: search }), page: String(to) }).toString()}#applications"
          >${text}</a
        >`;
  return html`<nav class="pages" aria-label="Pages of applications">
    ${link(page - 1, 'Previous', 'prev')} <span>Page ${page} of ${pages}</span> ${link(page + 1, 'Next', 'next')}
  </nav>`;
}

/** An application as the status page lists it. */
interface ApplicationRow {
  readonly account: string;
  readonly application: ApplicationView;
  readonly breakdown: Breakdown | undefined;
  /** Why there is no breakdown; undefined where there is one. */
  readonly absence: string | undefined;
}

/** Every known application, the slowest first, then those without a breakdown by name. */
export function applicationRows(
  accounts: readonly AccountStatus[],
  breakdowns: ReadonlyMap<string, Breakdown>,
): ApplicationRow[] {
  const rows = accounts.flatMap(({ name, applications = [], entities }) => {
    const work = new Map(
      entities.filter(({ group }) => group === 'application_metrics').map((entity) => [entity.applicationId, entity]),
    );
    return applications.map((application): ApplicationRow => {
      const breakdown = breakdowns.get(breakdownKey(name, application.id));
      const shown = breakdown !== undefined && breakdown.parts.length > 0 ? breakdown : undefined;
      const absence = shown === undefined ? whyAbsent(application, work.get(application.id)) : undefined;
      return { account: name, application, breakdown: shown, absence };
    });
  });
  return rows.toSorted(
    (a, b) =>
      (b.breakdown?.responseTime ?? -1) - (a.breakdown?.responseTime ?? -1) ||
      compare(a.application.name, b.application.name) ||
      a.application.id - b.application.id,
  );
}

/** Applications whose name, account or id has the text, whatever the case. */
export function search(rows: readonly ApplicationRow[], text: string): ApplicationRow[] {
  const wanted = text.trim().toLowerCase();
  return rows.filter(({ account, application }) =>
    [application.name, account, String(application.id)].some((value) => value.toLowerCase().includes(wanted)),
  );
}

function whyAbsent(application: ApplicationView, work: EntityStatus | undefined): string {
  if (!application.reporting) return 'it does not report, so no metric data are read.';
  if (work === undefined) return 'its metric data are not read.';
  if (work.state === 'missing') return work.problem ?? 'its metric data have not been read yet.';
  return 'it had no web transactions in the window.';
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

const WIDTH = 1000;
const HEIGHT = 24;

/** Colours for components, as the style sheet has them: more than any application has components. */
const PALETTE_SIZE = 16;

/** The style class of each part of a breakdown. */
type ColoursOf = (breakdown: Breakdown) => (part: Part) => string;

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
function drawBar({ parts, responseTime }: Breakdown, colourOf: (part: Part) => string): Html | undefined {
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
function legend({ parts }: Breakdown, colourOf: (part: Part) => string): Html {
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

function swatch(colour: string): Html {
  return html`<svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
    <rect class="${colour}" width="10" height="10" rx="2" />
  </svg>`;
}

function digits(value: number): string {
  return value.toFixed(2);
}
