import { defineConfig } from 'vitest/config';
import config from './vitest.config.ts';

/** Pure parts, which need no program, no socket and no seconds, but for the files `*.long.test.ts` of their folders. */
const QUICK = [
  'test/{formulas,metrics,nrql,config,exposition,log,eventLoop,collect,monitoring,cli}/**/!(*.long).test.ts',
];

export default defineConfig({ ...config, test: { ...config.test, include: QUICK } });
