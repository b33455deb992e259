import { AccountHealth } from '../../../src/api/accountHealth.ts';
import {
  resolveWindow,
  takeOne,
  type AccountListing,
  type Api,
  type ApplicationSubject,
  type BatchRead,
  type CallOptions,
  type CustomNames,
  type CustomNamesSubject,
  type Diagnosis,
  type EntityReader,
  type ListedAccount,
  type GoldenResult,
  type GoldenSubject,
  type MetricDataResult,
  type MetricDataSubject,
  type MetricNameList,
  type MetricNameQuery,
  type MinuteSeries,
  type MonitoredEntity,
  type Outcome,
  type QueryResult,
  type QuerySubject,
  type RateLimiter,
  type RollingSubject,
  type SeriesRead,
  type TimeRange,
  type UpstreamReader,
} from '../../../src/api/upstreamReader.ts';
import type { Application, Cut, Host, Instance, KeyTransaction, RollingValues } from '../../../src/api/types.ts';
import { UpstreamError, type FailureReason, type Overload } from '../../../src/api/upstreamError.ts';
import { readRows } from '../../../src/nrql/queryRows.ts';
import { metricsOf, TRAFFIC } from './bodies.ts';
import type { VirtualClock } from './virtualClock.ts';

export type CallKind =
  | 'accounts'
  | 'applications'
  | 'key_transactions'
  | 'hosts'
  | 'instances'
  | 'rolling'
  | 'metric_names'
  | 'custom_names'
  | 'metric_data'
  | 'counters'
  | 'queries'
  | 'entities'
  | 'golden_metrics';

/** One call as upstream saw it. */
export interface Call {
  readonly kind: CallKind;
  /** The application of the first subject. */
  readonly applicationId: number | undefined;
  readonly hostKey: string | undefined;
  /** Wall clock and monotonic clock, milliseconds. */
  readonly startedAt: number;
  readonly monotonicAt: number;
  endedAt: number | undefined;
  /** The query of a list call, or the first subject of another call, with its range. */
  readonly query: unknown;
  readonly subjects: readonly object[];
  outcome: 'ok' | FailureReason | undefined;
}

/** The fault of a call. */
export interface Fault {
  readonly reason: FailureReason;
  readonly status?: number;
  /** Seconds until upstream accepts the next call, for an overload. */
  readonly retryAfter?: number;
  /** How long the call takes instead, in milliseconds. */
  readonly latency?: number;
  /** True: the reader asks for this subject alone from now on. */
  readonly isSetApart?: boolean;
}

type About = Pick<Call, 'kind' | 'applicationId' | 'hostKey'>;

/** The most names that one call carries. */
const NAMES_PER_CALL = 30;

/** The differences between the fake upstreams of both interfaces. */
export interface Likeness {
  readonly api: Api;
  /** How many subjects one call carries. */
  readonly perCall: number;
}

