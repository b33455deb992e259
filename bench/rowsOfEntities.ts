import { NERDGRAPH, type Reading } from './exporter.ts';
import { GOLDEN_SELECTS, serviceGuid, type FleetSize } from './fleet.ts';
import { refreshes, seriesOf, withExporter } from './fleetCost.ts';
import { measured } from './processes.ts';
import type { Row } from './rows.ts';

/** A service behind each application. */
const FLEET: FleetSize = { applications: 1000, hostsPerApplication: 0 };
/** Refreshes after two that do not count: they read the list, due every 5 minutes, and V8 compiles the code. */
const REFRESHES = 3;
const LATENCY_MS = 50;
const LONGEST_BLOCK_MS = 20;

const ENTITIES: Reading = {
  ...NERDGRAPH,
  account: { applications: false, key_transactions: false, entities: [{ type: 'EXT-SERVICE' }] },
};

/** Measures the cost of golden metrics: 1,000 entities with three metrics of one source. */
export async function entityRows(runs: number): Promise<Row[]> {
  const figures = { lists: [], calls: [], ours: [], bare: [], blocks: [] } as Record<string, number[]>;
  for (let run = 0; run < runs; run += 1) {
    await withExporter(
      FLEET,
      LATENCY_MS,
      async (exporter, upstream) => {
        await refreshes(exporter, 1);
        const first = (await upstream.usage()).calls;
        await refreshes(exporter, 1);
        const before = { cpu: (await exporter.usage()).cpuSeconds, calls: (await upstream.usage()).calls };
        await refreshes(exporter, REFRESHES);
        const { cpuSeconds } = await exporter.usage();
        const calls = ((await upstream.usage()).calls - before.calls) / REFRESHES;
        figures['lists']?.push(first - calls);
        figures['calls']?.push(calls);
        figures['ours']?.push(((cpuSeconds - before.cpu) * 1000) / REFRESHES);
        const [each = NaN] = await measured<number[]>('queriesCase.ts', 1, 20 * calls, upstream.address, query(calls));
        figures['bare']?.push(each * calls);
        const series = await seriesOf(exporter);
        if (series < FLEET.applications * GOLDEN_SELECTS.length)
          throw new Error(`the exposition is not whole: ${series} series`);
        await exporter.watch();
        await refreshes(exporter, 3);
        figures['blocks']?.push((await exporter.usage()).longestBlockMs);
      },
      ENTITIES,
    );
  }
  const what = `${FLEET.applications} entities with ${GOLDEN_SELECTS.length} golden metrics`;
  const { lists = [], calls = [], ours = [], bare = [], blocks = [] } = figures;
  return [
    {
      what: `${what}: calls of a refresh`,
      ...{ unit: 'calls', runs: calls, reference: { what: 'calls of their list', runs: lists }, aim: undefined },
    },
    {
      what: `${what}: processor time of a refresh, exposition included`,
      ...{ unit: 'ms', runs: ours, reference: { what: 'undici and JSON alone', runs: bare }, aim: undefined },
    },
    {
      what: `${what}: longest block, three refreshes with their list`,
      unit: 'ms',
      runs: blocks,
      reference: { what: 'the most it may be', runs: [LONGEST_BLOCK_MS] },
      aim: { kind: 'most', limit: LONGEST_BLOCK_MS },
    },
  ];
}

/** Writes a query for the entities of one call. */
function query(calls: number): string {
  const ids = Array.from({ length: FLEET.applications / calls }, (_, index) => `'${serviceGuid(index + 1)}'`);
  const columns = ['datapointCount() AS n', ...GOLDEN_SELECTS.map((select, index) => `${select} AS m${index}`)];
  return [
    `SELECT ${columns.join(', ')} FROM Metric WHERE entity.guid IN (${ids.join(', ')})`,
    'FACET entity.guid SINCE 1795219200000 UNTIL 1795221000000 LIMIT MAX',
  ].join(' ');
}
