import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fetchWhole } from './exporter.ts';
import { end, measured, PROJECT, scriptArguments } from './processes.ts';
import type { RenderMeasurement } from './renderCase.ts';
import type { Shape } from './renderFleet.ts';
import type { Aim, Row } from './rows.ts';

const NO_BLOCK: Aim = { kind: 'never', limit: 20 };

/** Expositions that follow are copies of the first. */
const AS_FAST: Aim = { kind: 'timesFaster', limit: 8 };

const SHAPE_WORDS: Record<Shape, string> = { spread: '35 families', flat: '1 family' };

interface Comparison {
  readonly series: number;
  readonly shape: Shape;
  readonly compressed: boolean;
  /** The most time of the first exposition, as a share of prom-client's time. */
  readonly first: number;
}

/** Compares rendering 100,000 series with prom-client. All values change before each first exposition. */
export async function renderRows(runs: number): Promise<Row[]> {
  const series = 100_000;
  return [
    ...(await compared({ series, shape: 'spread', compressed: false, first: 0.25 }, runs)),
    ...(await compared({ series, shape: 'flat', compressed: false, first: 0.25 }, runs)),
    ...(await compared({ series, shape: 'spread', compressed: true, first: 0.25 }, runs)),
  ];
}

/** Compares rendering 500,000 series with prom-client, and measures them over HTTP. */
export async function largeRenderRows(runs: number): Promise<Row[]> {
  const series = 500_000;
  const rows = await compared({ series, shape: 'spread', compressed: false, first: 0.25 }, runs);
  return [...rows, await overHttp(series, runs)];
}

async function compared({ series, shape, compressed, first }: Comparison, runs: number): Promise<Row[]> {
  const suffix = compressed ? '+gzip' : '';
  const library = await measured<RenderMeasurement>('renderCase.ts', `prom-client${suffix}`, shape, series, runs);
  const ours = await measured<RenderMeasurement>('renderCase.ts', `exporter${suffix}`, shape, series, runs);
  const name = `${series / 1000}k series, ${SHAPE_WORDS[shape]}${compressed ? ', gzip' : ''}`;
  return [
    {
      what: `${name}: first exposition after a refresh`,
      exposition: 'first',
      unit: 'ms',
      runs: ours.first,
      reference: { what: 'prom-client', runs: library.first },
      aim: { kind: 'mostTimes', limit: first },
    },
    {
      what: `${name}: expositions that follow`,
      exposition: 'following',
      unit: 'ms',
      runs: ours.warm,
      reference: { what: 'prom-client', runs: library.warm },
      aim: AS_FAST,
    },
    {
      what: `${name}: longest block of the event loop`,
      exposition: 'first',
      unit: 'ms',
      runs: ours.blocks,
      reference: { what: 'prom-client', runs: library.blocks },
      aim: NO_BLOCK,
    },
  ];
}

/** Compares a whole exposition over HTTP with a bare server that sends the same bytes. */
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
        // The first request opens the connection and renders the text, so it does not count.
        if (run >= 0) times[path].push(scrape.milliseconds);
      }
    }
    return {
      what: `${series / 1000}k series over HTTP: expositions that follow`,
      exposition: 'following',
      unit: 'ms',
      runs: times.exposition,
      reference: { what: 'bare server, same bytes', runs: times.bare },
      aim: undefined,
    };
  } finally {
    await end(child);
  }
}
