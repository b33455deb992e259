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
