import { html, type Html, counted, DOT, inWords } from './markup.ts';
import type { ApplicationView, TaskStatus } from '../../collect/accountStatus.ts';
import type { Breakdown, ShownAccount } from './breakdown.ts';
import { PALETTE_SIZE } from './style.ts';

const PAGE_SIZE = 50;

/**
 * The response-time breakdowns in pages, the slowest first, then applications without one by name.
 *
 * @param search a part of a name, an account or an id; empty for all applications
 * @param requested the number of the page, from 1
 * @param address the address that links lead to
 */
export function applicationsSection(
  accounts: readonly ShownAccount[],
  search: string,
  requested: number,
  address: string,
): Html {
  const all = applicationRows(accounts);
  const rows = all.filter((row) => isFound(row, search.trim().toLowerCase()));
  const palette = paletteOf(all);
  const pages = Math.max(1, Math.ceil(rows.length / PAGE_SIZE));
  const page = Math.min(Math.max(1, requested), pages);
  const before = (page - 1) * PAGE_SIZE;
  const applications = counted(all.length, 'application');
  return html`<section aria-labelledby="applications">
    <h2 id="applications">Response time of each application</h2>
    ${searchForm(search, search === '' ? applications : `${rows.length} of ${applications}`, address)}
    <p class="key">
      ${swatch('queue')} request queueing ${swatch('c0')}${swatch('c1')}${swatch('c2')} components (database, caches,
      external services) ${swatch('total')} application code: the rest of the total time. The line across a bar is the
      response time; beyond it, work ran in parallel. All bars are equally wide: compare the numbers.
    </p>
    ${rows.length === 0 ? html`<p>${nothingToShow(search, all.length)}</p>` : undefined}
    <ol class="applications" start="${before + 1}">
      ${rows.slice(before, before + PAGE_SIZE).map((row) => applicationItem(row, palette))}
    </ol>
    ${pages > 1 ? pageLinks(search, address, page, pages) : undefined}
  </section>`;
}

function applicationItem(
  { account, application, breakdown }: ApplicationRow,
  palette: ReturnType<typeof paletteOf>,
): Html {
  const { responseTime } = breakdown ?? {};
  return html`<li>
    <div class="title">
      <h3><bdi>${application.name}</bdi></h3>
      <span class="of"
        ><bdi>${account.name}</bdi
        >/${application.id}${application.language === undefined ? '' : html`${DOT}<bdi>${application.language}</bdi>`}</span
      >
      ${responseTime === undefined ? undefined : html`<span class="response">${inWords(responseTime)}</span>`}
    </div>
    ${
      breakdown === undefined
        ? html`<p class="absent">No breakdown: ${whyAbsent(application, account.tasks)}</p>`
        : breakdownInWords(breakdown, palette)
    }
  </li>`;
}

function breakdownInWords(breakdown: Breakdown, palette: ReturnType<typeof paletteOf>): Html {
  const parts = coloured(breakdown, palette);
  const below = parts.some(({ kind, seconds }) => kind === 'total' && seconds < 0);
  const note = html`<p class="absent">
    Application code is below zero: components overlapped, their times add up to more than the whole.
  </p>`;
  return html`${drawBar(parts, breakdown.responseTime)}${legend(parts)}${below ? note : undefined}`;
}

function searchForm(search: string, found: string, address: string): Html {
  return html`<form class="search" method="get" action="${address}#applications" role="search">
    <label for="q">Search by name, account or id</label>
    <input id="q" name="q" type="search" value="${search}" maxlength="200" autocomplete="off" />
    <button type="submit">Search</button>
    <span>${found}</span>
    ${search === '' ? undefined : html`<a href="${address}#applications">Show all</a>`}
  </form>`;
}

function nothingToShow(search: string, total: number): string {
  if (total === 0) return 'No application list has been read yet; a scrape of the metrics reads it.';
  return `No application matches "${search}".`;
}

