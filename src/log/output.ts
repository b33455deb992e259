import { fstatSync, write, writeSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { DestinationStream } from 'pino';

/** Limits of the waiting lines. Beyond them, lines are dropped. */
const MAX_LINES = 1_000;
const MAX_BYTES = 1_000_000;

/** Milliseconds before a retry. A pipe drains soon; a full disk takes longer. */
const PIPE_PAUSE = 20;
const DISK_PAUSE = 1_000;

/** Most milliseconds that the exit of the process spends on waiting lines. */
const EXIT_LIMIT = 200;
const EXIT_PAUSE = 5;

const STDERR = 2;
const writeInThread = promisify(write);

/** Opens standard error as the output of the log; see {@link LogOutput}. */
export function openStandardError(resumed: (lost: number) => void): LogOutput {
  const output = new LogOutput(resumed);
  process.once('exit', () => output.flush());
  return output;
}

/**
 * Writes the log without blocking the event loop. Lines wait in memory while a reader stalls or a disk is full. Beyond
 * a limit, lines are dropped and counted. After a pipe closes, every line is dropped.
 */
class LogOutput implements DestinationStream {
  readonly #resumed: (lost: number) => void;
  readonly #isPipe = isPipe();
  #waiting: string[] = [];
  #waitingBytes = 0;
  /** The bytes being written. */
  #chunk: Buffer = Buffer.alloc(0);
  #chunkLines = 0;
  #isWriting = false;
  #isClosed = false;
  /** Lines dropped since the start. */
  dropped = 0;
  /** The number of dropped lines when `resumed` was last called. */
  #reported = 0;

  /** @param resumed called with the number of lost lines when lines can be written again */
  constructor(resumed: (lost: number) => void) {
    this.#resumed = resumed;
  }

  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    const isFull =
      this.#waiting.length + this.#chunkLines >= MAX_LINES ||
      this.#waitingBytes + this.#chunk.length + bytes > MAX_BYTES;
    if (this.#isClosed || isFull) {
      this.dropped += 1;
      return;
    }
    this.#waiting.push(line);
    this.#waitingBytes += bytes;
    if (!this.#isWriting) void this.#writeAll();
  }

  /** Writes waiting lines before the process exits, for a short time. */
  flush(): void {
    const sleeper = new Int32Array(new SharedArrayBuffer(4));
    let rest = Buffer.concat([this.#chunk, Buffer.from(this.#waiting.join(''))]);
    for (let waited = 0; rest.length > 0 && waited < EXIT_LIMIT && !this.#isClosed;) {
      try {
        rest = rest.subarray(writeSync(STDERR, rest));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
        Atomics.wait(sleeper, 0, 0, EXIT_PAUSE);
        waited += EXIT_PAUSE;
      }
    }
  }

  /** Writes to a pipe at once, but to a file in a thread, because a disk may be slow. */
  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      this.#chunk = Buffer.from(this.#waiting.join(''));
      this.#chunkLines = this.#waiting.length;
      this.#waiting = [];
      this.#waitingBytes = 0;
      while (this.#chunk.length > 0) {
        try {
          const written = this.#isPipe
            ? writeSync(STDERR, this.#chunk)
            : (await writeInThread(STDERR, this.#chunk)).bytesWritten;
          this.#chunk = this.#chunk.subarray(written);
        } catch (error) {
          const { code } = error as NodeJS.ErrnoException;
          if (code === 'EPIPE') this.#close();
          else await sleep(code === 'EAGAIN' ? PIPE_PAUSE : DISK_PAUSE, undefined, { ref: false });
        }
      }
      this.#chunkLines = 0;
      const lost = this.dropped - this.#reported;
      this.#reported = this.dropped;
      if (lost > 0 && !this.#isClosed) this.#resumed(lost);
    }
    this.#isWriting = false;
  }

  #close(): void {
    this.#isClosed = true;
    this.dropped += this.#waiting.length + this.#chunkLines;
    this.#waiting = [];
    this.#chunk = Buffer.alloc(0);
  }
}

/**
 * True if standard error is a pipe or a socket. The first use of `process.stderr` makes Node open it without blocking,
 * so that a write returns at once. A thread that waits for a stalled reader would delay the exit.
 */
function isPipe(): boolean {
  try {
    const stats = fstatSync(STDERR);
    return (stats.isFIFO() || stats.isSocket()) && process.stderr.writable;
  } catch {
    return false;
  }
}
