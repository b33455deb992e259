import { InvalidArgumentError } from 'commander';

/** Parses the value of a flag. Commander names the flag in its message when the value is refused in this way. */
export function checked<T>(text: string, parse: (text: string) => T): T {
  try {
    return parse(text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

/** A whole number of 0 or more. Throws an Error whose message is a sentence. */
export function parseCount(text: string): number {
  if (!/^[0-9]{1,9}$/.test(text)) throw new Error('It must be a whole number, 0 or more.');
  return Number(text);
}

/** An id of upstream. Throws an Error whose message is a sentence. */
export function parseId(text: string): number {
  const id = /^[1-9][0-9]{0,15}$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(id)) throw new Error('It must be an id, a whole number.');
  return id;
}

/** For a flag that may be given several times: its values, in their order. */
export function collected(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}
