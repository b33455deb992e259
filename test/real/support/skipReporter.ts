import type { Reporter, TestCase, TestModule } from 'vitest/node';
import { SKIP_MARK } from './skipMark.ts';

/** A test that did not run, and what it says of that itself. */
export interface Skipped {
  readonly name: string;
  readonly note?: string | undefined;
}

/** Says at the very end how many tests did not run, and why: a skip is never silent. */
export class SkipReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped = modules.flatMap((module) => [...module.children.allTests('skipped')].map(described));
    for (const line of summarizeSkips(skipped)) process.stderr.write(`${line}\n`);
  }
}

/** One line per reason with the number of tests: the reason in the name, else the note. */
export function summarizeSkips(skipped: readonly Skipped[]): string[] {
  const counts = new Map<string, number>();
  for (const { name, note } of skipped) {
    const marked = new RegExp(`\\[${SKIP_MARK}(.*?)\\]`, 's').exec(name)?.[1];
    const reason = marked ?? note ?? 'without a reason in their names';
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return [...counts].map(([reason, count]) => `skipped: ${count} ${count === 1 ? 'test' : 'tests'}, ${reason}`);
}

function described(test: TestCase): Skipped {
  const result = test.result();
  return { name: test.fullName, note: result.state === 'skipped' ? result.note : undefined };
}
