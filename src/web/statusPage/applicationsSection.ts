import { withCommas, durationInWords, percent, threeDigits } from '../../text/wording.ts';
import { bar, CROSS, DOT, html, joined, list, table, TICK, type Html, type HtmlValue } from './markup.ts';
import { partsOf, type Part, type ShownAccount, type ShownApplication, type ShownEntity } from './shownAccounts.ts';
import { paintOf } from './style.ts';
import { rankOf, troubleStyle, type ApplicationRow } from './trouble.ts';

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
  /** Every part is open; otherwise only those in which something fails. */
  readonly isOpen: boolean;
}

/** The address of the page for a query, of which some is asked for in another way; what is as by default is left out. */
export function addressOf(query: Query, change: Partial<Query>): string {
  const { path, search, type = '', page, refreshes, isOpen } = { ...query, ...change };
  const turned = { page: page === 1 ? '' : String(page), refresh: refreshes ? '' : '0', open: isOpen ? '1' : '' };
  const words = { q: search, type, ...turned };
  const asked = new URLSearchParams(Object.entries(words).filter(([, value]) => value !== ''));
  return asked.size === 0 ? path : `${path}?${asked.toString()}`;
}

/** The applications and the entities of other types, in pages; what is in trouble first. */
export function* monitoredSections(
  accounts: readonly ShownAccount[],
  rows: readonly ApplicationRow[],
  query: Query,
): Generator<Html> {
  const text = query.search.trim().toLowerCase();
  const isFound = (...texts: readonly string[]) =>
    text === '' || texts.some((each) => each.toLowerCase().includes(text));
  if (query.type === undefined && accounts.some(({ groups }) => groups.some(({ group }) => group === 'applications'))) {
    const found = yield* those(rows, ({ application: { id, name }, accounts: of }) =>
      isFound(name, String(id), ...of.map((account) => account.name)),
    );
    const isRead = accounts.some(({ applications }) => applications !== undefined);
    const listing = { title: 'Applications', id: 'applications', isRead, all: rows.length, found };
    yield section(listing, applicationTable, PAGE_SIZE, query);
  }
  const types = new Set(accounts.flatMap(({ entities }) => entities.map(({ type }) => type)));
  for (const type of query.type === undefined ? types : [query.type]) {
    const all = yield* those(entityRows(accounts), ({ entity }) => entity.type === type);
    const found = yield* those(all, ({ account, entity }) => isFound(entity.name, entity.guid, account.name));
    found.sort((a, b) => (a.rank === b.rank ? 0 : a.rank - b.rank));
    const isRead = accounts.some(({ entities }) => entities.some((of) => of.type === type && of.listed !== undefined));
    const listing = { title: type, id: `type-${type}`, isRead, all: all.length, found };
    yield section(listing, entityTable, query.type === undefined ? FEW : PAGE_SIZE, query);
  }
}

/** Rows that are looked at before other work gets a turn. */
const ROWS_A_TURN = 200;

/** The rows that match; yields nothing to show now and then, so that other work gets a turn. */
function* those<Row>(rows: Iterable<Row>, isMatch: (row: Row) => boolean): Generator<Html, Row[]> {
  const found: Row[] = [];
  let looked = 0;
  for (const row of rows) {
    if (isMatch(row)) found.push(row);
    looked += 1;
    if (looked % ROWS_A_TURN === 0) yield html``;
  }
  return found;
}

function* entityRows(accounts: readonly ShownAccount[]) {
  for (const account of accounts) {
    for (const entity of account.monitored) yield { account, entity, rank: rankOf(entity) };
  }
}

