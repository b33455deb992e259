import {
  countCalls,
  type ApplicationSubject,
  type BatchRead,
  type CallOptions,
  type MetricDataAnswer,
  type MetricDataSubject,
  type NextCall,
  type Outcome,
  type RollingSubject,
  type TimeRange,
} from '../reader.ts';
import { nextQuery, partsOf, planQueries, type Asked, type QueryPart, type QueryKind } from './batching.ts';
import type { SubjectId } from './fleet.ts';
import type { KeyTransactions, KnownKeyTransaction } from './keyTransactions.ts';
import { aligned } from './nrql.ts';
import { ITSELF, SubjectRows } from './rows.ts';
import { keyTransactionOf, rollingOf, ValuePlan } from './rowValues.ts';
import type { Timeslices } from './timeslices.ts';
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
import { CallFailure } from '../http/callFailure.ts';
import type { Host, RollingValues } from '../types.ts';

const HOUR = 3_600;

/** What is asked over which time. */
export interface RowsKind extends QueryKind {
  /** So many seconds before the end of the range; undefined: the range itself. */
  readonly seconds?: number;
}

/** What was read, by application or key transaction, and that by kind. */
export type FoundParts = ReadonlyMap<SubjectId, SubjectRows>;
export type FoundByKind = ReadonlyMap<RowsKind, FoundParts>;

/** Reads something that follows from rows, which come from as few queries as possible. */
export abstract class RowsRead<S, A, R extends TimeRange = TimeRange> implements BatchRead<S, A, R> {
  protected readonly timeslices: Timeslices;

  constructor(timeslices: Timeslices) {
    this.timeslices = timeslices;
  }

  abstract kindOf(subject: S): RowsKind;
  /** Undefined: nothing. */
  abstract askedOf(subject: S): Asked | undefined;
  /** @param range as it was asked for */
  protected abstract valueOf(subject: S, found: SubjectRows, range: R): A;

  /** The most rows of a query over a range, where those of its kind are too many. */
  protected mostRows?(range: R): number;

