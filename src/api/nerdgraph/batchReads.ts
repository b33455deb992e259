import type { KeyTransactionDetails } from './accountMemory.ts';
import { hostsJoined, takeSubjects, type NeededPart, type QueryKind, type QueryPart } from './batching.ts';
import { aligned } from './nrql.ts';
import { ITSELF, SubjectRows, type FoundRows, type TimesliceQuery } from './rows.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { countQueries, readTimeslices } from './timeslices.ts';
import { MetricSelector, ZERO_WITHOUT_ROW } from './metricSelector.ts';
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
import { isDatastore, METRIC, isApdex, known, type Columns } from '../../formulas/metricInputs.ts';
import { NEED_SQUARES, SIGN_OF_LIFE, valuesOf } from '../../formulas/valueFormulas.ts';
import type { Host, RollingValues, RollingSummary } from '../types.ts';
import { UpstreamError } from '../upstreamError.ts';
import { HOUR_S } from '../../formulas/units.ts';
import { apdexScore } from '../../formulas/derivedValues.ts';

/** Reads data in rows: the fewest queries for the subjects that fit into a call. */
export function rowsRead<S, V, R extends TimeRange = TimeRange>(
  account: NerdGraphAccount,
  reads: {
    /** The parts of queries for a subject, each of another kind; none: it needs no query. */
    readonly partsOf: (subject: S) => readonly NeededPart[];
    /** Subjects with different keys share no call; by default the kind of the first part. */
    readonly keyOf?: (subject: S) => string;
    /** The range of a call, by its first subject. */
    readonly rangeOf?: (first: S, range: R) => R;
    /** Limit for the rows of a query over this range, in place of that of its kind. */
    readonly maxRows?: (range: R) => number;
    /** The queries for parts of one kind, whose rows are put together; by default one over the range. */
    readonly queriesOf?: (parts: readonly QueryPart[], kind: QueryKind, range: R) => readonly TimesliceQuery[];
    readonly read?: typeof readTimeslices;
    /** The value of a subject from the rows of its parts, `own` of the first; throws the UpstreamError of one without a value. */
    readonly valueOf: (
      subject: S,
      read: {
        readonly own: SubjectRows;
        readonly parts: readonly NeededPart[];
        readonly rowsOf: (part: Pick<NeededPart, 'kind' | 'id'>) => SubjectRows;
        readonly range: R;
      },
    ) => V;
  },
): BatchRead<S, V, R> {
  const { partsOf, keyOf, rangeOf, queriesOf = oneQuery, read = readTimeslices, valueOf } = reads;
  const { memory } = account;
  return {
    plan: <T extends S>(subjects: Iterable<T>, requested: R): PlannedCall<T, V> => {
      const maxRows = reads.maxRows?.(requested);
      const { taken, first, kinds, isOne } = takeSubjects<T>(subjects, memory, partsOf, keyOf, maxRows);
      const range = rangeOf?.(first, requested) ?? requested;
      const queries = (): readonly (readonly [QueryKind, readonly TimesliceQuery[]])[] =>
        [...kinds].map((kind) => {
          const parts = taken.flatMap((each) => each.parts.filter((part) => part.kind === kind));
          const needsSquares = parts.some(({ selector }) => selector.needsSquares);
          const query = { ...kind, ...(needsSquares ? { columns: 'squares' as const } : {}) };
          return [kind, queriesOf(hostsJoined(parts), maxRows === undefined ? query : { ...query, maxRows }, range)];
        });
      // Several subjects need one query of each kind, so that thousands are counted without making any.
      const isCounted = isOne || !memory.failures.isEmpty || kinds.has(ROLLING.keyTransaction);
      const calls = isCounted ? queries().reduce((sum, [, each]) => sum + countQueries(memory, each), 0) : kinds.size;
      return {
        subjects: taken.map(({ subject }) => subject),
        calls: Math.max(1, calls),
        read: async (call) => {
          const found = new Map<QueryKind, FoundRows>();
          const ofKinds = queries().map(async ([kind, each]) => {
            found.set(kind, joined(await Promise.all(each.map((query) => read(account, query, call)))));
          });
          await Promise.all(ofKinds);
          const rowsOf = ({ kind, id }: Pick<NeededPart, 'kind' | 'id'>): SubjectRows =>
            found.get(kind)?.get(id) ?? new SubjectRows();
          const outcomes: Outcome<V>[] = [];
          for (const { subject, parts } of taken) {
            const [part] = parts;
            const own = part === undefined ? new SubjectRows() : rowsOf(part);
            try {
              const error = part?.kind.golden === undefined ? own.failureOf(part?.hosts?.[0]) : undefined;
              if (error !== undefined) throw error;
              outcomes.push({ value: valueOf(subject, { own, parts, rowsOf, range }) });
            } catch (failure) {
              if (!(failure instanceof UpstreamError)) throw failure;
              outcomes.push({ error: failure });
            }
          }
          return outcomes;
        },
      };
    },
  };
}

