import { hasMembers, isList, type Json } from '../../api/http/validation.ts';
import { rowsOf } from '../../api/nerdgraph/nrql.ts';
import type { NrqlEnd } from '../../api/nerdgraph/transport.ts';
import { UpstreamError } from '../../api/upstreamError.ts';
import type { Application } from '../../api/types.ts';
import type { FailureReason } from '../../api/upstreamError.ts';
import type { TimeRange } from '../../api/upstreamReader.ts';
import { HOUR_S } from '../../formulas/units.ts';
import { before, probe, TEN_MINUTES, type GraphAccount, type Probe } from './factConnections.ts';
import { count, holds, ratio, undecided, word, type Judged, type Seen } from './evidence.ts';
import { FACTS, NO_METRIC, type Fact, type FactId, type JudgeName } from './facts.ts';
import { numberAt, objectsIn, sum } from './judges.ts';

/** The fact that all queries of an application's metrics need: a wrong form of its id would leave them empty. */
export const APP_ID: FactId = 'nerdgraph_app_id';

/** A query that succeeded, and what it was about. */
interface Answered {
  readonly result: Json;
  /** The objects among its results. */
  readonly rows: readonly Json[];
  /** The range that it says, and the requested one. */
  readonly window: TimeRange | undefined;
  readonly range: TimeRange;
  readonly query: Pick<Fact, 'maxShift' | 'fields' | 'minEvents'>;
  readonly largest: readonly Application[];
}

const countsOf = (rows: readonly Json[]): readonly number[] => rows.map((row) => numberAt(row, 'c'));
const tooFew = (rows: readonly unknown[]): Judged => undecided('too few rows', count('rows', rows.length));
const facetsOf = ({ facet }: Json): readonly unknown[] => (isList(facet) ? facet : [facet]);

/** The judges of results. */
export const RESULT_JUDGES: Readonly<Record<Exclude<JudgeName, RefusalJudge>, (answered: Answered) => Judged>> = {
  'LIMIT MAX': ({ rows, result: { otherResult } }) => {
    if (rows.length < 5_000 && numberAt(otherResult, 'c') === 0) return tooFew(rows);
    return holds(rows.length === 5_000, count('rows', rows.length));
  },
  // The query leaves rows out, because it has a limit of five.
  otherResult: ({ rows, result: { otherResult } }) => {
    if (rows.length < 5) return tooFew(rows);
    return holds(numberAt(otherResult, 'c') > 0, word('shape', hasMembers(otherResult) ? 'number' : 'absent'));
  },
  order: ({ rows }) => {
    const counts = countsOf(rows);
    if (rows.length < 5 || new Set(counts).size < 2) return tooFew(rows);
    const isFalling = counts.every((value, index) => value <= (counts[index - 1] ?? Infinity));
    const isRising = counts.every((value, index) => value >= (counts[index - 1] ?? 0));
    return holds(isFalling, word('shape', isFalling ? 'descending' : isRising ? 'ascending' : 'unordered'));
  },
  // Each row has the id of an application at the index of `appId`, which is the first facet of the query.
  facets: ({ rows, result: { metadata }, largest }) => {
    if (rows.length === 0) return tooFew(rows);
    const names = hasMembers(metadata) && isList(metadata['facets']) ? metadata['facets'] : [];
    const position = Math.max(0, names.indexOf('appId'));
    const ids = largest.map(({ id }) => String(id));
    const areIds = rows.every(({ facet }) => isList(facet) && ids.includes(String(facet[position])));
    const areTexts = areIds && rows.flatMap(facetsOf).every((each) => typeof each === 'string');
    return holds(areTexts, word('shape', areTexts ? 'list of texts' : areIds ? 'list' : 'other'));
  },
  'no row of an unknown name': ({ rows }) => {
    const isThere = rows.some((row) => facetsOf(row).includes(NO_METRIC));
    return rows.length === 0 ? undecided('no traffic') : holds(!isThere, word('shape', isThere ? 'zeros' : 'absent'));
  },
  data: ({ rows }) => {
    const hasData = countsOf(rows).some((value) => value > 0);
    return holds(hasData, word('shape', hasData ? 'present' : 'absent'));
  },
  'no data': ({ rows }) => {
    const found = countsOf(rows).filter((value) => value > 0);
    return holds(found.length === 0, count('rows', found.length));
  },
  // Each end of the window may be at most `maxShift` seconds from the requested one.
  window: ({ range, window, query: { maxShift = 0 } }) => {
    if (window === undefined) return holds(false, word('shape', 'absent'));
    const length = range.to - range.from;
    const shift = Math.max(Math.abs(range.to - window.to), Math.abs(range.from - window.from));
    const part = (window.to - window.from) / length;
    return holds(shift <= maxShift, ratio('answered by asked', part), ratio('shift by asked', shift / length));
  },
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
    const shape = hasMembers(value) ? `key "${Object.keys(value).join()}"` : value === null ? 'null' : typeof value;
    return holds(['key "75"', 'key "75.0"'].includes(shape), word('shape', shape));
  },
  // Fewer than ten events may lack a field by chance, such as an interaction that no visitor made.
  fields: ({ rows: [row], query: { fields = [], minEvents = 10 } }) => {
    const events = numberAt(row, 'n');
    const missing = fields.filter((_, index) => numberAt(row, `f${index}`) === 0);
    if (events === 0 || (missing.length > 0 && events < minEvents)) return undecided('too few events');
    return holds(missing.length === 0, ...missing.map((field) => word('field', field)));
  },
};

