import * as documents from './documents.ts';
import { badKeyOf, failureOf, mayReportError, TooBig } from './failures.ts';
import { nrql, type Query } from './nrql.ts';
import { CallFailure } from '../http/callFailure.ts';
import type { Client } from '../http/client.ts';
import { isList, isObject } from '../http/jsonShape.ts';
import type { SplitReason, CallOptions } from '../reader.ts';
import { LeftOut } from '../records/lenient.ts';
import type { UpstreamError } from '../types.ts';

/** For whom a call is made; calls are counted by it. */
export type Group =
  | 'applications'
  | 'key_transactions'
  | 'application_metrics'
  | 'host_metrics'
  | 'hosts'
  | 'custom_metrics'
  | 'metric_names'
  | 'queries';

/** Seconds that the service may work on a query; it takes 5 to 120. */
const SHORTEST_TIMEOUT = 5;
const LONGEST_TIMEOUT = 30;

/** Of what the service says about a result. */
const MOST_MESSAGES = 5;
const LONGEST_READ = 10_000;

/** More rows than an answer holds, or a query or a result that is too big: to be read again in parts. */
export class Truncated extends Error {
  override readonly name = 'Truncated';
}

/** A document that reads entities. */
export interface DocumentRead {
  readonly group: Group;
  readonly document: string;
  readonly variables: Readonly<Record<string, unknown>>;
  /** The way to the object that is read, from the data of the answer. */
  readonly root: readonly string[];
  /** The way on from there to what may not be missing. */
  readonly needed: readonly string[];
}

/** One NRQL query. */
export interface NrqlRead {
  readonly group: Group;
  readonly account: number;
  /** In the exporter's own form, or as its user wrote it. */
  readonly query: Query | string;
  /** True: it asks for several subjects, and when it times out, its caller asks for fewer instead of trying it again. */
  readonly forSeveral: boolean;
}

/** Makes the calls of the interface: each is one POST of a document with its variables. */
export class Transport {
  readonly #client: Client;
  readonly #address: URL;
  readonly #timeout: number;

  constructor(client: Client, address: URL, requestTimeoutMs: number) {
    this.#client = client;
    this.#address = address;
    const seconds = Math.floor(requestTimeoutMs / 1000) - 1;
    this.#timeout = Math.min(LONGEST_TIMEOUT, Math.max(SHORTEST_TIMEOUT, seconds));
  }

  /**
   * Runs a document that reads entities. Gives the object at `root`. A field of it that failed is null; where it is on
   * the way of `needed`, from there on, the answer is a failure, for the reason that the error tells.
   * Rejects with an UpstreamError or the reason of the signal.
   */
  async read(
    { group, document, variables, root, needed }: DocumentRead,
    call: CallOptions,
  ): Promise<Readonly<Record<string, unknown>>> {
    const body = JSON.stringify({ query: document, variables });
    const answer = await this.#client.post(endpointOf(group), this.#address, body, call, {
      inspect: (parsed, status, mask) => failureOf(parsed, status, mask, root, needed),
      mayBeOverload: mayReportError,
      inspectRefusal: badKeyOf,
      retryTimeouts: true,
    });
    return at(answer.body, root);
  }

  /**
   * Runs one NRQL query. Rejects with an UpstreamError, with Truncated when the service says that the query or its result
   * is too big, or with the reason of the signal.
   */
  async nrql(
    { group, account, query, forSeveral }: NrqlRead,
    call: CallOptions,
  ): Promise<Readonly<Record<string, unknown>>> {
    const variables = { account, nrql: typeof query === 'string' ? query : nrql(query), timeout: this.#timeout };
    const root = ['actor', 'account', 'nrql'];
    const complaints: TooBig[] = [];
    const answer = await this.#client.post(
      endpointOf(group),
      this.#address,
      JSON.stringify({ query: documents.NRQL, variables }),
      call,
      {
        inspect: (parsed, status, mask) => {
          const failure = failureOf(parsed, status, mask, root, undefined);
          if (!(failure instanceof TooBig)) return failure;
          complaints.push(failure);
          return undefined;
        },
        mayBeOverload: mayReportError,
        inspectRefusal: badKeyOf,
        retryTimeouts: !forSeveral,
      },
    );
    if (complaints.length > 0) throw new Truncated('the query, or its result, is too big');
    const result = at(answer.body, root);
    const said = messagesOf(result);
    if (said !== undefined) this.#client.reports.noted(endpointOf(group), said);
    return result;
  }

  /** As `nrql`, for a query that cannot be read in parts: what is too big is a failure. */
  async whole(read: NrqlRead, call: CallOptions): Promise<Readonly<Record<string, unknown>>> {
    try {
      return await this.nrql(read, call);
    } catch (error) {
      throw error instanceof Truncated ? this.invalid(read.group, error.message) : error;
    }
  }

  /** Reports what came back and is of no use. */
  invalid(group: Group, words: string): UpstreamError {
    return this.#client.reports.fail(endpointOf(group), new CallFailure('invalid_response', words));
  }

  /** Reports a failure for another reason. */
  fail(group: Group, failure: CallFailure): UpstreamError {
    return this.#client.reports.fail(endpointOf(group), failure);
  }

  split(reason: SplitReason): void {
    this.#client.reports.split(reason);
  }

  /** Reads an answer that cannot be read in parts, and reports what of it was left out, or that it is useless. */
  checked<T>(group: Group, read: (leftOut: LeftOut) => T): T {
    const leftOut = new LeftOut();
    try {
      return read(leftOut);
    } catch (error) {
      if (error instanceof Truncated) throw this.invalid(group, error.message);
      throw error instanceof CallFailure ? this.fail(group, error) : error;
    } finally {
      this.leftOut(group, leftOut);
    }
  }

  leftOut(group: Group, leftOut: LeftOut): void {
    const words = leftOut.words();
    if (words !== undefined) this.#client.reports.leftOut(endpointOf(group), words);
  }
}

export function endpointOf(group: Group): string {
  return `graphql:${group}`;
}

/** What the service says about the result, in one line for the log. */
function messagesOf(result: Readonly<Record<string, unknown>>): string | undefined {
  const { metadata } = result;
  const messages = isObject(metadata) ? metadata['messages'] : undefined;
  if (!isList(messages)) return undefined;
  const texts = messages.slice(0, MOST_MESSAGES).filter((each) => typeof each === 'string');
  const text = texts
    .map((each) =>
      each
        .slice(0, LONGEST_READ)
        .replace(/[\s\p{C}]+/gu, ' ')
        .trim(),
    )
    .join('; ');
  return text === '' ? undefined : text;
}

/** The object at a place whose presence was checked. */
function at(body: Readonly<Record<string, unknown>>, root: readonly string[]): Readonly<Record<string, unknown>> {
  let value: unknown = body['data'];
  for (const name of root) value = isObject(value) ? value[name] : undefined;
  return isObject(value) ? value : {};
}