/** An upstream service in memory whose calls take time on a virtual clock and go through its limiter. */
export class FakeReader implements UpstreamReader {
  readonly memory = {};
  /** Of its account. */
  health = new AccountHealth();
  limiter: RateLimiter = { acquire: () => Promise.resolve(() => undefined) };
  readonly api: Api;
  applications: readonly Application[] = [];
  keyTransactions: readonly KeyTransaction[] = [];
  /** The accounts that its key sees. */
  accounts: readonly ListedAccount[] = [];
  /** Members of the list of accounts that cannot be read. */
  unreadable = 0;
  readonly hostsOf = new Map<number, readonly Host[]>();
  readonly instancesOf = new Map<number, readonly Instance[]>();
  /** Metric names besides those of `values`, by application. */
  readonly names = new Map<number, readonly string[]>();
  /** The names that a list leaves out, by application. */
  readonly cutNames = new Map<number, Cut>();
  values: (query: MetricDataSubject & TimeRange) => Readonly<Record<string, Readonly<Record<string, number>>>> = () =>
    TRAFFIC;
  rollingValues: (subject: RollingSubject) => RollingValues = () => ({ summary: undefined, endUserSummary: undefined });
  latency: (call: About) => number = () => 100;
  fault: (call: Call) => Fault | undefined = () => undefined;
  /** A subject that fails alone in a call that ends well. */
  subjectFault: (kind: CallKind, subject: object) => Fault | undefined = () => undefined;
  /** Every call, in the order in which upstream saw them; kept only while `recording`. */
  readonly calls: Call[] = [];
  recording = true;
  inFlight = 0;
  mostInFlight = 0;
  closed = false;
  /** Called for every call that reaches upstream. */
  seen: (call: Call) => void = () => undefined;
  readonly hosts: BatchRead<ApplicationSubject, readonly Host[]>;
  readonly instances: BatchRead<ApplicationSubject, readonly Instance[]> | undefined;
  readonly rolling: BatchRead<RollingSubject, RollingValues> | undefined;
  readonly datastores: BatchRead<ApplicationSubject, readonly string[]> | undefined;
  readonly customNames: BatchRead<CustomNamesSubject, CustomNames>;
  readonly metricData: BatchRead<MetricDataSubject, MetricDataResult>;
  readonly counters: BatchRead<MetricDataSubject, MinuteSeries>;
  /** The reasons for which minutes for counters were refused. */
  readonly refusals: string[] = [];
  /** The answers of upstream for single minutes; by default nothing happened. */
  minutes: (subject: MetricDataSubject & TimeRange) => MinuteSeries = ({ from, to }) => ({
    window: { from, to },
    metrics: new Map(),
  });
  readonly queries: BatchRead<QuerySubject, QueryResult>;
  /** The rows of a query, by its text. */
  readonly rows = new Map<string, readonly unknown[]>();
  readonly entities: EntityReader;
  /** The entities of each type. */
  readonly monitored = new Map<string, readonly MonitoredEntity[]>();
  /** Golden metrics that fail while the others are answered. */
  failingMetrics: readonly string[] = [];
  /** What upstream answers of the golden metrics of an entity. */
  golden: (subject: GoldenSubject) => Readonly<Record<string, number>> = () => ({});
  readonly #clock: VirtualClock;
  readonly #perCall: number;

