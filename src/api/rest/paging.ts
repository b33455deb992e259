import { resolve } from '../http/address.ts';
import { CallFailure } from '../http/callFailure.ts';
import type { Answer } from '../http/body.ts';
import type { Client } from '../http/client.ts';
import { BOUNDS } from '../http/jsonShape.ts';
import type { CallOptions } from '../reader.ts';

/** A link of a `Link` header (RFC 8288): where to, and its relations in lower case. */
interface Link {
  readonly target: string;
  readonly relations: readonly string[];
}

const TARGET = /\s*<([^>]*)>/y;
const PARAMETER = /\s*;\s*([^\s=;,"<>]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?/y;
const SEPARATOR = /[\s;]*(?:,\s*)+/y;

/**
 * Reads a `Link` header as far as it can be read: quotes and spaces vary between senders. What follows a
 * part that is no link is not guessed at.
 */
export function parseLinks(header: string): Link[] {
  const links: Link[] = [];
  let position = 0;
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = position;
    const match = pattern.exec(header) ?? undefined;
    if (match !== undefined) position = pattern.lastIndex;
    return match;
  };
  take(SEPARATOR);
  for (let target = take(TARGET); target !== undefined; target = take(TARGET)) {
    let relations: string[] | undefined;
    for (let parameter = take(PARAMETER); parameter !== undefined; parameter = take(PARAMETER)) {
      const [, name = '', quoted, token] = parameter;
      if (name.toLowerCase() !== 'rel') continue;
      // Only the first `rel` of a link counts (RFC 8288, 3.3).
      relations ??= (quoted?.replace(/\\(.)/g, '$1') ?? token ?? '').toLowerCase().split(/\s+/);
    }
    links.push({ target: (target[1] ?? '').trim(), relations: relations ?? [] });
    if (take(SEPARATOR) === undefined) break;
  }
  return links;
}

/** What to do after a page. */
type NextPage =
  | { readonly kind: 'end' }
  | { readonly kind: 'next'; readonly address: URL }
  | { readonly kind: 'refused'; readonly why: string };

/**
 * Where a list goes on (the vendor's page "Pagination for API output"). It ends without a `next`, with an empty cursor, and where the last
 * page is 0. A `next` is only followed on the origin and under the path of the page that named it, because the key
 * travels with it. Its parameters win over ours, ours fill the gaps; a cursor replaces the page number.
 *
 * @param page the address the page was read from
 * @param header its `Link` header
 */
export function nextPage(page: URL, header: string | undefined): NextPage {
  const links = parseLinks(header ?? '');
  const targetOf = (relation: string): string | undefined =>
    links.find((link) => link.relations.includes(relation))?.target;
  const target = targetOf('next');
  if (target === undefined) return { kind: 'end' };
  const next = resolve(target, page);
  if (next === undefined) return { kind: 'refused', why: 'the link to its next page is no address' };
  if (next.searchParams.get('cursor') === '') return { kind: 'end' };
  if (resolve(targetOf('last'), page)?.searchParams.get('page') === '0') return { kind: 'end' };
  if (next.origin !== page.origin) return { kind: 'refused', why: 'its next page is on another origin' };
  if (next.pathname !== page.pathname) return { kind: 'refused', why: 'its next page is under another path' };
  return { kind: 'next', address: merged(page, next) };
}

function merged(page: URL, next: URL): URL {
  const parameters = new URLSearchParams(next.searchParams);
  for (const [name, value] of page.searchParams) {
    // The last page's own place in the list is no filter of ours.
    if (!next.searchParams.has(name) && name !== 'page' && name !== 'cursor') parameters.append(name, value);
  }
  if (parameters.has('cursor')) parameters.delete('page');
  const address = new URL(page);
  address.search = parameters.toString();
  return address;
}

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
    const answer = await client.get(pages.endpoint, address, call, BOUNDS.list);
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
