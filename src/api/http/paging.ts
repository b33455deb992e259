/** Limit for successive pages without a new record: such a list repeats itself under new cursors, and would never end. */
const MAX_STALE_PAGES = 3;

/**
 * Reads a list page by page, each from an address or a cursor. Rejects when any page fails, a cursor repeats, or the list has
 * no end, because half a list is useless; false: it stopped early because of the limits.
 *
 * @param limits.maxPages a longer list is invalid; reading stops after `stopAfter` pages
 * @param readPage returns the number of new records, and the next address or cursor; undefined: the list ends
 */
export async function readPages(
  first: string,
  { maxPages, stopAfter }: { readonly maxPages: number; readonly stopAfter?: number | undefined },
  refuse: (words: string) => Error,
  readPage: (position: string, page: number) => Promise<{ readonly fresh: number; readonly next: string | undefined }>,
): Promise<boolean> {
  const seen = new Set<string>();
  let position = first;
  let stale = 0;
  for (let page = 1; ; page += 1) {
    seen.add(position);
    const { fresh, next } = await readPage(position, page);
    if (next === undefined) return true;
    if (page === stopAfter) return false;
    if (page >= maxPages) throw refuse(`the list does not end within ${page} pages`);
    if (seen.has(next)) throw refuse(`page ${page}: its next page has been read before`);
    stale = fresh === 0 ? stale + 1 : 0;
    if (stale === MAX_STALE_PAGES) throw refuse(`pages ${page - stale + 1} to ${page} repeat what was read before`);
    position = next;
  }
}
