import type * as z from 'zod';

/** Longest text that is always shown: a key has far more characters. */
const SHORT = 5;
/** Longest text that is ever shown: no key of a configuration has more characters. */
const LONG = 48;
/** A file name with more folders than this is not shown. */
const MOST_WORDS = 8;
/** One word of a name such as `max_series`, `toString`, `NEW_RELIC_API_KEY` or `eu1`; keys are random letters and digits. */
const WORD = /^(?=.{1,14}$)(?:[A-Za-z][a-z]*(?:[A-Z][a-z]+)*|[A-Z]+|[a-z]{1,3}[0-9]{1,2}|[0-9]{1,4})$/;
/** What the service's own keys begin with, in any case of letters: NRAK, NRAL, NRAA and so on. */
const KEY_PREFIX = /NR[A-Z]{2}-|NRAK/i;

/**
 * True when a text of a configuration file may be a key of the service or another secret, so that no message may repeat
 * it. Only a text that is plainly a name made of words is no secret. A forgotten space, for instance, makes one key out of
 * `api_key:NRAK-...`.
 */
export function mayBeSecret(text: string): boolean {
  if (text.length <= SHORT) return false;
  if (text.length > LONG || KEY_PREFIX.test(text)) return true;
  const words = text.replace(/^[._/]+|(?<!_)_+$/g, '').split(/[-_./]/);
  return words.length > MOST_WORDS || !words.every((word) => WORD.test(word));
}

/** One thing that is wrong in a configuration file, or in the environment variables that stand in for it. */
export interface Diagnostic {
  readonly file: string;
  /** Both count from 1; undefined where the diagnostic is not at a place in a file. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  /**
   * Such as `accounts[0].limits.requests_per_minute`; empty when the diagnostic is not about one key. A key that may be a
   * secret is `<hidden>`.
   */
  readonly path: string;
  /** What is wrong and what to change; never repeats a value of the file. */
  readonly message: string;
}

/** Keys and list positions from the top of the file down. */
export type Path = readonly (string | number)[];

/** `file:line:column: path: message`, without the parts that are not known. */
export function formatDiagnostic(diagnostic: Diagnostic): string {
  const location = [diagnostic.file, diagnostic.line, diagnostic.column].filter((part) => part !== undefined).join(':');
  return [location, diagnostic.path, diagnostic.message].filter((part) => part !== '').join(': ');
}

/** A path in the style `accounts[0].limits.requests_per_minute`; different paths give different texts. */
export function formatPath(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${String(step)}]`;
    if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(step)) return `${text}[${JSON.stringify(step)}]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');
}

/** The path as a diagnostic shows it: keys that may be secrets are hidden. */
export function showPath(path: Path): string {
  return path
    .map((step) => (typeof step === 'string' && mayBeSecret(step) ? '.<hidden>' : formatPath([step])))
    .reduce((text, step) => `${text}${text === '' || /^[.[]/.test(step) ? '' : '.'}${step}`, '')
    .replace(/^\./, '');
}

/** How many diagnostics of a file are told; nobody corrects more in one go. */
export const MOST_DIAGNOSTICS = 100;

/** The first diagnostics in the order of the file. Where there are more, one that says how many stands at the end. */
export function firstDiagnostics(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const sorted = diagnostics.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
  const [first] = sorted;
  const left = sorted.length - MOST_DIAGNOSTICS;
  if (first === undefined || left <= 0) return sorted;
  const rest = { file: first.file, line: undefined, column: undefined, path: '', message: `and ${left} more` };
  return [...sorted.slice(0, MOST_DIAGNOSTICS), rest];
}

/** `1 name`, `2 names`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** "; did you mean ...?" with the known name nearest to a misspelt or shortened one, or nothing when none is near. */
export function suggest(name: string, known: readonly string[]): string {
  const limit = Math.max(2, Math.floor(name.length / 3));
  const candidates = known
    .map((candidate) => ({ candidate, distance: distance(name.toLowerCase(), candidate, limit) }))
    .filter(({ candidate, distance }) => distance < candidate.length)
    .toSorted((a, b) => a.distance - b.distance);
  const best =
    candidates.find((entry) => entry.distance <= limit) ?? candidates.find(({ candidate }) => isStart(name, candidate));
  return best === undefined ? '' : `; did you mean "${best.candidate}"?`;
}

function isStart(name: string, candidate: string): boolean {
  return name.length > 1 && candidate.startsWith(name);
}

/** Levenshtein's distance; the limit and one when the lengths alone differ by more than it. */
function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let above = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const substitution = (above[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min((above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, substitution));
    }
    above = current;
  }
  return above[b.length] ?? 0;
}

