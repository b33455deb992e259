import { mayBeSecret } from '../diagnostic.ts';
import { suggest } from '../../text/wording.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** An escaped `${`, or a `${` with its name and optional default. Without a name it is not a placeholder. */
const PLACEHOLDER = /\$\$\{|\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(?:\}|:-([^}]*)\}))?/g;

const INCOMPLETE = '"${" must begin ${NAME} or ${NAME:-default}: complete it, or write "$${" for a literal "${"';

/**
 * Replaces `${NAME}` and `${NAME:-default}`; `$${` becomes `${`. The default applies if the variable is not set or
 * empty. Placeholders inside the value of a variable are not replaced.
 */
export function expandPlaceholders(text: string, env: Environment): string | { readonly problem: string } {
  let expanded = '';
  let position = 0;
  for (const { 0: whole, 1: name, 2: fallback, index } of text.matchAll(PLACEHOLDER)) {
    const replacement = whole === '$${' ? '${' : resolvePlaceholder(name, fallback, env);
    if (typeof replacement !== 'string') return replacement;
    expanded += text.slice(position, index) + replacement;
    position = index + whole.length;
  }
  return expanded + text.slice(position);
}

function resolvePlaceholder(name: string | undefined, fallback: string | undefined, env: Environment) {
  if (name === undefined) return { problem: INCOMPLETE };
  if (fallback?.includes('${') === true) {
    return { problem: 'a default cannot hold another "${": give ${NAME:-default} a default of plain text' };
  }
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  if (value === undefined && fallback === undefined) return { problem: describeUnset(name, env) };
  return value === undefined || value === '' ? (fallback ?? '') : value;
}

function describeUnset(name: string, env: Environment): string {
  // Somebody may have written the key itself between the braces: do not repeat it.
  if (mayBeSecret(name)) {
    return 'the environment variable of this name is not set: write the name of a variable between "${" and "}"';
  }
  const written = name.toLowerCase();
  // Filter first: a file may have 100,000 placeholders.
  const alike = Object.keys(env).filter((known) => {
    const other = known.toLowerCase();
    return (other.startsWith(written.slice(0, 2)) || other.endsWith(written.slice(-4))) && !mayBeSecret(known);
  });
  return `the environment variable ${name} is not set: set it, or write \${${name}:-default}${suggest(name, alike)}`;
}

/** Returns a text that `expandPlaceholders` expands to `text`. */
export function escapePlaceholders(text: string): string {
  return text.replaceAll('${', () => '$${');
}
