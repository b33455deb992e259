import { afterAll, onTestFinished } from 'vitest';
import { startSimulator, type Simulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts';
import { MovedClock } from './movedClock.ts';
import { startExporter, type Exporter, type ExporterOptions } from './program.ts';

// What a test starts with these ends with it, the last one first. They are for tests that run one after another.

export async function simulatorForTest(options: SimulatorOptions = {}): Promise<Simulator> {
  const simulator = await startSimulator(options);
  onTestFinished(() => simulator.close());
  return simulator;
}

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

/** For all tests of a file, or of a suite. */
export async function simulatorForFile(options: SimulatorOptions = {}): Promise<Simulator> {
  const simulator = await startSimulator(options);
  afterAll(() => simulator.close());
  return simulator;
}
