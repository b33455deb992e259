import type { KeyTransactionDetails } from './accountMemory.ts';
import { partsOf, takeSubjects, type Batch, type BatchSubject, type QueryKind, type QueryPart } from './batching.ts';
import type { KeyTransactions } from './keyTransactions.ts';
import { aligned } from './nrql.ts';
import { ITSELF, SubjectRows, type FoundRows, type TimesliceQuery } from './rows.ts';
import { keyTransactionOf, rollingOf, ValueMapper } from './rowValues.ts';
import type { Timeslices } from './timeslices.ts';
import { MetricSelector } from './metricSelector.ts';
import type {
  ApplicationSubject,
  BatchRead,
  CallOptions,
  MetricDataResult,
  MetricDataSubject,
  Outcome,
  PlannedCall,
  RollingSubject,
  TimeRange,
} from '../upstreamReader.ts';
import { inSlices } from '../../eventLoop/turns.ts';
import { isDatastore, METRIC } from '../../formulas/metricInputs.ts';
import { SIGN_OF_LIFE } from '../../formulas/timesliceValues.ts';
import { CallFailure } from '../http/callFailure.ts';
import { UpstreamError, type Host, type RollingValues } from '../types.ts';

const HOUR = 3_600;

/** The query of a kind of data. The subjects of one call share one kind of query. */
export interface RowsQuery<S, R extends TimeRange = TimeRange> {
  kindOf(subject: S): QueryKind;
  /** The part of the query for a subject; undefined: the subject needs no query. */
  subjectOf(subject: S): BatchSubject | undefined;
  /** Limit for the rows of a query over a range, where the limit of its kind is too high. */
  mostRows?(range: R): number;
  /** Reads the parts of a call, where one query over the range for each batch is not enough. */
  find?(parts: readonly QueryPart[], kind: QueryKind, range: R, call: CallOptions): Promise<FoundRows>;
}

/** A planned call: its subjects, and the read of their rows. Rejects only with the reason of the signal. */
interface PlannedRows<S> {
  readonly subjects: readonly S[];
  readonly calls: number;
  find(call: CallOptions): Promise<FoundRows>;
  /** The rows of a subject, or the error that it failed with. */
  rowsOf(subject: S, found: FoundRows): SubjectRows | UpstreamError;
}

/** Plans the next call for subjects whose data are calculated from rows, with as few queries as possible. */
export function planRows<S, R extends TimeRange>(
  timeslices: Timeslices,
  reads: RowsQuery<S, R>,
  subjects: Iterable<S>,
  range: R,
): PlannedRows<S> {
  const { taken, kind, isOne } = takeSubjects(reads, subjects, timeslices.account.memory, reads.mostRows?.(range));
  const asked = new Map(taken.map((each) => [each.subject, each.asked]));
  let planned: readonly Batch[] | undefined;
  const parts = (): readonly QueryPart[] => partsOf(taken.flatMap((each) => each.asked ?? []));
  const batches = (): readonly Batch[] => (planned ??= timeslices.plan(parts(), kind));
  return {
    subjects: taken.map(({ subject }) => subject),
    calls: isOne ? Math.max(1, batches().length) : 1,
    find: (call) => {
      const needsSquares = taken.some((each) => each.asked?.needsSquares === true);
      const query = needsSquares ? ({ ...kind, columns: 'squares' } as const) : kind;
      return reads.find?.(parts(), query, range, call) ?? timeslices.read(batches(), queryOver(query, range), call);
    },
    rowsOf: (subject, found) => {
      const each = asked.get(subject);
      const rows = each === undefined ? undefined : found.get(each.id);
      return rows?.failureOf(each?.host) ?? rows ?? new SubjectRows();
    },
  };
}

function queryOver(kind: QueryKind, range: TimeRange): TimesliceQuery {
  const { seconds } = kind;
  return { ...kind, range: seconds === undefined ? range : aligned({ from: range.to - seconds, to: range.to }) };
}

