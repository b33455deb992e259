import type { RestKind, PageFault } from '../faults/faultRules.ts';
import type { BodyFormat } from '../simulatorHttp.ts';
import type { ServiceSettings } from '../simulatorSettings.ts';
import type { World } from '../world/world.ts';
import { COUNT_VALUES } from '../world/timesliceValues.ts';

/** A path of the service, taken apart. */
export interface Route {
  readonly kind: RestKind;
  readonly format: BodyFormat;
  readonly applicationId: number | undefined;
  readonly hostId: number | undefined;
  readonly instanceId: number | undefined;
  readonly keyTransactionId: number | undefined;
}

const ID = String.raw`/(\d{1,15})`;
const SCOPE = String.raw`(?:/hosts/(?<host>\d{1,15})|/instances/(?<instance>\d{1,15}))?`;
const APPLICATION = `applications${ID.replace('(', '(?<application>')}`;

const TEMPLATES: readonly (readonly [RestKind, RegExp])[] = (
  [
    ['applications', 'applications'],
    ['application', APPLICATION],
    ['hosts', `${APPLICATION}/hosts`],
    ['host', `${APPLICATION}/hosts${ID.replace('(', '(?<host>')}`],
    ['instances', `${APPLICATION}/instances`],
    ['instance', `${APPLICATION}/instances${ID.replace('(', '(?<instance>')}`],
    ['key_transactions', 'key_transactions'],
    ['key_transaction', `key_transactions${ID.replace('(', '(?<key_transaction>')}`],
    ['metric_names', `${APPLICATION}${SCOPE}/metrics`],
    ['metric_data', `${APPLICATION}${SCOPE}/metrics/data`],
  ] as const
).map(([kind, template]) => [kind, new RegExp(`^/v2/${template}\\.(?<format>json|xml)$`)]);

/** The route of a path without its query; undefined for a path the service does not have. */
export function matchRoute(path: string): Route | undefined {
  for (const [kind, template] of TEMPLATES) {
    const groups = template.exec(path)?.groups;
    if (groups === undefined) continue;
    const id = (name: string) => (groups[name] === undefined ? undefined : Number(groups[name]));
    return {
      kind,
      format: groups['format'] === 'xml' ? 'xml' : 'json',
      applicationId: id('application'),
      hostId: id('host'),
      instanceId: id('instance'),
      keyTransactionId: id('key_transaction'),
    };
  }
  return undefined;
}

/** Everything an answer depends on. */
export interface RestCall {
  readonly world: World;
  readonly settings: ServiceSettings;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly route: Route;
  /** Without the query; scheme, host and port as the client addressed them. */
  readonly address: string;
  readonly query: URLSearchParams;
  readonly pageFault: PageFault | undefined;
}

/**
 * The filters of the lists. Names match when they contain the text, whatever its case; ids are a comma
 * list; filters given together must all hold. An empty filter is none.
 */
function given(query: URLSearchParams, name: string): string | undefined {
  const value = query.get(`filter[${name}]`);
  return value === null || value === '' ? undefined : value;
}

const contains = (text: string, part: string): boolean => text.toLowerCase().includes(part.toLowerCase());

/** A test for names under `filter[<parameter>]`. */
export function nameFilter(query: URLSearchParams, parameter: string): (names: readonly string[]) => boolean {
  const part = given(query, parameter);
  return (names) => part === undefined || names.some((name) => contains(name, part));
}

export function idsFilter(query: URLSearchParams): (id: number) => boolean {
  const ids = given(query, 'ids');
  if (ids === undefined) return () => true;
  const wanted = new Set(ids.split(',').map(Number));
  return (id) => wanted.has(id);
}

export function languageFilter(query: URLSearchParams): (language: string) => boolean {
  const wanted = given(query, 'language')?.toLowerCase();
  return (language) => wanted === undefined || language === wanted;
}

export function isTrue(query: URLSearchParams, name: string): boolean {
  return ['true', '1'].includes(query.get(name) ?? '');
}

