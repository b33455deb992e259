import { mayBeSecret } from './hidden.ts';

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

export type Expansion = { readonly text: string; readonly replaced: boolean } | { readonly problem: string };

/** `$${`, a whole placeholder with its name and default, or a `${` that begins none. */
const PLACEHOLDER = /\$\$\{|\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\})?/g;

/**
 * Replaces `${NAME}` and `${NAME:-default}` (the default counts when the variable is not set or empty); `$${` stands
 * for `${`. What a variable holds is taken as it is, never looked through for placeholders again.
 */
export function expandPlaceholders(text: string, env: Environment): Expansion {
  let problem: string | undefined;
  let replaced = false;
  const expanded = text.replace(PLACEHOLDER, (whole: string, name?: string, fallback?: string) => {
    replaced = true;
    if (whole === '$${') return '${';
    if (name === undefined) {
      problem ??= '"${" must begin ${NAME} or ${NAME:-default}: complete it, or write "$${" for a literal "${"';
      return '';
    }
    if (fallback?.includes('${') === true) {
      problem ??= 'a default cannot hold another "${": give ${NAME:-default} a default of plain text';
      return '';
    }
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value === undefined && fallback === undefined) {
      problem ??= mayBeSecret(name)
        ? 'the environment variable of this name is not set: write the name of a variable between "${" and "}"'
        : `the environment variable ${name} is not set: set it, or write \${${name}:-default}`;
    }
    return value === undefined || value === '' ? (fallback ?? '') : value;
  });
  return problem === undefined ? { text: expanded, replaced } : { problem };
}

/** The reverse: a text that expands to the given one. */
export function escapePlaceholders(text: string): string {
  return text.replaceAll('${', () => '$${');
}
