import { AccountHealth } from '../../../src/api/accountHealth.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { Secrets } from '../../../src/log/secrets.ts';
import { UpstreamError, type FailureReason, type Overload } from '../../../src/api/upstreamError.ts';
import type {
  SplitReason,
  BatchRead,
  CallOptions,
  MetricDataSubject,
  Outcome,
  RateLimiter,
  TimeRange,
  UpstreamReader,
} from '../../../src/api/upstreamReader.ts';
export { readAll } from '../../../src/tools/upstream/readForCommand.ts';
import { createRestReader, type RestReaderOptions } from '../../../src/api/rest/restReader.ts';
import { startServer, type Responder, type TestServer } from './testServer.ts';
import type { KeyPair } from '../../support/certificates.ts';

export const KEY = 'NRAK-TEST/KEY+0123456789';

/** Everything that a reader told its observer, and its actions at the limiter. */
class Notes {
  readonly failures: { reason: FailureReason; message: string }[] = [];
  readonly retries: { reason: FailureReason; delay: number }[] = [];
  readonly ended: { endpoint: string; code: number | 'error'; seconds: number }[] = [];
  readonly started: string[] = [];
  readonly overloads: Overload[] = [];
  readonly splits: SplitReason[] = [];
  /** The omissions, which the log writes once an hour. */
  readonly leftOut: { reason: FailureReason; message: string }[] = [];
  readonly said: { endpoint: string; message: string }[] = [];
  /** Delays before retries, with the places held meanwhile. */
  readonly waits: { ms: number; places: number }[] = [];
  entered = 0;
  places = 0;
  most = 0;
}

export interface Reading {
  readonly reader: UpstreamReader;
  readonly notes: Notes;
  readonly health: AccountHealth;
  readonly call: CallOptions;
}

/** A REST reader that records its calls, failures and waits. It waits for no real time. */
export function startReading(baseUrl: string, options: Partial<RestReaderOptions> = {}, before?: object): Reading {
  return note((common) =>
    createRestReader(
      {
        ...common,
        baseUrl,
        keyHeader: 'X-Api-Key',
        raw: false,
        refusedNamesMs: 3_600_000,
        ...options,
      },
      before,
    ),
  );
}

/** The options of readers of both interfaces. */
type CommonOptions = Omit<RestReaderOptions, 'baseUrl' | 'keyHeader' | 'raw' | 'refusedNamesMs'>;

/** A reader that records its calls, failures and waits. It waits for no real time. */
export function note(create: (common: CommonOptions) => UpstreamReader): Reading {
  const notes = new Notes();
  const health = new AccountHealth();
  const limiter: RateLimiter = {
    acquire: (signal) => {
      signal.throwIfAborted();
      notes.entered += 1;
      notes.places += 1;
      notes.most = Math.max(notes.most, notes.places);
      return Promise.resolve((_isGood, overload) => {
        notes.places -= 1;
        if (overload !== undefined) notes.overloads.push(overload);
      });
    },
  };
  const reader = create({
    key: () => KEY,
    secrets: new Secrets(),
    userAgent: 'newrelic-apm-exporter/0.0.0 (+https://exporter.example)',
    requestTimeoutMs: 60_000,
    maxRetries: 0,
    maxConcurrent: 4,
    tls: {},
    environment: {},
    limiter,
    health,
    now: () => Date.now(),
    monotonic: () => performance.now(),
    random: () => 0.5,
    sleep: async (ms, signal) => {
      notes.waits.push({ ms, places: notes.places });
      await sleep(0, undefined, { signal });
    },
    observer: {
      started: (endpoint) => notes.started.push(endpoint),
      ended: (endpoint, code, seconds) => notes.ended.push({ endpoint, code, seconds }),
      failed: (_, reason, message) => notes.failures.push({ reason, message }),
      retried: (_, reason, delay) => notes.retries.push({ reason, delay }),
      split: (reason) => notes.splits.push(reason),
      leftOut: (_, reason, message) => notes.leftOut.push({ reason, message }),
      serviceMessage: (endpoint, message) => notes.said.push({ endpoint, message }),
    },
  });
  onTestFinished(() => reader.close());
  return { reader, notes, health, call: { signal: new AbortController().signal } };
}

/** A server and a reader that reads from it. */
export async function serve(
  response: Responder,
  options: Partial<RestReaderOptions> = {},
  tls?: KeyPair,
): Promise<Reading & { server: TestServer }> {
  const server = await startServer(response, tls);
  onTestFinished(() => server.close());
  return { server, ...startReading(`${server.origin}/v2`, options) };
}

/** The failure a call ends with. */
export async function failureOf(call: Promise<unknown>): Promise<UpstreamError> {
  const outcome = await call.then(
    () => 'a good answer',
    (error: unknown) => error,
  );
  if (outcome instanceof UpstreamError) return outcome;
  throw new Error(`expected an UpstreamError, got ${String(outcome)}`);
}

/** Returns the value of a subject, or throws its failure. */
export function valueOf<A>(outcome: Outcome<A> | undefined): A {
  if (outcome === undefined) throw new Error('the reader gave no outcome');
  if ('error' in outcome) throw outcome.error;
  return outcome.value;
}

/** Reads a single subject. Returns its value, or throws its failure. */
export async function readOne<S, A>(
  read: BatchRead<S, A> | undefined,
  subject: S,
  call: CallOptions,
  range: TimeRange = { from: 1_795_226_400, to: 1_795_228_200 },
): Promise<A> {
  const [outcome] = (await read?.read([subject], range, call)) ?? [];
  return valueOf(outcome);
}

export function listHosts({ hosts }: UpstreamReader, applicationId: number, call: CallOptions): Promise<unknown> {
  return readOne(hosts, { applicationId }, call);
}

export async function readMetricData(
  { metricData }: UpstreamReader,
  { applicationId = 7, hostKey, names }: Partial<MetricDataSubject> & { readonly names: readonly string[] },
  call: CallOptions,
  range?: TimeRange,
): Promise<unknown> {
  return (await readOne(metricData, { applicationId, hostKey, metrics: { names } }, call, range)).metrics;
}

/** An application as New Relic writes it. */
export function application(id: number, name = `app ${id}`): Record<string, unknown> {
  return { id, name, language: 'java', health_status: 'green', reporting: true };
}
