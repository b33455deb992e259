import type { Application, RollingSummary } from '../../src/api/types.ts';
import { application, host, keyTransaction, TRAFFIC } from '../collect/support/bodies.ts';
import type { Call, Fault, FakeReader } from '../collect/support/fakeReader.ts';
import type { VirtualClock } from '../collect/support/virtualClock.ts';

const FAULTS: readonly Fault[] = [
  { reason: 'server', status: 500 },
  { reason: 'server', status: 502, latency: 3_000 },
  { reason: 'timeout', latency: 10_000 },
  { reason: 'network', latency: 0 },
  { reason: 'invalid_response', status: 200 },
  { reason: 'too_large', status: 200, latency: 2_000 },
  { reason: 'not_found', status: 404 },
  { reason: 'forbidden', status: 403 },
  { reason: 'auth', status: 401 },
  { reason: 'other', status: 422 },
  { reason: 'redirect', status: 302 },
  { reason: 'rate_limited', status: 429 },
  { reason: 'rate_limited', status: 429, retryAfter: 25 },
  { reason: 'rate_limited', status: 429, retryAfter: 3_600 },
];

const KINDS = ['applications', 'key_transactions', 'hosts', 'metric_names', 'metric_data', 'anything'] as const;

/** One upstream account that changes and fails at random. Every value it gives is the time at which it gives it. */
export class RestlessUpstream {
  readonly #reader: FakeReader;
  readonly #clock: VirtualClock;
  readonly #random: () => number;
  #applications: Application[] = [];
  #fault: { readonly kind: string; readonly share: number; readonly fault: Fault } | undefined;
  #latency = 100;
  #nextId = 1;

  constructor(reader: FakeReader, clock: VirtualClock, random: () => number, applications: number) {
    this.#reader = reader;
    this.#clock = clock;
    this.#random = random;
    reader.recording = false;
    for (let count = 0; count < applications; count += 1) this.#add();
    this.#publish();
    reader.latency = () => this.#latency * (0.5 + this.#random());
    reader.fault = (call) => this.#faultOf(call);
    reader.values = () => {
      const mb = this.#seconds / 1_048_576;
      return { ...TRAFFIC, 'Memory/Physical': { total_used_mb: mb, used_mb_by_host: mb } };
    };
  }

  /** The lists carry the time as well: they are made anew for every step. */
  tick(): void {
    this.#publish();
  }

  /** Something changes: a fault comes or goes, calls get slower, applications come, go, rest or are renamed. */
  change(): void {
    const dice = this.#random();
    if (dice < 0.35) this.#fault = undefined;
    else if (dice < 0.75) {
      this.#fault = { kind: this.#pick(KINDS), share: this.#pick([0.05, 0.5, 1]), fault: this.#pick(FAULTS) };
    } else if (dice < 0.85) this.#latency = this.#pick([5, 100, 100, 1_500, 4_000]);
    else this.#changeFleet();
  }

  /** No faults any more. */
  recover(): void {
    this.#fault = undefined;
    this.#latency = 100;
  }

  get ids(): ReadonlySet<number> {
    return new Set(this.#applications.map(({ id }) => id));
  }

  #changeFleet(): void {
    const index = Math.floor(this.#random() * this.#applications.length);
    const chosen = this.#applications[index];
    const dice = this.#random();
    if (chosen === undefined) return;
    if (dice < 0.4) {
      this.#applications.splice(index, 1);
      this.#reader.hostsOf.delete(chosen.id);
      this.#add();
    } else if (dice < 0.7) this.#applications[index] = { ...chosen, reporting: chosen.reporting !== true };
    else this.#applications[index] = { ...chosen, name: `renamed-${Math.floor(this.#random() * 1e6)}` };
    this.#publish();
  }

  #add(): void {
    this.#applications.push(application(this.#nextId));
    this.#nextId += 1;
  }

  #publish(): void {
    const now = this.#seconds;
    const summary = (before: RollingSummary | undefined): RollingSummary | undefined =>
      before === undefined ? undefined : { ...before, hostCount: now, instanceCount: now };
    this.#reader.applications = this.#applications.map((one) => ({ ...one, summary: summary(one.summary) }));
    for (const { id } of this.#applications) {
      const hosts = [0, 1].map((index) => host(id * 100 + index));
      this.#reader.hostsOf.set(
        id,
        hosts.map((one) => ({ ...one, summary: summary(one.summary) })),
      );
    }
    this.#reader.keyTransactions = this.#applications
      .slice(0, 5)
      .map(({ id }) => ({ ...keyTransaction(id * 10, id), lastReportedAt: now }));
  }

  #faultOf({ kind }: Call): Fault | undefined {
    const active = this.#fault;
    if (active === undefined || (active.kind !== 'anything' && active.kind !== kind)) return undefined;
    return this.#random() < active.share ? active.fault : undefined;
  }

  get #seconds(): number {
    return Math.floor(this.#clock.monotonic() / 1000);
  }

  #pick<T>(choices: readonly T[]): T {
    const chosen = choices[Math.floor(this.#random() * choices.length)];
    if (chosen === undefined) throw new Error('nothing to choose from');
    return chosen;
  }
}
