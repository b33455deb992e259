import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Compare } from '../authentication/comparisonQueue.ts';
import { WebConfigStore } from '../webConfig/store.ts';
import type { WebConfig } from '../webConfig/webConfig.ts';
import { createGate } from './gate.ts';
import { formatAddress, type ListenAddress } from './listenAddress.ts';
import { Connections } from './connections.ts';
import { TokenBucket } from './rateLimit.ts';
import { throttled } from './throttle.ts';
import { followTlsSettings } from './tlsServer.ts';

export interface ServersOptions {
  readonly app: RequestListener;
  /** Ignored where `sockets` are given. */
  readonly listen: readonly ListenAddress[];
  /** File descriptors of listening sockets, from {@link systemdSockets}. */
  readonly sockets?: readonly number[] | undefined;
  /** Path of the web configuration; undefined: plain HTTP for everybody. Check it with loadWebConfig first. */
  readonly webConfigFile?: string | undefined;
  /** Compares passwords with bcrypt hashes, away from this thread. */
  readonly compare: Compare;
  readonly warn: (message: string) => void;
  /** A fault of our own that a request ran into. */
  readonly failed: (error: unknown) => void;
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
  const { app, compare, failed } = options;
  const connections = new Connections();
  const listener = connections.inTurn(createGate({ app, store, bucket, compare, failed }));
  const targets = options.sockets?.map((fd) => ({ fd })) ?? options.listen;
  const createTls = (settings: NonNullable<WebConfig['tls']>): Server => {
    const server = createTlsServer(
      {
        ...LIMITS,
        ...settings.context,
        handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
        requestCert: settings.clientAuth !== 'NoClientCert',
        // Decided after the handshake, by client_auth_type as it is then.
        rejectUnauthorized: false,
      },
      listener,
    );
    connections.followTls(server);
    followTlsSettings(server, store, throttled(options.warn, options.monotonic));
    return server;
  };
  const servers: Server[] = [];
  const addresses: string[] = [];
  try {
    for (const target of targets) {
      const server = tls === undefined ? createPlain(listener, connections) : createTls(tls);
      servers.push(server);
      addresses.push(await listen(server, target));
      server.on('error', (error) => options.warn(`Listening on ${addresses.join(', ')}: ${error.message}`));
    }
  } catch (error) {
    await connections.close(servers, 0);
    throw error;
  }
  return {
    scheme: tls === undefined ? 'http' : 'https',
    addresses,
    close: (graceMs) => connections.close(servers, graceMs),
  };
}

function createPlain(listener: RequestListener, connections: Connections): Server {
  const server = createServer(LIMITS, listener);
  connections.follow(server);
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
  return reported(server.address(), asked);
}

/** Node does not tell the path of a unix socket that systemd handed over. */
function reported(address: AddressInfo | string | null, asked: string): string {
  if (address === null || typeof address === 'string') return address ?? asked;
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
