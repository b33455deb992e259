import { onTestFinished } from 'vitest';
import { MovedClock } from './movedClock.ts';
import { startExporter, type Exporter, type ExporterOptions } from './program.ts';

// What a test starts with these ends with it, the last one first. They are for tests that run one after another.

export async function exporterForTest(options: ExporterOptions): Promise<Exporter> {
  const exporter = await startExporter(options);
  onTestFinished(async () => {
    await exporter.stop();
  });
  return exporter;
}

export function clockForTest(...pace: ConstructorParameters<typeof MovedClock>): MovedClock {
  const clock = new MovedClock(...pace);
  onTestFinished(() => clock.close());
  return clock;
}
