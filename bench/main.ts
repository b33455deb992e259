/**
 * Benchmarks the built program: `npm run bench -- [--json] [--quick] [--only=<part> ...] [--growth] [--runs=<n>]`.
 * Every row has a reference from the same run. `--quick` takes three runs of smaller fleets, `--only` some parts of the
 * table. `--growth` shows how cost grows in place of the rows. `--runs` sets the number of runs (5). The status is
 * always 0: no timing decides anything.
 */
import { cpus, totalmem } from 'node:os';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { GROWTHS, growthTable } from './growth.ts';
import type { JudgedRow, Row } from './rows.ts';
import { figure, judge, rowTable } from './rows.ts';
import { callRows, refreshRows } from './rowsOfCalls.ts';
import { accountRows } from './rowsOfAccounts.ts';
import { counterRows } from './rowsOfCounters.ts';
import { entityRows } from './rowsOfEntities.ts';
import { nerdGraphRows } from './rowsOfNerdGraph.ts';
import { queryRows } from './rowsOfQueries.ts';
import { largeRenderRows, renderRows } from './rowsOfRendering.ts';
import { responseRows, blockRows, memoryRow, pageRow, startRow } from './rowsOfResources.ts';

interface Part {
  readonly name: string;
  readonly rows: (runs: number) => Promise<readonly Row[]>;
  readonly large?: boolean;
}

const { values: flags } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    growth: { type: 'boolean', default: false },
    runs: { type: 'string' },
    only: { type: 'string', multiple: true, default: [] },
  },
});

const runs = Number(flags.runs ?? (flags.quick ? 3 : 5));

const parts: readonly Part[] = [
  { name: 'calls', rows: callRows },
  { name: 'refresh', rows: (runs) => refreshRows(runs, flags.quick ? 200 : 1000) },
  { name: 'blocks', rows: (runs) => blockRows(runs, flags.quick ? 200 : 1000) },
  { name: 'page', rows: async (runs) => [await pageRow(runs, flags.quick ? 1_000 : 10_000)] },
  { name: 'nerdgraph', rows: nerdGraphRows, large: true },
  { name: 'accounts', rows: accountRows, large: true },
  { name: 'counters', rows: counterRows, large: true },
  { name: 'queries', rows: queryRows },
  { name: 'entities', rows: entityRows },
  { name: 'rendering', rows: renderRows },
  { name: 'rendering-500k', rows: largeRenderRows, large: true },
  { name: 'responses', rows: responseRows },
  { name: 'memory', rows: async () => [await memoryRow('100k')], large: true },
  { name: 'memory-500k', rows: async () => [await memoryRow('500k')], large: true },
  { name: 'start', rows: async (runs) => [await startRow(runs)] },
];

const unknown = flags.only.filter((name) => !parts.some((part) => part.name === name));
if (unknown.length > 0 || !(runs >= 1)) {
  throw new Error(`--only takes ${parts.map(({ name }) => name).join(', ')}; --runs a number of at least 1`);
}

const machine = {
  date: new Date().toISOString().slice(0, 10),
  processors: `${cpus().length} x ${cpus()[0]?.model.trim() ?? 'unknown'}`,
  memoryMegabytes: Math.round(totalmem() / 2 ** 20),
  node: process.version,
  ...versionsOf('prom-client', 'undici', 'zod'),
};

function versionsOf(...names: readonly string[]): Record<string, string> {
  const load = createRequire(import.meta.url);
  const { devDependencies: libraries } = load('../package.json') as {
    readonly devDependencies: Record<string, string>;
  };
  return Object.fromEntries(names.map((name) => [name, libraries[name] ?? '']));
}

function isWanted({ name, large }: Part): boolean {
  return flags.only.length === 0 ? large !== true || !flags.quick : flags.only.includes(name);
}

function progress(words: string): void {
  process.stderr.write(`${words}\n`);
}

async function rows(): Promise<JudgedRow[]> {
  const judged: JudgedRow[] = [];
  for (const part of parts.filter(isWanted)) {
    const started = performance.now();
    const partRows = (await part.rows(runs)).map(judge);
    judged.push(...partRows);
    progress(`${part.name}: ${((performance.now() - started) / 1000).toFixed(1)} s`);
    for (const { what, runs: all } of partRows) progress(`  ${what}: ${all.map(figure).join(', ')}`);
  }
  return judged;
}

const title = Object.entries(machine).map(([what, value]) => `${what} ${value}`);
if (flags.growth) {
  console.log(`${title.join(', ')}\n`);
  for (const growth of GROWTHS) console.log(`Growth with ${growth.title}\n\n${await growthTable(growth, runs)}\n`);
} else if (flags.json) {
  console.log(JSON.stringify({ machine, rows: await rows() }, undefined, 2));
} else {
  console.log(`${title.join(', ')}\n\n${rowTable(await rows())}`);
}
