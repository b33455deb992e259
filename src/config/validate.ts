import type { Config } from './config.ts';
import type { Path } from './fault.ts';
import { explain, flatten } from './issues.ts';
import type { Issue } from './issues.ts';
import { brokenRules } from './schema/rules.ts';
import { fileSchema, keysAt } from './schema/file.ts';

/**
 * Checks the values of a file against the schema and the rules; all that is wrong is told. `textAt` gives the text of
 * a value that came from a placeholder, for places where text is wanted and the value was typed as something else.
 */
export function validate(
  file: unknown,
  textAt: (path: Path) => string | undefined,
): { readonly config: Config } | { readonly issues: readonly Issue[] } {
  let result = parse(file);
  if ('issues' in result) {
    const mistyped = result.issues.filter(({ path, wantsText }) => wantsText && textAt(path) !== undefined);
    for (const { path } of mistyped) replaceAt(file, path, textAt(path));
    if (mistyped.length > 0) result = parse(file);
  }
  const broken = brokenRules(file);
  if ('issues' in result) return { issues: [...result.issues, ...broken] };
  return broken.length > 0 ? { issues: broken } : result;
}

function parse(file: unknown): { readonly config: Config } | { readonly issues: readonly Issue[] } {
  const { data, error } = fileSchema.safeParse(file, { error: explain });
  return data === undefined ? { issues: flatten(error.issues, keysAt) } : { config: data };
}

function replaceAt(file: unknown, path: Path, value: unknown): void {
  const holder = path
    .slice(0, -1)
    .reduce<unknown>((node, step) => (node as Record<string | number, unknown>)[step], file);
  const last = path.at(-1);
  if (last !== undefined) (holder as Record<string | number, unknown>)[last] = value;
}
