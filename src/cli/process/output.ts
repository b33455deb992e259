import process from 'node:process';
import { getSystemErrorMap } from 'node:util';

/** What was written to standard output did not arrive. */
export class OutputError extends Error {
  override readonly name = 'OutputError';
  /** 0 when the reader has closed the pipe, as `head` does once it has enough; else 1. */
  readonly status: 0 | 1;

  constructor(cause: NodeJS.ErrnoException) {
    const [code, reason] = getSystemErrorMap().get(cause.errno ?? 0) ?? ['unknown error', cause.message];
    super(`standard output cannot be written: ${reason} (${code})`, { cause });
    this.status = cause.code === 'EPIPE' ? 0 : 1;
  }
}

/** Calls `lost` once, when standard output takes no more. */
export function onOutputLost(lost: (error: OutputError) => void): void {
  process.stdout.once('error', (error: NodeJS.ErrnoException) => lost(new OutputError(error)));
}

/** Waits until standard output has taken everything, or has said that it will not. */
export async function flushOutput(): Promise<void> {
  await new Promise<void>((done) => process.stdout.write('', () => done()));
}
