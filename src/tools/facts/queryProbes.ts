import type { Json } from '../../api/http/validation.ts';
import { rowsOf } from '../../api/nerdgraph/nrql.ts';
import { before, type GraphAccount, type Probe, type Verdicts } from './connections.ts';
import { undecided, type Judged } from './evidence.ts';
import { TEN_MINUTES, type Query } from './factRow.ts';
import { HOUR_S } from '../../formulas/units.ts';
import { FACTS, type Fact, type FactId } from './facts.ts';
import { objectsIn } from './judges.ts';
import { isRefusalJudge, REFUSAL_JUDGES, RESULT_JUDGES } from './nrqlJudges.ts';

/** The fact that all queries of an application's metrics need: a wrong form of its id would leave them empty. */
export const APP_ID: FactId = 'nerdgraph_app_id';

type QueryFact = Fact & Pick<Query, 'nrql' | 'judge'>;

/** A minute of the hour that is on none of the steps (5, 10, 15, 20, 30 or 60 minutes) to which New Relic may cut a range. */
const OFF_MINUTE = 27;

/** The statement of a query, about the account's applications, and its range. */
function written({ nrql, over = TEN_MINUTES, delay = 0, maxShift }: Query, { first, largest, to }: GraphAccount) {
  const end = maxShift === undefined ? to - delay : to - ((to - OFF_MINUTE * 60) % HOUR_S);
  const range = before(end, over);
  const text = nrql
    .replaceAll('{app}', String(first.id))
    .replaceAll('{apps}', largest.map(({ id }) => id).join(', '))
    .replaceAll('{time}', `SINCE ${range.from * 1000} UNTIL ${range.to * 1000}`);
  return { text, range };
}

/** The probe of facts with the same statement and range. */
function queryProbe(facts: readonly [QueryFact, ...QueryFact[]]): Probe<GraphAccount> {
  const [fact] = facts;
  const { judge, account: other, timeouts = [undefined], nrql } = fact;
  const check = async (account: GraphAccount): Promise<Verdicts | Judged> => {
    const { graph, largest } = account;
    const { text, range } = written(fact, account);
    if (isRefusalJudge(judge)) {
      let judged = undecided('no traffic');
      for (const timeout of timeouts) {
        judged = REFUSAL_JUDGES[judge](await graph.tryQuery(text, { account: other, timeout }));
        if (judged.verdict !== 'as assumed') break;
      }
      return judged;
    }
    const result = await graph.result(text);
    const answered = { result, rows: objectsIn(result['results']), window: rowsOf(result).window, range, largest };
    const verdicts = facts.flatMap((each) =>
      isRefusalJudge(each.judge) ? [] : [[each.id, RESULT_JUDGES[each.judge]({ ...answered, query: each })] as const],
    );
    return Object.fromEntries(verdicts);
  };
  const ids = facts.map(({ id }) => id);
  return nrql.includes('{app') ? { ids, needs: APP_ID, check } : { ids, check };
}

/** The probes of facts that one query decides each; those with the same query are together. */
export function queryProbes(prefix: 'nerdgraph_' | 'pack_'): readonly Probe<GraphAccount>[] {
  const facts = FACTS.filter((fact): fact is QueryFact => fact.nrql !== undefined && fact.id.startsWith(prefix));
  const groups = new Map<string, [QueryFact, ...QueryFact[]]>();
  for (const fact of facts) {
    const key = `${fact.nrql}${fact.over}${fact.judge === 'accepted'}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [fact]);
    else group.push(fact);
  }
  return [...groups.values()].map(queryProbe);
}

/** The rows of a query over the last ten minutes. */
export async function rowsFor(account: GraphAccount, nrql: string): Promise<readonly Json[]> {
  const { text } = written({ nrql, judge: 'data' }, account);
  return objectsIn((await account.graph.result(text))['results']);
}
