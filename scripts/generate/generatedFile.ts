import { format, resolveConfig } from 'prettier';

/** A file of the repository that is written by a program. */
export interface GeneratedFile {
  /** Relative to the root of the repository. */
  readonly path: string;
  readonly content: () => Promise<string>;
}

/** The files whose stored text is not what the program writes now; a missing file counts. */
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

/** A text as the formatter leaves it; prose is wrapped at the width of the lines. */
export async function formatted(path: string, text: string): Promise<string> {
  const options = await resolveConfig(path);
  return format(text, { ...options, filepath: path, proseWrap: 'always' });
}
