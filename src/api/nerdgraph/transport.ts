import { findBadKey, readFailedFields, judge, mayReportError, type FailedFields, type Meaning } from './failures.ts';
import { NRQL, type Document } from './documents.ts';
import type { Address } from '../http/exchange.ts';
import { BOUNDS, type Bounds, type ResponsePolicy } from '../http/response.ts';
import type { Client, ClientOptions } from '../http/client.ts';
import { isObject, readPath, type Json, type Discarded } from '../http/validation.ts';
import { readMessages } from '../../nrql/incompleteResult.ts';
import type { Group } from '../../reads/reads.ts';
import { outcomeOf, type CallOptions } from '../upstreamReader.ts';
import { CallFailure, UpstreamError, type FailureReason } from '../upstreamError.ts';

type CallGroup = Group | 'accounts';

/** Limits for the timeout of a query in New Relic, in seconds. */
const SHORTEST_TIMEOUT = 5;
const LONGEST_TIMEOUT = 30;

export interface NrqlRead {
  readonly group: CallGroup;
  readonly account: number;
  readonly query: string;
  /** Failures to retry; `all` by default. */
  readonly retries?: ResponsePolicy['retries'];
  readonly bounds?: Bounds;
  readonly keyHeader?: string;
}

/** `too_big`: query or result are too big. `unmatched`: no application of the query has data. */
export type NrqlEnd = Json | 'too_big' | 'unmatched' | UpstreamError;

export interface NerdGraphReaderOptions extends ClientOptions {
  /** The complete address, which ends in `/graphql`. */
  readonly baseUrl: string;
  /** The account to read; undefined: the only account that the key sees. */
  readonly accountId: number | undefined;
  /** True if the exporter took the account from the key's list of accounts: its number needs no look-up. */
  readonly isListed?: boolean;
  /** Milliseconds to cache details of key transactions, and other occasional look-ups (`intervals.metric_names`). */
  readonly detailsMs: number;
  readonly requestsPerMinute: number;
}

/** Makes the calls of NerdGraph. Each is a POST of a document with its variables. */
export class Transport {
  readonly http: Client;
  readonly #address: Address;
  readonly #timeout: number;

  constructor(http: Client, { baseUrl, requestTimeoutMs }: NerdGraphReaderOptions) {
    this.http = http;
    const { origin, pathname, search } = new URL(baseUrl);
    this.#address = { origin, path: pathname + search };
    const seconds = Math.floor(requestTimeoutMs / 1000) - 1;
    this.#timeout = Math.min(LONGEST_TIMEOUT, Math.max(SHORTEST_TIMEOUT, seconds));
  }

  /** Runs one NRQL query. Returns a failure as an UpstreamError. Rejects only if the signal aborts, with its reason. */
  async runNrql(read: NrqlRead, call: CallOptions): Promise<NrqlEnd> {
    const { group, account, query, bounds = BOUNDS.query } = read;
    const variables = { account, nrql: query, timeout: this.#timeout };
    const outcome = await outcomeOf(this.read(group, NRQL, variables, call, { ...read, bounds }));
    if ('error' in outcome) return outcome.error;
    const { found: result, meaning } = outcome.value;
    if (meaning === 'too_big' || meaning === 'unmatched') return meaning;
    const messages = readMessages(result).join('; ');
    if (messages !== '') this.http.serviceMessage(endpointOf(group), messages);
    return result;
  }

  /**
   * Makes a call. Returns in `found` the object at the document's root, in `meaning` that of an error that does not
   * fail the call, and in `failed` the failed fields of list records. An error outside the records fails the call.
   */
  async read(
    group: CallGroup,
    document: Document,
    variables: Json,
    call: CallOptions,
    { bounds = BOUNDS.list, retries = 'all', keyHeader }: Pick<NrqlRead, 'bounds' | 'retries' | 'keyHeader'> = {},
  ): Promise<{
    readonly found: Json;
    readonly meaning: Meaning | undefined;
    readonly failed: FailedFields | undefined;
  }> {
    const body = JSON.stringify({ query: document.text, variables });
    const { root, list } = document;
    let meaning: Meaning | undefined;
    let failed: FailedFields | undefined;
    const request = { ...this.#address, body, keyHeader };
    const policy: ResponsePolicy = {
      bounds,
      inspect: (parsed, status) => {
        const verdict = judge(parsed, status, document);
        meaning = verdict?.meaning;
        if (list !== undefined) failed = readFailedFields(parsed, status, [...root, ...list]);
        // For a query, `too_big` and `unmatched` are results, not failures: they tell the caller how to continue.
        const isResult = document === NRQL && (meaning === 'too_big' || meaning === 'unmatched');
        return isResult ? undefined : verdict?.failure;
      },
      mayBeOverload: mayReportError,
      inspectRefusal: findBadKey,
      retries,
    };
    const response = await this.http.call(endpointOf(group), request, policy, call);
    const value = readPath(response.body, ['data', ...root]);
    return { found: isObject(value) ? value : {}, meaning, failed };
  }

  /** Runs a query that cannot be divided; undefined if no application of the query has data. */
  async runWhole(read: NrqlRead, call: CallOptions): Promise<Json | undefined> {
    const end = await this.runNrql(read, call);
    if (end instanceof UpstreamError) throw end;
    if (end === 'too_big')
      throw this.failure(read.group, 'the query, or its result, is too big: narrow it', 'too_large');
    return end === 'unmatched' ? undefined : end;
  }

  failure(group: CallGroup, words: string, reason: FailureReason = 'invalid_response'): UpstreamError {
    return this.reportFailure(group, new CallFailure(reason, words));
  }

  reportFailure(group: CallGroup, failure: CallFailure): UpstreamError {
    return this.http.reportFailure(endpointOf(group), failure);
  }

  parseReporting<T>(group: CallGroup, read: (discarded: Discarded) => T | Promise<T>): Promise<T> {
    return this.http.parseReporting(endpointOf(group), read);
  }
}

function endpointOf(group: CallGroup): string {
  return `graphql:${group}`;
}
