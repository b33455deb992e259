import { isIP } from 'node:net';

/** An address to listen on. `host` is undefined for all interfaces, IPv4 and IPv6 alike. */
export interface ListenAddress {
  readonly host: string | undefined;
  readonly port: number;
}

/** A listen address that cannot be understood: wrong usage, exit status 2. */
export class ListenAddressError extends Error {
  override readonly name = 'ListenAddressError';
}

const SHAPE = /^(?:\[(?<six>[^\]]*)\]|(?<plain>[^:[\]]*)):(?<port>\d{1,5})$/;
const HOST_NAME = /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?$/;

/**
 * Reads `host:port`, `:port` or `[::1]:port` (`--web.listen-address`); port 0 lets the system choose.
 * Throws a {@link ListenAddressError} that says what to change.
 */
export function parseListenAddress(text: string): ListenAddress {
  const groups = SHAPE.exec(text)?.groups;
  if (groups === undefined) {
    throw new ListenAddressError(`"${text}" is no listen address: write host:port, :port or [IPv6 address]:port.`);
  }
  const port = Number(groups.port);
  if (port > 65_535) throw new ListenAddressError(`"${text}": a port is a number from 0 to 65535.`);
  if (groups.six !== undefined) {
    if (isIP(groups.six.replace(/%.*$/, '')) !== 6) {
      throw new ListenAddressError(`"${text}": what stands between brackets must be an IPv6 address.`);
    }
    return { host: groups.six, port };
  }
  const host = groups.plain ?? '';
  if (host === '') return { host: undefined, port };
  if (!HOST_NAME.test(host)) throw new ListenAddressError(`"${text}": "${host}" is no host name or IPv4 address.`);
  return { host, port };
}

/** `host:port`, with brackets around an IPv6 address. */
export function formatAddress(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
