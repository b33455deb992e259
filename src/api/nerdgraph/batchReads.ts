import {
  countCalls,
  type ApplicationSubject,
  type BatchRead,
  type CallOptions,
  type MetricDataResult,
  type MetricDataSubject,
  type NextCall,
  type Outcome,
  type RollingSubject,
  type TimeRange,
} from '../upstreamReader.ts';
import { nextQuery, partsOf, planQueries, type BatchSubject, type QueryPart, type QueryKind } from './batching.ts';
import type { KeyTransactionDetails } from './accountMemory.ts';
import type { KeyTransactions } from './keyTransactions.ts';
import { aligned } from './nrql.ts';
import { ITSELF, SubjectRows, type FoundRows } from './rows.ts';
import { keyTransactionOf, rollingOf, ValueMapper } from './rowValues.ts';
import type { Timeslices } from './timeslices.ts';
import { SIGN_OF_LIFE, MetricSelector } from './metricSelector.ts';
import { inSlices } from '../../eventLoop/turns.ts';
import { isDatastore, METRIC } from '../../formulas/metricInputs.ts';
import { CallFailure } from '../http/callFailure.ts';
import { UpstreamError, type Host, type RollingValues } from '../types.ts';

const HOUR = 3_600;

/**
 * Reads something that follows from rows, which come from as few queries as possible. The subjects of one read are of one
 * kind, as those of `nextCall` are.
 */
export abstract class RowsRead<S, V, R extends TimeRange = TimeRange> implements BatchRead<S, V, R> {
  protected readonly timeslices: Timeslices;

  constructor(timeslices: Timeslices) {
    this.timeslices = timeslices;
  }

  abstract kindOf(subject: S): QueryKind;
  /** Undefined: nothing. */
  abstract subjectOf(subject: S): BatchSubject | undefined;
  /** @param range as it was asked for */
  protected abstract valueOf(subject: S, found: SubjectRows, range: R): V;

  /** The most rows of a query over a range, where those of its kind are too many. */
  protected mostRows?(range: R): number;

  nextCall(subjects: readonly S[], range: R): NextCall {
    return nextQuery(this, subjects, this.timeslices.memory, this.mostRows?.(range));
  }

  callsFor(subjects: readonly S[], range: R): number {
    return countCalls(this, subjects, range);
  }

  async read(subjects: readonly S[], range: R, call: CallOptions): Promise<readonly Outcome<V>[]> {
    const found = await this.find(subjects, range, call);
    const outcomes: Outcome<V>[] = [];
    await inSlices(subjects, (subject) => {
      outcomes.push(this.outcomeOf(subject, found, range));
    });
    return outcomes;
  }

  /** Rejects only with the reason of the signal. */
  protected async find(subjects: readonly S[], range: R, call: CallOptions): Promise<FoundRows> {
    const [first] = subjects;
    if (first === undefined) return new Map();
    const batchSubjects = subjects.flatMap((subject) => this.subjectOf(subject) ?? []);
    const kind = this.kindOf(first);
    const needsSquares = batchSubjects.some((each) => each.needsSquares === true);
    return this.findParts(partsOf(batchSubjects), needsSquares ? { ...kind, columns: 'squares' } : kind, range, call);
  }

  protected findParts(parts: readonly QueryPart[], kind: QueryKind, range: R, call: CallOptions): Promise<FoundRows> {
    const { seconds } = kind;
    const queried = seconds === undefined ? range : aligned({ from: range.to - seconds, to: range.to });
    return this.timeslices.read(parts, { ...kind, range: queried }, call);
  }

  protected outcomeOf(subject: S, found: FoundRows, range: R): Outcome<V> {
    const batchSubject = this.subjectOf(subject);
    const rows = batchSubject === undefined ? undefined : found.get(batchSubject.id);
    const error = rows?.failureOf(batchSubject?.host);
    return error === undefined ? { value: this.valueOf(subject, rows ?? new SubjectRows(), range) } : { error };
  }
}

/** Lists in use differ by the custom metrics of applications; beyond so many it is cheaper to begin again. */
const MOST_REMEMBERED = 10_000;

/** Browsers report no host. */
const OF_BROWSERS: readonly string[] = [METRIC.endUser, METRIC.endUserApdex];

