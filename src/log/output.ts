import { fstatSync, write, writeSync } from 'node:fs';
import process from 'node:process';
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

/** Writes bytes without blocking. Calls `done` with an error or the number of bytes written. */
export type WriteBytes = (bytes: Buffer, done: (error: NodeJS.ErrnoException | null, written: number) => void) => void;

/**
 * Writes the log without blocking the event loop. Lines wait in memory while a reader stalls or a disk is full. Beyond
 * a limit, lines are dropped and counted. After a pipe closes, every line is dropped.
 */
export class LogOutput implements DestinationStream {
  readonly #write: WriteBytes;
  readonly #resumed: (lost: number) => void;
  #waiting: string[] = [];
  #waitingBytes = 0;
  /** The bytes being written. */
  #chunk: Buffer = Buffer.alloc(0);
  #chunkLines = 0;
  #isWriting = false;
  #isClosed = false;
  #dropped = 0;
  /** The number of dropped lines when `resumed` was last called. */
  #reported = 0;

  /** @param resumed called with the number of lost lines when lines can be written again */
  constructor(write: WriteBytes, resumed: (lost: number) => void) {
    this.#write = write;
    this.#resumed = resumed;
  }

  /** Lines dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    const isFull =
      this.#waiting.length + this.#chunkLines >= MAX_LINES ||
      this.#waitingBytes + this.#chunk.length + bytes > MAX_BYTES;
    if (this.#isClosed || isFull) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(line);
    this.#waitingBytes += bytes;
    if (!this.#isWriting) this.#writeNext();
  }

  /**
   * Writes waiting lines before the process exits, for a short time. `writeNow` returns the bytes written, or throws.
   */
  flush(writeNow: (bytes: Buffer) => number, pause: (milliseconds: number) => void): void {
    let rest = Buffer.concat([this.#chunk, Buffer.from(this.#waiting.join(''))]);
    for (let waited = 0; rest.length > 0 && waited < EXIT_LIMIT && !this.#isClosed;) {
      try {
        rest = rest.subarray(writeNow(rest));
      } catch (error) {
        if (!isFullPipe(error as NodeJS.ErrnoException)) return;
        pause(EXIT_PAUSE);
        waited += EXIT_PAUSE;
      }
    }
  }

  #writeNext(): void {
    if (this.#chunk.length === 0) {
      this.#chunk = Buffer.from(this.#waiting.join(''));
      this.#chunkLines = this.#waiting.length;
      this.#waiting = [];
      this.#waitingBytes = 0;
    }
    if (this.#chunk.length === 0) return;
    this.#isWriting = true;
    this.#write(this.#chunk, (error, written) => {
      if (error === null) this.#advance(written);
      else if (error.code === 'EPIPE') this.#close();
      else {
        const pause = isFullPipe(error) ? PIPE_PAUSE : DISK_PAUSE;
        setTimeout(() => this.#writeNext(), pause).unref();
      }
    });
  }

  #advance(written: number): void {
    this.#chunk = this.#chunk.subarray(written);
    if (this.#chunk.length === 0) {
      this.#chunkLines = 0;
      const lost = this.#dropped - this.#reported;
      this.#reported = this.#dropped;
      if (lost > 0) this.#resumed(lost);
    }
    this.#isWriting = false;
    this.#writeNext();
  }

  #close(): void {
    this.#isClosed = true;
    this.#dropped += this.#waiting.length + this.#chunkLines;
    this.#waiting = [];
    this.#chunk = Buffer.alloc(0);
  }
}

function isFullPipe({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EAGAIN';
}

const STDERR = 2;

/** Opens standard error as the output of the log. Writes waiting lines when the process exits. */
export function openStandardError(resumed: (lost: number) => void): LogOutput {
  const output = new LogOutput(isPipe() ? writeToPipe : writeToFile, resumed);
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  process.once('exit', () => {
    output.flush(
      (bytes) => writeSync(STDERR, bytes),
      (milliseconds) => void Atomics.wait(sleeper, 0, 0, milliseconds),
    );
  });
  return output;
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

const writeToPipe: WriteBytes = (bytes, done) => {
  let written: number;
  try {
    written = writeSync(STDERR, bytes);
  } catch (error) {
    done(error as NodeJS.ErrnoException, 0);
    return;
  }
  done(null, written);
};

/** A thread writes, because a disk may be slow. */
const writeToFile: WriteBytes = (bytes, done) => write(STDERR, bytes, done);
