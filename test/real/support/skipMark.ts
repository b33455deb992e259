/** In the name of every suite that does not run here, with the reason behind it; the reporter counts by it. */
export const SKIP_MARK = 'not here: ';

/** The name of a suite that is skipped for a reason, in one line. */
export function skippedName(name: string, reason: string): string {
  return `${name} [${SKIP_MARK}${reason.replace(/\s+/g, ' ').replaceAll(']', ')').trim()}]`;
}
