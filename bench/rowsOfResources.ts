import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ModuleKind, ScriptTarget, transpileModule } from 'typescript';
import type { ResponsesMeasurement } from './responsesCase.ts';
import { type Exporter, NERDGRAPH, type Reading, REST, startExporter } from './exporter.ts';
import { seriesOf, withExporter } from './fleetCost.ts';
import { measured, PROJECT, startUpstream } from './processes.ts';
import type { Aim, Row } from './rows.ts';
import type { FleetSize } from './fleet.ts';

/** Fleets by number of series: an application or a host has about 40. */
export const FLEETS: Record<'10k' | '100k' | '500k', FleetSize> = {
  '10k': { applications: 42, hostsPerApplication: 5 },
  '100k': { applications: 421, hostsPerApplication: 5 },
  '500k': { applications: 2109, hostsPerApplication: 5 },
};

/** Measures the processor time of one metric data response. */
export async function responseRows(runs: number): Promise<Row[]> {
  const upstream = await startUpstream({ applications: 1, hostsPerApplication: 1 }, 0);
  try {
    const { reader, bare } = await measured<ResponsesMeasurement>(
      'responsesCase.ts',
      runs,
      3000,
      `${upstream.address}/v2`,
    );
    return [
      {
        what: 'Processor time per response of 15 metrics x 11 values',
        unit: 'ms',
        runs: reader,
        reference: { what: 'undici and JSON alone', runs: bare },
        aim: { kind: 'most', limit: 0.25 },
      },
    ];
  } finally {
    await upstream.stop();
  }
}

/** Refreshes before reading the peak of memory, which hardly grows later. */
const REFRESHES = 10;

/** Returns the peak memory of the client library in megabytes, after two refreshes with two responses each. */
async function libraryPeakMegabytes(series: number): Promise<number> {
  const source = await readFile(new URL('memoryCase.ts', import.meta.url), 'utf8');
  const { outputText } = transpileModule(source, {
    compilerOptions: { module: ModuleKind.ESNext, target: ScriptTarget.ES2023 },
  });
  const args = ['--input-type=module', '--eval', outputText, String(series)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: PROJECT });
  return Number(stdout);
}

/**
 * Compares the peak memory of the built program with the client library. Measures once: refreshes are a minute apart,
 * as with Prometheus, because V8 collects garbage in the pauses.
 */
export async function memoryRow(size: '100k' | '500k'): Promise<Row> {
  return await withExporter(FLEETS[size], 0, async (exporter) => {
    for (let refresh = 0; refresh < REFRESHES; refresh += 1) {
      if (refresh > 0) await pause(60_000);
      if (refresh > 0) await exporter.nextWindow();
      await exporter.scrape({ gzip: true });
    }
    const { peakRssMegabytes } = await exporter.usage();
    const series = await seriesOf(exporter);
    return {
      what: `Peak RSS of the program at ${series} series, ${REFRESHES} refreshes a minute apart`,
      unit: 'MB',
      runs: [peakRssMegabytes],
      reference: { what: 'prom-client alone', runs: [await libraryPeakMegabytes(series)] },
      aim: { kind: 'most', limit: size === '100k' ? 175 : 320 },
    };
  });
}

/** Measures the time from the start of the built program to the log line "Listening". */
export async function startRow(runs: number): Promise<Row> {
  const ours: number[] = [];
  const bare: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const exporter = await startExporter('http://127.0.0.1:9');
    ours.push(exporter.startMs);
    await exporter.stop();
    const started = performance.now();
    await once(spawn(process.execPath, ['--eval', ''], { stdio: 'ignore' }), 'exit');
    bare.push(performance.now() - started);
  }
  return {
    what: 'Start of the program to listening',
    unit: 'ms',
    runs: ours,
    reference: { what: 'node without a program, start to end', runs: bare },
    aim: { kind: 'most', limit: 300 },
  };
}

const LATENCY_MS = 50;
const LONGEST_BLOCK_MS = 20;

/** Measures the longest block of the event loop in a refresh and its exposition. */
export async function blockRows(runs: number, applications: number): Promise<Row[]> {
  return [
    ...(await blockRowsOf('REST', REST, { kind: 'never', limit: LONGEST_BLOCK_MS }, runs, applications)),
    ...(await blockRowsOf('NerdGraph', NERDGRAPH, { kind: 'most', limit: LONGEST_BLOCK_MS }, runs, applications)),
  ];
}

async function blockRowsOf(
  name: string,
  reading: Reading,
  aim: Aim,
  runs: number,
  applications: number,
): Promise<Row[]> {
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
    exposition: 'first',
    unit: 'ms',
    runs: blocks,
    reference: { what: 'the most it may be', runs: [LONGEST_BLOCK_MS] },
    aim,
  });
  return [row('first refresh', first), row('next refresh', next)];
}

/** Measures the longest block of the event loop while rendering the status page. */
export async function pageRow(runs: number, applications: number): Promise<Row> {
  const blocks: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const work = async (exporter: Exporter): Promise<void> => {
      await exporter.scrape({ gzip: true });
      await exporter.watch();
      for (let page = 0; page < 3; page += 1) await exporter.page();
      blocks.push((await exporter.usage()).longestBlockMs);
    };
    await withExporter({ applications, hostsPerApplication: 1 }, 0, work, NERDGRAPH);
  }
  return {
    what: `Longest block of the event loop, three status pages of ${applications} applications with a host each`,
    unit: 'ms',
    runs: blocks,
    reference: { what: 'the most it may be', runs: [LONGEST_BLOCK_MS] },
    aim: { kind: 'most', limit: LONGEST_BLOCK_MS },
  };
}
