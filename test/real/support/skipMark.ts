/** In the name of every suite that is skipped for want of a real program; the reporter counts by it. */
export const SKIP_MARK = 'real program missing: ';
