import { UpstreamError, type FailureReason } from '../../../src/api/errors.ts';
import type { CallOptions, Overload } from '../../../src/api/reader.ts';
import type { MetricDataQuery, MetricNameQuery, UpstreamReader } from '../../../src/api/oldReader.ts';
import type { Application, Host, Instance, KeyTransaction, MetricData, MetricName } from '../../../src/api/types.ts';
import { metricData, TRAFFIC } from './bodies.ts';
import type { VirtualClock } from './virtualClock.ts';

export type CallKind = 'applications' | 'key_transactions' | 'hosts' | 'instances' | 'metric_names' | 'metric_data';

/** One call as upstream saw it. */
export interface Call {
  readonly kind: CallKind;
  readonly applicationId: number | undefined;
  readonly hostId: string | undefined;
  readonly at: number;
  endedAt: number | undefined;
  readonly query: unknown;
  outcome: 'ok' | FailureReason | undefined;
}

/** What goes wrong with a call. */
export interface Fault {
  readonly reason: FailureReason;
  readonly status?: number;
  /** Given with an overload answer: seconds until upstream wants the next call. */
  readonly retryAfter?: number;
  /** How long the call takes instead, in milliseconds. */
  readonly latency?: number;
}

type About = Pick<Call, 'kind' | 'applicationId' | 'hostId'>;

/** An upstream service in memory whose calls take time on a virtual clock and go through the gate they are given. */
export class FakeReader implements UpstreamReader {
  applications: readonly Application[] = [];
  keyTransactions: readonly KeyTransaction[] = [];
  readonly hosts = new Map<number, readonly Host[]>();
  readonly instances = new Map<number, readonly Instance[]>();
  /** Metric names besides those of `values`, by application. */
  readonly names = new Map<number, readonly string[]>();
  values: (query: MetricDataQuery) => Readonly<Record<string, Readonly<Record<string, number>>>> = () => TRAFFIC;
  latency: (call: About) => number = () => 100;
  fault: (call: Call) => Fault | undefined = () => undefined;
  /** Every call, in the order in which upstream saw them; kept only while `recording`. */
  readonly calls: Call[] = [];
  recording = true;
  inFlight = 0;
  mostInFlight = 0;
  closed = false;
  /** Told of every call when it reaches upstream. */
  seen: (call: Call) => void = () => undefined;
  readonly #clock: VirtualClock;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  /** The calls of one kind, perhaps of one application. */
  of(kind: CallKind, applicationId?: number): Call[] {
    return this.calls.filter(
      (call) => call.kind === kind && (applicationId === undefined || call.applicationId === applicationId),
    );
  }

  async listApplications(query: { ids?: readonly number[] }, call: CallOptions): Promise<Application[]> {
    await this.#call({ kind: 'applications', applicationId: undefined, hostId: undefined }, query, call);
    const { ids } = query;
    return this.applications.filter(({ id }) => ids === undefined || ids.includes(id));
  }

  async readApplication(id: number, call: CallOptions): Promise<Application> {
    await this.#call({ kind: 'applications', applicationId: id, hostId: undefined }, {}, call);
    return this.applications.find((application) => application.id === id) ?? notFound();
  }

  async listKeyTransactions(query: { ids?: readonly number[] }, call: CallOptions): Promise<KeyTransaction[]> {
    await this.#call({ kind: 'key_transactions', applicationId: undefined, hostId: undefined }, query, call);
    return [...this.keyTransactions];
  }

  async readKeyTransaction(id: number, call: CallOptions): Promise<KeyTransaction> {
    await this.#call({ kind: 'key_transactions', applicationId: undefined, hostId: undefined }, {}, call);
    return this.keyTransactions.find((keyTransaction) => keyTransaction.id === id) ?? notFound();
  }

  async listHosts(applicationId: number, call: CallOptions): Promise<Host[]> {
    await this.#call({ kind: 'hosts', applicationId, hostId: undefined }, {}, call);
    return [...(this.hosts.get(applicationId) ?? [])];
  }

  async listInstances(applicationId: number, call: CallOptions): Promise<Instance[]> {
    await this.#call({ kind: 'instances', applicationId, hostId: undefined }, {}, call);
    return [...(this.instances.get(applicationId) ?? [])];
  }

  async listMetricNames(
    query: MetricNameQuery,
    call: CallOptions,
  ): Promise<{ names: MetricName[]; complete: boolean }> {
    const { applicationId, name = '' } = query;
    await this.#call({ kind: 'metric_names', applicationId, hostId: undefined }, query, call);
    const names = this.names.get(applicationId) ?? ['Datastore/MySQL/allWeb'];
    return {
      names: names.filter((found) => found.includes(name)).map((found) => ({ name: found, values: [] })),
      complete: true,
    };
  }

  async readMetricData(query: MetricDataQuery, call: CallOptions): Promise<MetricData> {
    const { applicationId, hostKey: hostId } = query;
    await this.#call({ kind: 'metric_data', applicationId, hostId }, query, call);
    return metricData(this.values(query), query);
  }

  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }

  async #call(about: About, query: unknown, { signal, gate }: CallOptions): Promise<void> {
    const release = await gate.enter(signal);
    const call: Call = { ...about, at: this.#clock.now(), endedAt: undefined, query, outcome: undefined };
    if (this.recording) this.calls.push(call);
    this.seen(call);
    this.inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
    const fault = this.fault(call);
    let overload: Overload | undefined;
    try {
      await this.#wait(fault?.latency ?? this.latency(about), signal);
      if (fault === undefined) call.outcome = 'ok';
      else {
        call.outcome = fault.reason;
        overload = overloadOf(fault);
        throw errorOf(about, fault);
      }
    } finally {
      this.inFlight -= 1;
      call.endedAt = this.#clock.now();
      release(overload);
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

function overloadOf({ reason, retryAfter }: Fault): Overload | undefined {
  if (reason !== 'rate_limited') return undefined;
  return { waitMs: retryAfter === undefined ? undefined : retryAfter * 1000 };
}

function errorOf({ kind }: About, { reason, status }: Fault): UpstreamError {
  return new UpstreamError(`${kind}: ${reason}`, {
    reason,
    endpoint: kind,
    status,
  });
}

function notFound(): never {
  throw new UpstreamError('not found', { reason: 'not_found', endpoint: '/', status: 404 });
}
