import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Server } from 'node:http';

/** An address to listen on. `host` is undefined for all interfaces, IPv4 and IPv6 alike. */
export interface ListenAddress {
  readonly host: string | undefined;
  readonly port: number;
}

/** Thrown when an address or a socket is not available. The message is one sentence, complete without a stack trace. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

const ADDRESS = /^(?:\[(?<six>[^\]]*)\]|(?<plain>[^:[\]]*)):(?<port>\d{1,5})$/;
const HOST_NAME = /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?$/;

/** Reads `host:port`, `:port` or `[::1]:port`; for port 0 the system chooses one. Throws an error that says what to change. */
export function parseListenAddress(text: string): ListenAddress {
  const { six, plain = '', port: digits } = ADDRESS.exec(text)?.groups ?? {};
  const port = Number(digits);
  const isHost = six === undefined ? plain === '' || HOST_NAME.test(plain) : isIP(six.replace(/%.*/, '')) === 6;
  if (!(port <= 65_535) || !isHost) {
    throw new Error(
      `"${text}" is no listen address: write host:port, :port or [IPv6 address]:port, a port up to 65535.`,
    );
  }
  return { host: six ?? (plain === '' ? undefined : plain), port };
}

/** `host:port`, with brackets around an IPv6 address. */
export function formatAddress(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * Gives each address as a group of those to listen on with one port: `localhost` is both 127.0.0.1 and ::1 where this machine
 * has both. What an earlier group has is left out.
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
  // Without any, listening fails with an error that says why.
  if (usable.length === 0) return [address];
  return [...new Set(usable.map((one) => one.address))].map((one) => ({ host: one, port }));
}

/** The first file descriptor that systemd hands over, as in sd_listen_fds(3). */
const FIRST_SOCKET = 3;

/** File descriptors of the sockets that systemd handed over to this process. Throws a {@link ListenError} without any. */
export function systemdSockets(environment: Readonly<Record<string, string | undefined>>, pid: number): number[] {
  const { LISTEN_FDS: count = '', LISTEN_PID: owner } = environment;
  if (owner !== String(pid) || !/^[1-9]\d{0,3}$/.test(count)) {
    throw new ListenError(
      '--web.systemd-socket is given but systemd handed over no socket to this process (LISTEN_FDS, LISTEN_PID): start the service through its .socket unit.',
    );
  }
  return Array.from({ length: Number(count) }, (_, index) => FIRST_SOCKET + index);
}

const UNKNOWN_HOST = 'the host name is not known; correct --web.listen-address.';

/** Cause and remedy by the error code of the system. */
const EXPLANATIONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process uses this address; stop it or choose another --web.listen-address.',
  EACCES: 'no permission for this port; choose one above 1023 with --web.listen-address.',
  EADDRNOTAVAIL: 'this machine has no such address; correct --web.listen-address.',
  ENOTFOUND: UNKNOWN_HOST,
  EAI_AGAIN: UNKNOWN_HOST,
};

/**
 * Listens on an address or a socket of systemd; gives the address as `host:port`, and its port, 0 for a unix socket. Rejects with
 * a {@link ListenError}.
 */
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
  // Node.js gives no address for a unix socket that systemd handed over.
  if (address === null || typeof address === 'string') return { text: address ?? description, port: 0 };
  return { text: formatAddress(address.address, address.port), port: address.port };
}