/** What subjects ask for: the same object for the same names, so that who asks for the same is told at no cost. */
export class MetricSelectors {
  readonly #selectors = new Map<string, MetricSelector>();
  /** Of metric data, by list of names. */
  readonly #data = {
    application: new WeakMap<readonly string[], { readonly selector: MetricSelector; readonly values: ValueMapper }>(),
    host: new WeakMap<readonly string[], { readonly selector: MetricSelector; readonly values: ValueMapper }>(),
  };

  of(names: readonly string[], filters: readonly string[] = [], hasDatastores = false): MetricSelector {
    const text = JSON.stringify([names, filters, hasDatastores]);
    let selector = this.#selectors.get(text);
    if (selector !== undefined) return selector;
    if (this.#selectors.size >= MOST_REMEMBERED) this.#selectors.clear();
    selector = new MetricSelector([...new Set(names)], filters, hasDatastores);
    this.#selectors.set(text, selector);
    return selector;
  }

  /** The sign of life and the datastores come with whatever is asked for. */
  ofMetricData({ hostKey, names, values }: MetricDataSubject): {
    readonly selector: MetricSelector;
    readonly values: ValueMapper;
  } {
    const scope = hostKey === undefined ? 'application' : 'host';
    const before = this.#data[scope].get(names);
    if (before !== undefined && before.values.wanted === values) return before;
    const selected = names.filter((name) => !isDatastore(name) && !(scope === 'host' && OF_BROWSERS.includes(name)));
    const plan = { selector: this.of([...selected, SIGN_OF_LIFE], [], true), values: new ValueMapper(names, values) };
    this.#data[scope].set(names, plan);
    return plan;
  }

  subjectOf(subject: MetricDataSubject): BatchSubject {
    const { selector, values } = this.ofMetricData(subject);
    return { id: subject.applicationId, host: subject.hostKey, selector, needsSquares: values.needsSquares };
  }
}

const METRIC_DATA = {
  application: { name: 'application metrics', group: 'application_metrics', groupBy: 'application' },
  host: { name: 'host metrics', group: 'host_metrics', groupBy: 'host' },
} as const satisfies Record<string, QueryKind>;

/** Reads summarized metric data of applications or of hosts, one query for many. */
export class MetricDataRead extends RowsRead<MetricDataSubject, MetricDataResult> {
  readonly #selectors: MetricSelectors;

  constructor(timeslices: Timeslices, selectors: MetricSelectors) {
    super(timeslices);
    this.#selectors = selectors;
  }

  kindOf({ hostKey }: MetricDataSubject): QueryKind {
    return METRIC_DATA[hostKey === undefined ? 'application' : 'host'];
  }

  subjectOf(subject: MetricDataSubject): BatchSubject {
    return this.#selectors.subjectOf(subject);
  }

  protected valueOf(subject: MetricDataSubject, found: SubjectRows, range: TimeRange): MetricDataResult {
    return this.#selectors.ofMetricData(subject).values.resultOf(found.rowsOf(subject.hostKey), found.window ?? range);
  }
}

const HOST_LISTS: QueryKind = { name: 'host lists', group: 'hosts', groupBy: 'host', columns: 'names', seconds: HOUR };

/** Reads which hosts reported in the hour before the end of the range: the interface has no list of hosts. */
export class HostsRead extends RowsRead<ApplicationSubject, readonly Host[]> {
  readonly #selectors: MetricSelector;

  constructor(timeslices: Timeslices, selectors: MetricSelectors) {
    super(timeslices);
    this.#selectors = selectors.of([SIGN_OF_LIFE, METRIC.web]);
  }

  kindOf(): QueryKind {
    return HOST_LISTS;
  }

  subjectOf({ applicationId }: ApplicationSubject): BatchSubject {
    return { id: applicationId, selector: this.#selectors };
  }

  /** The interface gives hosts no id of their own: the name is what tells them apart. */
  protected valueOf({ applicationId }: ApplicationSubject, found: SubjectRows): readonly Host[] {
    const language = this.timeslices.memory.language(applicationId);
    const names = [...found.rows.keys()].sort();
    return names.map((host) => ({ key: host, host, language, healthStatus: undefined, summary: undefined }));
  }
}

/** Seconds before the end of the range that the rolling values of key transactions are taken over, and all others. */
const KEY_TRANSACTION_SECONDS = 600;
const SECONDS = 240;

const ROLLING = {
  application: { name: 'rolling applications', group: 'applications', groupBy: 'application', seconds: SECONDS },
  host: { name: 'rolling hosts', group: 'hosts', groupBy: 'host', seconds: SECONDS },
  key_transaction: {
    ...{ name: 'key transactions', group: 'key_transactions', groupBy: 'key_transaction' },
    seconds: KEY_TRANSACTION_SECONDS,
  },
} as const satisfies Record<RollingSubject['kind'], QueryKind>;
const OWNERS: QueryKind = {
  ...{ name: 'owners of key transactions', group: 'key_transactions', groupBy: 'application' },
  seconds: KEY_TRANSACTION_SECONDS,
};

type OfKeyTransaction = Extract<RollingSubject, { kind: 'key_transaction' }>;

const LONGEST_NAME_SHOWN = 120;

/**
 * Reads rolling values: of applications and hosts from their timeslices, of key transactions from what their own entities
 * measured and from the timeslices of their applications. The service's own figures have a window and a scale that no public
 * page tells.
 */
export class RollingRead extends RowsRead<RollingSubject, RollingValues> {
  readonly #selectors: MetricSelectors;
  readonly #keyTransactions: KeyTransactions;
  readonly #selectorOf: Readonly<Record<RollingSubject['kind'], MetricSelector>>;

