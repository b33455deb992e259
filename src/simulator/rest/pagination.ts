import type { PageFault } from '../faults/pageFault.ts';

/** One page of a list, with the `Link` header that leads to its neighbours. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly link: string | undefined;
}

export interface PageRequest {
  /** Scheme, host and port as the client addressed them. */
  readonly origin: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly size: number;
  /** Whether the addresses repeat the query of the request: nobody knows what the service does. */
  readonly keepFilters: boolean;
  /** Metric names go by cursor; `empty` ends the list with an empty one, `none` with no next address. */
  readonly cursor: 'empty' | 'none' | undefined;
  readonly fault: PageFault | undefined;
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

/** An empty cursor leads to the first page again: following it loops. */
function requestedPage({ query, cursor }: PageRequest): number {
  const given = cursor === undefined ? null : query.get('cursor');
  return pageNumber(given === null ? query.get('page') : decodeCursor(given));
}

function address(request: PageRequest, page: number, cursor: string | undefined): string {
  const query = new URLSearchParams(request.keepFilters ? request.query : undefined);
  query.delete('page');
  query.delete('cursor');
  query.set('page', String(page));
  if (cursor !== undefined) query.set('cursor', cursor);
  return `${request.origin}${request.path}?${query.toString()}`;
}

function links(request: PageRequest, page: number, pages: number): string | undefined {
  const byCursor = request.cursor !== undefined;
  const target = (to: number) => address(request, to, byCursor ? encodeCursor(to) : undefined);
  const found: (readonly [rel: string, target: string])[] = [];
  if (request.fault === 'repeat-next') found.push(['next', target(page)]);
  else if (request.fault === 'endless-pages') found.push(['next', target(page + 1)]);
  else if (page < pages) found.push(['next', target(page + 1)]);
  else if (request.cursor === 'empty' && pages > 1 && page === pages) found.push(['next', address(request, page, '')]);
  if (page < pages && !byCursor) found.push(['last', target(pages)]);
  if (page > 1 && page <= pages) found.push(['first', target(1)], ['prev', target(page - 1)]);
  return found.length === 0 ? undefined : found.map(([rel, to]) => `<${to}>;rel="${rel}"`).join(', ');
}

/** The page a request asks for; one past the end is empty. The header is there only when the list has several pages. */
export function paginate<Item>(items: readonly Item[], request: PageRequest): Page<Item> {
  const pages = Math.max(1, Math.ceil(items.length / request.size));
  const page = requestedPage(request);
  const shown = request.fault === 'endless-pages' ? ((page - 1) % pages) + 1 : page;
  const slice = items.slice((shown - 1) * request.size, shown * request.size);
  return {
    items: request.fault === 'repeat-ids' ? slice.flatMap((item) => [item, item]) : slice,
    link: links(request, page, pages),
  };
}
