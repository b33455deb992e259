/** A mistake in the configuration file, or in the environment variables that replace it. */
export interface Diagnostic {
  readonly file: string;
  /** Line and column start at 1; undefined if the diagnostic has no position in a file. */
  readonly line?: number;
  readonly column?: number;
  /** Path of the value, such as `accounts[0].limits.requests_per_minute`, or empty. Possible secrets are `<hidden>`. */
  readonly path: string;
  readonly message: string;
}

export type Path = readonly (string | number)[];

/** Formats `file:line:column: path: message`, without unknown parts. */
export function formatDiagnostic(diagnostic: Diagnostic): string {
  const location = [diagnostic.file, diagnostic.line, diagnostic.column].filter((part) => part !== undefined).join(':');
  return [location, diagnostic.path, diagnostic.message].filter((part) => part !== '').join(': ');
}

const HIDDEN = '<hidden>';

/** Formats a path like `accounts[0].limits.requests_per_minute`. Different paths give different texts. */
export function formatPath(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${String(step)}]`;
    if (step !== HIDDEN && !/^[A-Za-z_][A-Za-z0-9_-]*$/.test(step)) return `${text}[${JSON.stringify(step)}]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');
}

/** Formats a path for a diagnostic. Hides keys that may be secrets, but not the last key if `isNameShown`. */
export function showPath(path: Path, isNameShown = false): string {
  const isShown = (index: number): boolean => isNameShown && index === path.length - 1;
  return formatPath(
    path.map((step, index) => (typeof step === 'string' && !isShown(index) && mayBeSecret(step) ? HIDDEN : step)),
  );
}

/** A diagnostic before its position in the file is known. */
export interface Issue {
  readonly path: Path;
  readonly at: 'key' | 'value';
  readonly message: string;
  /** True if text was expected. A placeholder may expand to a text that looks like a number. */
  readonly wantsText?: boolean;
  /** True if the last key is known not to be a secret, although it looks like one. */
  readonly isName?: boolean | undefined;
}

export function issue(path: Path, message: string, position: Issue['at'] = 'value'): Issue {
  return { path, at: position, message };
}

/** Maximum length of texts that are always shown. API keys are far longer. */
const ALWAYS_SHOWN = 5;
/** Maximum length of shown texts. Names of settings are shorter. */
const MAX_SHOWN = 48;
/** Maximum number of words in a shown text. File names with many folders have more. */
const MAX_WORDS = 8;
/** A word in a name such as `max_series`, `toString`, `NEW_RELIC_API_KEY` or `eu1`. API keys have no words. */
const WORD = /^(?=.{1,14}$)(?:[A-Za-z][a-z]*(?:[A-Z][a-z]+)*|[A-Z]+|[a-z]{1,3}[0-9]{1,2}|[0-9]{1,4})$/;
/** Prefixes of New Relic API keys in any case: NRAK, NRAL, NRAA and so on. */
const KEY_PREFIX = /NR[A-Z]{2}-|NRAK/i;

/**
 * True if a text may be a secret, which messages must not repeat: it is neither short nor a name made of words. Names
 * of settings are checked too: `api_key:NRAK-...`, without a space after the colon, is one name.
 */
export function mayBeSecret(text: string): boolean {
  if (text.length <= ALWAYS_SHOWN) return false;
  if (text.length > MAX_SHOWN || KEY_PREFIX.test(text)) return true;
  const words = text.replace(/^[._/]+|(?<!_)_+$/g, '').split(/[-_./]/);
  return words.length > MAX_WORDS || !words.every((word) => WORD.test(word));
}
