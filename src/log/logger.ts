import { pino, type DestinationStream, type Logger } from 'pino';
import { inspect } from 'node:util';
import { escapeUnsafe } from '../text/escaping.ts';
import type { Secrets } from './secrets.ts';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export const LOG_FORMATS = ['logfmt', 'json'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];
export type LogFormat = (typeof LOG_FORMATS)[number];

/**
 * Creates the log of the program: a line per event, with `time`, `level`, `msg` and the event's fields. Writes an error
 * in `err` as its message and causes; at level debug, with their stacks. Masks secrets in every line.
 */
export function createLogger(options: {
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly destination: DestinationStream;
  readonly secrets: Secrets;
}): Logger {
  const { level, format, secrets, destination } = options;
  const write = (json: string): void => {
    const line = format === 'json' ? escapeUnsafe(json.trimEnd()) : formatLogfmt(json, secrets);
    destination.write(`${secrets.mask(line)}\n`);
  };
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (error: unknown) => errorText(error, level === 'debug') },
    },
    { write },
  );
}

// Values that need no quotes in logfmt.
const BARE = /^[A-Za-z0-9_.:/@%+*,;<>()[\]~!?#$&|^-]+$/;

/** Formats a line of logfmt. Masks each value before it is escaped, because an escaped secret is not found. */
function formatLogfmt(json: string, secrets: Secrets): string {
  const { time, level, msg, ...fields } = JSON.parse(json) as Readonly<Record<string, unknown>>;
  return Object.entries({ time, level, msg, ...fields })
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => {
      const text = secrets.mask(typeof value === 'string' ? value : JSON.stringify(value));
      return `${key}=${BARE.test(text) ? text : escapeUnsafe(JSON.stringify(text))}`;
    })
    .join(' ');
}

const MAX_ERRORS = 8;

/** Joins an error and up to seven causes into one text: their messages, or with `stack` their stacks. */
export function errorText(error: unknown, stack: boolean): string {
  const parts: string[] = [];
  let current = error;
  while (current !== undefined && parts.length < MAX_ERRORS) {
    parts.push(describeWithoutCause(current, stack));
    current = current instanceof Error ? current.cause : undefined;
  }
  return parts.join(stack ? '\ncaused by: ' : ': ');
}

function describeWithoutCause(error: unknown, stack: boolean): string {
  if (error instanceof Error) return (stack ? error.stack : undefined) ?? error.message;
  return typeof error === 'string' ? error : inspect(error);
}
