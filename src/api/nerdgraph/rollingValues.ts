import { APDEX, END_USER, END_USER_APDEX, ERRORS, NON_WEB, WEB } from './metricNames.ts';
import type { Row, Rows } from './row.ts';
import { NO_SUMMARY } from './summaries.ts';
import type { RollingSummary, RollingValues } from '../types.ts';

/**
 * The rolling values of an application or a host from its rows over the last minutes, in the units of the REST interface.
 * Each is absent where its own denominator is 0, and only there. The Apdex target of an application comes with the list.
 */
export function rollingOf(rows: Rows, seconds: number): RollingValues {
  const reports = rows.size > 0;
  const count = (name: string): number | undefined => rows.get(name)?.count ?? (reports ? 0 : undefined);
  const web = count(WEB);
  const errors = count(ERRORS);
  const summary: RollingSummary = {
    ...NO_SUMMARY,
    responseTime: ratio(1000 * (rows.get(WEB)?.sum ?? 0), web),
    throughput: perMinute(web, seconds),
    errorRate: ratio(errors, (web ?? 0) + (count(NON_WEB) ?? 0)),
    apdexScore: scoreOf(rows.get(APDEX)),
  };
  const views = rows.get(END_USER);
  const verdicts = rows.get(END_USER_APDEX);
  if (views === undefined && verdicts === undefined) return { summary, endUserSummary: undefined };
  return {
    summary,
    endUserSummary: {
      ...NO_SUMMARY,
      // Unlike all other times, the REST interface gives this one in seconds.
      responseTime: ratio(views?.sum, views?.count),
      throughput: perMinute(views?.count, seconds),
      apdexTarget: verdicts?.max,
      apdexScore: scoreOf(verdicts),
    },
  };
}

/** What the entity of a key transaction measured, and how its transaction met the Apdex target of the application. */
export interface KeyTransactionRow {
  readonly count: number;
  readonly sum: number;
  readonly errors: number | undefined;
  /** Of the range that was answered. */
  readonly seconds: number;
}

/** @param reports whether the owning application has any row: then silence means no requests */
export function keyTransactionOf(
  row: KeyTransactionRow | undefined,
  apdex: Row | undefined,
  reports: boolean,
  seconds: number,
): RollingValues {
  const count = row?.count ?? (reports ? 0 : undefined);
  const summary: RollingSummary = {
    ...NO_SUMMARY,
    responseTime: ratio(1000 * (row?.sum ?? 0), count),
    throughput: perMinute(count, seconds),
    errorRate: ratio(row?.errors, row?.count),
    apdexScore: row === undefined ? undefined : scoreOf(apdex),
  };
  return { summary, endUserSummary: undefined };
}

function scoreOf(row: Row | undefined): number | undefined {
  if (row?.exclusive === undefined) return undefined;
  return ratio(row.count + row.sum / 2, row.count + row.sum + row.exclusive);
}

function perMinute(count: number | undefined, seconds: number): number | undefined {
  return ratio(count === undefined ? undefined : 60 * count, seconds);
}

/** Undefined over nothing, and for what is no finite number. */
function ratio(part: number | undefined, whole: number | undefined): number | undefined {
  if (part === undefined || whole === undefined || whole <= 0) return undefined;
  const result = part / whole;
  return Number.isFinite(result) ? result : undefined;
}
