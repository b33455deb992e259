import { withCommas, durationInWords, percent, threeDigits } from '../../text/wording.ts';
import { CROSS, DOT, markup, isolate, join, list, NONE, table, TICK, type Html, type HtmlValue } from './markup.ts';
import { listGoldenMetrics, listParts, type Part, type Shown } from './shownAccounts.ts';
import type { View } from './statusDocument.ts';
import { paintOf } from './style.ts';
import type { Row } from './trouble.ts';

const PAGE_SIZE = 50;
/** Rows of a type while the page shows all types. */
const PREVIEW_SIZE = 10;
/** Limit of account names beside an application that several accounts list. */
const NAMED = 3;

/** The query of a request for the page at `path`. */
export interface Query {
  readonly path: string;
  /** Part of a name, an account or an id. */
  readonly search: string;
  /** The type of entities to show alone; undefined: applications, and the first entities of each type. */
  readonly type: string | undefined;
  /** From 1. */
  readonly page: number;
  readonly refreshes: boolean;
  /** True: all parts are open. False: only parts where something fails. */
  readonly isOpen: boolean;
}

/** Returns the address of the page for a changed query, without defaults. */
export function addressOf(query: Query, change: Partial<Query>): string {
  const { path, search, type = '', page, refreshes, isOpen } = { ...query, ...change };
  const turned = { page: page === 1 ? '' : String(page), refresh: refreshes ? '' : '0', open: isOpen ? '1' : '' };
  const words = Object.entries({ q: search, type, ...turned }).filter(([, value]) => value !== '');
  return words.length === 0 ? path : `${path}?${new URLSearchParams(words).toString()}`;
}

/** Yields a section for applications and for each type of entities. */
export function* monitoredSections({ accounts, rows }: View, query: Query): Generator<Html> {
  const isReading = accounts.some(({ groups }) => groups.some(({ group }) => group === 'applications'));
  const types = new Set(accounts.flatMap(({ entities }) => entities.map(({ type }) => type)));
  const all = [...(isReading ? [undefined] : []), ...types];
  for (const type of query.type === undefined ? all : [query.type]) yield section(type, rows, query);
}

/** Returns one page of the rows that match the query. */
function section(type: string | undefined, all: readonly Row[], query: Query): Html {
  const rows = all.filter((row) => row.type === type);
  const text = query.search.trim().toLowerCase();
  const isFound = ({ name, id, accounts }: Row) =>
    [name, String(id), ...accounts].some((each) => each.toLowerCase().includes(text));
  const found = text === '' ? rows : rows.filter(isFound);
  const size = type === query.type ? PAGE_SIZE : PREVIEW_SIZE;
  const pages = Math.max(1, Math.ceil(found.length / size));
  const page = size === PREVIEW_SIZE ? 1 : Math.min(Math.max(1, query.page), pages);
  const counts = [found.length, rows.length].map(withCommas);
  const none = rows.length > 0 ? `Nothing matches "${query.search}".` : 'None has been read.';
  const title = type ?? 'Applications';
  const id = title.toLowerCase();
  const link = (to: number, words: string) =>
    to < 1 || to > pages ? undefined : markup`<a href="${addressOf(query, { page: to })}#${id}">${words}</a> `;
  const rest =
    size === PREVIEW_SIZE
      ? markup`<a href="${addressOf(query, { type, page: 1 })}">All ${counts[0]}</a>`
      : markup`${link(page - 1, 'Previous')}<span>Page ${page} of ${pages}</span> ${link(page + 1, 'Next')}`;
  const shown = found.slice((page - 1) * size, page * size);
  return markup`<section aria-labelledby="${id}">
    <h2 id="${id}">${isolate(title)} <small>${[...new Set(counts)].join(' of ')}</small></h2>
    ${shown.length > 0 ? (type === undefined ? applicationTable(shown) : entityTable(shown)) : markup`<p>${none}</p>`}
    ${pages > 1 ? markup`<nav class="pages" aria-label="Pages">${rest}</nav>` : undefined}
  </section>`;
}

const APPLICATION = {
  ...{ Application: '', Health: 'number', 'Requests/s': 'number', Errors: 'number', Apdex: 'number' },
  'Response time': 'time',
};

function applicationTable(rows: readonly Row[]): Html {
  const scale = chooseScale(rows);
  const legend = `Bars begin at 0 and end at ${durationInWords(scale)}. Parts that ran at the same time add up to more than the response time: the rest of their bar is pale, and application code may be below zero.`;
  const cells = rows.map((row) => {
    const { requests, errorRatio, apdexScore, apdexThreshold } = row.shown;
    const isTrouble = (wanted: string) => row.troubles.some(({ figure }) => figure === wanted);
    const target =
      apdexThreshold === undefined ? undefined : markup` <small>T ${durationInWords(apdexThreshold)}</small>`;
    return [
      ...nameAndHealth(row),
      formatFigure(requests, threeDigits, false),
      formatFigure(errorRatio, percent, isTrouble('errors')),
      [formatFigure(apdexScore, (score) => score.toFixed(2), isTrouble('apdex')), target],
      drawResponseTime(row.shown, scale),
    ];
  });
  return table(rows.some((row) => row.responseTime !== undefined) ? legend : undefined, APPLICATION, cells);
}

