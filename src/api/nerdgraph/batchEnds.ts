import type { Batch } from './batching.ts';
import { FULL, Incomplete } from './nrql.ts';
import { describeSubject, type BatchEnd, type RowsRead } from './rows.ts';
import type { SplitReason } from '../upstreamReader.ts';
import { UpstreamError } from '../upstreamError.ts';
import { READS, type Group } from '../../reads/reads.ts';

/** HTTP status for a call that the account's plan does not include. */
const PAYMENT_REQUIRED = 402;

/** What a user can change when one subject is too large for a query, by group. */
const REMEDIES: Partial<Record<Group, string>> = {
  applications: 'leave it out (applications.exclude)',
  application_metrics: 'leave it out (applications.exclude)',
  counters: 'leave it out (applications.exclude)',
  key_transactions: 'leave it out (key_transactions.exclude)',
  hosts: 'read it without hosts (applications.settings: hosts: false)',
  host_metrics: 'read it without hosts (applications.settings: hosts: false)',
  custom_metrics: 'a longer literal part in "match" (custom_metrics) narrows the list of names',
  golden_metrics: 'choose fewer golden metrics (entities: metrics)',
};

/**
 * How the query of a batch ended (docs/nerdgraph.md, "What breaks a batch"). `account`: New Relic refuses the account.
 * `passing`: New Relic gave no answer. `incomplete`: New Relic reports missing data; a smaller query may return them.
 */
export type Ending = 'good' | 'refused' | 'timeout' | 'too_big' | 'incomplete' | 'unmatched' | 'passing' | 'account';

export function endingOf(end: BatchEnd): Ending {
  if (end === 'unmatched') return 'unmatched';
  if (end instanceof Incomplete) return end.isTooLarge ? 'too_big' : 'incomplete';
  if (!(end instanceof UpstreamError)) return 'good';
  const { reason, status, isAnswer } = end.failure;
  if (reason === 'too_large') return 'too_big';
  if (reason === 'timeout') return 'timeout';
  if (reason === 'auth' || reason === 'rate_limited' || reason === 'redirect' || status === PAYMENT_REQUIRED)
    return 'account';
  return reason === 'forbidden' || isAnswer === true ? 'refused' : 'passing';
}

/** The reason to report when a batch is divided; `error` for endings without a row. */
export const SPLIT_REASONS: Partial<Record<Ending, SplitReason>> = {
  timeout: 'timeout',
  too_big: 'truncated',
  incomplete: 'truncated',
};

/** Records an error for each host of a batch, each golden metric, or else each subject. */
export function failBatch({ query, found }: RowsRead, batch: Batch, error: UpstreamError): void {
  for (const { id, hosts, selector } of batch) {
    const rows = found.get(id);
    if (rows === undefined) continue;
    const keys = query.golden === undefined ? hosts : selector.names.filter((name) => !rows.columns.has(name));
    if (keys === undefined) rows.failure = error;
    for (const key of keys ?? []) rows.failures.set(key, error);
  }
}

/** Returns the failure of a batch whose query has no usable result. */
export function failureOf({ account, query }: RowsRead, batch: Batch, end: BatchEnd | undefined): UpstreamError {
  if (end instanceof UpstreamError && endingOf(end) !== 'too_big') return end;
  const cause = end instanceof UpstreamError || end instanceof Incomplete ? end : FULL;
  const { group } = READS[query.read];
  const [subject = '', ...others] = new Set(batch.map((part) => describeSubject(part, query.groupBy)));
  const why = cause instanceof Incomplete ? cause.why : cause.message;
  const isTooLarge = cause instanceof UpstreamError || cause.isTooLarge;
  // A message about the data may concern the whole account, so it blames no application of a shared batch.
  const said = others.length === 0 ? `${subject}: ${why}` : why;
  const large = `${[subject, ...others].join(', ')}: too large for one query: ${REMEDIES[group] ?? ''}; ${why}`;
  return account.transport.failure(group, isTooLarge ? large : said, 'too_large');
}

export function isRefused(end: BatchEnd | undefined): boolean {
  return end !== undefined && endingOf(end) === 'refused';
}

/** Records a batch as read, or leaves out its only subject for a time if that has no data; false if neither is true. */
export function recordIfDone({ account, query }: RowsRead, batch: Batch, end: BatchEnd): boolean {
  const { memory, options } = account;
  const ids = new Set(batch.map(({ id }) => id));
  if (end === 'unmatched' && ids.size === 1) {
    const maxMs = Math.min(query.maxOmissionMs ?? Infinity, options.detailsMs);
    for (const id of ids) memory.omissions.omitWithoutData(query.read, id, maxMs);
    return true;
  }
  if (endingOf(end) !== 'good') return false;
  if (!memory.omissions.isEmpty) for (const id of ids) memory.omissions.readmit(id, query.read);
  return true;
}

/** Marks the failure of a subject that is apart: reads retry the subject once in its interval. */
export function markSetApart(error: UpstreamError): UpstreamError {
  return new UpstreamError(error.message, { ...error.failure, isSetApart: true });
}