function pageLinks(search: string, address: string, page: number, pages: number): Html {
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

interface ApplicationRow {
  readonly account: ShownAccount;
  readonly application: ApplicationView;
  /** Response-time breakdown; undefined if it has no part to show. */
  readonly breakdown: Breakdown | undefined;
}

function applicationRows(accounts: readonly ShownAccount[]): ApplicationRow[] {
  const rows = accounts.flatMap((account) =>
    (account.applications ?? []).map((application): ApplicationRow => {
      const { breakdown } = application;
      return { account, application, breakdown: breakdown?.parts.length === 0 ? undefined : breakdown };
    }),
  );
  return rows.toSorted(
    (a, b) =>
      (b.breakdown?.responseTime ?? -1) - (a.breakdown?.responseTime ?? -1) ||
      compare(a.application.name, b.application.name) ||
      a.application.id - b.application.id,
  );
}

/** True if the name, account or id contains the text, in upper or lower case. */
function isFound({ account, application }: ApplicationRow, text: string): boolean {
  return [application.name, account.name, String(application.id)].some((value) => value.toLowerCase().includes(text));
}

function whyAbsent(application: ApplicationView, tasks: readonly TaskStatus[]): string {
  if (!application.reporting) return 'it does not report, so no metric data are read.';
  const task = tasks.find(
    ({ group, applicationId }) => group === 'application_metrics' && applicationId === application.id,
  );
  if (task === undefined) return 'its metric data are not read.';
  if (task.state === 'missing') return task.problem ?? 'its metric data have not been read yet.';
  return 'it had no web transactions in the window.';
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

const WIDTH = 1000;
const HEIGHT = 24;

/** The colour index of each component of the rows, given in alphabetical order. */
function paletteOf(rows: readonly ApplicationRow[]) {
  const names = new Set<string>();
  for (const { breakdown } of rows) {
    for (const { kind, name } of breakdown?.parts ?? []) if (kind === 'component') names.add(name);
  }
  return new Map([...names].toSorted().map((name, index) => [name, index % PALETTE_SIZE]));
}

/** A component has one colour on the page; a part that would repeat a colour in its bar takes the next free one. */
function coloured({ parts }: Breakdown, palette: ReturnType<typeof paletteOf>) {
  const taken = new Set<number>();
  return parts.map((part) => {
    if (part.kind !== 'component') return { ...part, colour: part.kind };
    let colour = palette.get(part.name) ?? 0;
    while (taken.has(colour) && taken.size < PALETTE_SIZE) colour = (colour + 1) % PALETTE_SIZE;
    taken.add(colour);
    return { ...part, colour: `c${colour}` };
  });
}

/** A stacked bar of the full width; parts of 0 or less cannot be drawn and appear only in the legend. */
function drawBar(parts: ReturnType<typeof coloured>, responseTime: number | undefined): Html | undefined {
  const drawn = parts.filter(({ seconds }) => seconds > 0);
  const sum = drawn.reduce((total, { seconds }) => total + seconds, 0);
  if (sum === 0) return undefined;
  const scale = WIDTH / Math.max(sum, responseTime ?? 0);
  let from = 0;
  const rectangles = drawn.map((part) => {
    const x = from;
    from += part.seconds * scale;
    return html`<rect class="${part.colour}" x="${digits(x)}" y="0" width="${digits(from - x)}" height="${HEIGHT}"
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

/** A mark at the response time, because parallel work makes the sum of the parts longer. */
function responseMark(responseTime: number | undefined, scale: number): Html | undefined {
  if (responseTime === undefined) return undefined;
  const x = Math.min(WIDTH - 2, responseTime * scale);
  return html`<line class="mark" x1="${digits(x)}" x2="${digits(x)}" y1="0" y2="${HEIGHT}"
    ><title>Response time: ${inWords(responseTime)}</title></line
  >`;
}

/** The parts in words, each with its colour and its share of their sum. */
function legend(parts: ReturnType<typeof coloured>): Html {
  const sum = parts.reduce((total, { seconds }) => total + Math.max(0, seconds), 0);
  const share = (seconds: number) =>
    sum > 0 && seconds > 0 ? html` <small>${Math.round((100 * seconds) / sum)} %</small>` : undefined;
  return html`<ul class="parts">
    ${parts.map(
      (part) =>
        html`<li title="${part.metric}">
          ${swatch(part.colour)} <bdi>${part.name}</bdi> <b>${inWords(part.seconds)}</b>${share(part.seconds)}
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
