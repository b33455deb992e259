import { withCommas, durationInWords, percent, threeDigits } from '../../text/wording.ts';
import { CROSS, DOT, markup, isolate, join, list, NONE, table, TICK, type Cell, type Html } from './markup.ts';
import { listParts, type Part, type ShownAccount, type ShownApplication } from './shownAccounts.ts';
import { paintOf } from './style.ts';
import type { ApplicationRow, EntityRow } from './trouble.ts';

const PAGE_SIZE = 50;
/** Entities of a type that are shown beside applications and other types. */
const FEW = 10;
/** Accounts that are named beside an application that several list. */
const NAMED = 3;

/** What a reader asks the page at `path` for. */
export interface Query {
  readonly path: string;
  /** A part of a name, an account or an id; empty for everything. */
  readonly search: string;
  /** The type of entities that is shown alone; undefined for applications, with the first entities of each type. */
  readonly type: string | undefined;
  /** From 1. */
  readonly page: number;
  readonly refreshes: boolean;
  /** True if every part is open; otherwise only parts in which something fails. */
  readonly isOpen: boolean;
}

/** Returns the address of the page for a changed query; leaves out what has its default. */
export function addressOf(query: Query, change: Partial<Query>): string {
  const { path, search, type = '', page, refreshes, isOpen } = { ...query, ...change };
  const turned = { page: page === 1 ? '' : String(page), refresh: refreshes ? '' : '0', open: isOpen ? '1' : '' };
  const words = Object.entries({ q: search, type, ...turned }).filter(([, value]) => value !== '');
  return words.length === 0 ? path : `${path}?${new URLSearchParams(words).toString()}`;
}

/** Yields the applications and the entities of other types, in pages; what is in trouble is first. */
export function* monitoredSections(
  accounts: readonly ShownAccount[],
  rows: readonly ApplicationRow[],
  entities: readonly EntityRow[],
  query: Query,
): Generator<Html> {
  const text = query.search.trim().toLowerCase();
  const isFound = (...texts: readonly string[]) =>
    text === '' || texts.some((each) => each.toLowerCase().includes(text));
  if (query.type === undefined && accounts.some(({ groups }) => groups.some(({ group }) => group === 'applications'))) {
    const found = rows.filter(({ application: { id, name }, accounts: listing }) =>
      isFound(name, String(id), ...listing.map((account) => account.name)),
    );
    yield section('Applications', rows.length, found, applicationTable, PAGE_SIZE, query);
  }
  const types = new Set(accounts.flatMap((account) => account.entities.map(({ type }) => type)));
  for (const type of query.type === undefined ? types : [query.type]) {
    const all = entities.filter(({ entity }) => entity.type === type);
    const found = all.filter(({ account, entity }) => isFound(entity.name, entity.guid, account.name));
    yield section(type, all.length, found, entityTable, query.type === undefined ? FEW : PAGE_SIZE, query);
  }
}

/** Returns one page of the rows that were found, and links to the rest, or the reason why there is nothing. */
function section<Row>(
  title: string,
  all: number,
  found: readonly Row[],
  writeTable: (rows: readonly Row[]) => Html,
  size: number,
  query: Query,
): Html {
  const pages = Math.max(1, Math.ceil(found.length / size));
  const page = size === FEW ? 1 : Math.min(Math.max(1, query.page), pages);
  const numbers = found.length === all ? withCommas(all) : `${withCommas(found.length)} of ${withCommas(all)}`;
  const none = all > 0 ? `Nothing matches "${query.search}".` : 'None has been read.';
  const id = title.toLowerCase();
  const link = (to: number, text: string) =>
    to < 1 || to > pages ? undefined : markup`<a href="${addressOf(query, { page: to })}#${id}">${text}</a> `;
  const rest =
    size === FEW
      ? markup`<a href="${addressOf(query, { type: title, page: 1 })}">All ${withCommas(found.length)}</a>`
      : markup`${link(page - 1, 'Previous')}<span>Page ${page} of ${pages}</span> ${link(page + 1, 'Next')}`;
  const shown = found.slice((page - 1) * size, page * size);
  return markup`<section aria-labelledby="${id}">
    <h2 id="${id}">${isolate(title)} <small>${numbers}</small></h2>
    ${shown.length > 0 ? writeTable(shown) : markup`<p>${none}</p>`}
    ${pages > 1 ? markup`<nav class="pages" aria-label="Pages">${rest}</nav>` : undefined}
  </section>`;
}

