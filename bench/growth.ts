import { fleetCost } from './fleetCost.ts';
import type { FleetCost } from './fleetCost.ts';
import { FLEETS } from './rowsOfResources.ts';
import { figure, table } from './rows.ts';
import type { FleetSize } from './upstreamBodies.ts';

const LATENCY_MS = 50;

/** How the cost of the built program grows: three fleets of each kind, what grows put first. */
export const GROWTHS: readonly {
  readonly of: string;
  readonly latencyMs: number;
  readonly sizes: readonly FleetSize[];
}[] = [
  {
    of: 'applications (1 host each)',
    latencyMs: LATENCY_MS,
    sizes: [100, 300, 1000].map((applications) => ({ applications, hostsPerApplication: 1 })),
  },
  {
    of: 'hosts (100 applications)',
    latencyMs: LATENCY_MS,
    sizes: [1, 5, 20].map((hostsPerApplication) => ({ applications: 100, hostsPerApplication })),
  },
  { of: 'series (5 hosts each, upstream without latency)', latencyMs: 0, sizes: Object.values(FLEETS) },
];

export async function growthTable({ latencyMs, sizes }: (typeof GROWTHS)[number]): Promise<string> {
  const costs: FleetCost[] = [];
  for (const size of sizes) costs.push(await fleetCost(size, latencyMs));
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
  return table(
    head,
    costs.map((cost) => [
      String(cost.applications),
      String(cost.applications * cost.hostsPerApplication),
      String(cost.series),
      `${cost.coldCalls} calls, ${figure(cost.coldMs / 1000)} s`,
      `${cost.refreshCalls} calls, ${figure(cost.refreshMs / 1000)} s`,
      `${figure(cost.refreshCpuSeconds)} s`,
      `${figure(cost.warmMs)} ms`,
      `${figure(cost.peakRssMegabytes)} MB`,
    ]),
  );
}
