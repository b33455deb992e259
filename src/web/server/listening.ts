import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Server } from 'node:http';

export interface ListenAddress {
  /** Undefined: all IPv4 and IPv6 interfaces. */
  readonly host: string | undefined;
  readonly port: number;
}

/** Thrown if an address or a socket is not available. The message is a complete sentence for the user. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

const ADDRESS = /^(?:\[(?<six>[^\]]*)\]|(?<plain>[^:[\]]*)):(?<port>\d{1,5})$/;
const HOST_NAME = /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?$/;

/** Parses `host:port`, `:port` or `[::1]:port`. Throws an error that says what to change. */
export function parseListenAddress(text: string): ListenAddress {
  const { six, plain = '', port: digits } = ADDRESS.exec(text)?.groups ?? {};
  const port = Number(digits);
  const isHost = six === undefined ? plain === '' || HOST_NAME.test(plain) : isIP(six.replace(/%.*/, '')) === 6;
  if (!(port <= 65_535) || !isHost) {
    throw new Error(
      `"${text}" is not a valid listen address; use host:port, :port or [IPv6]:port, with a port up to 65535.`,
    );
  }
  return { host: six ?? (plain === '' ? undefined : plain), port };
}

/** Returns `host:port`, with brackets around an IPv6 address. */
export function formatAddress(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * Returns, for each address, the addresses to listen on with one port: for `localhost` 127.0.0.1 and ::1, where this
 * machine has both. Leaves out an address that an earlier group has.
 */
export async function expandLocalhost(
  addresses: readonly ListenAddress[],
): Promise<readonly (readonly ListenAddress[])[]> {
  const seen = new Set<string>();
  const isNew = ({ host = '', port }: ListenAddress): boolean => {
    const text = formatAddress(host, port);
    if (port !== 0 && seen.has(text)) return false;
    seen.add(text);
    return true;
  };
  const groups = await Promise.all(addresses.map(resolveLocalhost));
  return groups.map((group) => group.filter(isNew));
}

async function resolveLocalhost(address: ListenAddress): Promise<readonly ListenAddress[]> {
  const { host, port } = address;
  if (host?.toLowerCase() !== 'localhost') return [address];
  const found = await lookup(host, { all: true }).catch(() => []);
  const interfaces = Object.values(networkInterfaces()).flatMap((one) => one ?? []);
  // Containers often have ::1 among their names, and no IPv6.
  const usable = found.filter(
    ({ family, address }) => family === 4 || interfaces.some((one) => one.address === address),
  );
  // Without a usable address, listening fails with an error that says why.
  if (usable.length === 0) return [address];
  return [...new Set(usable.map((one) => one.address))].map((one) => ({ host: one, port }));
}

/** The first file descriptor that systemd passes; see sd_listen_fds(3). */
const FIRST_SOCKET = 3;

/** Returns the file descriptors of the sockets that systemd passed. Throws a {@link ListenError} without any. */
export function findSystemdSockets(environment: Readonly<Record<string, string | undefined>>, pid: number): number[] {
  const { LISTEN_FDS: count = '', LISTEN_PID: owner } = environment;
  if (owner !== String(pid) || !/^[1-9]\d{0,3}$/.test(count)) {
    throw new ListenError(
      '--web.systemd-socket needs a socket, but systemd passed none to this process (LISTEN_FDS, LISTEN_PID): start the service through its .socket unit.',
    );
  }
  return Array.from({ length: Number(count) }, (_, index) => FIRST_SOCKET + index);
}

const UNKNOWN_HOST = 'the host name is not known; correct --web.listen-address.';

/** Cause and remedy, by error code. */
const EXPLANATIONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process uses this address; stop it or choose another --web.listen-address.',
  EACCES: 'no permission for this port; choose one above 1023 with --web.listen-address.',
  EADDRNOTAVAIL: 'this machine has no such address; correct --web.listen-address.',
  ENOTFOUND: UNKNOWN_HOST,
  EAI_AGAIN: UNKNOWN_HOST,
};

/** Returns the address as `host:port`, and its port, 0 for a unix socket. Rejects with a {@link ListenError}. */
export async function listen(
  server: Server,
  target: ListenAddress | { readonly fd: number },
): Promise<{ readonly text: string; readonly port: number }> {
  const description =
    'fd' in target ? `the socket of file descriptor ${target.fd}` : formatAddress(target.host ?? '', target.port);
  await new Promise<void>((resolve, reject) => {
    const fail = ({ code = '', message }: NodeJS.ErrnoException) =>
      reject(new ListenError(`Cannot listen on ${description}: ${EXPLANATIONS[code] ?? message}`));
    server.once('error', fail);
    server.listen('fd' in target ? { fd: target.fd } : { port: target.port, host: target.host }, () => {
      server.off('error', fail);
      resolve();
    });
  });
  const address = server.address();
  // Node.js knows no address of a unix socket that systemd passed.
  if (address === null || typeof address === 'string') return { text: address ?? description, port: 0 };
  return { text: formatAddress(address.address, address.port), port: address.port };
}
