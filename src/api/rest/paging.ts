import { CallFailure } from '../http/callFailure.ts';
import type { Answer } from '../http/bodyReader.ts';
import type { Client } from '../http/client.ts';
import { nextPage } from './links.ts';
import type { CallOptions } from '../reader.ts';

/** So many pages in a row without anything new mean that upstream goes in circles under ever new addresses. */
const MOST_STALE_PAGES = 3;

/** How much a page held, and how much of it was not on an earlier page. */
interface PageContent {
  readonly entries: number;
  readonly fresh: number;
}

export interface Pages {
  readonly endpoint: string;
  readonly first: URL;
  /** Given up, as invalid, beyond so many pages. */
  readonly mostPages: number;
  /** Reading stops after so many pages. */
  readonly stopAfter?: number | undefined;
  /** Takes over what a page holds. */
  readonly take: (answer: Answer, page: number) => PageContent;
}

/**
 * Reads a list page by page, one after the other. A page past the end is empty. Rejects with
 * an UpstreamError when any page fails, names an address twice, or there is no end: half a list is no list.
 *
 * @returns false when it stopped before the end as told
 */
export async function readPages(client: Client, pages: Pages, call: CallOptions): Promise<boolean> {
  const refuse = (words: string): Error =>
    client.reports.fail(pages.endpoint, new CallFailure('invalid_response', words));
  const seen = new Set<string>();
  let address = pages.first;
  let stale = 0;
  for (let page = 1; ; page += 1) {
    seen.add(address.search);
    const answer = await client.get(pages.endpoint, address, call);
    const { entries, fresh } = pages.take(answer, page);
    const next = nextPage(answer.address, answer.link);
    if (entries === 0 || next.kind === 'end') return true;
    if (next.kind === 'refused') throw refuse(`page ${page}: ${next.why}`);
    if (page === pages.stopAfter) return false;
    if (page >= pages.mostPages) throw refuse(`the list does not end within ${page} pages`);
    if (seen.has(next.address.search)) throw refuse(`page ${page}: its next page has been read before`);
    stale = fresh === 0 ? stale + 1 : 0;
    if (stale === MOST_STALE_PAGES) throw refuse(`pages ${page - stale + 1} to ${page} repeat what was read before`);
    address = next.address;
  }
}