function entityTable(rows: readonly Row[]): Html {
  const cells = rows.map((row) => {
    const golden = listGoldenMetrics(row.shown).map(({ metric, title, unit, percentile, value }) => {
      const name = percentile === undefined ? title : `${title} ${percentile} %`;
      const words = unit.toLowerCase().replaceAll('_', ' ');
      return markup`<span title="${metric}">${name} <b>${threeDigits(value)}</b> <small>${words}</small></span>`;
    });
    return [...nameAndHealth(row), list('parts', golden) ?? NONE];
  });
  const columns = { Name: '', Health: 'number', 'Golden metrics': 'time' };
  return table('Golden metrics, as New Relic defines and names them', columns, cells);
}

/** Returns the cells for name and health. Each health colour has a sign; every other state is grey. */
function nameAndHealth({ type, id, name, accounts, shown, troubles }: Row): readonly Html[] {
  const more = accounts.length > NAMED ? ` and ${accounts.length - NAMED} more` : '';
  const listing = `${accounts.slice(0, NAMED).join(', ')}${more}`;
  const notes = [listing, ...(type === undefined ? [shown.language, id] : [])].filter((note) => note !== undefined);
  const words = shown.reporting ? (shown.health ?? 'unknown') : 'not reporting';
  const sign = new Map(Object.entries({ green: TICK, orange: '!', red: CROSS })).get(words);
  return [
    markup`<span class="name ${troubles[0]?.style}">${isolate(name)}</span> <small>${join(notes.map(isolate), DOT)}</small>`,
    markup`<span class="health ${sign === undefined ? 'grey' : words}">${sign ?? '?'} ${words}</span>`,
  ];
}

/** Formats a value; in bold with a sign if it means trouble. */
function formatFigure(value: number | undefined, inWords: (value: number) => string, isTrouble: boolean): HtmlValue {
  if (value === undefined) return NONE;
  return isTrouble ? markup`<b class="bad">${CROSS} ${inWords(value)}</b>` : inWords(value);
}

function drawResponseTime(application: Shown, scale: number): Html {
  const { responseTime: seconds } = application;
  const parts = listParts(application);
  if (seconds === undefined && parts.length === 0)
    return markup`<span class="soft">${explainAbsence(application)}</span>`;
  const named = parts.flatMap((part) => {
    if (part.seconds === 0) return [];
    const swatch = markup`<svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
      <rect ${paintOf(part)} width="10" height="10" rx="2" />
    </svg>`;
    const value = markup`<b>${durationInWords(part.seconds)}</b>`;
    return [markup`<span title="${part.metric}">${swatch} ${isolate(part.name)} ${value}</span>`];
  });
  return markup`<b>${seconds === undefined ? undefined : durationInWords(seconds)}</b>${drawParts(parts, seconds, scale)}
    ${list('parts', named)}`;
}

function explainAbsence({ reporting, read }: Shown): string {
  if (!reporting) return 'An application that does not report has no metric data.';
  if (read?.state !== 'missing') return 'No web transactions in the window.';
  return read.problem ?? 'No value is fresh enough to be served.';
}

/** Returns the seconds at the end of a bar: the longest time, rounded up to 1, 2, 5 or 10 times a power of ten. */
function chooseScale(rows: readonly Row[]): number {
  const lengths = rows.flatMap(({ shown, responseTime = 0 }) => {
    return [responseTime, listParts(shown).reduce((sum, { seconds }) => sum + Math.max(0, seconds), 0)];
  });
  const longest = Math.max(0.001, ...lengths);
  const power = 10 ** Math.floor(Math.log10(longest));
  return power * ([1, 2, 5].find((step) => step * power >= longest) ?? 10);
}

/** Draws the parts in a row. The range beyond the response time is pale. */
function drawParts(parts: readonly Part[], seconds: number | undefined, scale: number): Html {
  const rect = (paint: Html, from: number, length: number) => {
    const [x, width] = [from, length].map((each) => ((each * 1000) / scale).toFixed(1));
    return markup`<rect ${paint} x="${x}" width="${width}" height="16" />`;
  };
  let end = 0;
  const rects = parts.flatMap((part) => {
    if (part.seconds <= 0) return [];
    end += part.seconds;
    return [rect(paintOf(part), end - part.seconds, part.seconds)];
  });
  if (seconds !== undefined && end > seconds) rects.push(rect(markup`class="pale"`, seconds, end - seconds));
  const label = parts.map((part) => `${part.name} ${durationInWords(part.seconds)}`).join(', ');
  return markup`<svg class="bar" viewBox="0 0 1000 16" preserveAspectRatio="none" role="img" aria-label="${label}">
    <rect class="track" width="1000" height="16" />${rects}</svg>`;
}
