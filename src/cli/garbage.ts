import { setFlagsFromString } from 'node:v8';

/**
 * Keeps V8 from putting new objects straight into old memory where it has seen many of them live on. It takes the buffers
 * that answers are read into for such, and then thousands of bodies wait there for a full collection: a tenth of the memory
 * in use with 100,000 series (docs/performance.md).
 */
export function keepBodiesYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
}
