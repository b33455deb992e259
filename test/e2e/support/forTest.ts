import { onTestFinished } from 'vitest';
import type { After } from '../../support/simulator.ts';
import { MovedClock } from './movedClock.ts';
import { startExporter, type Exporter, type ExporterOptions } from './program.ts';

// What a test starts with these ends with it, the last one first. A test that runs beside others gives its own `onTestFinished`.

export async function exporterForTest(options: ExporterOptions, after: After = onTestFinished): Promise<Exporter> {
  const exporter = await startExporter(options);
  after(async () => {
    await exporter.stop();
  });
  return exporter;
}

export function clockForTest(
  pace: ConstructorParameters<typeof MovedClock>[0] = {},
  after: After = onTestFinished,
): MovedClock {
  const clock = new MovedClock(pace);
  after(() => clock.close());
  return clock;
}