function applicationTable(rows: readonly ApplicationRow[]): Html {
  const scale = chooseScale(rows);
  const legend = `Bars begin at 0 and end at ${durationInWords(scale)}. Parts that ran at the same time add up to more than the response time: the rest of their bar is pale, and application code may be below zero.`;
  return table(
    rows.some(({ application }) => application.responseTime !== undefined) ? legend : undefined,
    ['Application', 'Health', 'Requests/s', 'Errors', 'Apdex', 'Response time'],
    rows.map(({ application, accounts, troubles }) => {
      const { id, language, health, requests, errorRatio, apdexScore, apdexThreshold } = application;
      const more = accounts.length > NAMED ? ` and ${accounts.length - NAMED} more` : '';
      const names = accounts.slice(0, NAMED).map(({ name }) => name);
      const isTrouble = (wanted: string) => troubles.some(({ figure }) => figure === wanted);
      const target = apdexThreshold === undefined ? '' : `T ${durationInWords(apdexThreshold)}`;
      return [
        nameCell(application.name, [`${names.join(', ')}${more}`, language, String(id)], troubles),
        healthCell(health, application.reporting),
        figureCell(requests === undefined ? undefined : threeDigits(requests), false),
        figureCell(errorRatio === undefined ? undefined : percent(errorRatio), isTrouble('errors')),
        figureCell(apdexScore?.toFixed(2), isTrouble('apdex'), target),
        { style: 'time', value: responseTime(application, scale) },
      ];
    }),
  );
}

function entityTable(entities: readonly EntityRow[]): Html {
  const headings = ['Name', 'Health', 'Golden metrics'];
  const rows = entities.map(({ account, entity, troubles }) => {
    const golden = entity.golden.map(({ metric, title, unit, percentile, value }) => {
      const name = percentile === undefined ? title : `${title} ${percentile} %`;
      const words = unit.toLowerCase().replaceAll('_', ' ');
      return markup`<span title="${metric}">${name} <b>${threeDigits(value)}</b> <small>${words}</small></span>`;
    });
    return [
      nameCell(entity.name, [account.name], troubles),
      healthCell(entity.health, entity.reporting),
      { style: 'time', value: list('parts', golden) ?? NONE },
    ] as const;
  });
  return table('Golden metrics, as New Relic defines and names them', headings, rows);
}

function nameCell(name: string, notes: readonly (string | undefined)[], [gravest]: EntityRow['troubles']): Html {
  const words = notes.filter((word) => word !== undefined).map(isolate);
  return markup`<span class="name ${gravest?.style}">${isolate(name)}</span> <small>${join(words, DOT)}</small>`;
}

/** Puts a sign beside each colour of New Relic's that means something; all else is grey. */
function healthCell(health: string | undefined, reporting: boolean): Cell {
  const words = reporting ? (health ?? 'unknown') : 'not reporting';
  const sign = new Map(Object.entries({ green: TICK, orange: '!', red: CROSS })).get(words);
  const style = sign === undefined ? 'grey' : words;
  return { style: 'number', value: markup`<span class="health ${style}">${sign ?? '?'} ${words}</span>` };
}

/** Returns a value, with a sign and in bold where it is trouble. */
function figureCell(value: string | undefined, isTrouble: boolean, note = ''): Cell {
  const shown = isTrouble ? markup`<b class="bad">${CROSS} ${value}</b>` : (value ?? NONE);
  return { style: 'number', value: note === '' ? shown : [shown, markup` <small>${note}</small>`] };
}

function responseTime(application: ShownApplication, scale: number): Html {
  const { responseTime: seconds } = application;
  const parts = listParts(application);
  if (seconds === undefined && parts.length === 0) return markup`<span class="soft">${whyAbsent(application)}</span>`;
  const named = parts.flatMap((part) => {
    if (part.seconds === 0) return [];
    const swatch = markup`<svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
      <rect ${paintOf(part)} width="10" height="10" rx="2" />
    </svg>`;
    const value = markup`<b>${durationInWords(part.seconds)}</b>`;
    return [markup`<span title="${part.metric}">${swatch} ${isolate(part.name)} ${value}</span>`];
  });
  return markup`<b>${seconds === undefined ? undefined : durationInWords(seconds)}</b>${partsBar(parts, seconds, scale)}
    ${list('parts', named)}`;
}

function whyAbsent({ reporting, read }: ShownApplication): string {
  if (!reporting) return 'An application that does not report has no metric data.';
  if (read?.state !== 'missing') return 'No web transactions in the window.';
  return read.problem ?? 'Nothing has been read that may be served now.';
}

/** Returns the seconds at the end of a bar: the longest time, rounded up to 1, 2 or 5 times a power of ten. */
function chooseScale(rows: readonly ApplicationRow[]): number {
  const sums = rows.map(({ application }) =>
    listParts(application).reduce((sum, { seconds }) => sum + Math.max(0, seconds), 0),
  );
  const longest = Math.max(0.001, ...sums, ...rows.map(({ application }) => application.responseTime ?? 0));
  const power = 10 ** Math.floor(Math.log10(longest));
  return power * ([1, 2, 5].find((step) => step * power >= longest) ?? 10);
}

/** Draws the parts one behind the other; the rest beyond the response time is pale. */
function partsBar(parts: readonly Part[], seconds: number | undefined, scale: number): Html {
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
