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

/** Those that take from half a minute to two, the longest first: started late, one of them would run alone at the end. */
const LONGEST = [
  'test/real/image.test.ts',
  'test/web/statusPage.browser.test.ts',
  'test/real/silentNameServer.test.ts',
  'test/e2e-tools/demo.test.ts',
  'test/e2e/figuresOfClients.test.ts',
  'test/e2e/hostileClients.test.ts',
  'test/e2e/signals.test.ts',
  'test/real/rules.test.ts',
  'test/real/scrape.test.ts',
  'test/real/shards.test.ts',
];

/**
 * The longest first, then the other programs: those tests wait a lot, and the rest fills what time is left at the end. Vitest
 * itself knows how long a file takes only once it has run here.
 */
class ProgramsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ moduleId, project }: TestSpecification): number => {
      const place = LONGEST.findIndex((path) => moduleId.endsWith(`/${path}`));
      if (place >= 0) return place;
      return project.name === 'programs' ? LONGEST.length : LONGEST.length + 1;
    };
    return sorted.toSorted((a, b) => rank(a) - rank(b));
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
