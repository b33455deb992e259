import type { Reporter, TestModule } from 'vitest/node';
import { SKIP_MARK } from './skipMark.ts';

/** Says at the very end how many tests did not run for want of a real program, and why: a skip is never silent. */
export class SkipReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const line of summarizeSkips(modules.flatMap(skippedNames))) process.stderr.write(`${line}\n`);
  }
}

/** One line per reason with the number of tests, from the full names of the skipped tests. */
export function summarizeSkips(names: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const name of names) {
    const reason = new RegExp(`\\[${SKIP_MARK}(.*?)\\]`).exec(name)?.[1];
    if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return [...counts].map(([reason, count]) => `real-program tests: ${count} skipped, ${reason}`);
}

function skippedNames(module: TestModule): string[] {
  return [...module.children.allTests('skipped')].map((test) => test.fullName);
}
