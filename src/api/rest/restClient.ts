import type * as z from 'zod';
import type { CallOptions } from '../upstreamReader.ts';
import { resolve, type Address } from '../http/exchange.ts';
import { BOUNDS, type Bounds } from '../http/response.ts';
import { CallFailure, type FailureReason } from '../upstreamError.ts';
import type { Client } from '../http/client.ts';
import { isList, isObject, parseList, parseRecord, readPages, type Discarded } from '../http/validation.ts';

export interface Target {
  /** Path template such as `/applications/{id}/hosts.json`: a label with few values. */
  readonly endpoint: string;
  /** Percent-encoded path and query below the base address. */
  readonly path: string;
}

/** @param query a query string of `encodeQuery` */
export function createTarget(
  endpoint: string,
  ids: Readonly<Record<string, number | string | undefined>> = {},
  query = '',
): Target {
  const path = endpoint.replace(/\{(\w+)\}/g, (_, name: string) => encode(String(ids[name])));
  return { endpoint, path: query === '' ? path : `${path}?${query}` };
}

/** Creates the target of metric data or names, of an application or of its host. */
export function createMetricTarget(
  file: string,
  { applicationId: id, hostKey }: { readonly applicationId: number; readonly hostKey?: string | undefined },
  query: string,
): Target {
  // Not by `createTarget`, because this is by far the most frequent call.
  const search = query === '' ? '' : `?${query}`;
  if (hostKey === undefined)
    return { endpoint: `/applications/{id}/${file}`, path: `/applications/${id}/${file}${search}` };
  const path = `/applications/${id}/hosts/${encode(hostKey)}/${file}${search}`;
  return { endpoint: `/applications/{id}/hosts/{host_id}/${file}`, path };
}

/** Writes a time in a form that needs no encoding: `2026-11-21T02:00:00Z`. */
export function formatTime(unixSeconds: number): string {
  return `${new Date(unixSeconds * 1000).toISOString().slice(0, 19)}Z`;
}

export function encodeQuery(parameters: readonly (readonly [name: string, value: string])[]): string {
  return parameters.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');
}

/** Encodes a text. Names may contain half a surrogate pair, which `encodeURIComponent` rejects. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** Calls the endpoints of the REST interface, and reads lists and records from their responses. */
export class RestClient {
  readonly http: Client;
  readonly #base: Address;

  /** @param base the base address of all paths, without a trailing slash */
  constructor(http: Client, base: URL) {
    this.http = http;
    this.#base = { origin: base.origin, path: base.pathname };
  }

  async readOne<T>(
    { endpoint, path }: Target,
    call: CallOptions,
    bounds: Bounds,
    read: (body: unknown, discarded: Discarded) => T,
  ): Promise<T> {
    const policy = { bounds, retries: 'but_timeouts' } as const;
    const { origin, path: prefix } = this.#base;
    const response = await this.http.call(endpoint, { origin, path: prefix + path }, policy, call);
    const { body } = response;
    response.body = {};
    return this.http.parseReporting(endpoint, (discarded) => read(body, discarded));
  }

  /** Reads the only record of a response. */
  readSingle<T>(target: Target, member: string, schema: z.ZodType<T>, call: CallOptions): Promise<T> {
    return this.readOne(target, call, BOUNDS.list, (body, discarded) => {
      const record = parseRecord(schema, isObject(body) ? body[member] : undefined, discarded, member);
      if (record === undefined) throw discarded.toFailure(`the response has no usable "${member}"`);
      return record;
    });
  }

  /** `leaveOut` takes each unreadable record, before `take`; without it, a page without a readable record fails. */
  readPages<T>(
    { endpoint, path }: Target,
    member: string,
    schema: z.ZodType<T>,
    limits: Parameters<typeof readPages>[1],
    call: CallOptions,
    take: (records: readonly T[], page: number) => number,
    leaveOut?: (record: unknown, discarded: Discarded) => void,
  ): Promise<boolean> {
    const { http } = this;
    const { origin, path: prefix } = this.#base;
    const first = new URL(origin + prefix + path);
    const refuse = (words: string, reason: FailureReason = 'invalid_response'): Error =>
      http.reportFailure(endpoint, new CallFailure(reason, words));
    return readPages(first.search, limits, refuse, async (search, page) => {
      const request = { origin, path: first.pathname + search };
      const policy = { bounds: BOUNDS.list, retries: 'but_timeouts' } as const;
      const response = await http.call(endpoint, request, policy, call);
      const records = await http.parseReporting(endpoint, (discarded) =>
        parseList(schema, response.body, member, discarded, leaveOut),
      );
      const { [member]: members } = response.body;
      const isEmpty = isList(members) && members.length === 0;
      const fresh = take(records, page);
      const refusePage = (words: string): Error => refuse(`page ${page}: ${words}`);
      // A redirect to HTTPS may have changed the origin.
      const address = new URL(response.origin + request.path);
      return { fresh, next: isEmpty ? undefined : nextPage(address, response.link, refusePage) };
    });
  }
}

const LINK = /<([^<>]*)>([^<]*)/g;
const RELATION = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]*))/i;

/** Parses a `Link` header (RFC 8288). Returns relations in lower case. Quotes and spaces vary between senders. */
export function parseLinks(header: string): { readonly target: string; readonly relations: readonly string[] }[] {
  return Array.from(header.matchAll(LINK), ([, target = '', parameters = '']) => {
    // Only the first `rel` of a link counts (RFC 8288, 3.3).
    const [, quoted, token = ''] = RELATION.exec(parameters) ?? [];
    const relations = (quoted ?? token).toLowerCase().split(/\s+/);
    return { target: target.trim(), relations: relations.filter((relation) => relation !== '') };
  });
}

/**
 * Returns the query string of the next page ("Pagination for API output"), with our parameters. Returns undefined on
 * the last page: without a `next` link, with an empty cursor, or if the number of the last page is 0. Refuses another
 * origin or path, because the call sends the key there.
 */
export function nextPage(page: URL, header: string | undefined, refuse: (words: string) => Error): string | undefined {
  const links = parseLinks(header ?? '');
  const targetOf = (relation: string): string | undefined =>
    links.find((link) => link.relations.includes(relation))?.target;
  const target = targetOf('next');
  if (target === undefined) return undefined;
  const next = resolve(target, page);
  if (next === undefined) throw refuse('the link to its next page is not a valid address');
  if (next.searchParams.get('cursor') === '') return undefined;
  if (resolve(targetOf('last'), page)?.searchParams.get('page') === '0') return undefined;
  if (next.origin !== page.origin) throw refuse('its next page is on another origin');
  if (next.pathname !== page.pathname) throw refuse('its next page is under another path');
  return mergeQueries(page, next);
}

function mergeQueries(page: URL, next: URL): string {
  const parameters = new URLSearchParams(next.searchParams);
  for (const [name, value] of page.searchParams) {
    // Do not copy the page number or cursor of the current page.
    if (!next.searchParams.has(name) && name !== 'page' && name !== 'cursor') parameters.append(name, value);
  }
  if (parameters.has('cursor')) parameters.delete('page');
  const address = new URL(page);
  address.search = parameters.toString();
  return address.search;
}
