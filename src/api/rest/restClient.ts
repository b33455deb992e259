import type * as z from 'zod';
import { UpstreamError } from '../types.ts';
import type { BatchRead, CallOptions, Outcome, TimeRange } from '../reader.ts';
import { under } from '../http/address.ts';
import { CallFailure } from '../http/callFailure.ts';
import type { Client } from '../http/client.ts';
import { BOUNDS, type Bounds } from '../http/jsonShape.ts';
import type { Target } from './endpoints.ts';
import { readPages, type Pages } from './paging.ts';
import { LeftOut, parseList, parseSingle } from '../records/lenient.ts';

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
  const callsAtLeast = (subject: S): number => Math.max(1, callsOf(subject));
  return {
    nextCall: ([first]) => ({ count: 1, calls: first === undefined ? 1 : callsAtLeast(first) }),
    callsFor: (subjects) => subjects.reduce((calls, subject) => calls + callsAtLeast(subject), 0),
    read: async (subjects, range, call) => {
      const outcomes: Outcome<A>[] = [];
      for (const subject of subjects) outcomes.push(await outcomeOf(read(subject, range, call)));
      return outcomes;
    },
  };
}

async function outcomeOf<A>(reading: Promise<A>): Promise<Outcome<A>> {
  try {
    return { value: await reading };
  } catch (error) {
    if (error instanceof UpstreamError) return { error };
    throw error;
  }
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
    target: Target,
    call: CallOptions,
    bounds: Bounds,
    read: (body: unknown, leftOut: LeftOut) => T,
  ): Promise<T> {
    const { body } = await this.#client.get(target.endpoint, under(this.#base, target.path), call, bounds);
    return this.checked(target, (leftOut) => read(body, leftOut));
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
    await this.pages(target, call, {
      mostPages: this.#mostPages,
      take: ({ body }) => {
        const before = found.size;
        const records = this.checked(target, (leftOut) => parseList(schema, body, member, leftOut));
        for (const record of records) found.set(keyOf(record), record);
        return { entries: records.length, fresh: found.size - before };
      },
    });
    return [...found.values()];
  }

  /** Page by page; gives false when it stopped before the end as told. */
  pages(target: Target, call: CallOptions, pages: Omit<Pages, 'endpoint' | 'first'>): Promise<boolean> {
    const first = under(this.#base, target.path);
    return readPages(this.#client, { endpoint: target.endpoint, first, ...pages }, call);
  }

  /** Reads an answer, and reports what of it was left out, or that it is useless. */
  checked<T>({ endpoint }: Target, read: (leftOut: LeftOut) => T): T {
    const leftOut = new LeftOut();
    try {
      return read(leftOut);
    } catch (error) {
      throw error instanceof CallFailure ? this.#client.reports.fail(endpoint, error) : error;
    } finally {
      const words = leftOut.words();
      if (words !== undefined) this.#client.reports.leftOut(endpoint, words);
    }
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