function oneQuery(parts: readonly QueryPart[], kind: QueryKind, range: TimeRange): readonly TimesliceQuery[] {
  const { seconds } = kind;
  return [
    { ...kind, parts, range: seconds === undefined ? range : aligned({ from: range.to - seconds, to: range.to }) },
  ];
}

/** The rows of several queries; those of later ones are appended. */
function joined([first = new Map(), ...others]: readonly FoundRows[]): FoundRows {
  if (others.length === 0) return first;
  const all = new Map(first);
  for (const [id, rows] of others.flatMap((each) => [...each])) {
    const before = all.get(id);
    if (before === undefined) all.set(id, rows);
    else before.append(rows);
  }
  return all;
}

/** Metrics of page loads, which belong to no host. */
const BROWSER_METRICS: readonly string[] = [METRIC.endUser, METRIC.endUserApdex];

type Scope = 'application' | 'host' | 'names';

/** The selectors of queries for a selection of metrics, each made at its first use. */
const selectors = new WeakMap<MetricSelection, Partial<Record<Scope, MetricSelector>>>();

/** @param scope `names`: the requested names alone; otherwise what the scope has, with datastores and the sign of life */
export function selectorOf(selection: MetricSelection, scope: Scope): MetricSelector {
  const made = selectors.get(selection) ?? {};
  selectors.set(selection, made);
  const before = made[scope];
  if (before !== undefined) return before;
  const { names, values } = selection;
  if (scope === 'names') return (made.names = new MetricSelector(names));
  const isRead = (name: string): boolean =>
    !isDatastore(name) && name !== SIGN_OF_LIFE && !(scope === 'host' && BROWSER_METRICS.includes(name));
  const needsSquares = names.some((name) => values?.get(name)?.some((value) => NEED_SQUARES.has(value)) === true);
  return (made[scope] = new MetricSelector([...names.filter(isRead), SIGN_OF_LIFE], [], true, needsSquares));
}

/** The queries of metric data; those of series have the same rows, one for each bucket. */
const METRIC_DATA = {
  application: { read: 'application_metrics', groupBy: 'application' },
  host: { read: 'host_metrics', groupBy: 'host' },
} as const satisfies Record<string, QueryKind>;

/** The parts of a query for the metric data of a subject. */
export function metricDataParts({ applicationId, hostKey, metrics }: MetricDataSubject): readonly NeededPart[] {
  const [scope, hosts] = hostKey === undefined ? (['application'] as const) : (['host', [hostKey]] as const);
  return [{ id: applicationId, hosts, selector: selectorOf(metrics, scope), kind: METRIC_DATA[scope] }];
}

/** Reads summarized metric data of applications or of hosts, one query for many. */
export function metricDataRead(account: NerdGraphAccount): BatchRead<MetricDataSubject, MetricDataResult> {
  return rowsRead(account, {
    partsOf: metricDataParts,
    valueOf: ({ hostKey = ITSELF, metrics }, { own: { rows, window }, range }) =>
      metricDataOf(metrics, rows.get(hostKey) ?? new Map<string, Columns>(), window ?? range),
  });
}

