import { METRIC, isDatastore } from '../../formulas/metricInputs.ts';
import type { MetricDataResult } from '../../api/upstreamReader.ts';
import { filled, isIn } from '../../api/nerdgraph/nrql.ts';
import { queryNames } from '../../metrics/windowFamilies.ts';
import { readEach } from '../upstream/readForCommand.ts';
import { before, numberAt, objectsIn, probeAfter, TEN_MINUTES } from './connections.ts';
import type { GraphAccount, Probe, RestAccount } from './connections.ts';
import { holds, undecided, word } from './evidence.ts';
import type { FactId } from './facts.ts';
import { judgeMinutes, judgeSame, type Pair } from './judges.ts';
import { readKeyTransactions } from './nerdgraphProbes.ts';
import { readMinutes, valueAt } from './restProbes.ts';

/** An account through both interfaces. */
type WholeAccount = RestAccount & GraphAccount;

/** The metric of each fact, and its values as the exporter reads them. */
const SAME: readonly (readonly [id: FactId, metric: string, values: readonly string[]])[] = [
  ['same_call_count', METRIC.web, ['call_count']],
  ['same_response_time', METRIC.web, ['average_response_time']],
  ['same_apdex', METRIC.apdex, ['s', 't', 'f']],
  ['same_cpu', METRIC.cpu, ['percent']],
  ['same_memory', METRIC.memory, ['total_used_mb']],
  ['same_errors', METRIC.errors, ['error_count']],
];

/** Checks that the REST list of names contains each type that NerdGraph has data of. */
async function judgeDatabases(
  { rest, to }: Pick<WholeAccount, 'rest' | 'to'>,
  applications: readonly { readonly id: number; readonly expected: MetricDataResult }[],
) {
  const withTypes = applications.filter(({ expected }) => (expected.datastores ?? []).some(isDatastore));
  if (rest.reader.datastores === undefined || withTypes.length === 0) return undecided('no database');
  const subjectOf = ({ id }: (typeof applications)[number]) => ({ applicationId: id });
  const found = await readEach(rest.reader.datastores, withTypes, subjectOf, before(to, TEN_MINUTES), rest.call);
  const missing = found.flatMap(([{ expected }, names]) =>
    (expected.datastores ?? []).filter((name) => !names.includes(name)),
  );
  const types = [...new Set(missing)].map((name) => name.split('/')[1] ?? '');
  return holds(types.length === 0, ...types.map((type) => word('database type', type)));
}

/** Relative difference allowed between two ten-minute windows, which may end a few minutes apart. */
const SUMMARY_TOLERANCE = 0.2;

/** The probes of both interfaces, in order. */
export const SHARED_PROBES: readonly Probe<WholeAccount>[] = [
  probeAfter(
    'nerdgraph_app_id',
    [...SAME.map(([id]) => id), 'same_database_types'],
    async ({ rest, graph, largest, to }) => {
      const ids = largest.slice(0, 3).map(({ id }) => id);
      const read = ({ reader, call }: WholeAccount['rest'] | WholeAccount['graph']) => {
        const metrics = reader.select(queryNames([], 'application', reader.api));
        const subjectOf = (applicationId: number) => ({ applicationId, hostKey: undefined, metrics });
        return readEach(reader.metricData, ids, subjectOf, before(to, TEN_MINUTES), call);
      };
      const overGraph = await read(graph);
      const overRest = new Map(await read(rest));
      const both = overGraph.flatMap(([id, expected]) => {
        const seen = overRest.get(id);
        return seen === undefined ? [] : [{ id, seen, expected }];
      });
      const pairsOf = (metric: string, values: readonly string[]): readonly Pair[] =>
        both.flatMap(({ seen, expected }) =>
          values.map((value) => ({ seen: valueAt(seen, metric, value), expected: valueAt(expected, metric, value) })),
        );
      return {
        ...Object.fromEntries(SAME.map(([id, metric, values]) => [id, judgeSame(pairsOf(metric, values))])),
        same_database_types: await judgeDatabases({ rest, to }, both),
      };
    },
  ),
  probeAfter('nerdgraph_series', 'same_minutes', async ({ rest, graph, first, to }) => {
    const range = before(to, 2 * TEN_MINUTES);
    const calls = async (side: Parameters<typeof readMinutes>[0]) =>
      (await readMinutes(side, first.id, [METRIC.web], range)).map((each) => valueAt(each, METRIC.web, 'call_count'));
    return judgeMinutes(await calls(rest), await calls(graph));
  }),
  probeAfter('nerdgraph_key_transaction_id', 'same_key_transactions', async (account) => {
    const found = (await readKeyTransactions(account)).flatMap(({ guid, id }) =>
      id === undefined ? [] : [{ guid, id }],
    );
    const summaries = new Map(account.keyTransactions.map(({ id, summary }) => [id, summary]));
    const chosen = found.filter(({ id }) => (summaries.get(id)?.throughput ?? 0) > 1).slice(0, 5);
    const guids = filled(chosen.map(({ guid }) => guid));
    if (guids === undefined) return undecided('no key transaction');
    const duration = 'apm.key.transaction.duration';
    const { results } = await account.graph.result({
      select: [
        { of: 'count', from: duration, as: 'c' },
        { of: 'sum', from: duration, as: 't' },
      ],
      where: isIn('entity.guid', guids),
      facet: ['entity.guid'],
      range: before(account.minute, TEN_MINUTES),
    });
    const pairs = chosen.flatMap(({ guid, id }): Pair[] => {
      const row = objectsIn(results).find(({ facet }) => facet === guid);
      const [calls, time] = [numberAt(row, 'c'), numberAt(row, 't')];
      const { throughput = 0, responseTime = 0 } = summaries.get(id) ?? {};
      return [
        { seen: throughput, expected: calls / 10 },
        { seen: responseTime, expected: calls === 0 ? 0 : (1000 * time) / calls },
      ];
    });
    return judgeSame(pairs, SUMMARY_TOLERANCE);
  }),
];