/** A diagnostic before it has a place in a file. */
export interface Issue {
  readonly path: Path;
  readonly at: 'key' | 'value';
  readonly message: string;
  /** True when text was wanted but another type found: a placeholder's value may have been read as a number. */
  readonly wantsText?: boolean;
  /** The character of a text that is meant. */
  readonly inText?: number | undefined;
}

export function issue(path: Path, message: string, at: Issue['at'] = 'value'): Issue {
  return { path, at, message };
}

const WANTED: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'a mapping',
  record: 'a mapping',
  array: 'a list',
};

/** "expected ..., not ..." in words; never quotes the value, which may be a secret. */
export function typeMismatch(input: unknown, wanted: string): string {
  if (input === undefined) return `is required (${wanted})`;
  if (input === null) return `is empty, expected ${wanted}: give it a value or remove the key`;
  const advice = wanted === 'text' && typeof input !== 'object' ? ' (put it in quotes)' : '';
  return `expected ${wanted}, not ${kindOf(input)}${advice}`;
}

/** The message of a diagnostic that the schema finds. A message that the schema itself gives is used instead of it. */
export function explain(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.expected === 'int' && typeof issue.input === 'number') return 'must be a whole number';
      return typeMismatch(issue.input, WANTED[issue.expected] ?? issue.expected);
    case 'invalid_value':
      return `must be ${alternatives(issue.values.map(String))}`;
    case 'invalid_union':
      return typeMismatch(issue.input, 'true, false or a mapping');
    case 'too_small':
      if (issue.origin === 'number' || issue.origin === 'int') return `must be at least ${String(issue.minimum)}`;
      return issue.origin === 'array' ? 'must have at least one entry' : 'must not be empty';
    case 'too_big':
      return `must be at most ${String(issue.maximum)}`;
    default:
      return undefined;
  }
}

/**
 * The schema's issues, one per diagnostic: unknown keys one by one, those of a union from the alternative that was meant, and
 * for a value that breaks several bounds the last one, which is the narrowest.
 */
export function flatten(issues: readonly z.core.$ZodIssue[], keysAt: (path: Path) => readonly string[]): Issue[] {
  const all = flattenBelow(issues, keysAt, []);
  return [...new Map(all.map((each) => [`${each.at} ${formatPath(each.path)}`, each])).values()];
}

function flattenBelow(
  issues: readonly z.core.$ZodIssue[],
  keysAt: (path: Path) => readonly string[],
  above: Path,
): Issue[] {
  return issues.flatMap((found): Issue[] => {
    const path = [...above, ...found.path.map((step) => (typeof step === 'number' ? step : String(step)))];
    switch (found.code) {
      case 'unrecognized_keys':
        return found.keys.map((key) => issue([...path, key], unknownKey(key, keysAt(path)), 'key'));
      case 'invalid_key':
        return flattenBelow(found.issues, keysAt, path).map((inner) => issue(inner.path, inner.message, 'key'));
      case 'invalid_union': {
        const meant = found.errors.find((errors) => !errors.some(isAboutTheWhole));
        return meant === undefined ? [issue(path, found.message)] : flattenBelow(meant, keysAt, path);
      }
      default: {
        const wantsText = found.code === 'invalid_type' && found.expected === 'string';
        return [{ ...issue(path, found.message), wantsText }];
      }
    }
  });
}

/** Says which known key was likely meant. Never repeats a key that may be a secret. */
function unknownKey(key: string, known: readonly string[]): string {
  const typo = /^([a-z_]+)([:=])/.exec(key);
  const meant = known.find((name) => name === typo?.[1]);
  if (meant !== undefined) {
    return typo?.[2] === ':'
      ? `unknown key: put a space after the colon of "${meant}:"`
      : `unknown key: write "${meant}: ", with a colon and a space`;
  }
  if (!mayBeSecret(key)) return `unknown key${suggest(key, known)}`;
  return 'unknown key, not shown because it may hold a secret: write the name of a key, a colon, a space and the value';
}

function isAboutTheWhole({ code, path }: z.core.$ZodIssue): boolean {
  return code === 'invalid_type' && path.length === 0;
}

function kindOf(input: unknown): string {
  if (Array.isArray(input)) return 'a list';
  if (typeof input === 'number') return Number.isFinite(input) ? 'a number' : 'an infinite or undefined number';
  const kinds: Partial<Record<string, string>> = { string: 'text', boolean: 'true or false' };
  return kinds[typeof input] ?? 'a mapping';
}

function alternatives(values: readonly string[]): string {
  return values.length < 2 ? values.join('') : `${values.slice(0, -1).join(', ')} or ${values.at(-1) ?? ''}`;
}
