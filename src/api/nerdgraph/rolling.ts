import type { KeyTransactionDetails } from './accountMemory.ts';
import type { NeededPart, QueryKind, QueryPart } from './batching.ts';
import { BROWSER_METRICS } from './metricData.ts';
import { MetricSelector } from './metricSelector.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { NextCall, makeQueries, makeQuery, readQueries } from './nextCall.ts';
import { ITSELF, type FoundRows, type TimesliceQuery } from './rows.ts';
import { countQueries } from './timeslices.ts';
import type { BatchRead, Outcome, RollingSubject, TimeRange } from '../upstreamReader.ts';
import { apdexScore } from '../../formulas/derivedValues.ts';
import { finiteOrUndefined, METRIC, type Columns } from '../../formulas/metricInputs.ts';
import { SIGN_OF_LIFE } from '../../formulas/valueFormulas.ts';
import type { RollingSummary, RollingValues } from '../types.ts';
import { UpstreamError } from '../upstreamError.ts';

/** Windows of rolling values. */
const KEY_TRANSACTION_SECONDS = 600;
const SECONDS = 240;

const ROLLING = {
  application: { read: 'application_rolling', groupBy: 'application', seconds: SECONDS },
  host: { read: 'host_rolling', groupBy: 'host', seconds: SECONDS },
  keyTransaction: { read: 'key_transaction_rolling', groupBy: 'key_transaction', seconds: KEY_TRANSACTION_SECONDS },
  owners: { read: 'key_transaction_rolling', groupBy: 'application', seconds: KEY_TRANSACTION_SECONDS },
} as const satisfies Record<string, QueryKind>;

const LONGEST_NAME_SHOWN = 120;

const HOST_METRICS = [SIGN_OF_LIFE, METRIC.web, METRIC.nonWeb, METRIC.errors, METRIC.apdex];
const SELECTORS = {
  host: new MetricSelector(HOST_METRICS),
  application: new MetricSelector([...HOST_METRICS, ...BROWSER_METRICS]),
  keyTransaction: new MetricSelector([]),
};

/**
 * Reads rolling values from timeslices. Key transactions use data of their entities and applications instead. No public
 * page documents window and scale of the figures that New Relic calculates.
 */
export function createRollingRead(account: NerdGraphAccount): BatchRead<RollingSubject, RollingValues> {
  const { memory } = account;
  return {
    take<T extends RollingSubject>(subjects: Iterable<T>, range: TimeRange) {
      const next = new NextCall<T>(memory);
      for (const subject of subjects) if (!next.add(subject, makeParts(account, subject))) break;
      const hasKeyTransactions = next.parts[0]?.kind === ROLLING.keyTransaction;
      return hasKeyTransactions
        ? next.makeBatchWithCalls(countQueries(memory, makeQueriesWithOwners(next.parts, range)))
        : next.makeBatch(range);
    },
    async read(subjects, range, call) {
      // A list may arrive during the call.
      const parts = subjects.map((subject) => makeParts(account, subject)[0]);
      const known = parts.flatMap((part) => part ?? []);
      const found = await readQueries(account, makeQueriesWithOwners(known, range), call);
      return subjects.map((subject, index) => makeOutcome(account, found, subject, parts[index]));
    },
  };
}

/** Makes the parts of a subject; none for a key transaction whose entity is unknown. */
function makeParts(
  { memory }: NerdGraphAccount,
  { applicationId: id = 0, hostKey, keyTransactionId }: RollingSubject,
): readonly NeededPart[] {
  if (keyTransactionId === undefined) {
    return hostKey === undefined
      ? [{ id, selector: SELECTORS.application, kind: ROLLING.application }]
      : [{ id, hosts: [hostKey], selector: SELECTORS.host, kind: ROLLING.host }];
  }
  const keyTransaction = memory.keyTransactions.get(keyTransactionId);
  if (keyTransaction === undefined || keyTransaction instanceof UpstreamError) return [];
  const { guid, name } = keyTransaction;
  const displayName = JSON.stringify(name.slice(0, LONGEST_NAME_SHOWN));
  return [{ id: guid, selector: SELECTORS.keyTransaction, displayName, keyTransaction, kind: ROLLING.keyTransaction }];
}

function makeQueriesWithOwners(parts: readonly NeededPart[], range: TimeRange): readonly TimesliceQuery[] {
  const queries = makeQueries(parts, range);
  if (parts[0]?.kind !== ROLLING.keyTransaction) return queries;
  return [...queries, makeQuery(ROLLING.owners, makeOwnerParts(parts), range)];
}

