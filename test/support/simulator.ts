import { afterAll, onTestFinished } from 'vitest';
import { startSimulator, type Simulator, type SimulatorOptions } from '../../simulator/simulator.ts';

/** Calls this when a test has ended. */
export type After = (end: () => Promise<void> | void) => void;

/** A simulator that ends with the test; one that runs beside others gives its own `onTestFinished`. */
export async function simulatorForTest(
  options: SimulatorOptions = {},
  after: After = onTestFinished,
): Promise<Simulator> {
  const simulator = await startSimulator(options);
  after(() => simulator.close());
  return simulator;
}

/** A simulator for all tests of a file, or of a suite. */
export function simulatorForFile(options: SimulatorOptions = {}): Promise<Simulator> {
  return simulatorForTest(options, afterAll);
}
