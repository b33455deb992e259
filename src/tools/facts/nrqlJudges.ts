import { hasMembers, isList, type Json } from '../../api/http/validation.ts';
import type { NrqlEnd } from '../../api/nerdgraph/transport.ts';
import type { Application, FailureReason } from '../../api/types.ts';
import type { TimeRange } from '../../api/upstreamReader.ts';
import { count, holds, ratio, undecided, word, type Judged } from './evidence.ts';
import type { JudgeName, Query } from './factRow.ts';
import { numberAt, sum } from './judges.ts';
import { NO_METRIC } from './nrqlFacts.ts';

/** A query that succeeded, and what it was about. */
export interface Answered {
  readonly result: Json;
  /** The objects among its results. */
  readonly rows: readonly Json[];
  /** The range that it says, and the requested one. */
  readonly window: TimeRange | undefined;
  readonly range: TimeRange;
  readonly query: Partial<Query>;
  readonly largest: readonly Application[];
}

/** The least number of events that can show a missing field, where the row gives none. */
const MIN_EVENTS = 10;

const countsOf = (rows: readonly Json[]): readonly number[] => rows.map((row) => numberAt(row, 'c'));
const tooFew = (rows: readonly unknown[]): Judged => undecided('too few rows', count('rows', rows.length));
const othersOf = ({ otherResult }: Json): number | undefined =>
  hasMembers(otherResult) ? numberAt(otherResult, 'c') : undefined;
const facetsOf = (row: Json): readonly unknown[] => (isList(row['facet']) ? row['facet'] : [row['facet']]);

/** The judges of results. */
export const RESULT_JUDGES: Readonly<Record<Exclude<JudgeName, RefusalJudge>, (answered: Answered) => Judged>> = {
  'LIMIT MAX': ({ rows, result }) => {
    if (rows.length < 5_000 && (othersOf(result) ?? 0) === 0) return tooFew(rows);
    return holds(rows.length === 5_000, count('rows', rows.length));
  },
  // The query leaves rows out, because it has a limit of five.
  otherResult: ({ rows, result }) => {
    const others = othersOf(result);
    if (rows.length < 5) return tooFew(rows);
    return holds((others ?? 0) > 0, word('shape', others === undefined ? 'absent' : 'number'));
  },
  order: ({ rows }) => {
    const counts = countsOf(rows);
    if (rows.length < 5 || new Set(counts).size < 2) return tooFew(rows);
    const isFalling = counts.every((value, index) => value <= (counts[index - 1] ?? Infinity));
    const isRising = counts.every((value, index) => value >= (counts[index - 1] ?? 0));
    return holds(isFalling, word('shape', isFalling ? 'descending' : isRising ? 'ascending' : 'unordered'));
  },
  // Each row has the id of an application at the index of `appId`, which is the first facet of the query.
  facets: ({ rows, result, largest }) => {
    if (rows.length === 0) return tooFew(rows);
    const { metadata } = result;
    const returned = hasMembers(metadata) && isList(metadata['facets']) ? metadata['facets'] : [];
    const position = Math.max(0, returned.indexOf('appId'));
    const isKnown = (id: unknown) => largest.some((application) => String(application.id) === String(id));
    if (!rows.every((row) => isList(row['facet']) && isKnown(row['facet'][position])))
      return holds(false, word('shape', 'other'));
    const areTexts = rows.flatMap(facetsOf).every((each) => typeof each === 'string');
    return holds(areTexts, word('shape', areTexts ? 'list of texts' : 'list'));
  },
  'no row of an unknown name': ({ rows }) => {
    const isThere = rows.some((row) => facetsOf(row).includes(NO_METRIC));
    return rows.length === 0 ? undecided('no traffic') : holds(!isThere, word('shape', isThere ? 'zeros' : 'absent'));
  },
  data: ({ rows }) => {
    const hasData = sum(countsOf(rows)) > 0;
    return holds(hasData, word('shape', hasData ? 'present' : 'absent'));
  },
  'no data': ({ rows }) => {
    const found = countsOf(rows).filter((value) => value > 0);
    return holds(found.length === 0, count('rows', found.length));
  },
  window: ({ range, window, query: { maxShift = 0 } }) => judgeCut(range, window, maxShift),
  // Tolerates differences, because two hosts may share a name, and one may have come or gone within the hour.
  hosts: ({ rows, largest }) => {
    const share = rows.length / sum(largest.map(({ hosts = 0 }) => hosts));
    if (share === Infinity || Number.isNaN(share)) return undecided('no host');
    return holds(share > 0.75 && share < 1.34, count('hosts', rows.length), ratio('seen by expected', share));
  },
  'whole minutes': ({ rows, range }) => {
    const begins = rows.map((row) => numberAt(row, 'beginTimeSeconds'));
    const isWhole = begins.every((begin) => begin % 60 === 0 && begin >= range.from && begin < range.to);
    if (rows.length === 0) return undecided('no traffic');
    return holds(isWhole && rows.length === (range.to - range.from) / 60, word('shape', isWhole ? 'number' : 'other'));
  },
  percentile: ({ rows: [row] }) => {
    if (numberAt(row, 'n') === 0) return undecided('too few events');
    const value = row?.['p'];
    const keys = hasMembers(value) ? Object.keys(value) : [];
    const shape = hasMembers(value) ? `key "${keys.join()}"` : value === null ? 'null' : typeof value;
    return holds(keys.length === 1 && ['75', '75.0'].includes(keys[0] ?? ''), word('shape', shape));
  },
  // A few events may lack a field by chance, such as an interaction that no visitor made.
  fields: ({ rows: [row], query: { fields = [], minEvents = MIN_EVENTS } }) => {
    const events = numberAt(row, 'n');
    const missing = fields.filter((_, index) => numberAt(row, `f${index}`) === 0);
    if (events === 0 || (missing.length > 0 && events < minEvents)) return undecided('too few events');
    return holds(missing.length === 0, ...missing.map((field) => word('field', field)));
  },
};

