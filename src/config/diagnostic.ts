/** One mistake in a configuration file, or in the environment variables that replace it. */
export interface Diagnostic {
  readonly file: string;
  /** Line and column count from 1; undefined where the diagnostic is not about a position in a file. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** Place of the value, such as `accounts[0].limits.requests_per_minute`, or empty; a key that may be a secret is `<hidden>`. */
  readonly path: string;
  /** The mistake and what to change, without values that may be secrets. */
  readonly message: string;
}

/** Keys and list positions from the top of the file down. */
export type Path = readonly (string | number)[];

/** `file:line:column: path: message`, without the parts that are not known. */
export function formatDiagnostic(diagnostic: Diagnostic): string {
  const location = [diagnostic.file, diagnostic.line, diagnostic.column].filter((part) => part !== undefined).join(':');
  return [location, diagnostic.path, diagnostic.message].filter((part) => part !== '').join(': ');
}

const HIDDEN = '<hidden>';

/** A path in the style `accounts[0].limits.requests_per_minute`; different paths give different texts. */
export function formatPath(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${String(step)}]`;
    if (step !== HIDDEN && !/^[A-Za-z_][A-Za-z0-9_-]*$/.test(step)) return `${text}[${JSON.stringify(step)}]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');
}

/** The path as a diagnostic shows it: keys that may be secrets are hidden, but not the last one where it `endsInName`. */
export function showPath(path: Path, endsInName = false): string {
  const isShown = (index: number): boolean => endsInName && index === path.length - 1;
  return formatPath(
    path.map((step, index) => (typeof step === 'string' && !isShown(index) && mayBeSecret(step) ? HIDDEN : step)),
  );
}

/** A diagnostic before its position in the file is known. */
export interface Issue {
  readonly path: Path;
  readonly at: 'key' | 'value';
  readonly message: string;
  /** True when text was expected but another type found: the text of a placeholder may look like a number. */
  readonly wantsText?: boolean;
  /** True where the last key is known to be no secret, although it looks like one. */
  readonly isName?: boolean | undefined;
}

export function issue(path: Path, message: string, at: Issue['at'] = 'value'): Issue {
  return { path, at, message };
}

/** Length in characters up to which a text is always shown: an API key is far longer. */
const ALWAYS_SHOWN = 5;
/** Length in characters above which no text is shown: the names of settings are shorter. */
const MAX_SHOWN = 48;
/** Number of words above which no text is shown, such as a file name with many folders. */
const MAX_WORDS = 8;
/** A word of a name such as `max_series`, `toString`, `NEW_RELIC_API_KEY` or `eu1`. API keys, of random characters, have none. */
const WORD = /^(?=.{1,14}$)(?:[A-Za-z][a-z]*(?:[A-Z][a-z]+)*|[A-Z]+|[a-z]{1,3}[0-9]{1,2}|[0-9]{1,4})$/;
/** The prefixes of New Relic's API keys, in upper or lower case: NRAK, NRAL, NRAA and so on. */
const KEY_PREFIX = /NR[A-Z]{2}-|NRAK/i;

/**
 * True when a text of a configuration file may be a secret, which no message may repeat: it is neither short nor a name made of
 * words. Names of settings are checked, too, because `api_key:NRAK-...`, without a space after the colon, is one name.
 */
export function mayBeSecret(text: string): boolean {
  if (text.length <= ALWAYS_SHOWN) return false;
  if (text.length > MAX_SHOWN || KEY_PREFIX.test(text)) return true;
  const words = text.replace(/^[._/]+|(?<!_)_+$/g, '').split(/[-_./]/);
  return words.length > MAX_WORDS || !words.every((word) => WORD.test(word));
}
