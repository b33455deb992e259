import type { Batch } from './batching.ts';
import { FULL, Incomplete } from './nrql.ts';
import { describeSubject, type BatchEnd, type RowsRead } from './rows.ts';
import type { SplitReason } from '../upstreamReader.ts';
import { UpstreamError } from '../upstreamError.ts';
import { READS, type Group } from '../../reads/reads.ts';

/** The status of a call that the plan of the account refuses. */
const PAYMENT_REQUIRED = 402;

/** What to change where one subject is too large for a query, by the group of the read. */
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
 * How the query of a batch ended, which decides what happens (docs/nerdgraph.md, "What breaks a batch"). `account`: New Relic
 * refuses the account; `passing`: it gave no answer; `incomplete`: it says that data are missing, for which a query may be too large.
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

/** Why a batch is read again in parts, by how it ended; `error` for the others. */
export const SPLIT_REASONS: Partial<Record<Ending, SplitReason>> = {
  timeout: 'timeout',
  too_big: 'truncated',
  incomplete: 'truncated',
};

/** Fails the subjects of a batch, their hosts, or of golden metrics their columns. */
export function failBatch({ query, found }: RowsRead, batch: Batch, error: UpstreamError): void {
  for (const { id, hosts, selector } of batch) {
    const rows = found.get(id);
    if (rows === undefined) continue;
    const keys = query.golden === undefined ? hosts : selector.names.filter((name) => !rows.columns.has(name));
    if (keys === undefined) rows.failure = error;
    for (const key of keys ?? []) rows.failures.set(key, error);
  }
}

/** The failure of a batch whose query had no result that can be used. */
export function failureOf({ account, query }: RowsRead, batch: Batch, end: BatchEnd | undefined): UpstreamError {
  if (end instanceof UpstreamError && endingOf(end) !== 'too_big') return end;
  const cause = end instanceof UpstreamError || end instanceof Incomplete ? end : FULL;
  const { group } = READS[query.read];
  const [subject = '', ...others] = new Set(batch.map((part) => describeSubject(part, query.groupBy)));
  const why = cause instanceof Incomplete ? cause.why : cause.message;
  const isTooLarge = cause instanceof UpstreamError || cause.isTooLarge;
  // What New Relic says of the data may be true of the whole account, so that no application is to blame.
  const said = others.length === 0 ? `${subject}: ${why}` : why;
  const large = `${[subject, ...others].join(', ')}: too large for one query: ${REMEDIES[group] ?? ''}; ${why}`;
  return account.transport.failure(group, isTooLarge ? large : said, 'too_large', { isTooBig: true });
}

export function isRefused(end: BatchEnd | undefined): boolean {
  return end !== undefined && endingOf(end) === 'refused';
}

/** Records that a batch was read, or that New Relic has no data of its only subject, which is left out for a time; else false. */
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

/** The failure of a subject that is now read apart, once in its interval. */
export function markSetApart(error: UpstreamError): UpstreamError {
  return new UpstreamError(error.message, { ...error.failure, isSetApart: true });
}
