import type { CallObserver } from '../../../src/api/upstreamReader.ts';

/** An observer for readers whose calls are not counted. */
export const SILENT: CallObserver = {
  started: () => undefined,
  ended: () => undefined,
  failed: () => undefined,
  retried: () => undefined,
  split: () => undefined,
  leftOut: () => undefined,
  serviceMessage: () => undefined,
};
