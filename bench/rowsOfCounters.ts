import { NERDGRAPH, REST, type Exporter, type Reading } from './exporter.ts';
import type { FleetSize } from './fleet.ts';
import { refreshes, withExporter } from './fleetCost.ts';
import type { Upstream } from './processes.ts';
import type { Aim, Row } from './rows.ts';

const FLEET: FleetSize = { applications: 1000, hostsPerApplication: 5 };
/** Refreshes after two that do not count: the first read of counters is shorter, and V8 compiles the code. */
const REFRESHES = 3;
const LONGEST_BLOCK_MS = 20;
const MAX_MEGABYTES = 10;

/** The cost of one refresh in a steady state. */
interface Cost {
  readonly calls: number;
  readonly cpuMs: number;
  readonly peakRssMegabytes: number;
}

/** Measures what counters add to a refresh over each interface: calls, processor time and memory. */
export async function counterRows(runs: number): Promise<Row[]> {
  const overNerdGraph = await rowsOf('NerdGraph', NERDGRAPH, { kind: 'mostTimes', limit: 1.6 }, runs);
  return [...(await rowsOf('REST', REST, undefined, runs)), ...overNerdGraph];
}

async function rowsOf(name: string, reading: Reading, processorTime: Aim | undefined, runs: number): Promise<Row[]> {
  const withCounters: Reading = { ...reading, account: { counters: true } };
  const counting: Cost[] = [];
  const without: Cost[] = [];
  const blocks: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    without.push(await withExporter(FLEET, 0, steadyCost, reading));
    counting.push(await withExporter(FLEET, 0, steadyCost, withCounters));
    blocks.push(await withExporter(FLEET, 0, longestBlock, withCounters));
  }
  const what = `${name}, ${FLEET.applications} x ${FLEET.hostsPerApplication} with counters`;
  const compared = (unit: Row['unit'], figure: (cost: Cost) => number, aim?: Aim): Omit<Row, 'what'> => ({
    unit,
    runs: counting.map(figure),
    reference: { what: 'without counters', runs: without.map(figure) },
    aim,
  });
  return [
    { what: `${what}: calls per refresh`, ...compared('calls', ({ calls }) => calls) },
    { what: `${what}: processor time of a refresh`, ...compared('ms', ({ cpuMs }) => cpuMs, processorTime) },
    {
      what: `${what}: memory that counters add`,
      unit: 'MB',
      runs: counting.map(({ peakRssMegabytes }, run) => peakRssMegabytes - (without[run]?.peakRssMegabytes ?? NaN)),
      reference: { what: 'the most it may be', runs: [MAX_MEGABYTES] },
      aim: { kind: 'most', limit: MAX_MEGABYTES },
    },
    {
      what: `${what}: longest block, three refreshes`,
      unit: 'ms',
      runs: blocks,
      reference: { what: 'the most it may be', runs: [LONGEST_BLOCK_MS] },
      aim: { kind: 'most', limit: LONGEST_BLOCK_MS },
    },
  ];
}

async function steadyCost(exporter: Exporter, upstream: Upstream): Promise<Cost> {
  await refreshes(exporter, 2, { gzip: true });
  const before = { cpu: (await exporter.usage()).cpuSeconds, calls: (await upstream.usage()).calls };
  await refreshes(exporter, REFRESHES, { gzip: true });
  const { cpuSeconds, peakRssMegabytes } = await exporter.usage();
  const { calls } = await upstream.usage();
  return {
    calls: (calls - before.calls) / REFRESHES,
    cpuMs: ((cpuSeconds - before.cpu) * 1000) / REFRESHES,
    peakRssMegabytes,
  };
}

async function longestBlock(exporter: Exporter): Promise<number> {
  await refreshes(exporter, 1, { gzip: true });
  await exporter.watch();
  await refreshes(exporter, 3, { gzip: true });
  return (await exporter.usage()).longestBlockMs;
}
