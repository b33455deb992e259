import * as documents from './documents.ts';
import { badKeyOf, failureBelow, judge, mayReportError, type Needed, type Verdict } from './failures.ts';
import { nrql, type Query } from './nrql.ts';
import type { AnswerRules } from '../http/body.ts';
import { CallFailure } from '../http/callFailure.ts';
import type { Client } from '../http/client.ts';
import { BOUNDS, isList, isObject, type Bounds } from '../http/jsonShape.ts';
import type { CallOptions, SplitReason } from '../reader.ts';
import { LeftOut } from '../records/lenient.ts';
import { UpstreamError } from '../types.ts';

/** For whom a call is made; calls are counted by it. */
export type CallGroup =
  | 'applications'
  | 'key_transactions'
  | 'application_metrics'
  | 'host_metrics'
  | 'hosts'
  | 'custom_metrics'
  | 'metric_names'
  | 'queries';

type Json = Readonly<Record<string, unknown>>;

/** Seconds that the service may work on a query; it takes 5 to 120. */
const SHORTEST_TIMEOUT = 5;
const LONGEST_TIMEOUT = 30;

/** Of what the service says about a result. */
const MOST_MESSAGES = 5;
const LONGEST_READ = 10_000;

const NRQL_ROOT = ['actor', 'account', 'nrql'];

/** A document that reads entities. */
export interface DocumentRead extends Needed {
  readonly group: CallGroup;
  readonly document: string;
  readonly variables: Json;
}

/** What was read of entities, and why fields further down that are null failed, if any did. */
export interface EntitiesAnswer {
  readonly found: Json;
  readonly failure: CallFailure | undefined;
}

/** One NRQL query. */
export interface NrqlRead {
  readonly group: CallGroup;
  readonly account: number;
  /** In the exporter's own form, or as its user wrote it. */
  readonly query: Query | string;
  /** Which failures are tried again; all that may pass by default. */
  readonly retries?: AnswerRules['retries'];
  readonly bounds?: Bounds;
  /** Where it is another than that of the account. */
  readonly keyHeader?: string;
}

/**
 * What became of a query. `too_big`: the service says that the query or its result is. `unmatched`: it says that no
 * application of the query has data.
 */
