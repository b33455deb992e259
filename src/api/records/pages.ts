/** So many pages in a row without anything new mean that upstream goes in circles under ever new places. */
const MOST_STALE_PAGES = 3;

/** How far a list is read. */
export interface PageLimits {
  /** Given up, as invalid, beyond so many pages. */
  readonly mostPages: number;
  /** Reading stops after so many pages. */
  readonly stopAfter?: number | undefined;
}

/**
 * Reads a list page by page, one after the other, from place to place: an address, or a cursor. Rejects when any page fails,
 * names a place twice, or there is no end: half a list is no list.
 *
 * @param refuse makes the error of a list that is no good
 * @param readPage how much of a page was not on an earlier one, and the place of the next; undefined: the list ends
 * @returns false when it stopped before the end as told
 */
export async function readPages(
  first: string,
  { mostPages, stopAfter }: PageLimits,
  refuse: (words: string) => Error,
  readPage: (place: string, page: number) => Promise<{ readonly fresh: number; readonly next: string | undefined }>,
): Promise<boolean> {
  const seen = new Set<string>();
  let place = first;
  let stale = 0;
  for (let page = 1; ; page += 1) {
    seen.add(place);
    const { fresh, next } = await readPage(place, page);
    if (next === undefined) return true;
    if (page === stopAfter) return false;
    if (page >= mostPages) throw refuse(`the list does not end within ${page} pages`);
    if (seen.has(next)) throw refuse(`page ${page}: its next page has been read before`);
    stale = fresh === 0 ? stale + 1 : 0;
    if (stale === MOST_STALE_PAGES) throw refuse(`pages ${page - stale + 1} to ${page} repeat what was read before`);
    place = next;
  }
}