  protected columnsOf(_: readonly S[], kind: RowsKind): QueryKind['columns'] {
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
  protected async find(subjects: readonly S[], range: R, call: CallOptions): Promise<FoundByKind> {
    const byKind = new Map<RowsKind, { readonly subjects: S[]; readonly asked: Asked[] }>();
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

  protected findParts(parts: readonly QueryPart[], kind: RowsKind, range: R, call: CallOptions): Promise<FoundParts> {
    return this.timeslices.read(parts, { ...kind, range: rangeOf(kind, range) }, call);
  }

  protected outcomeOf(subject: S, found: FoundByKind, range: R): Outcome<A> {
    const asked = this.askedOf(subject);
    const rows = asked === undefined ? undefined : found.get(this.kindOf(subject))?.get(asked.id);
    const error = rows?.failureOf(asked?.host);
    return error === undefined ? { value: this.valueOf(subject, rows ?? new SubjectRows(), range) } : { error };
  }
}

function rangeOf({ seconds }: RowsKind, range: TimeRange): TimeRange {
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
} as const satisfies Record<string, RowsKind>;

/** Reads summarized metric data of applications or of hosts, one query for many. */
export class MetricDataRead extends RowsRead<MetricDataSubject, MetricDataAnswer> {
  readonly #plans: DataPlans;

  constructor(timeslices: Timeslices, plans: DataPlans) {
    super(timeslices);
    this.#plans = plans;
  }

  kindOf({ hostKey }: MetricDataSubject): RowsKind {
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

const HOST_LISTS: RowsKind = { name: 'host lists', group: 'hosts', by: 'host', columns: 'names', seconds: HOUR };

/** Reads which hosts reported in the hour before the end of the range: the interface has no list of hosts. */
export class HostsRead extends RowsRead<ApplicationSubject, readonly Host[]> {
  readonly #wanted: Wanted;

  constructor(timeslices: Timeslices, wanted: WantedMetrics) {
    super(timeslices);
    this.#wanted = wanted.of([SIGN_OF_LIFE, WEB]);
  }

  kindOf(): RowsKind {
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

/** Seconds before the end of the range that the rolling values of key transactions are taken over, and all others. */
const KEY_TRANSACTION_SECONDS = 600;
const SECONDS = 240;

const ROLLING = {
  application: { name: 'rolling applications', group: 'applications', by: 'application', seconds: SECONDS },
  host: { name: 'rolling hosts', group: 'hosts', by: 'host', seconds: SECONDS },
  key_transaction: {
    ...{ name: 'key transactions', group: 'key_transactions', by: 'key_transaction' },
    seconds: KEY_TRANSACTION_SECONDS,
  },
} as const satisfies Record<RollingSubject['kind'], RowsKind>;
const OWNERS = { name: 'owners of key transactions', group: 'key_transactions', by: 'application' } as const;

type OfKeyTransaction = Extract<RollingSubject, { kind: 'key_transaction' }>;

/**
 * Reads rolling values: of applications and hosts from their timeslices, of key transactions from what their own entities
 * measured and from the timeslices of their applications. The service's own figures have a window and a scale that no public
 * page tells.
 */
export class RollingRead extends RowsRead<RollingSubject, RollingValues> {
  readonly #metrics: WantedMetrics;
  readonly #keyTransactions: KeyTransactions;
  readonly #wanted: Readonly<Record<RollingSubject['kind'], Wanted>>;

  constructor(timeslices: Timeslices, metrics: WantedMetrics, keyTransactions: KeyTransactions) {
    super(timeslices);
    this.#metrics = metrics;
    this.#keyTransactions = keyTransactions;
    const ofHosts = [SIGN_OF_LIFE, WEB, NON_WEB, ERRORS, APDEX];
    this.#wanted = {
      host: metrics.of(ofHosts),
      application: metrics.of([...ofHosts, END_USER, END_USER_APDEX]),
      key_transaction: metrics.of([]),
    };
  }

  kindOf({ kind }: RollingSubject): RowsKind {
    return ROLLING[kind];
  }

  askedOf(subject: RollingSubject): Asked | undefined {
    const wanted = this.#wanted[subject.kind];
    if (subject.kind === 'application') return { id: subject.applicationId, wanted };
    if (subject.kind === 'host') return { id: subject.applicationId, host: subject.hostKey, wanted };
    const known = this.#keyTransactions.known(subject.keyTransactionId);
    return known === undefined ? undefined : { id: known.guid, wanted };
  }

  /** Key transactions need a query of their own, and one more for their owners. */
  override nextCall(subjects: readonly RollingSubject[], range: TimeRange): NextCall {
    const { count, calls } = super.nextCall(subjects, range);
    const owners = partsOf(this.#ownersOf(subjects.slice(0, count).filter(isOfKeyTransaction)));
    return { count, calls: calls + planQueries(owners, this.timeslices.fleet, OWNERS).length };
  }

  override async read(
    subjects: readonly RollingSubject[],
    range: TimeRange,
    call: CallOptions,
  ): Promise<readonly Outcome<RollingValues>[]> {
    const owners = partsOf(this.#ownersOf(subjects.filter(isOfKeyTransaction)));
    const ofOwners = { ...OWNERS, range: { from: range.to - KEY_TRANSACTION_SECONDS, to: range.to } };
    const [found, owned] = await Promise.all([
      this.find(subjects, range, call),
      this.timeslices.read(owners, ofOwners, call),
    ]);
    const outcomes: Outcome<RollingValues>[] = [];
    await inSlices(subjects, (subject) => {
      const isOfEntity = isOfKeyTransaction(subject);
      outcomes.push(isOfEntity ? this.#ofKeyTransaction(subject, found, owned) : this.outcomeOf(subject, found, range));
    });
    return outcomes;
  }

  protected valueOf(subject: RollingSubject, found: SubjectRows): RollingValues {
    const rows = found.rowsOf(subject.kind === 'host' ? subject.hostKey : undefined);
    return rollingOf(rows, found.seconds ?? SECONDS);
  }

  #ofKeyTransaction(
    { keyTransactionId: id }: OfKeyTransaction,
    found: FoundByKind,
    owners: FoundParts,
  ): Outcome<RollingValues> {
    const known = this.#keyTransactions.known(id);
    if (known === undefined) {
      const words = `key transaction ${id} is not on the list`;
      const unread = this.#keyTransactions.unread(id);
      const { transport } = this.timeslices;
      return { error: unread ?? transport.fail('key_transactions', new CallFailure('not_found', words)) };
    }
    const { guid, applicationId } = known;
    const own = found.get(ROLLING.key_transaction)?.get(guid);
    const owner = applicationId === undefined ? undefined : owners.get(applicationId);
    const ofOwner = owner?.failureOf(undefined);
    // An application that the key cannot see says nothing; what the key transaction itself measured was read.
    const isSeen = applicationId !== undefined && this.timeslices.fleet.isListed(applicationId);
    const error =
      own?.failureOf(undefined) ?? (ofOwner?.failure.reason === 'forbidden' && !isSeen ? undefined : ofOwner);
    if (error !== undefined) return { error };
    const metrics = owner?.rows.get(ITSELF);
    const apdex = metrics?.get(apdexName(known) ?? '');
    const row = own?.rowsOf(undefined).get(ITSELF);
    return { value: keyTransactionOf(row, apdex, metrics !== undefined, own?.seconds ?? KEY_TRANSACTION_SECONDS) };
  }

  /** What is read of the owning applications: whether they report, and the Apdex of the transactions. */
  #ownersOf(subjects: readonly OfKeyTransaction[]): Asked[] {
    const names = new Map<number, string[]>();
    for (const { keyTransactionId } of subjects) {
      const known = this.#keyTransactions.known(keyTransactionId);
      if (known?.applicationId === undefined) continue;
      const apdex = apdexName(known);
      const list = names.get(known.applicationId) ?? [SIGN_OF_LIFE, WEB, NON_WEB];
      names.set(known.applicationId, apdex === undefined ? list : [...list, apdex]);
    }
    return [...names].map(([id, list]) => ({ id, wanted: this.#metrics.of(list) }));
  }
}

const WEB_TRANSACTION = 'WebTransaction/';

/** The owning application's Apdex metric of the transaction. That it has this name is our inference. */
function apdexName({ transactionName }: KnownKeyTransaction): string | undefined {
  if (transactionName === undefined || transactionName === '') return undefined;
  const name = transactionName.startsWith(WEB_TRANSACTION)
    ? transactionName.slice(WEB_TRANSACTION.length)
    : transactionName;
  return `Apdex/${name}`;
}

function isOfKeyTransaction(subject: RollingSubject): subject is OfKeyTransaction {
  return subject.kind === 'key_transaction';
}
