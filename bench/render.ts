/** Rendering against prom-client on the same samples; `node --expose-gc --import tsx bench/render.ts [series ...]`. */
import { execFile } from 'node:child_process';
import { cpus } from 'node:os';
import { promisify } from 'node:util';
import type { RenderMeasurement } from './renderCase.ts';
import type { Shape } from './renderFleet.ts';

const run = promisify(execFile);

async function measured(who: string, shape: Shape, series: number): Promise<RenderMeasurement> {
  const script = new URL('renderCase.ts', import.meta.url).pathname;
  const { stdout } = await run(process.execPath, ['--import', 'tsx', script, who, shape, String(series)]);
  return JSON.parse(stdout) as RenderMeasurement;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const sizes = process.argv.slice(2).map(Number);
console.log(
  `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}; milliseconds, median of 7 refreshes`,
);
for (const series of sizes.length > 0 ? sizes : [100_000, 500_000]) {
  for (const shape of ['flat', 'spread'] as const) {
    const rows: Record<string, Record<string, string | number>> = {};
    for (const who of ['prom-client', 'exporter', 'prom-client+gzip', 'exporter+gzip']) {
      const result = await measured(who, shape, series);
      rows[who] = {
        first: median(result.first).toFixed(1),
        warm: median(result.warm).toFixed(2),
        'longest block': result.longestBlock.toFixed(1),
        'peak RSS MB': Math.round(result.peakRssMegabytes),
        MB: (result.bytes / 1e6).toFixed(1),
      };
    }
    console.log(`\n${series} series, ${shape}`);
    console.table(rows);
  }
}
