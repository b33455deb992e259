import type * as z from 'zod';
import { UpstreamError } from '../types.ts';
import type { BatchRead, CallOptions, Outcome, TimeRange } from '../reader.ts';
import { under } from '../http/address.ts';
import { CallFailure } from '../http/callFailure.ts';
import type { Client } from '../http/client.ts';
import { BOUNDS, type Bounds } from '../http/jsonShape.ts';
import { checked, parseList, parseSingle, type LeftOut, readPages, type PageLimits } from '../http/readRecords.ts';
import { nextPage } from './nextPage.ts';

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

/**
 * The reads of an interface that answers about one subject at a time: a batch holds one.
 *
 * @param read reads one subject; rejects with an UpstreamError, or with the reason of the signal
 * @param callsOf how many calls a subject takes when nothing fails
 */
export function oneByOne<S, A, R extends TimeRange = TimeRange>(
  read: (subject: S, range: R, call: CallOptions) => Promise<A>,
  callsOf: (subject: S) => number = () => 1,
): BatchRead<S, A, R> {
  const callsFor = (subjects: readonly S[]): number =>
    subjects.reduce((calls, subject) => calls + Math.max(1, callsOf(subject)), 0);
  return {
    nextCall: (subjects) => ({ count: 1, calls: callsFor(subjects.slice(0, 1)) }),
    callsFor,
    read: async (subjects, range, call) => {
      const outcomes: Outcome<A>[] = [];
      for (const subject of subjects) {
        try {
          outcomes.push({ value: await read(subject, range, call) });
        } catch (error) {
          if (!(error instanceof UpstreamError)) throw error;
          outcomes.push({ error });
        }
      }
      return outcomes;
    },
  };
}

/** Calls the endpoints of the REST interface, and reads lists and records out of their answers. */
export class RestClient {
  readonly #client: Client;
  readonly #base: URL;
  readonly #mostPages: number;

  /** @param base the address that the paths of targets are under @param mostPages the most pages a list may have */
  constructor(client: Client, base: URL, mostPages: number) {
    this.#client = client;
    this.#base = base;
    this.#mostPages = mostPages;
  }

  /** The body of one answer, as `read` understands it. */
  async one<T>(
    { endpoint, path }: Target,
    call: CallOptions,
    bounds: Bounds,
    read: (body: unknown, leftOut: LeftOut) => T,
  ): Promise<T> {
    const { body } = await this.#client.get(endpoint, under(this.#base, path), call, bounds);
    return checked(this.#client.reports, endpoint, (leftOut) => read(body, leftOut));
  }

  /** The one record of an answer. */
  single<T>(target: Target, member: string, schema: z.ZodType<T>, call: CallOptions): Promise<T> {
    return this.one(target, call, BOUNDS.list, (body, leftOut) => parseSingle(schema, body, member, leftOut));
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
    const { reports } = this.#client;
    const address = under(this.#base, path);
    const refuse = (words: string): Error => reports.fail(endpoint, new CallFailure('invalid_response', words));
    return readPages(address.search, limits, refuse, async (search, page) => {
      address.search = search;
      const answer = await this.#client.get(endpoint, new URL(address), call, BOUNDS.list);
      const records = await checked(reports, endpoint, (leftOut) => parseList(schema, answer.body, member, leftOut));
      const fresh = take(records, page);
      const refusePage = (words: string): Error => refuse(`page ${page}: ${words}`);
      return { fresh, next: records.length === 0 ? undefined : nextPage(answer.address, answer.link, refusePage) };
    });
  }

  /** True while the account answers nothing. */
  isSilentFor(call: CallOptions): boolean {
    return this.#client.isSilentFor(call);
  }

  /** Reports that a part of what was asked for is left out. */
  leftOut({ endpoint }: Target, words: string): void {
    this.#client.reports.leftOut(endpoint, words);
  }
}
