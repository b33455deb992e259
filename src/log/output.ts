import { fstatSync, write, writeSync } from 'node:fs';
import process from 'node:process';
import type { DestinationStream } from 'pino';

/** Limits for what waits to be written; further lines are dropped. */
const MAX_LINES = 1_000;
const MAX_BYTES = 1_000_000;

/** Pause before another attempt, in milliseconds: a pipe may have room soon, a full disk later. */
const PIPE_PAUSE = 20;
const DISK_PAUSE = 1_000;

/** Longest time at the exit of the process for what still waits, in milliseconds. */
const EXIT_LIMIT = 200;
const EXIT_PAUSE = 5;

/** Writes bytes without waiting for a reader, and then calls `done` with an error or the number of bytes written. */
export type WriteBytes = (bytes: Buffer, done: (error: NodeJS.ErrnoException | null, written: number) => void) => void;

/**
 * The output of the log. It never holds up the event loop: lines wait in memory while a reader stalls or a disk is full, and
 * are dropped and counted beyond a limit. A closed pipe drops every line.
 */
export class LogOutput implements DestinationStream {
  readonly #write: WriteBytes;
  readonly #resumed: (lost: number) => void;
  #waiting: string[] = [];
  #waitingBytes = 0;
  /** The lines that are being written. */
  #chunk: Buffer = Buffer.alloc(0);
  #chunkLines = 0;
  #isWriting = false;
  #isClosed = false;
  #dropped = 0;
  /** The number of dropped lines when `resumed` was last called. */
  #reported = 0;

  /** @param resumed called when lines can be written again, with the number that was lost */
  constructor(write: WriteBytes, resumed: (lost: number) => void) {
    this.#write = write;
    this.#resumed = resumed;
  }

  /** The number of lines that were not written since the start. */
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

  /** Writes what waits before the process exits, for a short time; `writeNow` gives the number of bytes written, or throws. */
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

/** Opens standard error as the output of the log; what waits is written when the process exits. */
export function openStandardError(resumed: (lost: number) => void): LogOutput {
  const output = new LogOutput(writesAtOnce() ? writeToPipe : writeToFile, resumed);
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
 * True for a pipe or a socket. Node opens it without blocking when `process.stderr` is first used, so that a write takes what
 * there is room for and returns; a thread that waits for a stalled reader would hold up the exit.
 */
function writesAtOnce(): boolean {
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

/** A disk may be slow, so a thread writes. */
const writeToFile: WriteBytes = (bytes, done) => write(STDERR, bytes, done);
