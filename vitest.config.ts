import { basename } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { SkipReporter } from './test/real/support/skipReporter.ts';

const OUTSIDE = ['test/soak/**'];

/**
 * The longest, first: started late, one of them would run alone at the end. Each of those that wait for programs stands among
 * those that compute, so that no processor is idle.
 */
const LONGEST = [
  'test/e2e-tools/demo.test.ts',
  'test/real/image.test.ts',
  'test/api/nerdgraph/manyFailures.test.ts',
  'test/api/nerdgraph/failureMatrix.test.ts',
  'test/web/statusPage.browser.test.ts',
  'test/e2e/figuresOfClients.test.ts',
  'test/real/shards.test.ts',
  'test/config/loadFaults.long.test.ts',
  'test/e2e/hostileClients.test.ts',
  'test/real/silentNameServer.test.ts',
  'test/real/rules.test.ts',
  'test/real/incidents.test.ts',
  'test/e2e/slowProbes.test.ts',
  'test/tools/facts/planted.test.ts',
  'test/house/guide.test.ts',
  'test/web/server/servers.test.ts',
  'test/e2e/hostileBodies.test.ts',
  'test/deploy/helmValues.test.ts',
  'test/real/scrape.test.ts',
  'test/real/webConfig.test.ts',
];

/** The longest first, then by name. By size or folder, those that wait would run together. */
class LongestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = LONGEST.findIndex((path) => moduleId.endsWith(`/${path}`));
      return place >= 0 ? place : LONGEST.length;
    };
    const order = (a: TestSpecification, b: TestSpecification): number =>
      rank(a) - rank(b) || basename(a.moduleId).localeCompare(basename(b.moduleId));
    return Promise.resolve(files.toSorted(order));
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
    // One waits for programs while two compute, on the usual two processors. Each process more loads everything once more.
    maxWorkers: 3,
    coverage: { provider: 'v8', include: ['{src,simulator}/**/*.ts'], reportsDirectory: 'coverage' },
    include: ['test/**/*.test.ts'],
    exclude: OUTSIDE,
  },
});
