import type { KeyTransactionDetails } from './accountMemory.ts';
import { partsOf, takeSubjects, type QueryKind, type QueryPart } from './batching.ts';
import { aligned } from './nrql.ts';
import { ITSELF, SubjectRows, type FoundRows, type TimesliceQuery } from './rows.ts';
import { keyTransactionOf, metricDataOf, rollingOf } from './rowValues.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { countQueries, readTimeslices, type PartsQuery } from './timeslices.ts';
import { MetricSelector } from './metricSelector.ts';
import type {
  ApplicationSubject,
  BatchRead,
  CallOptions,
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
import { NEED_SQUARES, SIGN_OF_LIFE } from '../../formulas/valueFormulas.ts';
import { CallFailure } from '../http/callFailure.ts';
import type { Host, RollingValues } from '../types.ts';
import { UpstreamError } from '../upstreamError.ts';
import { HOUR_S } from '../../formulas/units.ts';

/** How data are read in rows. A call carries subjects of one kind of query. */
interface RowsQuery<S, V, R extends TimeRange> {
  kindOf(subject: S): QueryKind;
  /** The part of the query for a subject; undefined: the subject needs no query. */
  subjectOf(subject: S): QueryPart | undefined;
  /** Limit for the rows of a query over this range, in place of that of its kind. */
  maxRows?(range: R): number;
  /** The queries of a call; by default one over the range. */
  queriesOf?(parts: readonly QueryPart[], kind: QueryKind, range: R): readonly PartsQuery[];
  /** Reads the queries of a call; by default each for itself. Rejects only with the reason of the signal. */
  read?(queries: readonly PartsQuery[], call: CallOptions): Promise<readonly FoundRows[]>;
  /**
   * The value of a subject from its rows in the first query; `others` are those of further queries. Throws the UpstreamError of a
   * subject that has none.
   */
  valueOf(subject: S, rows: SubjectRows, range: R, request: QueryPart | undefined, others: readonly FoundRows[]): V;
}

/** Reads data in rows: the fewest queries for the subjects that fit into a call. */
export function rowsRead<S, V, R extends TimeRange = TimeRange>(
  account: NerdGraphAccount,
  reads: RowsQuery<S, V, R>,
): BatchRead<S, V, R> {
  return {
    plan: <T extends S>(subjects: Iterable<T>, range: R): PlannedCall<T, V> => {
      const { taken, kind, isOne } = takeSubjects<T>(reads, subjects, account.memory, reads.maxRows?.(range));
      const queries = (): readonly PartsQuery[] => {
        const requests = taken.flatMap(({ request }) => request ?? []);
        const parts = partsOf(requests);
        const needsSquares = requests.some((request) => request.needsSquares === true);
        const query = needsSquares ? ({ ...kind, columns: 'squares' } as const) : kind;
        return reads.queriesOf?.(parts, query, range) ?? [{ parts, query: queryOver(query, range) }];
      };
      // Several subjects need one query, so that thousands are counted without making any; key transactions need one more.
      const isCounted = isOne || kind.groupBy === 'key_transaction';
      return {
        subjects: taken.map(({ subject }) => subject),
        calls: isCounted ? Math.max(1, countQueries(account, queries())) : 1,
        read: async (call) => {
          const planned = queries();
          const [found, ...others] =
            (await reads.read?.(planned, call)) ??
            (await Promise.all(planned.map((each) => readTimeslices(account, each, call))));
          const outcomes: Outcome<V>[] = [];
          await inSlices(taken, ({ subject, request }) => {
            const rows = (request === undefined ? undefined : found?.get(request.id)) ?? new SubjectRows();
            const error = request === undefined ? undefined : rows.failureOf(request.hosts?.[0]);
            try {
              if (error !== undefined) throw error;
              outcomes.push({ value: reads.valueOf(subject, rows, range, request, others) });
            } catch (failure) {
              if (!(failure instanceof UpstreamError)) throw failure;
              outcomes.push({ error: failure });
            }
          });
          return outcomes;
        },
      };
    },
  };
}

function queryOver(kind: QueryKind, range: TimeRange): TimesliceQuery {
  const { seconds } = kind;
  return { ...kind, range: seconds === undefined ? range : aligned({ from: range.to - seconds, to: range.to }) };
}

/** Metrics of page loads, which belong to no host. */
const BROWSER_METRICS: readonly string[] = [METRIC.endUser, METRIC.endUserApdex];

/** A selection of metrics, with the selectors of its queries, each made at its first use. */
export class QuerySelection implements MetricSelection {
  readonly names: readonly string[];
  readonly values: MetricSelection['values'];
  readonly #selectors: Partial<Record<'application' | 'host' | 'names', MetricSelector>> = {};
  /** True if one of the values needs the sum of squares. */
  readonly needsSquares: boolean;

  constructor(names: readonly string[], values?: MetricSelection['values']) {
    this.names = names;
    this.values = values;
    this.needsSquares = names.some((name) => values?.(name)?.some((value) => NEED_SQUARES.has(value)) === true);
  }

  static of(selection: MetricSelection): QuerySelection {
    if (selection instanceof QuerySelection) return selection;
    throw new TypeError('the selection was made by a reader of another interface');
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

function hostsOf(hostKey: string | undefined): QueryPart['hosts'] {
  return hostKey === undefined ? undefined : [hostKey];
}

/** The part of a query for the metric data of a subject. */
export function metricDataSubject({ applicationId, hostKey, metrics }: MetricDataSubject): QueryPart {
  const selection = QuerySelection.of(metrics);
  const selector = selection.selectorOf(hostKey === undefined ? 'application' : 'host');
  return { id: applicationId, hosts: hostsOf(hostKey), selector, needsSquares: selection.needsSquares };
}

/** The queries of metric data; those of series have the same rows, one for each bucket. */
export const METRIC_DATA = {
  application: { read: 'application_metrics', groupBy: 'application' },
  host: { read: 'host_metrics', groupBy: 'host' },
} as const satisfies Record<string, QueryKind>;

/** Reads summarized metric data of applications or of hosts, one query for many. */
export function metricDataRead(account: NerdGraphAccount): BatchRead<MetricDataSubject, MetricDataResult> {
  return rowsRead(account, {
    kindOf: ({ hostKey }) => METRIC_DATA[hostKey === undefined ? 'application' : 'host'],
    subjectOf: metricDataSubject,
    valueOf: ({ hostKey, metrics }, found, range) =>
      metricDataOf(metrics, found.rowsOf(hostKey), found.window ?? range),
  });
}

const HOST_LISTS: QueryKind = { read: 'hosts', groupBy: 'host', columns: 'names', seconds: HOUR_S };

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
  application: { read: 'application_rolling', groupBy: 'application', seconds: SECONDS },
  host: { read: 'host_rolling', groupBy: 'host', seconds: SECONDS },
  keyTransaction: { read: 'key_transaction_rolling', groupBy: 'key_transaction', seconds: KEY_TRANSACTION_SECONDS },
  owners: { read: 'key_transaction_rolling', groupBy: 'application', seconds: KEY_TRANSACTION_SECONDS },
} as const satisfies Record<string, QueryKind>;

const LONGEST_NAME_SHOWN = 120;

/**
 * Reads rolling values: of applications and hosts from their timeslices, of key transactions from the data of their own
 * entities and from the timeslices of their applications. New Relic's own figures are not used, because no public page
 * documents their window and scale.
 */
export function rollingRead(account: NerdGraphAccount): BatchRead<RollingSubject, RollingValues> {
  const { memory } = account;
  const hostMetrics = [SIGN_OF_LIFE, METRIC.web, METRIC.nonWeb, METRIC.errors, METRIC.apdex];
  const host = new MetricSelector(hostMetrics);
  const application = new MetricSelector([...hostMetrics, ...BROWSER_METRICS]);
  const keyTransaction = new MetricSelector([]);
  return rowsRead(account, {
    kindOf: ({ hostKey, keyTransactionId }) =>
      ROLLING[keyTransactionId !== undefined ? 'keyTransaction' : hostKey !== undefined ? 'host' : 'application'],
    subjectOf: ({ applicationId, hostKey, keyTransactionId }) => {
      const selector = hostKey === undefined ? application : host;
      if (keyTransactionId === undefined) return { id: applicationId ?? 0, hosts: hostsOf(hostKey), selector };
      const known = memory.keyTransactions.get(keyTransactionId);
      if (known === undefined || known instanceof UpstreamError) return undefined;
      const displayName = JSON.stringify(known.name.slice(0, LONGEST_NAME_SHOWN));
      return { id: known.guid, selector: keyTransaction, displayName, keyTransaction: known };
    },
    queriesOf: (parts, kind, range) => {
      const own = { parts, query: queryOver(kind, range) };
      if (kind.groupBy !== 'key_transaction') return [own];
      return [own, { parts: partsOf(ownersOf(parts)), query: queryOver(ROLLING.owners, range) }];
    },
    valueOf: ({ hostKey, keyTransactionId }, rows, _, request, [owners]) =>
      keyTransactionId === undefined
        ? rollingOf(rows.rowsOf(hostKey), rows.seconds ?? SECONDS)
        : keyTransactionValues(account, keyTransactionId, rows, request?.keyTransaction, owners),
  });
}

/** The applications of key transactions, with the metrics to read: signs that it reports, and the Apdex. */
function ownersOf(parts: readonly QueryPart[]): QueryPart[] {
  const names = new Map<number, Set<string>>();
  for (const { keyTransaction } of parts) {
    if (keyTransaction?.applicationId === undefined) continue;
    const apdex = apdexName(keyTransaction);
    const list = names.get(keyTransaction.applicationId) ?? new Set([SIGN_OF_LIFE, METRIC.web, METRIC.nonWeb]);
    names.set(keyTransaction.applicationId, apdex === undefined ? list : list.add(apdex));
  }
  return [...names].map(([id, list]) => ({ id, selector: new MetricSelector([...list]) }));
}

/** @param details as they were when the query was made; undefined: it was not made */
function keyTransactionValues(
  { memory, transport }: NerdGraphAccount,
  id: number,
  rows: SubjectRows,
  details: KeyTransactionDetails | undefined,
  owners: FoundRows = new Map(),
): RollingValues {
  if (details === undefined) {
    const known = memory.keyTransactions.get(id);
    if (known instanceof UpstreamError) throw known;
    const failure = new CallFailure('not_found', `key transaction ${id} is not on the list`);
    throw transport.reportFailure('key_transactions', failure);
  }
  const { applicationId } = details;
  const owner = applicationId === undefined ? undefined : owners.get(applicationId);
  const error = owner?.failureOf(undefined);
  // Without permission for an application outside the list, the data of the key transaction's own entity are used alone.
  const isListed = applicationId !== undefined && memory.isListed(applicationId);
  if (error !== undefined && (error.failure.reason !== 'forbidden' || isListed)) throw error;
  const metrics = owner?.rows.get(ITSELF);
  const apdex = metrics?.get(apdexName(details) ?? '');
  const row = rows.rowsOf(undefined).get(ITSELF);
  return keyTransactionOf(row, apdex, metrics !== undefined, rows.seconds ?? KEY_TRANSACTION_SECONDS);
}

const WEB_TRANSACTION = 'WebTransaction/';

/** The application's Apdex metric for the transaction; this name is inferred, no page of New Relic has it. */
function apdexName({ transactionName = '' }: KeyTransactionDetails): string | undefined {
  if (transactionName === '') return undefined;
  const isWeb = transactionName.startsWith(WEB_TRANSACTION);
  return `Apdex/${isWeb ? transactionName.slice(WEB_TRANSACTION.length) : transactionName}`;
}
