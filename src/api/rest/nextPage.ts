import { resolve } from '../http/address.ts';

const TARGET = /\s*<([^>]*)>/y;
const PARAMETER = /\s*;\s*([^\s=;,"<>]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?/y;
const SEPARATOR = /[\s;]*(?:,\s*)+/y;

/**
 * The links of a `Link` header (RFC 8288), with their relations in lower case, as far as it can be read: quotes and spaces
 * vary between senders. What follows a part that is no link is not guessed at.
 */
export function parseLinks(header: string): { readonly target: string; readonly relations: readonly string[] }[] {
  const links: ReturnType<typeof parseLinks> = [];
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

/**
 * Where a list goes on (the vendor's page "Pagination for API output"): the query of its next page, for the path
 * is the same. Undefined at its end: without a `next`, with an empty cursor, and where the last
 * page is 0. A `next` is only followed on the origin and under the path of the page that named it, because the key
 * travels with it. Its parameters win over ours, ours fill the gaps; a cursor replaces the page number.
 *
 * @param page the address the page was read from
 * @param header its `Link` header
 * @param refuse makes the error of a `next` that is not followed
 */
export function nextPage(page: URL, header: string | undefined, refuse: (words: string) => Error): string | undefined {
  const links = parseLinks(header ?? '');
  const targetOf = (relation: string): string | undefined =>
    links.find((link) => link.relations.includes(relation))?.target;
  const target = targetOf('next');
  if (target === undefined) return undefined;
  const next = resolve(target, page);
  if (next === undefined) throw refuse('the link to its next page is no address');
  if (next.searchParams.get('cursor') === '') return undefined;
  if (resolve(targetOf('last'), page)?.searchParams.get('page') === '0') return undefined;
  if (next.origin !== page.origin) throw refuse('its next page is on another origin');
  if (next.pathname !== page.pathname) throw refuse('its next page is under another path');
  return merged(page, next);
}

function merged(page: URL, next: URL): string {
  const parameters = new URLSearchParams(next.searchParams);
  for (const [name, value] of page.searchParams) {
    // The last page's own place in the list is no filter of ours.
    if (!next.searchParams.has(name) && name !== 'page' && name !== 'cursor') parameters.append(name, value);
  }
  if (parameters.has('cursor')) parameters.delete('page');
  const address = new URL(page);
  address.search = parameters.toString();
  return address.search;
}
