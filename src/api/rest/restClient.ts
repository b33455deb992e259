import type * as z from 'zod';
import type { CallOptions } from '../upstreamReader.ts';
import { resolve, joinPath } from '../http/address.ts';
import { BOUNDS, type Bounds } from '../http/body.ts';
import { CallFailure } from '../http/callFailure.ts';
import type { Client } from '../http/client.ts';
import { parseList, parseSingle, readPages, type Discarded, type PageLimits } from '../http/readRecords.ts';

/** What a call asks for: the address under the base address, and the path template it is counted under. */
export interface Target {
  /** Such as `/applications/{id}/hosts.json`: a label of bounded values. */
  readonly endpoint: string;
  /** Path and query, percent-encoded. */
  readonly path: string;
}

/** @param query as `queryOf` writes it */
export function target(template: string, ids: Readonly<Record<string, number | string>> = {}, query = ''): Target {
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encoded(String(ids[name])));
  return { endpoint: template, path: query === '' ? path : `${path}?${query}` };
}

/** Metric data and names of a host differ from those of its application only by a path segment. */
export function metricTarget(
  file: string,
  { applicationId: id, hostKey }: { readonly applicationId: number; readonly hostKey?: string | undefined },
  query: string,
): Target {
  return hostKey === undefined
    ? target(`/applications/{id}/${file}`, { id }, query)
    : target(`/applications/{id}/hosts/{host_id}/${file}`, { id, host_id: hostKey }, query);
}

export function queryOf(parameters: readonly (readonly [name: string, value: string])[]): string {
  return parameters.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join('&');
}

/** Names come from outside and may hold half a surrogate pair, which `encodeURIComponent` refuses. */
function encoded(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\uFFFD'));
  }
}

/** Calls the endpoints of the REST interface, and reads lists and records out of their answers. */
export class RestClient {
  /** Makes the calls, and reports what is wrong with answers. */
  readonly http: Client;
  readonly #base: URL;
  readonly #mostPages: number;

  /** @param base the address that the paths of targets are under @param mostPages the most pages a list may have */
  constructor(http: Client, base: URL, mostPages: number) {
    this.http = http;
    this.#base = base;
    this.#mostPages = mostPages;
  }

