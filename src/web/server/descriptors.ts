import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

const CHECK_INTERVAL_MS = 1_000;

/** Warns while no file descriptor is free: Node then closes new connections without an event. Returns how to stop. */
export function watchDescriptors(warn: (message: string) => void): () => void {
  const timer = setInterval(() => {
    try {
      closeSync(openSync(devNull, 'r'));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error)) throw error;
      if (error.code !== 'EMFILE' && error.code !== 'ENFILE') return;
      const limit = error.code === 'EMFILE' ? "this process's limit (ulimit -n, LimitNOFILE)" : "the machine's limit";
      warn(
        `No file descriptor is free, so new connections are closed: raise ${limit}, or find who holds connections open.`,
      );
    }
  }, CHECK_INTERVAL_MS).unref();
  return () => clearInterval(timer);
}
