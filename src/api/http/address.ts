/** The reason of an aborted signal, as an error to reject with. */
export function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('stopped');
}

/** Headers of a response; names are in lower case. */
export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The value of a header that should be there once. */
export function firstHeader(headers: ResponseHeaders, name: string): string | undefined {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value)?.trim();
}

/** The address that a reference on a page leads to; undefined when it is not a valid address. */
export function resolve(reference: string | undefined, page: URL): URL | undefined {
  return reference !== undefined && URL.canParse(reference, page.href) ? new URL(reference, page) : undefined;
}

/** The same path and query on another origin. The path is never parsed as a reference, because `//path` would name a host. */
export function withOrigin(address: URL, origin: string): URL {
  const result = new URL(origin);
  result.pathname = address.pathname;
  result.search = address.search;
  return result;
}

/** The address of a path and query under a base address, which may end in a slash. */
export function joinPath(base: URL, path: string): URL {
  return new URL(base.origin + base.pathname.replace(/(?<!\/)\/+$/, '') + path);
}

/**
 * The origin to call instead when New Relic redirects a plain HTTP call with 301: the same host over HTTPS, at the port of the
 * `Location` header (New Relic's page "301 response for REST API calls"). Only the host has to match, because the published
 * example has an `http` address in its `Location` although HTTPS is meant. Undefined for any other redirect: the key is sent to
 * no other host.
 *
 * @param requested the address of the call
 */
export function httpsUpgrade(requested: URL, status: number, location: string | undefined): string | undefined {
  if (status !== 301 || requested.protocol !== 'http:') return undefined;
  const target = resolve(location, requested);
  if (target?.hostname !== requested.hostname || !['http:', 'https:'].includes(target.protocol)) return undefined;
  target.protocol = 'https:';
  return target.origin;
}
