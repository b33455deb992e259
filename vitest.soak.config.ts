import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/soak/**/*.test.ts'],
    testTimeout: 900_000,
    maxWorkers: 1,
    pool: 'forks',
    execArgv: ['--expose-gc'],
    disableConsoleIntercept: true,
  },
});
