/** The address a reference means on a page; undefined when it is none. */
export function resolve(reference: string | undefined, page: URL): URL | undefined {
  return reference !== undefined && URL.canParse(reference, page.href) ? new URL(reference, page) : undefined;
}

/** The same path and query on another origin. Never parsed as a reference, because `//path` would name a host. */
export function moved(address: URL, origin: string): URL {
  const result = new URL(origin);
  result.pathname = address.pathname;
  result.search = address.search;
  return result;
}

/** Path and query under a base address, with or without a slash at its end. */
export function under(base: URL, path: string): URL {
  return new URL(base.origin + base.pathname.replace(/\/+$/, '') + path);
}
