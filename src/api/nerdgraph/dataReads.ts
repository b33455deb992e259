import { countCalls } from '../batches.ts';
import { nextQuery, partsOf, type Asked, type Part, type QueryKind } from './batching.ts';
import type { SubjectId } from './fleet.ts';
import { aligned } from './nrql.ts';
import { SubjectRows } from './rows.ts';
import { ValuePlan } from './rowValues.ts';
import type { Timeslices } from './timeslices.ts';
import { SIGN_OF_LIFE, WEB, type Wanted, type WantedMetrics } from './wanted.ts';
import { inSlices } from '../../eventLoop/turns.ts';
import type {
  ApplicationSubject,
  BatchRead,
  CallOptions,
  MetricDataAnswer,
  MetricDataSubject,
  NextCall,
  Outcome,
  TimeRange,
} from '../reader.ts';
import type { Host } from '../types.ts';

const HOUR = 3_600;

/** What is asked over which time. */
export interface Kind extends QueryKind {
  /** So many seconds before the end of the range; undefined: the range itself. */
  readonly seconds?: number;
}

/** What was read, by application or key transaction, and that by kind. */
export type FoundParts = ReadonlyMap<SubjectId, SubjectRows>;
export type Found = ReadonlyMap<Kind, FoundParts>;

/** Reads something that follows from rows, which come from as few queries as possible. */
export abstract class RowsRead<S, A, R extends TimeRange = TimeRange> implements BatchRead<S, A, R> {
  protected readonly timeslices: Timeslices;

  constructor(timeslices: Timeslices) {
    this.timeslices = timeslices;
  }

  abstract kindOf(subject: S): Kind;
  /** Undefined: nothing. */
  abstract askedOf(subject: S): Asked | undefined;
  /** @param range as it was asked for */
  protected abstract valueOf(subject: S, found: SubjectRows, range: R): A;

  /** The most rows of a query over a range, where those of its kind are too many. */
  protected mostRows?(range: R): number;

  protected columnsOf(_: readonly S[], kind: Kind): QueryKind['columns'] {
    return kind.columns;
  }

  nextCall(subjects: readonly S[], range: R): NextCall {
    return nextQuery(this, subjects, this.timeslices.fleet, this.mostRows?.(range));
  }

  callsFor(subjects: readonly S[], range: R): number {
    return countCalls(this, subjects, range);
  }

  async read(subjects: readonly S[], range: R, call: CallOptions): Promise<readonly Outcome<A>[]> {
    const found = await this.find(subjects, range, call);
    const outcomes: Outcome<A>[] = [];
    await inSlices(subjects, (subject) => {
      outcomes.push(this.outcomeOf(subject, found, range));
    });
    return outcomes;
  }

  /** Rejects only with the reason of the signal. */
  protected async find(subjects: readonly S[], range: R, call: CallOptions): Promise<Found> {
    const byKind = new Map<Kind, { readonly subjects: S[]; readonly asked: Asked[] }>();
    for (const subject of subjects) {
      const asked = this.askedOf(subject);
      if (asked === undefined) continue;
      const kind = this.kindOf(subject);
      const alike = byKind.get(kind);
      if (alike === undefined) byKind.set(kind, { subjects: [subject], asked: [asked] });
      else {
        alike.subjects.push(subject);
        alike.asked.push(asked);
      }
    }
    const reads = [...byKind].map(async ([kind, alike]) => {
      const columns = this.columnsOf(alike.subjects, kind) ?? 'values';
      return [kind, await this.findParts(partsOf(alike.asked), { ...kind, columns }, range, call)] as const;
    });
    return new Map(await Promise.all(reads));
  }

  protected findParts(parts: readonly Part[], kind: Kind, range: R, call: CallOptions): Promise<FoundParts> {
    return this.timeslices.read(parts, { ...kind, range: rangeOf(kind, range) }, call);
  }

  protected outcomeOf(subject: S, found: Found, range: R): Outcome<A> {
    const asked = this.askedOf(subject);
    const rows = asked === undefined ? undefined : found.get(this.kindOf(subject))?.get(asked.id);
    const error = rows?.failureOf(asked?.host);
    return error === undefined ? { value: this.valueOf(subject, rows ?? new SubjectRows(), range) } : { error };
  }
}

