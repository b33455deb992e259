import { NERDGRAPH, type Exporter } from './exporter.ts';
import { ACCOUNTS_OF_KEY } from './fleet.ts';
import { fleetCost, withExporter, type FleetCost } from './fleetCost.ts';
import type { Row } from './rows.ts';

const LATENCY_MS = 200;
/** The calls that New Relic answers at once for a user. */
const AT_ONCE = 25;
const LONGEST_BLOCK_MS = 20;
/** The lists of accounts and of applications come before everything else. */
const LISTS = 2;

const OF_EACH = { applications: 20, hostsPerApplication: 2 };
const IN_ONE = { applications: 1000, hostsPerApplication: 2 };

/** Compares an entry for fifty accounts of one key with one account of as many applications. */
export async function accountRows(runs: number): Promise<Row[]> {
  const costs: FleetCost[] = [];
  const inOne: FleetCost[] = [];
  const reading = { ...NERDGRAPH, account: { account_id: undefined, account_ids: 'all' } };
  const first: number[] = [];
  const next: number[] = [];
  const blocks = async (exporter: Exporter): Promise<void> => {
    await exporter.watch();
    await exporter.scrape({ gzip: true });
    first.push((await exporter.usage()).longestBlockMs);
    await exporter.nextWindow();
    await exporter.scrape({ gzip: true });
    next.push((await exporter.usage()).longestBlockMs);
  };
  for (let run = 0; run < runs; run += 1) {
    await withExporter(OF_EACH, LATENCY_MS, blocks, reading);
    costs.push(await fleetCost(OF_EACH, LATENCY_MS, reading));
    inOne.push(await fleetCost(IN_ONE, LATENCY_MS, NERDGRAPH));
  }
  const name = `${ACCOUNTS_OF_KEY} accounts, ${OF_EACH.applications} x ${OF_EACH.hostsPerApplication}`;
  const other = `one account, ${IN_ONE.applications} x ${IN_ONE.hostsPerApplication}`;
  const bound = (calls: number): number => (Math.ceil(calls / AT_ONCE) + LISTS) * LATENCY_MS;
  const boundWords = `(ceil(calls / ${AT_ONCE}) + ${LISTS}) x ${LATENCY_MS} ms`;
  const compared = (what: string, unit: Row['unit'], figure: (cost: FleetCost) => number, limit?: number): Row => ({
    what: `${name}: ${what}`,
    unit,
    runs: costs.map(figure),
    reference: { what: other, runs: inOne.map(figure) },
    aim: limit === undefined ? undefined : { kind: 'mostTimes', limit },
  });
  const block = (what: string, figures: readonly number[]): Row => ({
    what: `${name}: longest block of the event loop, ${what}`,
    unit: 'ms',
    runs: figures,
    reference: { what: 'the most it may be', runs: [LONGEST_BLOCK_MS] },
    aim: { kind: 'most', limit: LONGEST_BLOCK_MS },
  });
  return [
    compared('calls of the first refresh', 'calls', ({ coldCalls }) => coldCalls),
    compared('calls per refresh', 'calls', ({ refreshCalls }) => refreshCalls),
    {
      what: `${name}: first refresh and its exposition`,
      unit: 'ms',
      runs: costs.map(({ coldMs }) => coldMs),
      reference: { what: boundWords, runs: costs.map(({ coldCalls }) => bound(coldCalls)) },
      aim: { kind: 'mostTimes', limit: 1.25 },
    },
    {
      what: `${name}: next refresh and its exposition`,
      unit: 'ms',
      runs: costs.map(({ refreshMs }) => refreshMs),
      reference: { what: boundWords, runs: costs.map(({ refreshCalls }) => bound(refreshCalls)) },
      aim: { kind: 'mostTimes', limit: 1.25 },
    },
    block('first refresh', first),
    block('next refresh', next),
    compared('processor time of the next refresh', 'ms', ({ refreshCpuSeconds }) => refreshCpuSeconds * 1000, 1.5),
    compared('peak memory', 'MB', ({ peakRssMegabytes }) => peakRssMegabytes),
    compared('series', 'series', ({ series }) => series),
  ];
}
