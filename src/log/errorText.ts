import { AssertionError } from 'node:assert';
import { inspect } from 'node:util';

const DEEPEST = 8;

/** An error of which the log shows the stack at every level. */
export class WithStack {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** Marks an error that nobody foresaw: as `err` of a log line, it brings its stack at every level. */
export function withStack(error: unknown): WithStack {
  return new WithStack(error);
}

/** True of an error that only a mistake in a program causes, as reading a property of undefined. */
export function isMistake(error: unknown): boolean {
  if (error instanceof AssertionError) return true;
  // Errors with a code are Node's own, about an argument or the system.
  if (!(error instanceof Error) || 'code' in error) return false;
  return [TypeError, RangeError, ReferenceError, SyntaxError].some((kind) => error instanceof kind);
}

/** An error in one text: its message and those of its causes, or its stack with them. */
export function errorText(error: unknown, stack: boolean): string {
  const parts: string[] = [];
  let current = error;
  while (current !== undefined && parts.length < DEEPEST) {
    parts.push(ownText(current, stack));
    current = current instanceof Error ? current.cause : undefined;
  }
  return parts.join(stack ? '\ncaused by: ' : ': ');
}

function ownText(error: unknown, stack: boolean): string {
  if (error instanceof Error) return (stack ? error.stack : undefined) ?? error.message;
  return typeof error === 'string' ? error : inspect(error);
}
