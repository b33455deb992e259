import { NERDGRAPH, REST, type Exporter, type Reading } from './exporter.ts';
import { withExporter } from './fleetCost.ts';
import type { Aim, Row } from './rows.ts';

const LATENCY_MS = 50;
const LONGEST_BLOCK_MS = 20;

/** How long the main thread of the program works without a turn for anything else, answers included. */
export async function blockRows(runs: number, applications: number): Promise<Row[]> {
  return [
    ...(await rowsOf('REST', REST, { kind: 'never', limit: LONGEST_BLOCK_MS }, runs, applications)),
    ...(await rowsOf('NerdGraph', NERDGRAPH, { kind: 'most', limit: LONGEST_BLOCK_MS }, runs, applications)),
  ];
}

async function rowsOf(name: string, reading: Reading, aim: Aim, runs: number, applications: number): Promise<Row[]> {
  const size = { applications, hostsPerApplication: 5 };
  const first: number[] = [];
  const next: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const work = async (exporter: Exporter): Promise<void> => {
      await exporter.watch();
      await exporter.scrape({ gzip: true });
      first.push((await exporter.usage()).longestBlockMs);
      await exporter.nextWindow();
      await exporter.scrape({ gzip: true });
      next.push((await exporter.usage()).longestBlockMs);
    };
    await withExporter(size, LATENCY_MS, work, reading);
  }
  const row = (what: string, blocks: readonly number[]): Row => ({
    what: `Longest block of the event loop, ${what}, ${applications} applications with 5 hosts each, ${name}`,
    answer: 'first',
    unit: 'ms',
    runs: blocks,
    reference: { what: 'the most it may be', runs: [LONGEST_BLOCK_MS] },
    aim,
  });
  return [row('first refresh', first), row('next refresh', next)];
}