/** Page numbers count from 1; anything else is the first page. */
function pageNumber(text: string | null): number {
  const page = Number(text ?? 1);
  return Number.isSafeInteger(page) && page > 0 ? page : 1;
}

const encodeCursor = (page: number): string => Buffer.from(`page:${page}`).toString('base64url');

function decodeCursor(cursor: string): string | null {
  return /^page:(\d+)$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1] ?? null;
}

/**
 * One page of a list, with the `Link` header that leads to its neighbours; it is there only when the list has several pages. A page
 * past the end is empty. Lists of metric names go by cursor: `end` says whether the last one is empty, or there is none.
 */
export function paginate<Item>(
  items: readonly Item[],
  { address, query, settings, pageFault: fault }: RestCall,
  size: number,
  end?: 'empty' | 'none',
): { readonly items: readonly Item[]; readonly link: string | undefined } {
  const byCursor = end !== undefined;
  const cursor = byCursor ? query.get('cursor') : null;
  // An empty cursor leads to the first page again: following it loops.
  const page = pageNumber(cursor === null ? query.get('page') : decodeCursor(cursor));
  const pages = Math.max(1, Math.ceil(items.length / size));
  const target = (to: number, toCursor = encodeCursor(to)): string => {
    const parameters = new URLSearchParams(settings.linksKeepFilters ? query : undefined);
    parameters.delete('page');
    parameters.delete('cursor');
    parameters.set('page', String(to));
    if (byCursor) parameters.set('cursor', toCursor);
    return `${address}?${parameters.toString()}`;
  };
  const links: (readonly [rel: string, target: string])[] = [];
  if (fault === 'repeat-next') links.push(['next', target(page)]);
  else if (fault === 'endless-pages' || page < pages) links.push(['next', target(page + 1)]);
  else if (end === 'empty' && pages > 1 && page === pages) links.push(['next', target(page, '')]);
  if (page < pages && !byCursor) links.push(['last', target(pages)]);
  if (page > 1 && page <= pages) links.push(['first', target(1)], ['prev', target(page - 1)]);
  const shown = fault === 'endless-pages' ? ((page - 1) % pages) + 1 : page;
  const slice = items.slice((shown - 1) * size, shown * size);
  return {
    items: fault === 'repeat-ids' ? slice.flatMap((item) => [item, item]) : slice,
    link: links.length === 0 ? undefined : links.map(([rel, to]) => `<${to}>;rel="${rel}"`).join(', '),
  };
}

const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/;
const NO_OFFSET = /T[\d:.]+$/;
const OFFSET_WITHOUT_COLON = /([+-]\d\d)(\d\d)$/;

/** Milliseconds of an ISO 8601 timestamp; UTC when it has no offset; undefined when malformed. */
export function parseTimestamp(text: string): number | undefined {
  if (!ISO_8601.test(text)) return undefined;
  const complete = NO_OFFSET.test(text) ? `${text}Z` : text.replace(OFFSET_WITHOUT_COLON, '$1:$2');
  const time = Date.parse(complete);
  return Number.isNaN(time) ? undefined : time;
}

/** As the service writes times: UTC to the second, `2015-06-08T14:44:26+00:00`. */
export function formatTimestamp(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19)}+00:00`;
}

/** Rounds to three significant digits, as the service does unless asked for raw values. */
export function threeDigits(value: number): number {
  return Number(value.toPrecision(3));
}

const EXACT: ReadonlySet<string> = new Set([
  ...COUNT_VALUES,
  'host_count',
  'instance_count',
  'concurrent_instance_count',
]);

/** Figures rounded to three significant digits; counts stay exact. */
export function roundFigures<Figures extends Readonly<Record<string, number>>>(
  figures: Figures,
): Record<keyof Figures, number>;
export function roundFigures(figures: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(figures).map(([name, value]) => [name, EXACT.has(name) ? value : threeDigits(value)]),
  );
}
