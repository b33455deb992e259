import { countCalls } from '../batches.ts';
import { MOST_ROWS, nextQuery, partsOf, type Asked, type Fleet, type QueryKind } from './batching.ts';
import { aligned } from './nrql.ts';
import { ITSELF, type ApplicationRows, type Rows } from './rows.ts';
import { rollingOf, ValuePlan } from './rowValues.ts';
import type { Timeslices, TimesliceQuery } from './timeslices.ts';
import type { CallGroup } from './transport.ts';
import {
  APDEX,
  END_USER,
  END_USER_APDEX,
  ERRORS,
  NON_WEB,
  SIGN_OF_LIFE,
  WEB,
  type Wanted,
  type WantedMetrics,
} from './wanted.ts';
import { inSlices } from '../../eventLoop/turns.ts';
import type {
  ApplicationSubject,
  BatchRead,
  CallOptions,
  MetricDataAnswer,
  MetricDataSubject,
  NextCall,
  Outcome,
  RollingSubject,
  TimeRange,
} from '../reader.ts';
import type { Host, RollingValues } from '../types.ts';

const HOUR = 3_600;
/** Seconds before the end of the range that the rolling values of applications and hosts are taken over. */
const ROLLING_SECONDS = 240;

const NO_ROWS: Rows = new Map();

/** A kind of query, and for whom its calls are counted. */
interface Kind extends QueryKind {
  readonly group: CallGroup;
}

const HOST_LISTS: Kind = { kind: 'host lists', group: 'hosts', byHost: true, mostRows: MOST_ROWS };

/**
 * Reads something about applications or hosts, whose rows come from as few queries as possible: what the reads of this
 * interface have in common. Subjects of one read are all applications or all hosts.
 */
abstract class RowsRead<S, A> implements BatchRead<S, A> {
  protected readonly timeslices: Timeslices;
  protected readonly fleet: Fleet;

  constructor(timeslices: Timeslices, fleet: Fleet) {
    this.timeslices = timeslices;
    this.fleet = fleet;
  }

  protected abstract kindOf(subject: S): Kind;
  protected abstract askedOf(subject: S): Asked;
  protected abstract columnsOf(subjects: readonly S[]): TimesliceQuery['columns'];
  protected abstract rangeOf(range: TimeRange): TimeRange;
  protected abstract valueOf(subject: S, rows: Rows, window: TimeRange): A;
  /** Takes over what an answer tells of how large the next one is going to be. */
  protected abstract learn(applicationId: number, rows: ApplicationRows): void;

  nextCall(subjects: readonly S[]): NextCall {
    const [first] = subjects;
    if (first === undefined) throw new RangeError('no subjects');
    const kind = this.kindOf(first);
    const other = subjects.findIndex((subject) => this.kindOf(subject) !== kind);
    const alike = other === -1 ? subjects : subjects.slice(0, other);
    return nextQuery(alike, this.fleet, (subject) => this.askedOf(subject), kind);
  }

  callsFor(subjects: readonly S[], range: TimeRange): number {
    return countCalls(this, subjects, range);
  }

  async read(subjects: readonly S[], range: TimeRange, call: CallOptions): Promise<readonly Outcome<A>[]> {
    const byKind = new Map<Kind, S[]>();
    for (const subject of subjects) {
      const kind = this.kindOf(subject);
      const alike = byKind.get(kind);
      if (alike === undefined) byKind.set(kind, [subject]);
      else alike.push(subject);
    }
    const found = new Map<Kind, ReadonlyMap<number, ApplicationRows>>();
    const asked = this.rangeOf(range);
    await Promise.all(
      [...byKind].map(async ([kind, alike]) => {
        const parts = partsOf(alike.map((subject) => this.askedOf(subject)));
        const query = { ...kind, range: asked, columns: this.columnsOf(alike) };
        const rows = await this.timeslices.read(parts, query, call);
        for (const [id, each] of rows) this.learn(id, each);
        found.set(kind, rows);
      }),
    );
    const outcomes: Outcome<A>[] = [];
    await inSlices(subjects, (subject) => {
      const { applicationId, host = ITSELF } = this.askedOf(subject);
      const ofApplication = found.get(this.kindOf(subject))?.get(applicationId);
      const error = ofApplication?.failureOf(host);
      const rows = ofApplication?.rows.get(host) ?? NO_ROWS;
      outcomes.push(
        error === undefined ? { value: this.valueOf(subject, rows, ofApplication?.window ?? asked) } : { error },
      );
    });
    return outcomes;
  }
}

const OF_DATA = {
  application: { kind: 'application metrics', group: 'application_metrics', byHost: false, mostRows: MOST_ROWS },
  host: { kind: 'host metrics', group: 'host_metrics', byHost: true, mostRows: MOST_ROWS },
} as const satisfies Record<string, Kind>;

/** What a subject of metric data asks for; the same object as long as its names and values are the same. */
export class DataPlans {
  readonly #wanted: WantedMetrics;
  /** By the list of names, and by what tells the wanted values. */
  readonly #plans = new WeakMap<readonly string[], WeakMap<object, ValuePlan>>();
  /** Stands for "all values". */
  readonly #all = {};

  constructor(wanted: WantedMetrics) {
    this.#wanted = wanted;
  }

  kindOf({ hostKey }: MetricDataSubject): Kind {
    return OF_DATA[hostKey === undefined ? 'application' : 'host'];
  }

