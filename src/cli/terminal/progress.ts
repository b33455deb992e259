import { SingleBar } from 'cli-progress';
import process from 'node:process';

/** Shows on standard error how far a command has come: a bar on a terminal, else a line every few seconds. */
export interface Progress {
  /** `total` may grow while more work becomes known. */
  update(done: number, total: number): void;
  stop(): void;
}

const LINE_EVERY_MS = 5_000;

/** What is over sooner shows nothing. */
const QUIET_MS = 2_000;

export function showProgress(what: string): Progress {
  const bar = new SingleBar({
    format: `${what} [{bar}] {value}/{total}`,
    stream: process.stderr,
    noTTYOutput: true,
    notTTYSchedule: LINE_EVERY_MS,
    hideCursor: true,
    clearOnComplete: process.stderr.isTTY,
  });
  const since = Date.now();
  let started = false;
  return {
    update: (done, total) => {
      if (!started && Date.now() - since < QUIET_MS) return;
      if (!started) bar.start(total, done);
      started = true;
      bar.setTotal(total);
      bar.update(done);
    },
    stop: () => {
      if (started) bar.stop();
    },
  };
}
