import type { AccountMemory, KeyTransactionDetails } from './accountMemory.ts';
import {
  partsOf,
  takeSubjects,
  type BatchSubject,
  type QueryKind,
  type QueryPart,
  type TakenSubject,
} from './batching.ts';
import { aligned } from './nrql.ts';
import { ITSELF, SubjectRows, type FoundRows, type TimesliceQuery } from './rows.ts';
import { keyTransactionOf, rollingOf, ValueMapper } from './rowValues.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { planLater, planTimeslices, type PlannedQueries } from './timeslices.ts';
import { MetricSelector } from './metricSelector.ts';
import type {
  ApplicationSubject,
  BatchRead,
  MetricDataResult,
  MetricDataSubject,
  MetricSelection,
  Outcome,
  PlannedCall,
  RollingSubject,
  TimeRange,
} from '../upstreamReader.ts';
import { inSlices } from '../../eventLoop/turns.ts';
import { isDatastore, METRIC } from '../../formulas/metricInputs.ts';
import { SIGN_OF_LIFE } from '../../formulas/valueFormulas.ts';
import { CallFailure } from '../http/callFailure.ts';
import { UpstreamError, type Host, type RollingValues } from '../types.ts';
import { HOUR_S } from '../../formulas/units.ts';

/** The way to query the rows of a kind of data. A call carries subjects of one kind of query. */
interface RowsQuery<S, R extends TimeRange = TimeRange> {
  kindOf(subject: S): QueryKind;
  /** The part of the query for a subject; undefined: the subject needs no query. */
  subjectOf(subject: S): BatchSubject | undefined;
  /** Limit for the rows of a query over this range, in place of that of its kind. */
  maxRows?(range: R): number;
  /** Plans the queries of a call, where each batch needs more than one query over the range. */
  plan?(parts: readonly QueryPart[], kind: QueryKind, range: R): PlannedQueries;
}

/** A planned call and its subjects. */
interface PlannedRows<S> extends PlannedQueries {
  readonly taken: readonly TakenSubject<S>[];
}

/** Plans the next call: the subjects that fit, and the fewest queries for their rows. */
function planRows<S, R extends TimeRange>(
  account: NerdGraphAccount,
  reads: RowsQuery<S, R>,
  subjects: Iterable<S>,
  range: R,
): PlannedRows<S> {
  const { taken, kind, isOne } = takeSubjects(reads, subjects, account.memory, reads.maxRows?.(range));
  const { calls, read } = planLater(isOne, () => {
    const parts = partsOf(taken.flatMap(({ request }) => request ?? []));
    const needsSquares = taken.some(({ request }) => request?.needsSquares === true);
    const query = needsSquares ? ({ ...kind, columns: 'squares' } as const) : kind;
    return reads.plan?.(parts, query, range) ?? planTimeslices(account, parts, queryOver(query, range));
  });
  return { taken, calls: Math.max(1, calls), read };
}

function queryOver(kind: QueryKind, range: TimeRange): TimesliceQuery {
  const { seconds } = kind;
  return { ...kind, range: seconds === undefined ? range : aligned({ from: range.to - seconds, to: range.to }) };
}

/** The rows of a subject, or the error of its request; no rows for a subject without a request. */
function rowsOfRequest(request: BatchSubject | undefined, found: FoundRows): SubjectRows | UpstreamError {
  const rows = request === undefined ? undefined : found.get(request.id);
  return rows?.failureOf(request?.host) ?? rows ?? new SubjectRows();
}

/** The read of a kind of data that is calculated, for each subject, from its own rows. */
export function rowsRead<S, V, R extends TimeRange = TimeRange>(
  account: NerdGraphAccount,
  reads: RowsQuery<S, R> & {
    valueOf(subject: S, found: SubjectRows, range: R): V;
  },
): BatchRead<S, V, R> {
  return {
    plan: (subjects, range) =>
      fromOwnRows(planRows(account, reads, subjects, range), (subject, rows) => reads.valueOf(subject, rows, range)),
  };
}

function fromOwnRows<S, V>(
  { taken, calls, read }: PlannedRows<S>,
  valueOf: (subject: S, rows: SubjectRows) => V,
): PlannedCall<S, V> {
  return {
    subjects: taken.map(({ subject }) => subject),
    calls,
    read: async (call) => {
      const found = await read(call);
      const outcomes: Outcome<V>[] = [];
      await inSlices(taken, ({ subject, request }) => {
        const rows = rowsOfRequest(request, found);
        outcomes.push(rows instanceof UpstreamError ? { error: rows } : { value: valueOf(subject, rows) });
      });
      return outcomes;
    },
  };
}

/** Metrics of page loads, which belong to no host. */
const BROWSER_METRICS: readonly string[] = [METRIC.endUser, METRIC.endUserApdex];

