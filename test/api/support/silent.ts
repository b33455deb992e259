import type { CallObserver } from '../../../src/api/upstreamReader.ts';

/** For readers whose calls nobody counts. */
export const SILENT: CallObserver = {
  started: () => undefined,
  ended: () => undefined,
  failed: () => undefined,
  retried: () => undefined,
  split: () => undefined,
  serviceMessage: () => undefined,
};