function makeOwnerParts(parts: readonly QueryPart[]): QueryPart[] {
  const names = new Map<number, Set<string>>();
  for (const { keyTransaction } of parts) {
    if (keyTransaction?.applicationId === undefined) continue;
    const apdex = apdexName(keyTransaction);
    const list = names.get(keyTransaction.applicationId) ?? new Set([SIGN_OF_LIFE, METRIC.web, METRIC.nonWeb]);
    names.set(keyTransaction.applicationId, apdex === undefined ? list : list.add(apdex));
  }
  return [...names].map(([id, list]) => ({ id, selector: new MetricSelector([...list]) }));
}

/** @param part the part that was queried; undefined if the subject had none */
function makeOutcome(
  account: NerdGraphAccount,
  found: FoundRows,
  { hostKey, keyTransactionId }: RollingSubject,
  part: NeededPart | undefined,
): Outcome<RollingValues> {
  const rows = part && found.get(part.id);
  const error = rows?.failureOf(hostKey);
  if (error !== undefined) return { error };
  const { from = 0, to = part?.kind.seconds ?? 0 } = rows?.window ?? {};
  if (keyTransactionId === undefined) {
    return { value: calculateRolling(rows?.rows.get(hostKey ?? ITSELF) ?? new Map(), to - from) };
  }
  if (part?.keyTransaction === undefined) {
    const known = account.memory.keyTransactions.get(keyTransactionId);
    if (known instanceof UpstreamError) return { error: known };
    const words = `key transaction ${keyTransactionId} is not on the list`;
    return { error: account.transport.failure('key_transactions', words, 'not_found') };
  }
  const { applicationId } = part.keyTransaction;
  const owner = applicationId === undefined ? undefined : found.get(applicationId);
  const ownerError = owner?.failureOf(undefined);
  // If the key may not read an unlisted application, the data of the key transaction's entity are enough.
  const isListed = applicationId !== undefined && account.memory.applications.has(applicationId);
  if (ownerError !== undefined && (ownerError.failure.reason !== 'forbidden' || isListed)) return { error: ownerError };
  const metrics = owner?.rows.get(ITSELF);
  const apdex = metrics?.get(apdexName(part.keyTransaction) ?? '');
  const row = rows?.rows.get(ITSELF)?.get(ITSELF);
  return { value: calculateKeyTransaction(row, apdex, metrics !== undefined, to - from) };
}

const WEB_TRANSACTION = 'WebTransaction/';

/** Returns the application's Apdex metric for the transaction. The name is inferred; no page of New Relic has it. */
function apdexName({ transactionName = '' }: KeyTransactionDetails): string | undefined {
  if (transactionName === '') return undefined;
  const isWeb = transactionName.startsWith(WEB_TRANSACTION);
  return `Apdex/${isWeb ? transactionName.slice(WEB_TRANSACTION.length) : transactionName}`;
}

/** Calculates rolling values from the rows of an application or host; undefined without rows, or over a count of 0. */
export function calculateRolling(rows: ReadonlyMap<string, Columns>, seconds: number): RollingValues {
  const reports = rows.size > 0;
  const count = (name: string): number | undefined => rows.get(name)?.count ?? (reports ? 0 : undefined);
  const web = count(METRIC.web);
  const errors = count(METRIC.errors);
  const summary: RollingSummary = {
    responseTime: ratio(rows.get(METRIC.web)?.sum ?? 0, web),
    requestRate: ratio(web, seconds),
    errorRate: ratio(errors, (web ?? 0) + (count(METRIC.nonWeb) ?? 0)),
    apdexScore: finiteOrUndefined(apdexScore(rows.get(METRIC.apdex))),
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
      apdexScore: finiteOrUndefined(apdexScore(verdicts)),
    },
  };
}

/**
 * Calculates the rolling values of a key transaction from its entity and the Apdex metric of its transaction.
 *
 * @param reports true if the owning application has rows, so that a missing `row` means no requests
 */
export function calculateKeyTransaction(
  row: Columns | undefined,
  apdex: Columns | undefined,
  reports: boolean,
  seconds: number,
): RollingValues {
  const count = row?.count ?? (reports ? 0 : undefined);
  const summary = {
    responseTime: ratio(row?.sum ?? 0, count),
    requestRate: ratio(count, seconds),
    errorRate: ratio(row?.exclusive, row?.count),
    apdexScore: row === undefined ? undefined : finiteOrUndefined(apdexScore(apdex)),
  };
  return { summary };
}

function ratio(part = NaN, whole = NaN): number | undefined {
  return whole > 0 ? finiteOrUndefined(part / whole) : undefined;
}