  /** The body of one response, as `read` understands it. */
  async one<T>(
    { endpoint, path }: Target,
    call: CallOptions,
    bounds: Bounds,
    read: (body: unknown, discarded: Discarded) => T,
  ): Promise<T> {
    const policy = { bounds, retries: 'but_timeouts' } as const;
    const { body } = await this.http.call(endpoint, { address: joinPath(this.#base, path) }, policy, call);
    return this.http.parseReporting(endpoint, (discarded) => read(body, discarded));
  }

  /** The one record of a response. */
  single<T>(target: Target, member: string, schema: z.ZodType<T>, call: CallOptions): Promise<T> {
    return this.one(target, call, BOUNDS.list, (body, discarded) => parseSingle(schema, body, member, discarded));
  }

  /** All pages of a list, each key once, as it was read last; a list is read whole or not at all. */
  async list<T>(
    target: Target,
    member: string,
    schema: z.ZodType<T>,
    keyOf: (record: T) => number | string,
    call: CallOptions,
  ): Promise<T[]> {
    const found = new Map<number | string, T>();
    await this.pages(target, member, schema, { mostPages: this.#mostPages }, call, (records) => {
      const before = found.size;
      for (const record of records) found.set(keyOf(record), record);
      return found.size - before;
    });
    return [...found.values()];
  }

  /**
   * Page by page; a page past the end is empty.
   *
   * @param take takes over what a page holds, and says how much of it was not on an earlier one
   * @returns false when it stopped before the end as told
   */
  pages<T>(
    { endpoint, path }: Target,
    member: string,
    schema: z.ZodType<T>,
    limits: PageLimits,
    call: CallOptions,
    take: (records: readonly T[], page: number) => number,
  ): Promise<boolean> {
    const { http } = this;
    const address = joinPath(this.#base, path);
    const refuse = (words: string): Error => http.fail(endpoint, new CallFailure('invalid_response', words));
    return readPages(address.search, limits, refuse, async (search, page) => {
      address.search = search;
      const policy = { bounds: BOUNDS.list, retries: 'but_timeouts' } as const;
      const response = await http.call(endpoint, { address: new URL(address) }, policy, call);
      const records = await http.parseReporting(endpoint, (discarded) =>
        parseList(schema, response.body, member, discarded),
      );
      const fresh = take(records, page);
      const refusePage = (words: string): Error => refuse(`page ${page}: ${words}`);
      return { fresh, next: records.length === 0 ? undefined : nextPage(response.address, response.link, refusePage) };
    });
  }
}

const TARGET = /\s*<([^>]*)>/y;
const PARAMETER = /\s*;\s*([^\s=;,"<>]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?/y;
const SEPARATOR = /[\s;]*(?:,\s*)+/y;

/**
 * The links of a `Link` header (RFC 8288), with their relations in lower case, as far as it can be read: quotes and spaces
 * vary between senders. What follows a part that is no link is not guessed at.
 */
export function parseLinks(header: string): { readonly target: string; readonly relations: readonly string[] }[] {
  const links: ReturnType<typeof parseLinks> = [];
  let position = 0;
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = position;
    const match = pattern.exec(header) ?? undefined;
    if (match !== undefined) position = pattern.lastIndex;
    return match;
  };
  take(SEPARATOR);
  for (let target = take(TARGET); target !== undefined; target = take(TARGET)) {
    let relations: string[] | undefined;
    for (let parameter = take(PARAMETER); parameter !== undefined; parameter = take(PARAMETER)) {
      const [, name = '', quoted, token] = parameter;
      if (name.toLowerCase() !== 'rel') continue;
      // Only the first `rel` of a link counts (RFC 8288, 3.3).
      relations ??= (quoted?.replace(/\\(.)/g, '$1') ?? token ?? '').toLowerCase().split(/\s+/);
    }
    links.push({ target: (target[1] ?? '').trim(), relations: relations ?? [] });
    if (take(SEPARATOR) === undefined) break;
  }
  return links;
}

/**
 * Where a list goes on (the vendor's page "Pagination for API output"): the query of its next page, for the path
 * is the same. Undefined at its end: without a `next`, with an empty cursor, and where the last
 * page is 0. A `next` is only followed on the origin and under the path of the page that named it, because the key
 * travels with it. Its parameters win over ours, ours fill the gaps; a cursor replaces the page number.
 *
 * @param page the address the page was read from
 * @param header its `Link` header
 * @param refuse makes the error of a `next` that is not followed
 */
export function nextPage(page: URL, header: string | undefined, refuse: (words: string) => Error): string | undefined {
  const links = parseLinks(header ?? '');
  const targetOf = (relation: string): string | undefined =>
    links.find((link) => link.relations.includes(relation))?.target;
  const target = targetOf('next');
  if (target === undefined) return undefined;
  const next = resolve(target, page);
  if (next === undefined) throw refuse('the link to its next page is no address');
  if (next.searchParams.get('cursor') === '') return undefined;
  if (resolve(targetOf('last'), page)?.searchParams.get('page') === '0') return undefined;
  if (next.origin !== page.origin) throw refuse('its next page is on another origin');
  if (next.pathname !== page.pathname) throw refuse('its next page is under another path');
  return merged(page, next);
}

function merged(page: URL, next: URL): string {
  const parameters = new URLSearchParams(next.searchParams);
  for (const [name, value] of page.searchParams) {
    // The last page's own place in the list is no filter of ours.
    if (!next.searchParams.has(name) && name !== 'page' && name !== 'cursor') parameters.append(name, value);
  }
  if (parameters.has('cursor')) parameters.delete('page');
  const address = new URL(page);
  address.search = parameters.toString();
  return address.search;
}
