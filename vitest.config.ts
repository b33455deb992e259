import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { SkipReporter } from './test/real/support/skipReporter.ts';

const OUTSIDE = ['test/soak/**'];

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

/** The longest first, then by size. Vitest itself knows how long a file takes only once it has run here. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = LONGEST.findIndex((path) => moduleId.endsWith(`/${path}`));
      return place >= 0 ? place : LONGEST.length;
    };
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    // What a file imports is kept for the next one, which saves most of the time of loading. So all files are one project.
    isolate: false,
    reporters: ['default', new SkipReporter()],
    // These only end what hangs: a slow machine fails no test.
    testTimeout: 240_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 90_000 } },
    // Many tests wait for what they have started: with twice as many as the usual two processors, none is idle meanwhile.
    maxWorkers: 4,
    coverage: { provider: 'v8', include: ['{src,simulator}/**/*.ts'], reportsDirectory: 'coverage' },
    include: ['test/**/*.test.ts'],
    exclude: OUTSIDE,
  },
});