export type NrqlEnd =
  | { readonly kind: 'answered'; readonly result: Json }
  | { readonly kind: 'too_big' }
  | { readonly kind: 'unmatched' }
  | { readonly kind: 'failed'; readonly error: UpstreamError; readonly isSaidToPass?: boolean };

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

  /** True while the account answers nothing: then nothing is read in parts. */
  isSilentFor(call: CallOptions): boolean {
    return this.#client.isSilentFor(call);
  }

  /**
   * Runs a document that reads entities. A field that failed is null; where it is on the way to the list, the answer is a
   * failure, for the reason that the error tells. Rejects with an UpstreamError or the reason of the signal.
   */
  async read({ group, document, variables, ...needed }: DocumentRead, call: CallOptions): Promise<EntitiesAnswer> {
    const body = JSON.stringify({ query: document, variables });
    let failure: CallFailure | undefined;
    const answer = await this.#client.post(endpointOf(group), { address: this.#address, body }, call, {
      bounds: BOUNDS.list,
      inspect: (parsed, status, mask) => {
        const verdict = judge(parsed, status, mask, needed);
        failure = failureBelow(parsed, status, mask, [...needed.root, ...(needed.list ?? [])]);
        return verdict?.failure;
      },
      mayBeOverload: mayReportError,
      inspectRefusal: badKeyOf,
      retries: 'all',
    });
    return { found: at(answer.body, needed.root), failure };
  }

  /** Runs one NRQL query. Rejects only with the reason of the signal. */
  async nrql(
    { group, account, query, retries = 'all', bounds, keyHeader }: NrqlRead,
    call: CallOptions,
  ): Promise<NrqlEnd> {
    const text = typeof query === 'string' ? query : nrql(query);
    const variables = { account, nrql: text, timeout: this.#timeout };
    let verdict: Verdict | undefined;
    try {
      const answer = await this.#client.post(
        endpointOf(group),
        { address: this.#address, body: JSON.stringify({ query: documents.NRQL, variables }), keyHeader },
        call,
        {
          bounds: bounds ?? BOUNDS.query,
          inspect: (parsed, status, mask) => {
            verdict = judge(parsed, status, mask, { root: NRQL_ROOT, list: undefined });
            return isAnswer(verdict) ? undefined : verdict?.failure;
          },
          mayBeOverload: mayReportError,
          inspectRefusal: badKeyOf,
          retries,
        },
      );
      const meaning = meaningIn(verdict);
      if (meaning === 'too_big') return { kind: meaning };
      if (meaning === 'unmatched') return { kind: meaning };
      const result = at(answer.body, NRQL_ROOT);
      const said = messagesOf(result);
      if (said !== undefined) this.#client.reports.noted(endpointOf(group), said);
      return { kind: 'answered', result };
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      return { kind: 'failed', error, isSaidToPass: meaningIn(verdict) === 'passing' };
    }
  }

  /** As `nrql`, for a query of one subject that cannot be read in parts; undefined where the service knows nothing of it. */
  async whole(read: NrqlRead, call: CallOptions): Promise<Json | undefined> {
    const end = await this.nrql(read, call);
    if (end.kind === 'failed') throw end.error;
    if (end.kind === 'too_big') throw this.invalid(read.group, 'the query, or its result, is too big');
    return end.kind === 'answered' ? end.result : undefined;
  }

  /** Reports what came back and is of no use. */
  invalid(group: CallGroup, words: string): UpstreamError {
    return this.fail(group, new CallFailure('invalid_response', words));
  }

  /** Reports a failure for another reason. */
  fail(group: CallGroup, failure: CallFailure): UpstreamError {
    return this.#client.reports.fail(endpointOf(group), failure);
  }

  split(reason: SplitReason): void {
    this.#client.reports.split(reason);
  }

  /** Reads an answer, and reports what of it was left out, or that it is useless. */
  async checked<T>(group: CallGroup, read: (leftOut: LeftOut) => T | Promise<T>): Promise<T> {
    const leftOut = new LeftOut();
    try {
      return await read(leftOut);
    } catch (error) {
      throw error instanceof CallFailure ? this.fail(group, error) : error;
    } finally {
      const words = leftOut.words();
      if (words !== undefined) this.#client.reports.leftOut(endpointOf(group), words);
    }
  }
}

function endpointOf(group: CallGroup): string {
  return `graphql:${group}`;
}

/** What was set while an answer was inspected; as a parameter, because the compiler does not see that it was. */
function meaningIn(verdict: Verdict | undefined): Verdict['meaning'] | undefined {
  return verdict?.meaning;
}

/** A complaint about size, and that nothing matched, are no failures: they say how to go on. */
function isAnswer(verdict: Verdict | undefined): boolean {
  return verdict?.meaning === 'too_big' || verdict?.meaning === 'unmatched';
}

/** What the service says about the result, in one line for the log. */
function messagesOf(result: Json): string | undefined {
  const { metadata } = result;
  const messages = isObject(metadata) ? metadata['messages'] : undefined;
  if (!isList(messages)) return undefined;
  const texts = messages.slice(0, MOST_MESSAGES).filter((each) => typeof each === 'string');
  const text = texts.map((each) => plain(each.slice(0, LONGEST_READ))).join('; ');
  return text === '' ? undefined : text;
}

function plain(text: string): string {
  return text.replace(/[\s\p{C}]+/gu, ' ').trim();
}

/** The object at a place whose presence was checked. */
function at(body: Json, root: readonly string[]): Json {
  let value: unknown = body['data'];
  for (const name of root) value = isObject(value) ? value[name] : undefined;
  return isObject(value) ? value : {};
}
