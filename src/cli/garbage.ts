import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Growth of the memory between two full garbage collections, in percent of the memory in use. */
const GROWTH = 42;

/** Size at which the memory for new objects stops growing, in bytes: half costs a sixth more CPU time, double 15 MB more. */
const YOUNG_SPACE = 16 * 1024 * 1024;

/**
 * Sets V8's garbage collection for a small memory rather than for the last percent of speed.
 *
 * - Every refresh replaces all values. By default V8 lets the memory grow to several times the size in use before it frees the
 *   old values.
 * - Pretenuring puts new objects straight into old memory where V8 has seen many of them survive. It does so with the buffers
 *   of response bodies, of which thousands then wait there for a full collection.
 * - The memory for new objects would grow to 33 MB in the first large refresh. Only a flag of the command line could limit it
 *   beforehand, so V8 is told to stop growing it once it has the wanted size.
 */
export function collectGarbageEarly(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH}`);
  setFlagsFromString('--no-allocation-site-pretenuring');
  const collections = new PerformanceObserver(() => {
    const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
    if ((young?.space_size ?? 0) < YOUNG_SPACE) return;
    setFlagsFromString('--semi-space-growth-factor=1');
    collections.disconnect();
  });
  collections.observe({ entryTypes: ['gc'] });
}
