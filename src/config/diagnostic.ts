/** Longest text that is always shown, in characters: a key is far longer. */
const SHORT = 5;
/** Longest text that is ever shown, in characters: no key of a configuration is longer. */
const LONG = 48;
/** A text of more words than this, such as a file name with many folders, is not shown. */
const MAX_WORDS = 8;
/** One word of a name such as `max_series`, `toString`, `NEW_RELIC_API_KEY` or `eu1`; keys are random letters and digits. */
const WORD = /^(?=.{1,14}$)(?:[A-Za-z][a-z]*(?:[A-Z][a-z]+)*|[A-Z]+|[a-z]{1,3}[0-9]{1,2}|[0-9]{1,4})$/;
/** The beginning of New Relic's own keys, in any case of letters: NRAK, NRAL, NRAA and so on. */
const KEY_PREFIX = /NR[A-Z]{2}-|NRAK/i;

/**
 * True when a text of a configuration file may be a secret, which no message may repeat. Only short texts and names made of words
 * are safe; a key of the file may be a secret, too, because a forgotten space makes one out of `api_key:NRAK-...`.
 */
export function mayBeSecret(text: string): boolean {
  if (text.length <= SHORT) return false;
  if (text.length > LONG || KEY_PREFIX.test(text)) return true;
  const words = text.replace(/^[._/]+|(?<!_)_+$/g, '').split(/[-_./]/);
  return words.length > MAX_WORDS || !words.every((word) => WORD.test(word));
}

/** One mistake in a configuration file, or in the environment variables that replace it. */
export interface Diagnostic {
  readonly file: string;
  /** Line and column count from 1; undefined where the diagnostic is not about a position in a file. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** Such as `accounts[0].limits.requests_per_minute`, or empty; a key that may be a secret is `<hidden>`. */
  readonly path: string;
  /** The mistake and what to change; never repeats a value of the file. */
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

/** Most diagnostics that are shown for a file; further ones would only hide the first. */
export const MAX_DIAGNOSTICS = 100;

/** The first diagnostics in the order of the file. When there are more, a last one gives their number. */
export function firstDiagnostics(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const sorted = diagnostics.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
  const [first] = sorted;
  const left = sorted.length - MAX_DIAGNOSTICS;
  if (first === undefined || left <= 0) return sorted;
  const rest = { file: first.file, line: undefined, column: undefined, path: '', message: `and ${left} more` };
  return [...sorted.slice(0, MAX_DIAGNOSTICS), rest];
}

/** A diagnostic before its position in the file is known. */
export interface Issue {
  readonly path: Path;
  readonly at: 'key' | 'value';
  readonly message: string;
  /** True when text was expected but another type found: the value of a placeholder may have been read as a number. */
  readonly wantsText?: boolean;
  /** For a value that is a text: the index of the character that the diagnostic is about. */
  readonly inText?: number | undefined;
}

export function issue(path: Path, message: string, at: Issue['at'] = 'value'): Issue {
  return { path, at, message };
}