function rangeOf({ seconds }: Kind, range: TimeRange): TimeRange {
  return seconds === undefined ? range : aligned({ from: range.to - seconds, to: range.to });
}

/** What a subject of metric data asks for, and how its values follow from rows. */
interface DataPlan {
  readonly wanted: Wanted;
  readonly values: ValuePlan;
  readonly valuesOf: MetricDataSubject['values'];
}

/** The plans of metric data: one for each list of names. */
export class DataPlans {
  readonly #wanted: WantedMetrics;
  readonly #plans = {
    application: new WeakMap<readonly string[], DataPlan>(),
    host: new WeakMap<readonly string[], DataPlan>(),
  };

  constructor(wanted: WantedMetrics) {
    this.#wanted = wanted;
  }

  of({ hostKey, names, values }: MetricDataSubject): DataPlan {
    const scope = hostKey === undefined ? 'application' : 'host';
    const before = this.#plans[scope].get(names);
    if (before !== undefined && before.valuesOf === values) return before;
    const wanted = this.#wanted.ofMetricData(names, scope);
    const plan = { wanted, values: new ValuePlan(names, values), valuesOf: values };
    this.#plans[scope].set(names, plan);
    return plan;
  }

  askedOf(subject: MetricDataSubject): Asked {
    return { id: subject.applicationId, host: subject.hostKey, wanted: this.of(subject).wanted };
  }

  columnsOf(subjects: readonly MetricDataSubject[]): 'values' | 'squares' {
    return subjects.some((subject) => this.of(subject).values.needsSquares) ? 'squares' : 'values';
  }
}

const METRIC_DATA = {
  application: { name: 'application metrics', group: 'application_metrics', by: 'application' },
  host: { name: 'host metrics', group: 'host_metrics', by: 'host' },
} as const satisfies Record<string, Kind>;

/** Reads summarized metric data of applications or of hosts, one query for many. */
export class MetricDataRead extends RowsRead<MetricDataSubject, MetricDataAnswer> {
  readonly #plans: DataPlans;

  constructor(timeslices: Timeslices, plans: DataPlans) {
    super(timeslices);
    this.#plans = plans;
  }

  kindOf({ hostKey }: MetricDataSubject): Kind {
    return METRIC_DATA[hostKey === undefined ? 'application' : 'host'];
  }

  askedOf(subject: MetricDataSubject): Asked {
    return this.#plans.askedOf(subject);
  }

  protected override columnsOf(subjects: readonly MetricDataSubject[]): QueryKind['columns'] {
    return this.#plans.columnsOf(subjects);
  }

  protected valueOf(subject: MetricDataSubject, found: SubjectRows, range: TimeRange): MetricDataAnswer {
    return this.#plans.of(subject).values.answerOf(found.rowsOf(subject.hostKey), found.window ?? range);
  }
}

const HOST_LISTS: Kind = { name: 'host lists', group: 'hosts', by: 'host', columns: 'names', seconds: HOUR };

/** Reads which hosts reported in the hour before the end of the range: the interface has no list of hosts. */
export class HostsRead extends RowsRead<ApplicationSubject, readonly Host[]> {
  readonly #wanted: Wanted;

  constructor(timeslices: Timeslices, wanted: WantedMetrics) {
    super(timeslices);
    this.#wanted = wanted.of([SIGN_OF_LIFE, WEB]);
  }

  kindOf(): Kind {
    return HOST_LISTS;
  }

  askedOf({ applicationId }: ApplicationSubject): Asked {
    return { id: applicationId, wanted: this.#wanted };
  }

  /** The interface gives hosts no id of their own: the name is what tells them apart. */
  protected valueOf({ applicationId }: ApplicationSubject, found: SubjectRows): readonly Host[] {
    const language = this.timeslices.fleet.language(applicationId);
    const names = [...found.rows.keys()].sort();
    return names.map((host) => ({ key: host, host, language, healthStatus: undefined, summary: undefined }));
  }
}
