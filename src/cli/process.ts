import process from 'node:process';
import { constants } from 'node:os';
import { getSystemErrorMap, styleText } from 'node:util';
import { setMaxListeners } from 'node:events';
import { endProcess } from './ending.ts';

const STYLES: Readonly<Record<string, Parameters<typeof styleText>[0]>> = {
  error: 'red',
  problem: 'red',
  warning: 'yellow',
  differs: 'red',
  'not decidable here': 'yellow',
  hint: 'cyan',
};

/** Lines for a person. The words before the colon that say what a line is have a colour, where the stream shows colours. */
export function colourLines(lines: string, stream: NodeJS.WriteStream): string {
  return lines.replace(
    /^( *(?:(?:query|entities) [^:\n]*: )?)(error|problem|warning|hint|differs|not decidable here)(?=: )/gm,
    (_, before: string, words: string) => before + styleText(STYLES[words] ?? 'bold', words, { stream }),
  );
}

export function printError(text: string): void {
  process.stderr.write(colourLines(`error: ${text}\n`, process.stderr));
}

/** Ends the command with this exit status; the message for the user is already printed. */
export class ExitStatus extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`exit status ${status}`);
    this.status = status;
  }
}

/** A wrong use of the command: exit status 2. The message is a sentence. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The failure of standard output. */
export class OutputError extends Error {
  override readonly name = 'OutputError';
  /** 0 when the reader closed the pipe, as `head` does after its last line; else 1. */
  readonly status: 0 | 1;

  constructor(cause: NodeJS.ErrnoException) {
    const [code, reason] = getSystemErrorMap().get(cause.errno ?? 0) ?? ['unknown error', cause.message];
    super(`standard output cannot be written: ${reason} (${code})`, { cause });
    this.status = cause.code === 'EPIPE' ? 0 : 1;
  }
}

export function onOutputLost(lost: (error: OutputError) => void): void {
  process.stdout.once('error', (error: NodeJS.ErrnoException) => lost(new OutputError(error)));
}

/** Waits until standard output has taken everything, or has failed. */
export async function flushOutput(): Promise<void> {
  await new Promise<void>((done) => process.stdout.write('', () => done()));
}

/** A signal for commands that read: ctrl-C, SIGTERM, and the end of standard output abort it. A second one ends the process. */
export function stopOnSignals(): AbortSignal {
  const controller = new AbortController();
  // Every waiting call adds a listener, so Node's warning about many of them is switched off.
  setMaxListeners(0, controller.signal);
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    // Shells expect 128 plus the number of the signal.
    const status = 128 + constants.signals[name];
    process.on(name, () => {
      if (controller.signal.aborted) endProcess(status);
      controller.abort(new ExitStatus(status));
    });
  }
  onOutputLost((error) => controller.abort(error));
  return controller.signal;
}
