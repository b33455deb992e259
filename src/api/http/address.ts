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

/** The address of a call in two parts, because parsing it for each call would cost more than the rest of its making. */
export interface Address {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Percent-encoded path and query. */
  readonly path: string;
}

export function urlOf({ origin, path }: Address): URL {
  return new URL(origin + path);
}

/**
 * The origin to call instead when New Relic redirects a plain HTTP call with 301: the same host over HTTPS, at the port of
 * the `Location` header (its page "301 response for REST API calls"), whose scheme does not matter: the published example has
 * `http`. Undefined for any other redirect: the key is sent to no other host.
 */
export function httpsUpgrade(address: Address, status: number, location: string | undefined): string | undefined {
  if (status !== 301 || !address.origin.startsWith('http:')) return undefined;
  const requested = urlOf(address);
  const target = resolve(location, requested);
  if (target?.hostname !== requested.hostname || !['http:', 'https:'].includes(target.protocol)) return undefined;
  target.protocol = 'https:';
  return target.origin;
}