/** A section with one page of what was found of all, and links to the rest, or the reason why there is nothing. */
function section<Row>(
  { title, id, isRead, all, found }: { title: string; id: string; isRead: boolean; all: number; found: readonly Row[] },
  tableOf: (rows: readonly Row[]) => Html,
  size: number,
  query: Query,
): Html {
  const pages = Math.max(1, Math.ceil(found.length / size));
  const page = size === FEW ? 1 : Math.min(Math.max(1, query.page), pages);
  const numbers = found.length === all ? withCommas(all) : `${withCommas(found.length)} of ${withCommas(all)}`;
  const none = all > 0 ? `Nothing matches "${query.search}".` : 'There is none.';
  const nothing = isRead ? none : 'None has been read yet.';
  const rest =
    size === FEW
      ? html`<a href="${addressOf(query, { type: title, page: 1 })}">All ${withCommas(found.length)}</a>`
      : pageLinks(page, pages, (to) => `${addressOf(query, { page: to })}#${id}`);
  return html`<section aria-labelledby="${id}">
    <h2 id="${id}"><bdi>${title}</bdi> <small>${isRead ? numbers : undefined}</small></h2>
    ${found.length === 0 ? html`<p>${nothing}</p>` : tableOf(found.slice((page - 1) * size, page * size))}
    ${pages > 1 ? rest : undefined}
  </section>`;
}

function pageLinks(page: number, pages: number, addressOfPage: (page: number) => string): Html {
  const link = (to: number, text: string, rel: string) =>
    to < 1 || to > pages
      ? html`<span class="soft">${text}</span>`
      : html`<a rel="${rel}" href="${addressOfPage(to)}">${text}</a>`;
  return html`<nav class="pages" aria-label="Pages">
    ${link(page - 1, 'Previous', 'prev')} <span>Page ${page} of ${pages}</span> ${link(page + 1, 'Next', 'next')}
  </nav>`;
}

function applicationTable(rows: readonly ApplicationRow[]): Html {
  const scale = scaleOf(rows);
  const isTimed = rows.some(({ application }) => application.responseTime !== undefined);
  const legend = html`A bar over the whole width is ${durationInWords(scale)}. Application code is what the components
  leave of the total time. The solid part is the response time; what is pale beyond it ran in parallel.`;
  const caption = isTimed ? legend : undefined;
  return table(
    caption,
    ['Application', 'Health', 'Requests/s', 'Errors', 'Apdex', 'Response time'],
    rows.map(({ application, accounts, rank }) => {
      const { health, requests, errorRatio, apdexScore, apdexThreshold } = application;
      const more = accounts.length - NAMED;
      const names = accounts.slice(0, NAMED).map(({ name }) => name);
      const of = [
        more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', '),
        ...[application.language, String(application.id)],
      ];
      return [
        nameCell(application.name, of, rank),
        healthCell(health, application.reporting),
        figure(requests, threeDigits, false),
        figure(errorRatio, percent, rankOf({ errorRatio: errorRatio ?? 0 }) < Infinity),
        {
          style: 'number',
          value: [
            marked(apdexScore?.toFixed(2), rankOf({ apdexScore: apdexScore ?? 1 }) < Infinity),
            apdexThreshold === undefined ? undefined : html` <small>T ${durationInWords(apdexThreshold)}</small>`,
          ],
        },
        { style: 'time', value: responseTime(application, scale) },
      ];
    }),
  );
}

function entityTable(entities: readonly { account: ShownAccount; entity: ShownEntity; rank: number }[]): Html {
  return table(
    'Golden metrics, as New Relic defines and names them',
    ['Name', 'Health', 'Golden metrics'],
    entities.map(({ account, entity, rank }) => [
      nameCell(entity.name, [account.name], rank),
      healthCell(entity.health, entity.reporting),
      {
        style: 'time',
        value:
          list(
            'parts',
            entity.golden.map(
              ({ metric, title, unit, percentile, value }) =>
                html`<span title="${metric}"
                  >${title}${percentile === undefined ? '' : ` ${percentile} %`} <b>${threeDigits(value)}</b>
                  <small>${unit.toLowerCase().replaceAll('_', ' ')}</small></span
                >`,
            ),
          ) ?? '–',
      },
    ]),
  );
}

function nameCell(name: string, of: readonly (string | undefined)[], rank: number): Html {
  const words = of.filter((word) => word !== undefined);
  return html`<span class="name ${rank < Infinity ? troubleStyle(rank) : ''}"><bdi>${name}</bdi></span>
    <small
      >${joined(
        words.map((word) => html`<bdi>${word}</bdi>`),
        DOT,
      )}</small
    >`;
}

