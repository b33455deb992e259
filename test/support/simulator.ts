import { afterAll, onTestFinished } from 'vitest';
import { startSimulator, type Simulator, type SimulatorOptions } from '../../src/simulator/simulator.ts';

/** A simulator that ends with the test, which runs beside no other. */
export async function simulatorForTest(options: SimulatorOptions = {}): Promise<Simulator> {
  const simulator = await startSimulator(options);
  onTestFinished(() => simulator.close());
  return simulator;
}

/** A simulator for all tests of a file, or of a suite. */
export async function simulatorForFile(options: SimulatorOptions = {}): Promise<Simulator> {
  const simulator = await startSimulator(options);
  afterAll(() => simulator.close());
  return simulator;
}
