import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fetchWhole } from './exporter.ts';
import { end, measured, PROJECT, scriptArguments } from './processes.ts';
import type { RenderMeasurement } from './renderCase.ts';
import type { Shape } from './renderFleet.ts';
import type { Aim, Row } from './rows.ts';

/** What the aims for 500,000 series are set against: seconds, on the machine where the library takes that long. */
const AIM_SECONDS = 0.4;
const LIBRARY_SECONDS = 1.7;

const AS_FAST: Aim = { kind: 'timesFaster', limit: 8 };
const AS_FAST_AT_LARGE: Aim = { kind: 'mostTimes', limit: AIM_SECONDS / LIBRARY_SECONDS };
const NO_BLOCK: Aim = { kind: 'never', limit: 20 };

const SHAPE_WORDS: Record<Shape, string> = { spread: '35 families', flat: '1 family' };

interface Comparison {
  readonly series: number;
  readonly shape: Shape;
  readonly compressed: boolean;
  readonly first: Aim | undefined;
  readonly warm: Aim | undefined;
  readonly block: Aim | undefined;
}

/** The text of 100,000 series against prom-client's. Values all change before each first render. */
export async function renderRows(runs: number): Promise<Row[]> {
  const series = 100_000;
  const rows: Row[] = [];
  for (const shape of ['spread', 'flat'] as const) {
    const aims = { first: undefined, warm: AS_FAST, block: NO_BLOCK };
    rows.push(...(await compared({ series, shape, compressed: false, ...aims }, runs)));
  }
  rows.push(
    ...(await compared(
      { series, shape: 'spread', compressed: true, first: undefined, warm: undefined, block: NO_BLOCK },
      runs,
    )),
  );
  return rows;
}

/** The same of 500,000, and over HTTP. */
export async function largeRenderRows(runs: number): Promise<Row[]> {
  const series = 500_000;
  const aims = { first: undefined, warm: AS_FAST_AT_LARGE, block: undefined };
  const rows = await compared({ series, shape: 'spread', compressed: false, ...aims }, runs);
  return [...rows, await overHttp(series, runs)];
}

async function compared(comparison: Comparison, runs: number): Promise<Row[]> {
  const { series, shape, compressed } = comparison;
  const suffix = compressed ? '+gzip' : '';
  const library = await measured<RenderMeasurement>('renderCase.ts', `prom-client${suffix}`, shape, series, runs);
  const ours = await measured<RenderMeasurement>('renderCase.ts', `exporter${suffix}`, shape, series, runs);
  const name = `${series / 1000}k series, ${SHAPE_WORDS[shape]}${compressed ? ', gzip' : ''}`;
  return [
    {
      what: `${name}: first answer after a refresh`,
      unit: 'ms',
      runs: ours.first,
      reference: { what: 'prom-client', runs: library.first },
      aim: comparison.first,
    },
    {
      what: `${name}: answers that follow`,
      unit: 'ms',
      runs: ours.warm,
      reference: { what: 'prom-client', runs: library.warm },
      aim: comparison.warm,
    },
    {
      what: `${name}: longest block of the event loop`,
      unit: 'ms',
      runs: ours.blocks,
      reference: { what: 'prom-client', runs: library.blocks },
      aim: comparison.block,
    },
  ];
}

/** A whole answer as a client sees it, against a bare server that sends the same bytes. */
async function overHttp(series: number, runs: number): Promise<Row> {
  const child = spawn(process.execPath, scriptArguments('serverCase.ts', series), {
    cwd: PROJECT,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  try {
    const [{ port }] = (await once(child, 'message')) as [{ readonly port: number }];
    const times: Record<'exposition' | 'bare', number[]> = { exposition: [], bare: [] };
    for (let run = -1; run < runs; run += 1) {
      for (const path of ['exposition', 'bare'] as const) {
        const { scrape } = await fetchWhole(`http://127.0.0.1:${port}/${path}`, false);
        // The first of each opens the connection and has the text made.
        if (run >= 0) times[path].push(scrape.milliseconds);
      }
    }
    return {
      what: `${series / 1000}k series over HTTP: answers that follow`,
      unit: 'ms',
      runs: times.exposition,
      reference: { what: 'bare server, same bytes', runs: times.bare },
      aim: undefined,
    };
  } finally {
    await end(child);
  }
}
