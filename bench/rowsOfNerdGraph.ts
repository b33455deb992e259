import { NERDGRAPH } from './exporter.ts';
import { pagesOf, type FleetSize } from './fleet.ts';
import { fleetCost, type FleetCost } from './fleetCost.ts';
import type { Aim, Row } from './rows.ts';

const LATENCY_MS = 200;

/** The reference for processor time: the same fleet over REST, whose calls are quicker and go out 32 at once. */
const REST_LATENCY_MS = 20;

interface NerdGraphCase {
  readonly size: FleetSize;
  /** The most calls of the first refresh and of each further refresh. */
  readonly first: number | undefined;
  readonly next: number | undefined;
}

const CASES: readonly NerdGraphCase[] = [
  { size: { applications: 1000, hostsPerApplication: 5 }, first: 90, next: 60 },
  { size: { applications: 100, hostsPerApplication: 10 }, first: undefined, next: undefined },
];

/** Measures calls, time and processor time of a refresh over NerdGraph. */
export async function nerdGraphRows(runs: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const each of CASES) rows.push(...(await rowsOf(each, runs)));
  return rows;
}

async function rowsOf({ size, first, next }: NerdGraphCase, runs: number): Promise<Row[]> {
  const costs: FleetCost[] = [];
  const overRest: FleetCost[] = [];
  for (let run = 0; run < runs; run += 1) {
    costs.push(await fleetCost(size, LATENCY_MS, NERDGRAPH));
    overRest.push(await fleetCost(size, REST_LATENCY_MS));
  }
  const name = `NerdGraph, ${size.applications} x ${size.hostsPerApplication}`;
  const figuresOf = (figure: (cost: FleetCost) => number, all = costs): number[] => all.map(figure);
  const bound = (calls: number): number =>
    (Math.ceil(calls / NERDGRAPH.atOnce) + pagesOf(size.applications)) * LATENCY_MS;
  const boundWords = `(ceil(calls / ${NERDGRAPH.atOnce}) + list pages) x ${LATENCY_MS} ms`;
  const quick: Aim = { kind: 'mostTimes', limit: 1.25 };
  return [
    {
      what: `${name}: calls of the first refresh`,
      unit: 'calls',
      runs: figuresOf(({ coldCalls }) => coldCalls),
      reference: { what: 'REST', runs: figuresOf(({ coldCalls }) => coldCalls, overRest) },
      aim: first === undefined ? undefined : { kind: 'most', limit: first },
    },
    {
      what: `${name}: calls per refresh`,
      unit: 'calls',
      runs: figuresOf(({ refreshCalls }) => refreshCalls),
      reference: { what: 'REST', runs: figuresOf(({ refreshCalls }) => refreshCalls, overRest) },
      aim: next === undefined ? undefined : { kind: 'most', limit: next },
    },
    {
      what: `${name}: first refresh and its exposition`,
      exposition: 'first',
      unit: 'ms',
      runs: figuresOf(({ coldMs }) => coldMs),
      reference: { what: boundWords, runs: figuresOf(({ coldCalls }) => bound(coldCalls)) },
      aim: quick,
    },
    {
      what: `${name}: next refresh and its exposition`,
      exposition: 'first',
      unit: 'ms',
      runs: figuresOf(({ refreshMs }) => refreshMs),
      reference: { what: boundWords, runs: figuresOf(({ refreshCalls }) => bound(refreshCalls)) },
      aim: quick,
    },
    {
      what: `${name}: processor time of the next refresh`,
      unit: 'ms',
      runs: figuresOf(({ refreshCpuSeconds }) => refreshCpuSeconds * 1000),
      reference: { what: 'REST', runs: figuresOf(({ refreshCpuSeconds }) => refreshCpuSeconds * 1000, overRest) },
      aim: { kind: 'mostTimes', limit: 0.6 },
    },
    {
      what: `${name}: series`,
      unit: 'series',
      runs: figuresOf(({ series }) => series),
      reference: { what: 'REST', runs: figuresOf(({ series }) => series, overRest) },
      aim: undefined,
    },
  ];
}