  constructor(clock: VirtualClock, { api, perCall }: Likeness = { api: 'rest', perCall: 1 }) {
    this.#clock = clock;
    this.api = api;
    this.#perCall = perCall;
    const rest = api === 'rest';
    this.hosts = this.#read('hosts', ({ applicationId }) => this.hostsOf.get(applicationId) ?? []);
    this.instances = rest
      ? this.#read('instances', ({ applicationId }) => this.instancesOf.get(applicationId) ?? [])
      : undefined;
    this.rolling = rest ? undefined : this.#read('rolling', (subject) => this.rollingValues(subject));
    this.datastores = rest
      ? this.#read('metric_names', ({ applicationId }) => this.#datastoresOf(applicationId))
      : undefined;
    this.customNames = this.#read('custom_names', ({ applicationId, filters }) => ({
      names: this.#namesOf(applicationId).filter((name) => filters.some((filter) => name.includes(filter))),
      cut: this.cutNames.get(applicationId),
    }));
    this.metricData = this.#read(
      'metric_data',
      (subject, range) => {
        const datastores = this.#datastoresOf(subject.applicationId);
        const { names, values } = subject.metrics;
        const requested = rest ? names : [...names, ...datastores];
        return {
          window: { from: range.from, to: range.to },
          metrics: metricsOf(this.values({ ...subject, ...range }), requested, (name) => values?.get(name)),
          datastores: rest ? undefined : datastores,
        };
      },
      ({ metrics: { names } }) => Math.max(1, Math.ceil(names.length / NAMES_PER_CALL)),
    );
    this.counters = this.#read('counters', (subject, range) => this.minutes({ ...subject, ...range }));
    const queries = this.#read<QuerySubject, QueryResult>('queries', (subject, range) => {
      const { nrql, rules } = subject;
      const rows = this.rows.get(nrql) ?? [];
      const reading = readRows({ rows, facets: rules.facets.map(String), otherResult: null }, rules);
      return { window: resolveWindow(subject, range), rows, facets: rules.facets.map(String), reading };
    });
    this.queries = { ...queries, take: ([query]) => takeOne(query) };
    this.entities = {
      list: async (type, call) => {
        await this.#call({ kind: 'entities', applicationId: undefined, hostKey: undefined }, { type }, [], call);
        return this.monitored.get(type) ?? [];
      },
      listCalls: (_type, count) => this.listCalls(count),
      goldenMetrics: this.#read<GoldenSubject, GoldenResult>('golden_metrics', (subject, range) => ({
        window: resolveWindow(subject, range),
        values: Object.entries(this.golden(subject)).map(([metric, value]) => ({
          metric,
          percentile: undefined,
          value,
        })),
        failures: this.failingMetrics.map((name) => [name, errorOf({ kind: 'golden_metrics' }, { reason: 'server' })]),
        notNumbers: [],
      })),
      types: () => Promise.resolve([]),
    };
  }

  refuseCounters(problem: string): UpstreamError {
    this.refusals.push(problem);
    return new UpstreamError(problem, { reason: 'invalid_response' });
  }

  /** The calls of one kind, perhaps of one application. */
  callsOfKind(kind: CallKind, applicationId?: number): Call[] {
    return this.calls.filter(
      (call) => call.kind === kind && (applicationId === undefined || call.applicationId === applicationId),
    );
  }

  /** The most calls that it saw in any 60 seconds of real time. */
  mostPerMinute(): number {
    let first = 0;
    let most = 0;
    for (const [index, { monotonicAt }] of this.calls.entries()) {
      while (monotonicAt - (this.calls[first]?.monotonicAt ?? monotonicAt) > 60_000) first += 1;
      most = Math.max(most, index - first + 1);
    }
    return most;
  }

  listCalls(count: number): number {
    return Math.max(1, Math.ceil(count / 200));
  }

  async listAccounts(call: CallOptions): Promise<AccountListing> {
    await this.#call({ kind: 'accounts', applicationId: undefined, hostKey: undefined }, {}, [], call);
    const problem = this.unreadable === 0 ? undefined : `${this.unreadable} cannot be read`;
    return { accounts: this.accounts, unreadable: this.unreadable, problem };
  }

  async listApplications(query: { ids?: readonly number[] }, call: CallOptions): Promise<Application[]> {
    await this.#call({ kind: 'applications', applicationId: undefined, hostKey: undefined }, query, [], call);
    const { ids } = query;
    return this.applications.filter(({ id }) => ids === undefined || ids.includes(id));
  }

  async readApplication(id: number, call: CallOptions): Promise<Application> {
    await this.#call({ kind: 'applications', applicationId: id, hostKey: undefined }, {}, [], call);
    return this.applications.find((application) => application.id === id) ?? notFound();
  }

  async listKeyTransactions(query: { ids?: readonly number[] }, call: CallOptions): Promise<KeyTransaction[]> {
    await this.#call({ kind: 'key_transactions', applicationId: undefined, hostKey: undefined }, query, [], call);
    return [...this.keyTransactions];
  }

  async readKeyTransaction(id: number, call: CallOptions): Promise<KeyTransaction> {
    await this.#call({ kind: 'key_transactions', applicationId: undefined, hostKey: undefined }, {}, [], call);
    return this.keyTransactions.find((keyTransaction) => keyTransaction.id === id) ?? notFound();
  }

  listMetricNames({ applicationId }: MetricNameQuery): Promise<MetricNameList> {
    return Promise.resolve({
      names: this.#namesOf(applicationId).map((name) => ({ name, values: [] })),
      complete: true,
    });
  }

  get metricSeries(): SeriesRead {
    throw new Error('the collector reads no series');
  }

  diagnose(): Promise<Diagnosis> {
    return Promise.resolve({ facts: [], warnings: [] });
  }

  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }

  /** The id of the user whose key it has. */
  user: UpstreamReader['user'];

  #datastoresOf(applicationId: number): readonly string[] {
    return this.#namesOf(applicationId).filter((name) => name.startsWith('Datastore/'));
  }

  #namesOf(applicationId: number): readonly string[] {
    return this.names.get(applicationId) ?? ['Datastore/MySQL/allWeb'];
  }

  #read<S extends object, A>(
    kind: CallKind,
    response: (subject: S, range: TimeRange) => A,
    callsOf: (subject: S) => number = () => 1,
  ): BatchRead<S, A> {
    return {
      take: <T extends S>(all: Iterable<T>) => {
        const subjects: T[] = [];
        for (const subject of all) if (subjects.push(subject) === this.#perCall) break;
        return { subjects, calls: Math.max(...subjects.map(callsOf)) };
      },
      read: async (subjects, range, call) => {
        const [first] = subjects;
        if (first === undefined) throw new Error('no subjects');
        const about = { kind, ...idsOf(first) };
        try {
          for (let remaining = Math.max(...subjects.map(callsOf)); remaining > 0; remaining -= 1) {
            await this.#call(about, { ...first, ...range }, subjects, call);
          }
        } catch (error) {
          if (!(error instanceof UpstreamError)) throw error;
          return subjects.map(() => ({ error }));
        }
        return subjects.map((subject): Outcome<A> => {
          const fault = this.subjectFault(kind, subject);
          return fault === undefined
            ? { value: response(subject, range) }
            : { error: errorOf({ kind, ...idsOf(subject) }, fault) };
        });
      },
    };
  }

  async #call(
    about: About,
    query: unknown,
    subjects: readonly object[],
    { signal, isRepeat }: CallOptions,
  ): Promise<void> {
    const release = await this.limiter.acquire(signal, isRepeat);
    const times = { startedAt: this.#clock.now(), monotonicAt: this.#clock.monotonic(), endedAt: undefined };
    const call: Call = { ...about, ...times, query, subjects, outcome: undefined };
    if (this.recording) this.calls.push(call);
    this.seen(call);
    this.inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
    const fault = this.fault(call);
    let overload: Overload | undefined;
    try {
      await this.#wait(fault?.latency ?? this.latency(about), signal);
      if (fault === undefined || REFUSALS.has(fault.reason)) this.health.recordAnswer();
      if (fault === undefined) call.outcome = 'ok';
      else {
        call.outcome = fault.reason;
        overload = overloadOf(fault);
        throw errorOf(about, fault);
      }
    } finally {
      this.inFlight -= 1;
      call.endedAt = this.#clock.now();
      release(call.outcome === 'ok', overload);
    }
  }

  #wait(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        cancel();
        reject(new Error('aborted'));
      };
      const cancel = this.#clock.after(ms, () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      });
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }
}

/** The failures that New Relic answers. */
const REFUSALS: ReadonlySet<FailureReason> = new Set(['forbidden', 'not_found', 'other', 'too_large']);

function idsOf(subject: object): Pick<Call, 'applicationId' | 'hostKey'> {
  const { applicationId, hostKey } = subject as { applicationId?: number; hostKey?: string };
  return { applicationId, hostKey };
}

function overloadOf({ reason, retryAfter }: Fault): Overload | undefined {
  if (reason !== 'rate_limited') return undefined;
  return { waitMs: retryAfter === undefined ? undefined : retryAfter * 1000 };
}

function errorOf({ kind }: Pick<About, 'kind'>, { reason, status, isSetApart }: Fault): UpstreamError {
  return new UpstreamError(`${kind}: ${reason}`, { reason, status, isSetApart });
}

function notFound(): never {
  throw new UpstreamError('not found', { reason: 'not_found', status: 404 });
}