  askedOf({ applicationId, hostKey, names }: MetricDataSubject): Asked {
    const scope = hostKey === undefined ? 'application' : 'host';
    return { applicationId, host: hostKey, wanted: this.#wanted.ofMetricData(names, scope) };
  }

  planOf({ names, values }: MetricDataSubject): ValuePlan {
    let ofNames = this.#plans.get(names);
    if (ofNames === undefined) this.#plans.set(names, (ofNames = new WeakMap()));
    const key = values ?? this.#all;
    let plan = ofNames.get(key);
    if (plan === undefined) ofNames.set(key, (plan = new ValuePlan(names, values)));
    return plan;
  }

  columnsOf(subjects: readonly MetricDataSubject[]): 'values' | 'squares' {
    return subjects.some((subject) => this.planOf(subject).needsSquares) ? 'squares' : 'values';
  }
}

/** Reads summarized metric data of applications or of hosts, one query for many. */
export class MetricDataRead extends RowsRead<MetricDataSubject, MetricDataAnswer> {
  readonly #plans: DataPlans;

  constructor(timeslices: Timeslices, fleet: Fleet, plans: DataPlans) {
    super(timeslices, fleet);
    this.#plans = plans;
  }

  protected kindOf(subject: MetricDataSubject): Kind {
    return this.#plans.kindOf(subject);
  }

  protected askedOf(subject: MetricDataSubject): Asked {
    return this.#plans.askedOf(subject);
  }

  protected columnsOf(subjects: readonly MetricDataSubject[]): 'values' | 'squares' {
    return this.#plans.columnsOf(subjects);
  }

  protected rangeOf(range: TimeRange): TimeRange {
    return range;
  }

  protected valueOf(subject: MetricDataSubject, rows: Rows, window: TimeRange): MetricDataAnswer {
    return this.#plans.planOf(subject).answerOf(rows, window);
  }

  /** How many datastore metrics an application has decides how many applications fit into the next query. */
  protected learn(applicationId: number, rows: ApplicationRows): void {
    const datastores = rows.datastores();
    if (datastores !== undefined) this.fleet.sawDatastores(applicationId, datastores);
  }
}

/** Whose rolling values are rows of timeslices. */
export type RollingMachine = Extract<RollingSubject, { kind: 'application' | 'host' }>;

const ROLLING = {
  application: { kind: 'rolling applications', group: 'applications', byHost: false, mostRows: MOST_ROWS },
  host: { kind: 'rolling hosts', group: 'hosts', byHost: true, mostRows: MOST_ROWS },
} as const satisfies Record<string, Kind>;

/** Reads the rolling values of applications and hosts over the last 4 minutes of the range. */
export class RollingMachinesRead extends RowsRead<RollingMachine, RollingValues> {
  readonly #wanted: Readonly<Record<RollingMachine['kind'], Wanted>>;

  constructor(timeslices: Timeslices, fleet: Fleet, wanted: WantedMetrics) {
    super(timeslices, fleet);
    const ofHosts = [SIGN_OF_LIFE, WEB, NON_WEB, ERRORS, APDEX];
    this.#wanted = { host: wanted.of(ofHosts), application: wanted.of([...ofHosts, END_USER, END_USER_APDEX]) };
  }

  protected kindOf({ kind }: RollingMachine): Kind {
    return ROLLING[kind];
  }

  protected askedOf(subject: RollingMachine): Asked {
    const { applicationId, kind } = subject;
    return { applicationId, host: kind === 'host' ? subject.hostKey : undefined, wanted: this.#wanted[kind] };
  }

  protected columnsOf(): 'values' {
    return 'values';
  }

  protected rangeOf({ to }: TimeRange): TimeRange {
    return { from: to - ROLLING_SECONDS, to };
  }

  protected valueOf(_: RollingMachine, rows: Rows, { from, to }: TimeRange): RollingValues {
    return rollingOf(rows, to - from);
  }

  protected learn(): void {
    // Nothing but a few fixed names is asked for.
  }
}

/** Reads which hosts reported in the hour before the end of the range: the interface has no list of hosts. */
export class HostsRead implements BatchRead<ApplicationSubject, readonly Host[]> {
  readonly #timeslices: Timeslices;
  readonly #fleet: Fleet;
  readonly #wanted: Wanted;

  constructor(timeslices: Timeslices, fleet: Fleet, wanted: WantedMetrics) {
    this.#timeslices = timeslices;
    this.#fleet = fleet;
    this.#wanted = wanted.of([SIGN_OF_LIFE, WEB]);
  }

  nextCall(subjects: readonly ApplicationSubject[]): NextCall {
    return nextQuery(subjects, this.#fleet, (subject) => this.#askedOf(subject), HOST_LISTS);
  }

  callsFor(subjects: readonly ApplicationSubject[], range: TimeRange): number {
    return countCalls(this, subjects, range);
  }

  async read(
    subjects: readonly ApplicationSubject[],
    { to }: TimeRange,
    call: CallOptions,
  ): Promise<readonly Outcome<readonly Host[]>[]> {
    const parts = partsOf(subjects.map((subject) => this.#askedOf(subject)));
    const query = { ...HOST_LISTS, range: aligned({ from: to - HOUR, to }), columns: 'names' } as const;
    const found = await this.#timeslices.read(parts, query, call);
    return subjects.map(({ applicationId }) => {
      const rows = found.get(applicationId);
      const error = rows?.anyFailure();
      if (error !== undefined) return { error };
      const names = [...(rows?.rows.keys() ?? [])].sort();
      this.#fleet.sawHosts(applicationId, names.length);
      return { value: names.map((host) => this.#toHost(host, applicationId)) };
    });
  }

  /** The interface gives hosts no id of their own: the name is what tells them apart. */
  #toHost(host: string, applicationId: number): Host {
    const language = this.#fleet.language(applicationId);
    return { key: host, host, language, healthStatus: undefined, summary: undefined };
  }

  #askedOf({ applicationId }: ApplicationSubject): Asked {
    return { applicationId, host: undefined, wanted: this.#wanted };
  }
}
