import type { FaultRule } from '../faults/faultRules.ts';
import type { ServiceSettings } from '../simulatorSettings.ts';
import type { World } from '../world/world.ts';
import { COUNT_VALUES } from '../world/timesliceValues.ts';

/** A call, with all that its response depends on. */
export interface RestCall {
  readonly world: World;
  readonly settings: ServiceSettings;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The ids in the path. */
  readonly ids: Readonly<Partial<Record<'application' | 'host' | 'instance' | 'key_transaction', number>>>;
  /** The URL without its query, with the host and port that the client sent. */
  readonly address: string;
  readonly query: URLSearchParams;
  /** The fault of this call; `paginate` applies faults of pages. */
  readonly rule: FaultRule | undefined;
}

/** True if a text contains this lower-case part, ignoring case. */
export const contains = (text: string, part: string): boolean => text.toLowerCase().includes(part);

/**
 * Returns the entities that pass every `filter[<name>]` of the call. `filter[ids]` is a comma-separated list. An empty
 * filter passes all entities. The functions in `filters` get the requested text in lower case.
 */
export function filterEntities<Entity extends { readonly id: number }>(
  { query }: RestCall,
  entities: readonly Entity[],
  filters: Readonly<Record<string, (entity: Entity, wanted: string) => boolean>>,
): readonly Entity[] {
  const filterText = (name: string): string => (query.get(`filter[${name}]`) ?? '').toLowerCase();
  const ids = new Set(filterText('ids') === '' ? [] : filterText('ids').split(',').map(Number));
  const wanted = Object.entries(filters).filter(([name]) => filterText(name) !== '');
  return entities.filter(
    (entity) =>
      (ids.size === 0 || ids.has(entity.id)) && wanted.every(([name, passes]) => passes(entity, filterText(name))),
  );
}

export function isTrue(query: URLSearchParams, name: string): boolean {
  return ['true', '1'].includes(query.get(name) ?? '');
}

/** Reads a page number, from 1. Anything else is the first page. */
function pageNumber(text: string | null): number {
  const page = Number(text ?? 1);
  return Number.isSafeInteger(page) && page > 0 ? page : 1;
}

const encodeCursor = (page: number): string => Buffer.from(`page:${page}`).toString('base64url');

const decodeCursor = (cursor: string): string | null =>
  /^page:(\d+)$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1] ?? null;

/**
 * Returns one page of a list, and a `Link` header to other pages, undefined for a single page. A page past the end is
 * empty. Lists of metric names have cursors. The last of several pages has an empty next cursor, which leads to the
 * first page.
 */
export function paginate<Item>(
  items: readonly Item[],
  { address, query, rule }: RestCall,
  size: number,
  byCursor = false,
): { readonly items: readonly Item[]; readonly link: string | undefined } {
  const cursor = byCursor ? query.get('cursor') : null;
  const page = pageNumber(cursor === null ? query.get('page') : decodeCursor(cursor));
  const pages = Math.max(1, Math.ceil(items.length / size));
  const isEndless = rule?.effect === 'endless-pages';
  const links: string[] = [];
  const addLink = (rel: string, to: number, toCursor = encodeCursor(to)): void => {
    const parameters = new URLSearchParams(query);
    parameters.delete('page');
    parameters.delete('cursor');
    parameters.set('page', String(to));
    if (byCursor) parameters.set('cursor', toCursor);
    links.push(`<${address}?${parameters.toString()}>;rel="${rel}"`);
  };
  if (rule?.effect === 'repeat-next') addLink('next', page);
  else if (isEndless || page < pages) addLink('next', page + 1);
  else if (byCursor && pages > 1 && page === pages) addLink('next', page, '');
  if (page < pages && !byCursor) addLink('last', pages);
  if (page > 1 && page <= pages) {
    addLink('first', 1);
    addLink('prev', page - 1);
  }
  const shown = isEndless ? ((page - 1) % pages) + 1 : page;
  const slice = items.slice((shown - 1) * size, shown * size);
  return {
    items: rule?.effect === 'repeat-ids' ? slice.flatMap((item) => [item, item]) : slice,
    link: links.length === 0 ? undefined : links.join(', '),
  };
}

const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/;
const NO_OFFSET = /T[\d:.]+$/;
const OFFSET_WITHOUT_COLON = /([+-]\d\d)(\d\d)$/;

/** Parses an ISO 8601 timestamp to milliseconds; UTC if it has no offset; undefined if malformed. */
export function parseTimestamp(text: string): number | undefined {
  if (!ISO_8601.test(text)) return undefined;
  const complete = NO_OFFSET.test(text) ? `${text}Z` : text.replace(OFFSET_WITHOUT_COLON, '$1:$2');
  const time = Date.parse(complete);
  return Number.isNaN(time) ? undefined : time;
}

/** Formats a time as New Relic does: UTC to the second, `2015-06-08T14:44:26+00:00`. */
export function formatTimestamp(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19)}+00:00`;
}

const EXACT = new Set<string>([...COUNT_VALUES, 'host_count', 'instance_count', 'concurrent_instance_count']);

/** Rounds figures to three significant digits, as New Relic does without `raw=true`. Counts stay exact. */
export function roundFigures(figures: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(figures).map(([name, value]) => [name, EXACT.has(name) ? value : Number(value.toPrecision(3))]),
  );
}