type RefusalJudge = 'accepted' | 'refused as our mistake' | 'refused as forbidden';

/** The judges of whether New Relic refuses a query, and how. */
export const REFUSAL_JUDGES: Readonly<Record<RefusalJudge, (end: NrqlEnd) => Judged>> = {
  // A complaint about the query means that the fact differs, any other error is a failure of the call.
  accepted: (end) => {
    if (end.kind === 'result') return holds(true, word('shape', 'present'));
    const isComplaint = end.kind !== 'failed' || isAboutQuery(end.error.failure.reason);
    if (isComplaint) return holds(false, word('shape', 'error'), errorClassOf(end));
    return undecided('the call failed', word('failure', end.error.failure.reason), errorClassOf(end));
  },
  'refused as our mistake': (end) => judgeReason(end, 'other'),
  'refused as forbidden': (end) => judgeReason(end, 'forbidden'),
};

export const isRefusalJudge = (name: JudgeName): name is RefusalJudge => name in REFUSAL_JUDGES;

const isAboutQuery = (reason: FailureReason): boolean => reason === 'other' || reason === 'invalid_response';

const errorClassOf = (end: NrqlEnd) =>
  word('error class', (end.kind === 'failed' ? end.error.failure.code : undefined) ?? 'none');

function judgeReason(end: NrqlEnd, reason: FailureReason): Judged {
  return holds(end.kind === 'failed' && end.error.failure.reason === reason, errorClassOf(end));
}

/** Decides whether each end of the returned window is at most `maxShift` seconds from the requested one. */
export function judgeCut(requested: TimeRange, answered: TimeRange | undefined, maxShift: number): Judged {
  if (answered === undefined) return holds(false, word('shape', 'absent'));
  const length = requested.to - requested.from;
  const shift = Math.max(Math.abs(requested.to - answered.to), Math.abs(requested.from - answered.from));
  const part = (answered.to - answered.from) / length;
  return holds(shift <= maxShift, ratio('answered by asked', part), ratio('shift by asked', shift / length));
}
