import { pino } from 'pino';
import type { Logger } from 'pino';
import { errorText, WithStack } from './errorText.ts';
import { escapeUnsafe, formatLogfmt } from './logfmt.ts';
import type { LogFields } from './logfmt.ts';
import type { Secrets } from './secrets.ts';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export const LOG_FORMATS = ['logfmt', 'json'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];
export type LogFormat = (typeof LOG_FORMATS)[number];

export interface LogDestination {
  write(line: string): unknown;
}

export interface LoggerOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** Standard error by default. */
  readonly destination?: LogDestination;
  readonly secrets: Secrets;
}

/**
 * The program's log: one line per event with `time`, `level`, `msg` and the fields given, in logfmt or JSON. An error
 * given as `err` becomes its message with its causes, and its stack at level debug or where it comes withStack. Every line
 * passes the secrets.
 */
export function createLogger(options: LoggerOptions): Logger {
  const { level, format, secrets, destination = standardError() } = options;
  const mask = (text: string): string => secrets.mask(text);
  const write = (json: string): void => {
    const line =
      format === 'json' ? escapeUnsafe(json.trimEnd()) : formatLogfmt(inOrder(JSON.parse(json) as LogFields), mask);
    destination.write(`${mask(line)}\n`);
  };
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (error: unknown) => textOf(error, level) },
    },
    { write },
  );
}

function textOf(error: unknown, level: LogLevel): string {
  return error instanceof WithStack ? errorText(error.error, true) : errorText(error, level === 'debug');
}

/** Unlike process.stderr, this has written a line when it returns, to a pipe too: nothing is lost at exit. */
function standardError(): LogDestination {
  const destination = pino.destination({ dest: 2, sync: true });
  // A log that nobody can read any more is no reason to stop.
  destination.on('error', () => undefined);
  return destination;
}

function inOrder({ time, level, msg, ...fields }: LogFields): LogFields {
  return { time, level, msg, ...fields };
}
