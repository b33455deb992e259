import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

const LOOK_EVERY_MS = 1_000;

/**
 * Warns, once a second at most, while this process or the machine has no file descriptor left: Node then closes new connections
 * without an event. Returns a function that stops it.
 */
export function watchDescriptors(warn: (message: string) => void): () => void {
  const look = setInterval(() => {
    try {
      closeSync(openSync(devNull, 'r'));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error)) throw error;
      if (error.code !== 'EMFILE' && error.code !== 'ENFILE') return;
      const limit = error.code === 'EMFILE' ? "this process's limit (ulimit -n, LimitNOFILE)" : "the machine's limit";
      warn(
        `No file descriptor is left, so new connections are cut off: raise ${limit}, or look who holds connections open.`,
      );
    }
  }, LOOK_EVERY_MS).unref();
  return () => clearInterval(look);
}
