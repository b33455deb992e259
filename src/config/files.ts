const SENTENCES: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EACCES: 'cannot be read: permission denied',
  EPERM: 'cannot be read: permission denied',
  EISDIR: 'is a directory, not a file',
  ELOOP: 'cannot be read: its symbolic links lead in a circle',
};

/** What went wrong with a file, as the end of a sentence that begins with its name. */
export function fileProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown fault';
  return SENTENCES[code] ?? `cannot be read (${code})`;
}
