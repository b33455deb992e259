import type { RollingSummary } from '../types.ts';

/** A summary of which nothing is known. */
export const NO_SUMMARY: RollingSummary = Object.freeze({
  responseTime: undefined,
  throughput: undefined,
  errorRate: undefined,
  apdexTarget: undefined,
  apdexScore: undefined,
  hostCount: undefined,
  instanceCount: undefined,
  concurrentInstanceCount: undefined,
});