  constructor(timeslices: Timeslices, selectors: MetricSelectors, keyTransactions: KeyTransactions) {
    super(timeslices);
    this.#selectors = selectors;
    this.#keyTransactions = keyTransactions;
    const ofHosts = [SIGN_OF_LIFE, METRIC.web, METRIC.nonWeb, METRIC.errors, METRIC.apdex];
    this.#selectorOf = {
      host: selectors.of(ofHosts),
      application: selectors.of([...ofHosts, METRIC.endUser, METRIC.endUserApdex]),
      key_transaction: selectors.of([]),
    };
  }

  kindOf({ kind }: RollingSubject): QueryKind {
    return ROLLING[kind];
  }

  subjectOf(subject: RollingSubject): BatchSubject | undefined {
    const selector = this.#selectorOf[subject.kind];
    if (subject.kind === 'application') return { id: subject.applicationId, selector };
    if (subject.kind === 'host') return { id: subject.applicationId, host: subject.hostKey, selector };
    const known = this.#keyTransactions.known(subject.keyTransactionId);
    if (known === undefined || known instanceof UpstreamError) return undefined;
    return { id: known.guid, selector, called: JSON.stringify(known.name.slice(0, LONGEST_NAME_SHOWN)) };
  }

  /** Key transactions need a query of their own, and one more for their owners. */
  override nextCall(subjects: readonly RollingSubject[], range: TimeRange): NextCall {
    const { count, calls } = super.nextCall(subjects, range);
    const owners = partsOf(this.#ownersOf(subjects.slice(0, count).filter(isOfKeyTransaction)));
    return { count, calls: calls + planQueries(owners, this.timeslices.memory, OWNERS).length };
  }

  override async read(
    subjects: readonly RollingSubject[],
    range: TimeRange,
    call: CallOptions,
  ): Promise<readonly Outcome<RollingValues>[]> {
    const ofEntities = subjects.filter(isOfKeyTransaction);
    if (ofEntities.length === 0) return super.read(subjects, range, call);
    const [found, owners] = await Promise.all([
      this.find(ofEntities, range, call),
      this.findParts(partsOf(this.#ownersOf(ofEntities)), OWNERS, range, call),
    ]);
    return ofEntities.map((subject) => this.#ofKeyTransaction(subject, found, owners));
  }

  protected valueOf(subject: RollingSubject, found: SubjectRows): RollingValues {
    const rows = found.rowsOf(subject.kind === 'host' ? subject.hostKey : undefined);
    return rollingOf(rows, found.seconds ?? SECONDS);
  }

  #ofKeyTransaction(
    { keyTransactionId: id }: OfKeyTransaction,
    found: FoundRows,
    owners: FoundRows,
  ): Outcome<RollingValues> {
    const known = this.#keyTransactions.known(id);
    if (known instanceof UpstreamError) return { error: known };
    if (known === undefined) {
      const failure = new CallFailure('not_found', `key transaction ${id} is not on the list`);
      return { error: this.timeslices.transport.fail('key_transactions', failure) };
    }
    const { guid, applicationId } = known;
    const own = found.get(guid);
    const owner = applicationId === undefined ? undefined : owners.get(applicationId);
    const ofOwner = owner?.failureOf(undefined);
    // An application that the key cannot see says nothing; what the key transaction itself measured was read.
    const isSeen = applicationId !== undefined && this.timeslices.memory.isListed(applicationId);
    const error =
      own?.failureOf(undefined) ?? (ofOwner?.failure.reason === 'forbidden' && !isSeen ? undefined : ofOwner);
    if (error !== undefined) return { error };
    const metrics = owner?.rows.get(ITSELF);
    const apdex = metrics?.get(apdexName(known) ?? '');
    const row = own?.rowsOf(undefined).get(ITSELF);
    return { value: keyTransactionOf(row, apdex, metrics !== undefined, own?.seconds ?? KEY_TRANSACTION_SECONDS) };
  }

  /** What is read of the owning applications: whether they report, and the Apdex of the transactions. */
  #ownersOf(subjects: readonly OfKeyTransaction[]): BatchSubject[] {
    const names = new Map<number, string[]>();
    for (const { keyTransactionId } of subjects) {
      const known = this.#keyTransactions.known(keyTransactionId);
      if (known === undefined || known instanceof UpstreamError || known.applicationId === undefined) continue;
      const apdex = apdexName(known);
      const list = names.get(known.applicationId) ?? [SIGN_OF_LIFE, METRIC.web, METRIC.nonWeb];
      names.set(known.applicationId, apdex === undefined ? list : [...list, apdex]);
    }
    return [...names].map(([id, list]) => ({ id, selector: this.#selectors.of(list) }));
  }
}

const WEB_TRANSACTION = 'WebTransaction/';

/** The owning application's Apdex metric of the transaction. That it has this name is our inference. */
function apdexName({ transactionName = '' }: KeyTransactionDetails): string | undefined {
  if (transactionName === '') return undefined;
  const isWeb = transactionName.startsWith(WEB_TRANSACTION);
  return `Apdex/${isWeb ? transactionName.slice(WEB_TRANSACTION.length) : transactionName}`;
}

function isOfKeyTransaction(subject: RollingSubject): subject is OfKeyTransaction {
  return subject.kind === 'key_transaction';
}
