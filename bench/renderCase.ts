/**
 * Makes one measurement in a separate process, and prints JSON:
 * `node --import tsx bench/renderCase.ts <who> <shape> <series> [rounds]`.
 */
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { gzip } from 'node:zlib';
import { promisify } from 'node:util';
import { writeExposition, findFamilies } from '../src/exposition/exposition.ts';
import { SeriesMask } from '../src/exposition/seriesMask.ts';
import { Secrets } from '../src/log/secrets.ts';
import { Gauge, Registry } from 'prom-client';
import { packSamples, type Block } from '../src/metrics/writeSamples.ts';
import { Fleet, type EntitySamples, type Shape } from './renderFleet.ts';

export interface RenderMeasurement {
  /** Milliseconds, one for each refresh. */
  readonly first: readonly number[];
  readonly warm: readonly number[];
  /** Longest blocks of the event loop in first expositions, in milliseconds on the processor. */
  readonly blocks: readonly number[];
  readonly longestBlock: number;
  readonly bytes: number;
  readonly peakRssMegabytes: number;
}

const WARMS = 3;

type Render = () => Promise<number>;

/** A renderer: `take` stores the values of a refresh, `render` returns the bytes of an exposition. */
interface Contender {
  readonly take: (entities: EntitySamples[]) => void;
  readonly render: Render;
}

function ours(compressed: boolean): Contender {
  let blocks: Block[] = [];
  const secrets = new Secrets();
  secrets.add('NRAK-0123456789ABCDEFGHIJKLMNOPQ');
  const mask = new SeriesMask(
    (text) => secrets.maskPublished(text),
    () => secrets.size,
  );
  return {
    take: (next) => {
      blocks = next.map((entity, index) => ({
        ...entity,
        samples: packSamples(entity.group, entity.samples, blocks[index]?.samples),
      }));
    },
    render: async () => {
      const { families } = await findFamilies(blocks, Infinity, mask);
      const pieces = await writeExposition(families, [], { format: 'text', gzip: compressed }, mask);
      return pieces.reduce((sum, { length }) => sum + length, 0);
    },
  };
}

function library(fleet: Fleet, compressed: boolean): Contender {
  const registry = new Registry();
  const gauges = new Map(
    fleet.families.map((family) => {
      const labelNames = ['account', 'app', 'app_id', 'team'];
      return [family, new Gauge({ name: family.name, help: family.help, labelNames, registers: [registry] })];
    }),
  );
  const compress = promisify(gzip);
  return {
    take: (blocks) => {
      for (const { labels, samples } of blocks) {
        samples.forEach(({ family, value }) => gauges.get(family)?.set({ ...labels }, value));
      }
    },
    render: async () => {
      const text = Buffer.from(await registry.metrics(), 'utf8');
      return compressed ? (await compress(text, { level: 1 })).length : text.length;
    },
  };
}

/**
 * Returns the milliseconds of the main thread on a processor, so that other programs do not count. Without Linux,
 * returns the time of the clock.
 */
function busyTime(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return performance.now();
  }
}

/** Runs the work, and returns the longest block of the event loop, garbage collection included. */
async function longestBlock(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let running = true;
  let last = busyTime();
  const turn = () => {
    const now = busyTime();
    longest = Math.max(longest, now - last);
    last = busyTime();
    if (running) {
      setImmediate(turn);
    }
  };
  setImmediate(turn);
  await work();
  running = false;
  turn();
  return longest;
}

async function measure(fleet: Fleet, { take, render }: Contender, rounds: number): Promise<RenderMeasurement> {
  const first: number[] = [];
  const warm: number[] = [];
  const blocks: number[] = [];
  let bytes = 0;
  const timed = async () => {
    const start = performance.now();
    bytes = await render();
    return performance.now() - start;
  };
  for (let round = 0; round < rounds; round += 1) {
    take(fleet.refresh());
    await pause(20);
    first.push(await timed());
    for (let again = 0; again < WARMS; again += 1) {
      warm.push(await timed());
    }
    take(fleet.refresh());
    await pause(20);
    blocks.push(await longestBlock(render));
  }
  const peakRssMegabytes = process.resourceUsage().maxRSS / 1024;
  return { first, warm, blocks, longestBlock: Math.max(...blocks), bytes, peakRssMegabytes };
}

const [who = '', shape = '', series = '', rounds = '7'] = process.argv.slice(2);
const fleet = new Fleet(shape as Shape, Number(series));
const compressed = who.endsWith('+gzip');
const contender = who.startsWith('prom-client') ? library(fleet, compressed) : ours(compressed);
process.stdout.write(JSON.stringify(await measure(fleet, contender, Number(rounds))));