/** Reads data that are calculated from the rows of each subject alone. */
export function rowsRead<S, V, R extends TimeRange = TimeRange>(
  timeslices: Timeslices,
  reads: RowsQuery<S, R> & {
    valueOf(subject: S, found: SubjectRows, range: R): V;
  },
): BatchRead<S, V, R> {
  return {
    plan: (subjects, range) =>
      eachAlone(planRows(timeslices, reads, subjects, range), (subject, rows) => reads.valueOf(subject, rows, range)),
  };
}

function eachAlone<S, V>(planned: PlannedRows<S>, valueOf: (subject: S, rows: SubjectRows) => V): PlannedCall<V> {
  return {
    count: planned.subjects.length,
    calls: planned.calls,
    read: async (call) => {
      const found = await planned.find(call);
      const outcomes: Outcome<V>[] = [];
      await inSlices(planned.subjects, (subject) => {
        const rows = planned.rowsOf(subject, found);
        outcomes.push(rows instanceof UpstreamError ? { error: rows } : { value: valueOf(subject, rows) });
      });
      return outcomes;
    },
  };
}

/**
 * Limit for remembered lists, which differ by the custom metrics of applications; beyond it the memory is cleared, which is
 * cheaper than removing single lists.
 */
const MOST_REMEMBERED = 10_000;

/** Browser metrics, which have no host. */
const OF_BROWSERS: readonly string[] = [METRIC.endUser, METRIC.endUserApdex];

/** Selectors of metrics. Equal lists of names share one object, so that equal requests are recognized at no cost. */
export class MetricSelectors {
  readonly #selectors = new Map<string, MetricSelector>();
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

