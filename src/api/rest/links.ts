import { resolve } from '../http/address.ts';
import { parseLinks } from './linkHeader.ts';

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
