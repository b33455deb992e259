import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createGate } from './gate.ts';
import { formatAddress, type ListenAddress } from './listenAddress.ts';
import { ShutdownTracker } from './shutdown.ts';
import { TokenBucket } from './rateLimit.ts';
import { followTlsSettings } from './tlsServer.ts';
import { WebConfigStore } from './webConfigStore.ts';
import type { WebConfig } from './webConfig.ts';

export interface ServersOptions {
  readonly app: RequestListener;
  /** Ignored where `sockets` are given. */
  readonly listen: readonly ListenAddress[];
  /** File descriptors of listening sockets, from {@link systemdSockets}. */
  readonly sockets?: readonly number[] | undefined;
  /** Path of the web configuration; undefined: plain HTTP for everybody. Check it with loadWebConfig first. */
  readonly webConfigFile?: string | undefined;
  readonly warn: (message: string) => void;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic: () => number;
}

export interface Servers {
  readonly scheme: 'http' | 'https';
  /** `host:port` of every listening socket, with the port that was chosen where 0 was asked for. */
  readonly addresses: readonly string[];
  /**
   * Stops accepting, closes idle connections, lets answers under way end for up to `graceMs` (0: not at all) and then
   * closes what is left. Resolves when every socket is closed.
   */
  close(graceMs: number): Promise<void>;
}

/** An address could not be listened on: exit status 1. The message is one sentence. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** Limits against clients that are slow, large or many; a scrape needs a fraction of each. */
const LIMITS: ServerOptions = {
  maxHeaderSize: 16_384,
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 2_000,
  // Above the usual scrape intervals, so that a scraper finds its connection open.
  keepAliveTimeout: 125_000,
  noDelay: true,
};
const MAX_CONNECTIONS = 512;
const HANDSHAKE_TIMEOUT_MS = 10_000;

/**
 * Listens on every address, all with the same application and web configuration; TLS or not is decided once, here.
 * Throws a {@link ListenError} when one address cannot be had (none stays open then).
 */
export async function startServers(options: ServersOptions): Promise<Servers> {
  const store = new WebConfigStore(options.webConfigFile, options.warn);
  const start = store.current();
  if ('faults' in start) throw new ListenError('The web configuration is invalid.');
  const { rateLimit, tls } = start.config;
  const bucket = rateLimit === undefined ? undefined : new TokenBucket(rateLimit, options.monotonic);
  const tracker = new ShutdownTracker();
  const gate = tracker.track(createGate(options.app, store, bucket, (error) => options.warn(describe(error))));
  const targets = options.sockets?.map((fd) => ({ fd })) ?? options.listen;
  const servers: Server[] = [];
  const addresses: string[] = [];
  try {
    for (const target of targets) {
      const server = tls === undefined ? createServer(LIMITS, gate) : createTls(tls, gate, store, options.warn);
      server.maxConnections = MAX_CONNECTIONS;
      servers.push(server);
      addresses.push(await listen(server, target));
      server.on('error', (error) => options.warn(`Listening on ${addresses.join(', ')}: ${error.message}`));
    }
  } catch (error) {
    await tracker.close(servers, 0);
    throw error;
  }
  return {
    scheme: tls === undefined ? 'http' : 'https',
    addresses,
    close: (graceMs) => tracker.close(servers, graceMs),
  };
}

function createTls(
  tls: NonNullable<WebConfig['tls']>,
  gate: RequestListener,
  store: WebConfigStore,
  warn: (message: string) => void,
): Server {
  const server = createTlsServer(
    {
      ...LIMITS,
      ...tls.context,
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      requestCert: tls.clientAuth !== 'NoClientCert',
      // Decided after the handshake, by client_auth_type as it is then.
      rejectUnauthorized: false,
    },
    gate,
  );
  followTlsSettings(server, store, warn);
  return server;
}

type Target = ListenAddress | { readonly fd: number };

async function listen(server: Server, target: Target): Promise<string> {
  const asked =
    'fd' in target ? `the socket of file descriptor ${target.fd}` : formatAddress(target.host ?? '', target.port);
  await new Promise<void>((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => reject(new ListenError(whyNot(asked, error)));
    server.once('error', fail);
    server.listen('fd' in target ? { fd: target.fd } : { port: target.port, host: target.host }, () => {
      server.off('error', fail);
      resolve();
    });
  });
  return reported(server.address());
}

function reported(address: AddressInfo | string | null): string {
  if (address === null || typeof address === 'string') return address ?? 'a socket';
  return formatAddress(address.address, address.port);
}

function whyNot(asked: string, error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return `Cannot listen on ${asked}: another process uses this address; stop it or choose another --web.listen-address.`;
    case 'EACCES':
      return `Cannot listen on ${asked}: no permission for this port; choose one above 1023 with --web.listen-address.`;
    case 'EADDRNOTAVAIL':
      return `Cannot listen on ${asked}: this machine has no such address; correct --web.listen-address.`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `Cannot listen on ${asked}: the host name is not known; correct --web.listen-address.`;
    default:
      return `Cannot listen on ${asked}: ${error.message}`;
  }
}

function describe(error: unknown): string {
  return `A request failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}
