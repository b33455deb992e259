import { NERDGRAPH, type Reading } from './exporter.ts';
import { ROWS_OF_A_QUERY, type FleetSize } from './fleet.ts';
import { refreshes, seriesOf, withExporter } from './fleetCost.ts';
import { measured } from './processes.ts';
import type { Row } from './rows.ts';

const QUERIES = 50;
/** Refreshes after two that do not count, in which V8 compiles the code. */
const REFRESHES = 10;
const LATENCY_MS = 50;
const LONGEST_BLOCK_MS = 20;
const FLEET: FleetSize = { applications: 100, hostsPerApplication: 5 };

const queries = Array.from({ length: QUERIES }, (_, index) => ({
  name: `orders-${index}`,
  nrql: 'SELECT count(*) AS orders, average(duration) AS took FROM Transaction FACET region, plan',
  metrics: [
    { name: `shop_orders_${index}`, value: 'orders' },
    { name: `shop_order_duration_${index}_seconds`, value: 'took' },
  ],
}));
const ALONE: Reading = { ...NERDGRAPH, account: { applications: false, key_transactions: false, queries } };
const BESIDE: Reading = { ...NERDGRAPH, account: { queries } };

/** Measures the cost of 50 configured queries with 200 rows each, two series per row. */
export async function queryRows(runs: number): Promise<Row[]> {
  const ours: number[] = [];
  const bare: number[] = [];
  const blocks: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    await withExporter(
      FLEET,
      0,
      async (exporter, upstream) => {
        await refreshes(exporter, 2);
        const before = (await exporter.usage()).cpuSeconds;
        await refreshes(exporter, REFRESHES);
        const seconds = (await exporter.usage()).cpuSeconds - before;
        ours.push((seconds * 1000) / REFRESHES / QUERIES / ROWS_OF_A_QUERY);
        const nrql = 'FROM Transaction SINCE 1795219200000 UNTIL 1795221000000';
        const [figure = NaN] = await measured<number[]>(
          'queriesCase.ts',
          1,
          QUERIES * REFRESHES,
          upstream.address,
          nrql,
        );
        bare.push(figure / ROWS_OF_A_QUERY);
        const series = await seriesOf(exporter);
        if (series < 2 * QUERIES * ROWS_OF_A_QUERY) throw new Error(`the exposition is not whole: ${series} series`);
      },
      ALONE,
    );
    await withExporter(
      FLEET,
      LATENCY_MS,
      async (exporter) => {
        await exporter.watch();
        await refreshes(exporter, 3);
        blocks.push((await exporter.usage()).longestBlockMs);
      },
      BESIDE,
    );
  }
  return [
    {
      what: `${QUERIES} queries of ${ROWS_OF_A_QUERY} rows: processor time per row, exposition included`,
      exposition: 'first',
      unit: 'ms',
      runs: ours,
      reference: { what: 'undici and JSON alone', runs: bare },
      aim: undefined,
    },
    {
      what: `${QUERIES} queries of ${ROWS_OF_A_QUERY} rows beside ${FLEET.applications} applications: longest block, three refreshes`,
      exposition: 'first',
      unit: 'ms',
      runs: blocks,
      reference: { what: 'the most it may be', runs: [LONGEST_BLOCK_MS] },
      aim: { kind: 'most', limit: LONGEST_BLOCK_MS },
    },
  ];
}