/** The judges of whether New Relic refuses a query, and how. */
export const REFUSAL_JUDGES = {
  // A complaint about the query means that the fact differs, any other error is a failure of the call.
  accepted: (end) => {
    if (typeof end !== 'string' && !(end instanceof UpstreamError)) return holds(true, word('shape', 'present'));
    const reason = reasonOf(end) ?? 'other';
    const isComplaint = reason === 'other' || reason === 'invalid_response';
    if (isComplaint) return holds(false, word('shape', 'error'), errorClassOf(end));
    return undecided('the call failed', word('failure', reason), errorClassOf(end));
  },
  'refused as our mistake': (end) => holds(reasonOf(end) === 'other', errorClassOf(end)),
  'refused as forbidden': (end) => holds(reasonOf(end) === 'forbidden', errorClassOf(end)),
} satisfies Partial<Record<JudgeName, (end: NrqlEnd) => Judged>>;

type RefusalJudge = keyof typeof REFUSAL_JUDGES;
const isRefusalJudge = (name: JudgeName): name is RefusalJudge => name in REFUSAL_JUDGES;

function reasonOf(end: NrqlEnd): FailureReason | undefined {
  return end instanceof UpstreamError ? end.failure.reason : undefined;
}

function errorClassOf(end: NrqlEnd): Seen {
  return word('error class', (end instanceof UpstreamError ? end.failure.code : undefined) ?? 'none');
}

/** The facts that one query decides each. */
export const QUERY_PROBES = FACTS.flatMap((fact): Probe<GraphAccount>[] => {
  const { id, nrql, judge } = fact;
  if (nrql === undefined || judge === undefined) return [];
  const check = (account: GraphAccount): Promise<Judged> => checkQuery({ ...fact, nrql }, judge, account);
  return [probe(id, check, nrql.includes('{app') ? APP_ID : undefined)];
});

async function checkQuery(fact: Fact & { readonly nrql: string }, judge: JudgeName, account: GraphAccount) {
  const { account: other, timeouts = [undefined] } = fact;
  const { graph, largest } = account;
  const { text, range } = written(fact, account);
  if (!isRefusalJudge(judge)) {
    const result = await graph.result(text);
    const { window } = rowsOf(result);
    return RESULT_JUDGES[judge]({ result, rows: objectsIn(result['results']), window, range, query: fact, largest });
  }
  let judged = undecided('no traffic');
  for (const timeout of timeouts) {
    judged = REFUSAL_JUDGES[judge](await graph.tryQuery(text, other, timeout));
    if (judged.verdict !== 'as assumed') break;
  }
  return judged;
}

/** A minute of the hour that is on none of the steps (5, 10, 15, 20, 30 or 60 minutes) to which New Relic may cut a range. */
const OFF_MINUTE = 27;

/** The statement of a query, about the account's applications, and its range. */
function written(
  { nrql, over = TEN_MINUTES, delay = 0, maxShift }: Pick<Fact, 'over' | 'delay' | 'maxShift'> & { nrql: string },
  { largest, to }: Pick<GraphAccount, 'largest' | 'to'>,
) {
  const end = maxShift === undefined ? to - delay : to - ((to - OFF_MINUTE * 60) % HOUR_S);
  const range = before(end, over);
  const text = nrql
    .replaceAll('{app}', String(largest[0]?.id))
    .replaceAll('{apps}', largest.map(({ id }) => id).join(', '))
    .replaceAll('{time}', `SINCE ${range.from * 1000} UNTIL ${range.to * 1000}`);
  return { text, range };
}

/** The rows of a query over the last ten minutes. */
export async function rowsFor(
  account: Pick<GraphAccount, 'graph' | 'largest' | 'to'>,
  nrql: string,
): Promise<readonly Json[]> {
  const { text } = written({ nrql }, account);
  return objectsIn((await account.graph.result(text))['results']);
}
