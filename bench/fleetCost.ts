import { startExporter, type Exporter, type Reading } from './exporter.ts';
import type { Upstream } from './processes.ts';
import { startUpstream } from './processes.ts';
import type { FleetSize } from './fleet.ts';

/** The cost of the built program with one fleet: a first refresh, the refresh of the next window, later scrapes. */
export interface FleetCost extends FleetSize {
  readonly series: number;
  readonly coldCalls: number;
  readonly coldMs: number;
  /** Processor time of the first refresh and its exposition. */
  readonly coldCpuSeconds: number;
  readonly refreshCalls: number;
  readonly refreshMs: number;
  /** Processor time of the second refresh and its exposition. */
  readonly refreshCpuSeconds: number;
  /** A further compressed scrape of the same window. */
  readonly warmMs: number;
  readonly peakRssMegabytes: number;
}

/** Runs the work with the built program in front of a canned upstream, and stops both. */
export async function withExporter<T>(
  size: FleetSize,
  latencyMs: number,
  work: (exporter: Exporter, upstream: Upstream) => Promise<T>,
  reading?: Reading,
): Promise<T> {
  const upstream = await startUpstream(size, latencyMs);
  try {
    const exporter = await startExporter(upstream.address, reading);
    try {
      return await work(exporter, upstream);
    } finally {
      await exporter.stop();
    }
  } finally {
    await upstream.stop();
  }
}

export function fleetCost(size: FleetSize, latencyMs: number, reading?: Reading): Promise<FleetCost> {
  const work = async (exporter: Exporter, upstream: Upstream): Promise<FleetCost> => {
    const started = await exporter.usage();
    const cold = await exporter.scrape({ gzip: true });
    const coldCalls = (await upstream.usage()).calls;
    const before = await exporter.usage();
    await exporter.nextWindow();
    const refresh = await exporter.scrape({ gzip: true });
    const after = await exporter.usage();
    const warm = await exporter.scrape({ gzip: true });
    const { peakRssMegabytes } = await exporter.usage();
    const { calls } = await upstream.usage();
    return {
      ...size,
      series: await seriesOf(exporter),
      coldCalls,
      coldMs: cold.milliseconds,
      coldCpuSeconds: before.cpuSeconds - started.cpuSeconds,
      refreshCalls: calls - coldCalls,
      refreshMs: refresh.milliseconds,
      refreshCpuSeconds: after.cpuSeconds - before.cpuSeconds,
      warmMs: warm.milliseconds,
      peakRssMegabytes,
    };
  };
  return withExporter(size, latencyMs, work, reading);
}

/** Scrapes several windows, one after the other. */
export async function refreshes(exporter: Exporter, count: number, { gzip = false } = {}): Promise<void> {
  for (let refresh = 0; refresh < count; refresh += 1) {
    await exporter.nextWindow();
    const { status } = await exporter.scrape({ gzip });
    if (status !== 200) throw new Error(`a scrape was answered with status ${status}`);
  }
}

/** Counts the series of a whole exposition. */
export async function seriesOf(exporter: Exporter): Promise<number> {
  const text = await exporter.read('');
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
}