/** A sign beside each colour of New Relic's that means something; all else is grey. */
const SIGNS: ReadonlyMap<string, string> = new Map([
  ['green', TICK],
  ['orange', '!'],
  ['red', CROSS],
]);

function healthCell(health: string | undefined, reporting: boolean) {
  const words = reporting ? (health ?? 'unknown') : 'not reporting';
  const sign = SIGNS.get(words);
  const value = html`<span class="health ${sign === undefined ? 'grey' : words}">${sign ?? '?'} ${words}</span>`;
  return { style: 'number', value };
}

function figure(value: number | undefined, inWords: (value: number) => string, isTrouble: boolean) {
  return { style: 'number', value: marked(value === undefined ? undefined : inWords(value), isTrouble) };
}

/** A value with a sign and in bold where it is trouble. */
function marked(value: string | undefined, isTrouble: boolean): HtmlValue {
  return isTrouble ? html`<b class="bad">${CROSS} ${value}</b>` : (value ?? '\u2013');
}

function responseTime(application: ShownApplication, scale: number): Html {
  const { responseTime: seconds } = application;
  const parts = partsOf(application);
  if (seconds === undefined && parts.length === 0) {
    return html`<span class="soft">${whyAbsent(application)}</span>`;
  }
  const below = parts.some((part) => part.kind === 'total' && part.seconds < 0);
  const named = parts
    .filter((part) => part.seconds !== 0)
    .map(
      (part) =>
        html`<span title="${part.metric}"
          >${swatch(part)} <bdi>${part.name}</bdi> <b>${durationInWords(part.seconds)}</b></span
        >`,
    );
  return html`<b>${seconds === undefined ? undefined : durationInWords(seconds)}</b>${partsBar(parts, seconds, scale)}
    ${list('parts', named)}
    ${
      below
        ? html`<small
            >Application code is below zero: components overlapped, their times add up to more than the whole.</small
          >`
        : undefined
    }`;
}

function whyAbsent({ reporting, read }: ShownApplication): string {
  if (!reporting) return 'No metric data are read of what does not report.';
  if (read === undefined) return 'Metric data are not read.';
  if (read.state === 'missing') {
    return (
      read.problem ?? (read.windowEnd === undefined ? 'Not read yet.' : 'Its last values are too old to be served.')
    );
  }
  return 'No web transactions in the window.';
}

/** The seconds that a bar of the whole width stands for: the longest one, rounded up to 1, 2 or 5 times a power of ten. */
function scaleOf(rows: readonly ApplicationRow[]): number {
  const longest = Math.max(
    0.001,
    ...rows.map(({ application }) => Math.max(sumOf(partsOf(application)), application.responseTime ?? 0)),
  );
  const power = 10 ** Math.floor(Math.log10(longest));
  return power * ([1, 2, 5].find((step) => step * power >= longest) ?? 10);
}

function sumOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { seconds }) => sum + Math.max(0, seconds), 0);
}

/** The parts one behind the other, as long as they took; what is beyond the response time is pale. */
function partsBar(parts: readonly Part[], seconds: number | undefined, scale: number): Html {
  const drawn: { paint: Html; from: number; length: number }[] = [];
  let end = 0;
  for (const part of parts.filter((each) => each.seconds > 0)) {
    const length = (part.seconds * 1000) / scale;
    drawn.push({ paint: paintOf(part), from: end, length });
    end += length;
  }
  const from = seconds === undefined ? end : (seconds * 1000) / scale;
  if (end > from) drawn.push({ paint: html`class="pale"`, from, length: end - from });
  return bar(parts.map((part) => `${part.name} ${durationInWords(part.seconds)}`).join(', '), drawn);
}

function swatch(part: Part): Html {
  return html`<svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
    <rect ${paintOf(part)} width="10" height="10" rx="2" />
  </svg>`;
}
