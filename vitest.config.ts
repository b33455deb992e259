import { defineConfig } from 'vitest/config';
import { SkipReporter } from './test/real/support/skipReporter.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/soak/**'],
    reporters: ['default', new SkipReporter()],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Many tests wait for what they have started: with one more than the usual two processors, none is idle meanwhile.
    maxWorkers: 3,
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reportsDirectory: 'coverage' },
  },
});
