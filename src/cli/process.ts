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

const LABEL = new RegExp(`^( *(?:(?:query|entities) [^:\\n]*: )?)(${Object.keys(STYLES).join('|')})(?=: )`, 'gm');

/** Colours the label of each line, such as `error:`, where the stream shows colours. */
export function colourLines(lines: string, stream: NodeJS.WriteStream): string {
  const paint = (words: string): string => styleText(STYLES[words] ?? 'bold', words, { stream });
  return lines.replace(LABEL, (_, before: string, words: string) => before + paint(words));
}

export function printError(text: string): void {
  process.stderr.write(colourLines(`error: ${text}\n`, process.stderr));
}

/** Ends the command with this status. The thrower has printed the message. */
export class ExitStatus extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`exit status ${status}`);
    this.status = status;
  }
}

/** Wrong usage of a command: exit status 2. The message is a sentence. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export class OutputError extends Error {
  override readonly name = 'OutputError';
  /** 0 when the reader closed the pipe, as `head` does; else 1. */
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

/** Returns a signal that ctrl-C, SIGTERM and a lost standard output abort. A second ctrl-C or SIGTERM ends at once. */
export function stopOnSignals(): AbortSignal {
  const controller = new AbortController();
  // Every waiting call adds a listener. Node would warn about a leak.
  setMaxListeners(0, controller.signal);
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    // By the convention of shells.
    const status = 128 + constants.signals[name];
    process.on(name, () => {
      if (controller.signal.aborted) endProcess(status);
      controller.abort(new ExitStatus(status));
    });
  }
  onOutputLost((error) => controller.abort(error));
  return controller.signal;
}
