import { inspect } from 'node:util';

const DEEPEST = 8;

/** An error in one text: its message and those of its causes, or its stack with them. */
export function errorText(error: unknown, withStack: boolean): string {
  const parts: string[] = [];
  let current = error;
  while (current !== undefined && parts.length < DEEPEST) {
    parts.push(ownText(current, withStack));
    current = current instanceof Error ? current.cause : undefined;
  }
  return parts.join(withStack ? '\ncaused by: ' : ': ');
}

function ownText(error: unknown, withStack: boolean): string {
  if (error instanceof Error) return (withStack ? error.stack : undefined) ?? error.message;
  return typeof error === 'string' ? error : inspect(error);
}