/** A selection of metrics, with the selectors of its queries and the mapper of their rows, each made at its first use. */
export class QuerySelection implements MetricSelection {
  readonly names: readonly string[];
  readonly values: MetricSelection['values'];
  readonly #selectors: Partial<Record<'application' | 'host' | 'names', MetricSelector>> = {};
  #mapper: ValueMapper | undefined;

  constructor(names: readonly string[], values?: MetricSelection['values']) {
    this.names = names;
    this.values = values;
  }

  static of(selection: MetricSelection): QuerySelection {
    if (selection instanceof QuerySelection) return selection;
    throw new TypeError('the selection was made by a reader of another interface');
  }

  get mapper(): ValueMapper {
    return (this.#mapper ??= new ValueMapper(this.names, this.values));
  }

  /**
   * @param scope `names`: the requested names alone; otherwise only names that an application or a host can have, with its
   * datastores and the metric that shows whether it reports
   */
  selectorOf(scope: 'application' | 'host' | 'names'): MetricSelector {
    return (this.#selectors[scope] ??= this.#newSelector(scope));
  }

  #newSelector(scope: 'application' | 'host' | 'names'): MetricSelector {
    if (scope === 'names') return new MetricSelector(this.names);
    const isRead = (name: string): boolean =>
      !isDatastore(name) && name !== SIGN_OF_LIFE && !(scope === 'host' && BROWSER_METRICS.includes(name));
    return new MetricSelector([...this.names.filter(isRead), SIGN_OF_LIFE], [], true);
  }
}

/** The part of a query for the metric data of a subject. */
export function metricDataOf({ applicationId, hostKey, metrics }: MetricDataSubject): BatchSubject {
  const selection = QuerySelection.of(metrics);
  const selector = selection.selectorOf(hostKey === undefined ? 'application' : 'host');
  return { id: applicationId, host: hostKey, selector, needsSquares: selection.mapper.needsSquares };
}

const METRIC_DATA = {
  application: { name: 'application metrics', group: 'application_metrics', groupBy: 'application' },
  host: { name: 'host metrics', group: 'host_metrics', groupBy: 'host' },
} as const satisfies Record<string, QueryKind>;

/** Reads summarized metric data of applications or of hosts, one query for many. */
export function metricDataRead(account: NerdGraphAccount): BatchRead<MetricDataSubject, MetricDataResult> {
  return rowsRead(account, {
    kindOf: ({ hostKey }) => METRIC_DATA[hostKey === undefined ? 'application' : 'host'],
    subjectOf: metricDataOf,
    valueOf: ({ hostKey, metrics }, found, range) =>
      QuerySelection.of(metrics).mapper.resultOf(found.rowsOf(hostKey), found.window ?? range),
  });
}

const HOST_LISTS: QueryKind = {
  name: 'host lists',
  group: 'hosts',
  groupBy: 'host',
  columns: 'names',
  seconds: HOUR_S,
};

/** Reads the hosts that reported in the hour before the end of the range, because the interface has no list of hosts. */
export function hostsRead(account: NerdGraphAccount): BatchRead<ApplicationSubject, readonly Host[]> {
  const selector = new MetricSelector([SIGN_OF_LIFE, METRIC.web]);
  return rowsRead(account, {
    kindOf: () => HOST_LISTS,
    subjectOf: ({ applicationId }) => ({ id: applicationId, selector }),
    // Hosts have no id in this interface, so the name identifies them.
    valueOf: ({ applicationId }, found) => {
      const language = account.memory.language(applicationId);
      const names = [...found.rows.keys()].sort();
      return names.map((host) => ({ key: host, host, language, healthStatus: undefined, summary: undefined }));
    },
  });
}

/** The lengths of the windows of rolling values, in seconds: of key transactions, and of applications and hosts. */
const KEY_TRANSACTION_SECONDS = 600;
const SECONDS = 240;

const ROLLING = {
  application: { name: 'rolling applications', group: 'applications', groupBy: 'application', seconds: SECONDS },
  host: { name: 'rolling hosts', group: 'hosts', groupBy: 'host', seconds: SECONDS },
  key_transaction: {
    name: 'key transactions',
    group: 'key_transactions',
    groupBy: 'key_transaction',
    seconds: KEY_TRANSACTION_SECONDS,
  },
} as const satisfies Record<RollingSubject['kind'], QueryKind>;
const OWNERS: QueryKind = {
  name: 'owners of key transactions',
  group: 'key_transactions',
  groupBy: 'application',
  seconds: KEY_TRANSACTION_SECONDS,
};

type KeyTransactionSubject = Extract<RollingSubject, { kind: 'key_transaction' }>;

const LONGEST_NAME_SHOWN = 120;

/**
 * Reads rolling values: of applications and hosts from their timeslices, of key transactions from the data of their own
 * entities and from the timeslices of their applications. New Relic's own figures are not used, because no public page
 * documents their window and scale.
 */
export function rollingRead(account: NerdGraphAccount): BatchRead<RollingSubject, RollingValues> {
  const { memory, transport } = account;
  const hostMetrics = [SIGN_OF_LIFE, METRIC.web, METRIC.nonWeb, METRIC.errors, METRIC.apdex];
  const host = new MetricSelector(hostMetrics);
  const application = new MetricSelector([...hostMetrics, ...BROWSER_METRICS]);
  const keyTransaction = new MetricSelector([]);
  const reads: RowsQuery<RollingSubject> = {
    kindOf: ({ kind }) => ROLLING[kind],
    subjectOf: (subject) => {
      if (subject.kind === 'application') return { id: subject.applicationId, selector: application };
      if (subject.kind === 'host') return { id: subject.applicationId, host: subject.hostKey, selector: host };
      const known = memory.keyTransactions.get(subject.keyTransactionId);
      if (known === undefined || known instanceof UpstreamError) return undefined;
      const displayName = JSON.stringify(known.name.slice(0, LONGEST_NAME_SHOWN));
      return { id: known.guid, selector: keyTransaction, displayName };
    },
  };
  /** The applications of key transactions, with the metrics to read: signs that it reports, and the Apdex. */
  const ownersOf = (subjects: readonly KeyTransactionSubject[]): BatchSubject[] => {
    const names = new Map<number, Set<string>>();
    for (const { keyTransactionId } of subjects) {
      const known = memory.keyTransactions.get(keyTransactionId);
      if (known === undefined || known instanceof UpstreamError || known.applicationId === undefined) continue;
      const apdex = apdexName(known);
      const list = names.get(known.applicationId) ?? new Set([SIGN_OF_LIFE, METRIC.web, METRIC.nonWeb]);
      names.set(known.applicationId, apdex === undefined ? list : list.add(apdex));
    }
    return [...names].map(([id, list]) => ({ id, selector: new MetricSelector([...list]) }));
  };

  const keyTransactionOutcome = (
    { keyTransactionId: id }: KeyTransactionSubject,
    listed: AccountMemory['keyTransactions'],
    found: FoundRows,
    owners: FoundRows,
  ): Outcome<RollingValues> => {
    const known = listed.get(id);
    if (known instanceof UpstreamError) return { error: known };
    if (known === undefined) {
      const failure = new CallFailure('not_found', `key transaction ${id} is not on the list`);
      return { error: transport.reportFailure('key_transactions', failure) };
    }
    const { guid, applicationId } = known;
    const own = found.get(guid);
    const owner = applicationId === undefined ? undefined : owners.get(applicationId);
    const ownerError = owner?.failureOf(undefined);
    // Without permission for an application outside the list, the data of the key transaction's own entity are used alone.
    const isListed = applicationId !== undefined && memory.isListed(applicationId);
    const error =
      own?.failureOf(undefined) ?? (ownerError?.failure.reason === 'forbidden' && !isListed ? undefined : ownerError);
    if (error !== undefined) return { error };
    const metrics = owner?.rows.get(ITSELF);
    const apdex = metrics?.get(apdexName(known) ?? '');
    const row = own?.rowsOf(undefined).get(ITSELF);
    return { value: keyTransactionOf(row, apdex, metrics !== undefined, own?.seconds ?? KEY_TRANSACTION_SECONDS) };
  };

  return {
    plan: (subjects, range) => {
      const planned = planRows(account, reads, subjects, range);
      const taken = planned.taken.map(({ subject }) => subject).filter((subject) => subject.kind === 'key_transaction');
      if (taken.length === 0) {
        return fromOwnRows(planned, (subject, rows) =>
          rollingOf(rows.rowsOf(subject.kind === 'host' ? subject.hostKey : undefined), rows.seconds ?? SECONDS),
        );
      }
      // Key transactions need a query of their own, and one more for their owners.
      const owners = planTimeslices(account, partsOf(ownersOf(taken)), queryOver(OWNERS, range));
      // A list that is read meanwhile may name other entities, which the planned queries do not read.
      const listed = memory.keyTransactions;
      return {
        subjects: taken,
        calls: planned.calls + owners.calls,
        read: async (call) => {
          const [found, ofOwners] = await Promise.all([planned.read(call), owners.read(call)]);
          return taken.map((subject) => keyTransactionOutcome(subject, listed, found, ofOwners));
        },
      };
    },
  };
}

const WEB_TRANSACTION = 'WebTransaction/';

/** The application's Apdex metric for the transaction; this name is inferred, no page of New Relic has it. */
function apdexName({ transactionName = '' }: KeyTransactionDetails): string | undefined {
  if (transactionName === '') return undefined;
  const isWeb = transactionName.startsWith(WEB_TRANSACTION);
  return `Apdex/${isWeb ? transactionName.slice(WEB_TRANSACTION.length) : transactionName}`;
}
