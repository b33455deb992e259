import { basename } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { SkipReporter } from './test/real/support/skipReporter.ts';

const OUTSIDE = ['test/soak/**'];

/**
 * The slowest files. They start first, because a slow file that starts last runs alone. Files that wait alternate with files
 * that compute.
 */
const LONGEST = [
  'test/e2e-tools/demo.test.ts',
  'test/real/image.test.ts',
  'test/api/nerdgraph/manyFailures.test.ts',
  'test/api/nerdgraph/failureMatrix.test.ts',
  'test/web/statusPage.browser.test.ts',
  'test/e2e/figuresOfClients.test.ts',
  'test/config/loadFaults.long.test.ts',
  'test/e2e/hostileClients.test.ts',
  'test/real/shards.test.ts',
  'test/real/rules.test.ts',
  'test/real/incidents.test.ts',
  'test/e2e/slowProbes.test.ts',
  'test/tools/facts/planted.test.ts',
  'test/house/guide.test.ts',
  'test/web/server/servers.test.ts',
  'test/e2e/hostileBodies.test.ts',
  'test/deploy/helmValues.test.ts',
  'test/real/scrape.test.ts',
  'test/tools/backfill/interruption.test.ts',
  'test/collect/promises.long.test.ts',
  'test/real/webConfig.test.ts',
];

/** Sorts the slowest files first, the others by name. Sorted by size or folder, files that wait would run together. */
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
    // For two processors: one file waits while two compute. A fourth process would load every module again.
    maxWorkers: 3,
    coverage: { provider: 'v8', include: ['{src,simulator}/**/*.ts'], reportsDirectory: 'coverage' },
    include: ['test/**/*.test.ts'],
    exclude: OUTSIDE,
  },
});