const HOST_LISTS: QueryKind = { read: 'hosts', groupBy: 'host', columns: 'names', seconds: HOUR_S };

/** Reads the hosts that reported in the hour before the end of the range, because the interface has no list of hosts. */
export function hostsRead(account: NerdGraphAccount): BatchRead<ApplicationSubject, readonly Host[]> {
  const selector = new MetricSelector([SIGN_OF_LIFE, METRIC.web]);
  return rowsRead(account, {
    partsOf: ({ applicationId }) => [{ id: applicationId, selector, kind: HOST_LISTS }],
    // Hosts have no id in this interface, so the name identifies them.
    valueOf: ({ applicationId }, { own }) => {
      const language = account.memory.applications.get(applicationId)?.language;
      return [...own.rows.keys()].sort().map((host) => ({ key: host, host, language }));
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
 * Reads rolling values from timeslices, and those of key transactions from the data of their own entities and applications: no
 * public page documents the window and scale of New Relic's own figures.
 */
export function rollingRead(account: NerdGraphAccount): BatchRead<RollingSubject, RollingValues> {
  const { memory } = account;
  const hostMetrics = [SIGN_OF_LIFE, METRIC.web, METRIC.nonWeb, METRIC.errors, METRIC.apdex];
  const host = new MetricSelector(hostMetrics);
  const application = new MetricSelector([...hostMetrics, ...BROWSER_METRICS]);
  const keyTransaction = new MetricSelector([]);
  return rowsRead(account, {
    partsOf: ({ applicationId = 0, hostKey, keyTransactionId }) => {
      if (keyTransactionId === undefined) {
        if (hostKey === undefined) return [{ id: applicationId, selector: application, kind: ROLLING.application }];
        return [{ id: applicationId, hosts: [hostKey], selector: host, kind: ROLLING.host }];
      }
      const known = memory.keyTransactions.get(keyTransactionId);
      if (known === undefined || known instanceof UpstreamError) return [];
      const displayName = JSON.stringify(known.name.slice(0, LONGEST_NAME_SHOWN));
      const { guid: id } = known;
      return [{ id, selector: keyTransaction, displayName, keyTransaction: known, kind: ROLLING.keyTransaction }];
    },
    queriesOf: (parts, kind, range) =>
      kind.groupBy === 'key_transaction'
        ? [...oneQuery(parts, kind, range), ...oneQuery(ownersOf(parts), ROLLING.owners, range)]
        : oneQuery(parts, kind, range),
    valueOf: ({ hostKey, keyTransactionId }, { own, parts, rowsOf }) => {
      const { from = 0, to = SECONDS } = own.window ?? {};
      if (keyTransactionId === undefined) return rollingOf(own.rows.get(hostKey ?? ITSELF) ?? new Map(), to - from);
      const ownerOf = (id: number): SubjectRows => rowsOf({ kind: ROLLING.keyTransaction, id });
      return keyTransactionValues(account, keyTransactionId, parts[0]?.keyTransaction, own, ownerOf);
    },
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
  details: KeyTransactionDetails | undefined,
  rows: SubjectRows,
  ownerOf: (applicationId: number) => SubjectRows,
): RollingValues {
  if (details === undefined) {
    const known = memory.keyTransactions.get(id);
    if (known instanceof UpstreamError) throw known;
    throw transport.failure('key_transactions', `key transaction ${id} is not on the list`, 'not_found');
  }
  const { applicationId } = details;
  const owner = applicationId === undefined ? undefined : ownerOf(applicationId);
  const error = owner?.failureOf(undefined);
  // Without permission for an application outside the list, the data of the key transaction's own entity are used alone.
  const isListed = applicationId !== undefined && memory.applications.has(applicationId);
  if (error !== undefined && (error.failure.reason !== 'forbidden' || isListed)) throw error;
  const metrics = owner?.rows.get(ITSELF);
  const apdex = metrics?.get(apdexName(details) ?? '');
  const row = rows.rows.get(ITSELF)?.get(ITSELF);
  const { from = 0, to = KEY_TRANSACTION_SECONDS } = rows.window ?? {};
  return keyTransactionOf(row, apdex, metrics !== undefined, to - from);
}

const WEB_TRANSACTION = 'WebTransaction/';

/** The application's Apdex metric for the transaction; this name is inferred, no page of New Relic has it. */
function apdexName({ transactionName = '' }: KeyTransactionDetails): string | undefined {
  if (transactionName === '') return undefined;
  const isWeb = transactionName.startsWith(WEB_TRANSACTION);
  return `Apdex/${isWeb ? transactionName.slice(WEB_TRANSACTION.length) : transactionName}`;
}

const NO_CALLS: Columns = { count: 0, sum: 0, exclusive: 0 };

/**
 * The metric data of an application or host over one window: the rows, with what families and custom metrics read of each. New Relic
 * returns no row where nothing happened, so three metrics without a row are 0 if there is any other row.
 */
export function metricDataOf(
  { names, values }: MetricSelection,
  rows: Map<string, Columns>,
  window: TimeRange,
): MetricDataResult {
  for (const name of rows.size === 0 ? [] : ZERO_WITHOUT_ROW) {
    if (!rows.has(name) && names.includes(name)) rows.set(name, NO_CALLS);
  }
  const seconds = window.to - window.from;
  const ofCustom = new Map(Array.from(values ?? [], ([name, wanted]) => [name, valuesOf(name, wanted, rows, seconds)]));
  for (const [name, row] of rows) {
    const own = ofCustom.get(name);
    const read = isApdex(name) ? row : { count: row.count, sum: row.sum };
    rows.set(name, own === undefined ? read : { ...read, values: own });
  }
  return { window, metrics: rows, datastores: [...rows.keys()].filter(isDatastore).sort() };
}

/**
 * The rolling values of an application or a host from its rows over the last minutes. A value is absent without rows, or
 * where its denominator is 0. The Apdex target of an application comes with the list.
 */
export function rollingOf(rows: ReadonlyMap<string, Columns>, seconds: number): RollingValues {
  const reports = rows.size > 0;
  const count = (name: string): number | undefined => rows.get(name)?.count ?? (reports ? 0 : undefined);
  const web = count(METRIC.web);
  const errors = count(METRIC.errors);
  const summary: RollingSummary = {
    responseTime: ratio(rows.get(METRIC.web)?.sum ?? 0, web),
    requestRate: ratio(web, seconds),
    errorRate: ratio(errors, (web ?? 0) + (count(METRIC.nonWeb) ?? 0)),
    apdexScore: known(apdexScore(rows.get(METRIC.apdex))),
  };
  const views = rows.get(METRIC.endUser);
  const verdicts = rows.get(METRIC.endUserApdex);
  if (views === undefined && verdicts === undefined) return { summary };
  return {
    summary,
    endUserSummary: {
      responseTime: ratio(views?.sum, views?.count),
      requestRate: ratio(views?.count, seconds),
      apdexTarget: verdicts?.max,
      apdexScore: known(apdexScore(verdicts)),
    },
  };
}

/**
 * The rolling values of a key transaction, from its entity and from the Apdex metric of its transaction.
 *
 * @param reports true if the owning application has rows, so that a missing `row` means no requests
 */
export function keyTransactionOf(
  row: Columns | undefined,
  apdex: Columns | undefined,
  reports: boolean,
  seconds: number,
): RollingValues {
  const count = row?.count ?? (reports ? 0 : undefined);
  const summary: RollingSummary = {
    responseTime: ratio(row?.sum ?? 0, count),
    requestRate: ratio(count, seconds),
    errorRate: ratio(row?.exclusive, row?.count),
    apdexScore: row === undefined ? undefined : known(apdexScore(apdex)),
  };
  return { summary };
}

/** Undefined without data, for a whole that is not positive, and for a result that is not finite. */
function ratio(part = NaN, whole = NaN): number | undefined {
  return whole > 0 ? known(part / whole) : undefined;
}
