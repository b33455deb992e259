import { format, resolveConfig } from 'prettier';

/** A generated file of the repository. */
export interface GeneratedFile {
  /** Relative to the root of the repository. */
  readonly path: string;
  readonly content: () => Promise<string>;
}

/** Returns the paths of files whose stored text differs from the generated text, or that are missing. */
export async function stalePaths(
  files: readonly GeneratedFile[],
  stored: (path: string) => Promise<string>,
): Promise<string[]> {
  const stale: string[] = [];
  for (const { path, content } of files) {
    const [wanted, found] = await Promise.all([content(), stored(path).catch(() => undefined)]);
    if (wanted !== found) stale.push(path);
  }
  return stale;
}

/** Formats a text with prettier, and wraps prose. */
export async function formatted(path: string, text: string): Promise<string> {
  const options = await resolveConfig(path);
  return format(text, { ...options, filepath: path, proseWrap: 'always' });
}