  /** The selector includes the metric that shows whether the subject reports, and the datastores. */
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
export function metricDataRead(
  timeslices: Timeslices,
  selectors: MetricSelectors,
): BatchRead<MetricDataSubject, MetricDataResult> {
  return rowsRead(timeslices, {
    kindOf: ({ hostKey }) => METRIC_DATA[hostKey === undefined ? 'application' : 'host'],
    subjectOf: (subject) => selectors.subjectOf(subject),
    valueOf: (subject, found, range) =>
      selectors.ofMetricData(subject).values.resultOf(found.rowsOf(subject.hostKey), found.window ?? range),
  });
}

const HOST_LISTS: QueryKind = { name: 'host lists', group: 'hosts', groupBy: 'host', columns: 'names', seconds: HOUR };

/** Reads the hosts that reported in the hour before the end of the range, because the interface has no list of hosts. */
export function hostsRead(
  timeslices: Timeslices,
  selectors: MetricSelectors,
): BatchRead<ApplicationSubject, readonly Host[]> {
  const selector = selectors.of([SIGN_OF_LIFE, METRIC.web]);
  return rowsRead(timeslices, {
    kindOf: () => HOST_LISTS,
    subjectOf: ({ applicationId }) => ({ id: applicationId, selector }),
    // Hosts have no id in this interface, so the name identifies them.
    valueOf: ({ applicationId }, found) => {
      const language = timeslices.account.memory.language(applicationId);
      const names = [...found.rows.keys()].sort();
      return names.map((host) => ({ key: host, host, language, healthStatus: undefined, summary: undefined }));
    },
  });
}

/** Seconds of the window before the end of the range for rolling values: of key transactions, and of all other subjects. */
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
 * Reads rolling values: of applications and hosts from their timeslices, of key transactions from the data of their own
 * entities and from the timeslices of their applications. New Relic's own figures are not used, because no public page
 * documents their window and scale.
 */
export function rollingRead(
  timeslices: Timeslices,
  selectors: MetricSelectors,
  keyTransactions: KeyTransactions,
): BatchRead<RollingSubject, RollingValues> {
  const ofHosts = [SIGN_OF_LIFE, METRIC.web, METRIC.nonWeb, METRIC.errors, METRIC.apdex];
  const host = selectors.of(ofHosts);
  const application = selectors.of([...ofHosts, METRIC.endUser, METRIC.endUserApdex]);
  const keyTransaction = selectors.of([]);
  const reads: RowsQuery<RollingSubject> = {
    kindOf: ({ kind }) => ROLLING[kind],
    subjectOf: (subject) => {
      if (subject.kind === 'application') return { id: subject.applicationId, selector: application };
      if (subject.kind === 'host') return { id: subject.applicationId, host: subject.hostKey, selector: host };
      const known = keyTransactions.known(subject.keyTransactionId);
      if (known === undefined || known instanceof UpstreamError) return undefined;
      const called = JSON.stringify(known.name.slice(0, LONGEST_NAME_SHOWN));
      return { id: known.guid, selector: keyTransaction, called };
    },
  };
  /** The query for the owning applications: whether they report, and the Apdex of the transactions. */
  const ownersOf = (subjects: readonly OfKeyTransaction[]): BatchSubject[] => {
    const names = new Map<number, string[]>();
    for (const { keyTransactionId } of subjects) {
      const known = keyTransactions.known(keyTransactionId);
      if (known === undefined || known instanceof UpstreamError || known.applicationId === undefined) continue;
      const apdex = apdexName(known);
      const list = names.get(known.applicationId) ?? [SIGN_OF_LIFE, METRIC.web, METRIC.nonWeb];
      names.set(known.applicationId, apdex === undefined ? list : [...list, apdex]);
    }
    return [...names].map(([id, list]) => ({ id, selector: selectors.of(list) }));
  };

  const ofKeyTransaction = (
    { keyTransactionId: id }: OfKeyTransaction,
    found: FoundRows,
    owners: FoundRows,
  ): Outcome<RollingValues> => {
    const known = keyTransactions.known(id);
    if (known instanceof UpstreamError) return { error: known };
    if (known === undefined) {
      const failure = new CallFailure('not_found', `key transaction ${id} is not on the list`);
      return { error: timeslices.account.transport.fail('key_transactions', failure) };
    }
    const { guid, applicationId } = known;
    const own = found.get(guid);
    const owner = applicationId === undefined ? undefined : owners.get(applicationId);
    const ofOwner = owner?.failureOf(undefined);
    // An application that the key cannot see has no rows; the data of the key transaction's own entity were still read.
    const isSeen = applicationId !== undefined && timeslices.account.memory.isListed(applicationId);
    const error =
      own?.failureOf(undefined) ?? (ofOwner?.failure.reason === 'forbidden' && !isSeen ? undefined : ofOwner);
    if (error !== undefined) return { error };
    const metrics = owner?.rows.get(ITSELF);
    const apdex = metrics?.get(apdexName(known) ?? '');
    const row = own?.rowsOf(undefined).get(ITSELF);
    return { value: keyTransactionOf(row, apdex, metrics !== undefined, own?.seconds ?? KEY_TRANSACTION_SECONDS) };
  };

  return {
    plan: (subjects, range) => {
      const planned = planRows(timeslices, reads, subjects, range);
      const taken = planned.subjects.filter(isOfKeyTransaction);
      if (taken.length === 0) {
        return eachAlone(planned, (subject, rows) =>
          rollingOf(rows.rowsOf(subject.kind === 'host' ? subject.hostKey : undefined), rows.seconds ?? SECONDS),
        );
      }
      // Key transactions need a query of their own, and one more for their owners.
      const owners = timeslices.plan(partsOf(ownersOf(taken)), OWNERS);
      return {
        count: taken.length,
        calls: planned.calls + owners.length,
        read: async (call) => {
          const [found, ofOwners] = await Promise.all([
            planned.find(call),
            timeslices.read(owners, queryOver(OWNERS, range), call),
          ]);
          return taken.map((subject) => ofKeyTransaction(subject, found, ofOwners));
        },
      };
    },
  };
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
