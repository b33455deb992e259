import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** How much the memory may grow between two full collections of garbage, in percent of what is in use. */
const GROWTH = 50;

/** Enough memory for new objects, in bytes: with less they are collected too often, with more nothing gets faster. */
const YOUNG_SPACE = 8 * 1024 * 1024;

/**
 * Has V8 collect garbage for a small memory rather than for the last percent of speed (docs/performance.md).
 *
 * - Every refresh replaces all values. V8 would let the memory grow to several times what is in use before it looks for
 *   those of before.
 * - Pretenuring puts new objects straight into old memory where V8 has seen many of them live on. It takes the buffers that
 *   answers are read into for such, and then thousands of bodies wait there for a full collection.
 * - The memory for new objects grows to 33 MB in the first large refresh. It takes a flag of the command line to limit it
 *   beforehand, so V8 is told to stop when it is large enough.
 */
export function collectGarbageEarly(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH}`);
  setFlagsFromString('--no-allocation-site-pretenuring');
  const collections = new PerformanceObserver(() => {
    if (youngSpace() < YOUNG_SPACE) return;
    setFlagsFromString('--semi-space-growth-factor=1');
    collections.disconnect();
  });
  collections.observe({ entryTypes: ['gc'] });
}

function youngSpace(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0;
}
