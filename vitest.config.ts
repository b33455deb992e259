import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { SkipReporter } from './test/real/support/skipReporter.ts';

/** Tests that start programs: the built one, real ones of others, a browser, tools; and one that takes minutes. */
const PROGRAMS = [
  'test/{real,e2e,e2e-tools,deploy,house,docs}/**/*.test.ts',
  'test/**/*.browser.test.ts',
  'test/tools/facts/planted.test.ts',
];
const OUTSIDE = ['test/soak/**'];

/** Pure parts, which need no program, no socket and no seconds, but for the files `*.long.test.ts` of their folders. */
const QUICK = [
  'test/{formulas,metrics,nrql,config,exposition,log,eventLoop,collect,monitoring,cli}/**/!(*.long).test.ts',
];

/** Programs first: those tests wait a lot, and the others fill what time is left at the end. */
class ProgramsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isQuick = ({ project }: TestSpecification): number => Number(project.name !== 'programs');
    return sorted.toSorted((a, b) => isQuick(a) - isQuick(b));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: ProgramsFirst },
    // What a file imports is kept for the next one, which saves most of the time of loading.
    isolate: false,
    reporters: ['default', new SkipReporter()],
    // These only end what hangs: a slow machine fails no test.
    testTimeout: 240_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 90_000 } },
    // Many tests wait for what they have started: with twice as many as the usual two processors, none is idle meanwhile.
    maxWorkers: 4,
    coverage: { provider: 'v8', include: ['{src,simulator}/**/*.ts'], reportsDirectory: 'coverage' },
    projects: [
      { extends: true, test: { name: 'quick', include: QUICK } },
      {
        extends: true,
        test: { name: 'others', include: ['test/**/*.test.ts'], exclude: [...OUTSIDE, ...PROGRAMS, ...QUICK] },
      },
      { extends: true, test: { name: 'programs', include: PROGRAMS, exclude: OUTSIDE } },
    ],
  },
});
