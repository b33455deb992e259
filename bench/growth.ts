import { NERDGRAPH, type Reading } from './exporter.ts';
import { fleetCost, type FleetCost } from './fleetCost.ts';
import { FLEETS } from './rowsOfResources.ts';
import { figure, median, table } from './rows.ts';
import type { FleetSize } from './fleet.ts';

const LATENCY_MS = 50;

/** Fleets that show how the cost of the built program grows. */
export const GROWTHS: readonly {
  readonly title: string;
  readonly latencyMs: number;
  readonly sizes: readonly FleetSize[];
  readonly reading?: Reading;
}[] = [
  {
    title: 'applications (1 host each)',
    latencyMs: LATENCY_MS,
    sizes: [100, 300, 1000].map((applications) => ({ applications, hostsPerApplication: 1 })),
  },
  {
    title: 'hosts (100 applications)',
    latencyMs: LATENCY_MS,
    sizes: [1, 5, 20].map((hostsPerApplication) => ({ applications: 100, hostsPerApplication })),
  },
  { title: 'series (5 hosts each, upstream without latency)', latencyMs: 0, sizes: Object.values(FLEETS) },
  {
    title: 'applications over NerdGraph (5 hosts each)',
    latencyMs: LATENCY_MS,
    sizes: [100, 1000, 10_000].map((applications) => ({ applications, hostsPerApplication: 5 })),
    reading: NERDGRAPH,
  },
];

/** Measures each fleet several times. Returns a table of medians, with the range of the peak memory. */
export async function growthTable(
  { latencyMs, sizes, reading }: (typeof GROWTHS)[number],
  runs: number,
): Promise<string> {
  const head = [
    'Applications',
    'Hosts',
    'Series',
    'First refresh',
    'Next refresh',
    'CPU of it',
    'Same window again',
    'Peak RSS',
  ];
  const lines: string[][] = [];
  for (const size of sizes) {
    const costs: FleetCost[] = [];
    for (let run = 0; run < runs; run += 1) costs.push(await fleetCost(size, latencyMs, reading));
    lines.push(line(size, costs));
  }
  return table(head, lines);
}

function line({ applications, hostsPerApplication }: FleetSize, costs: readonly FleetCost[]): string[] {
  const medianOf = (figureOf: (cost: FleetCost) => number): string => figure(median(costs.map(figureOf)));
  const peaks = costs.map(({ peakRssMegabytes }) => peakRssMegabytes);
  return [
    String(applications),
    String(applications * hostsPerApplication),
    medianOf(({ series }) => series),
    `${medianOf(({ coldCalls }) => coldCalls)} calls, ${medianOf(({ coldMs }) => coldMs / 1000)} s`,
    `${medianOf(({ refreshCalls }) => refreshCalls)} calls, ${medianOf(({ refreshMs }) => refreshMs / 1000)} s`,
    `${medianOf(({ refreshCpuSeconds }) => refreshCpuSeconds)} s`,
    `${medianOf(({ warmMs }) => warmMs)} ms`,
    `${medianOf(({ peakRssMegabytes }) => peakRssMegabytes)} MB (${figure(Math.min(...peaks))} to ${figure(Math.max(...peaks))})`,
  ];
}
