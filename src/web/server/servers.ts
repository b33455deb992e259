import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer, type ServerOptions as TlsServerOptions } from 'node:https';
import type { Compare } from '../authentication/passwords.ts';
import { WebConfigStore } from '../webConfig/webConfig.ts';
import { asksForCertificate } from '../webConfig/tlsSettings.ts';
import { createGate, rateLimiter } from './gate.ts';
import { Connections } from './connections.ts';
import { watchDescriptors } from './descriptors.ts';
import { expandLocalhost, listen, ListenError, type ListenAddress } from './listening.ts';
import { followTlsSettings } from './handshakes.ts';

export type Servers = Awaited<ReturnType<typeof startServers>>;

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

/** A connection on which nothing moves for this time is closed; a scrape may wait two minutes for New Relic. */
const SILENCE_MS = 150_000;

/**
 * Listens on every address, all with the same application and web configuration; TLS or not is decided once, here.
 * Throws a {@link ListenError} when an address is not available; no other stays open then.
 */
export async function startServers(options: {
  readonly app: RequestListener;
  /** Ignored where `sockets` are given. */
  readonly listen: readonly ListenAddress[];
  /** File descriptors of listening sockets, from {@link systemdSockets}. */
  readonly sockets?: readonly number[] | undefined;
  /** Path of the web configuration, which loadWebConfig has checked; undefined: plain HTTP without passwords. */
  readonly webConfigFile?: string | undefined;
  readonly compare: Compare;
  readonly routePrefix: string;
  readonly refusedLogin: () => void;
  readonly warn: (message: string) => void;
  readonly failed: (error: unknown) => void;
  readonly monotonic: () => number;
}) {
  const store = new WebConfigStore(options.webConfigFile, options.warn);
  const start = store.current();
  if ('diagnostics' in start) throw new ListenError('The web configuration is invalid.');
  const { rateLimit, tls } = start.config;
  const mayEnter = rateLimit === undefined ? undefined : rateLimiter(rateLimit, options.monotonic);
  const connections = new Connections();
  const refusedLogins = throttled(options.warn, options.monotonic);
  const refusedCertificates = throttled(options.warn, options.monotonic);
  const failedAccept = throttled(options.warn, options.monotonic);
  const refusedLogin = (address: string): void => {
    options.refusedLogin();
    refusedLogins(`A login from ${address} was refused: wrong user name or password.`);
  };
  const gate = createGate({ ...options, store, mayEnter, refusedLogin });
  const groups = options.sockets?.map((fd) => [{ fd }]) ?? (await expandLocalhost(options.listen));
  const create = (): Server => {
    if (tls === undefined) return createServer(LIMITS, gate);
    const secured: TlsServerOptions = {
      ...LIMITS,
      ...tls.context,
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      requestCert: asksForCertificate(tls),
      // The certificate is judged after the handshake, by the client_auth_type that is then in force.
      rejectUnauthorized: false,
    };
    const server = createTlsServer(secured, gate);
    followTlsSettings(server, store, options.warn, refusedCertificates);
    return server;
  };
  const servers: Server[] = [];
  const addresses: string[] = [];
  try {
    for (const group of groups) {
      let chosen = 0;
      for (const target of group) {
        const server = create();
        connections.follow(server);
        server.timeout = SILENCE_MS;
        servers.push(server);
        const { text, port } = await listen(
          server,
          'fd' in target ? target : { ...target, port: target.port || chosen },
        );
        chosen = port;
        addresses.push(text);
        server.on('error', (error) => failedAccept(`Listening on ${addresses.join(', ')}: ${error.message}`));
      }
    }
  } catch (error) {
    await connections.close(servers, 0);
    throw error;
  }
  const stopWatching = watchDescriptors(failedAccept);
  return {
    scheme: tls === undefined ? 'http' : 'https',
    /** `host:port` of every listening socket, with the port that was chosen where 0 was requested. */
    addresses,
    /** Lets responses end for up to `graceMs` (0: no time), then closes the rest. Resolves when every socket is closed. */
    close: (graceMs: number): Promise<void> => {
      stopWatching();
      return connections.close(servers, graceMs);
    },
  } as const;
}

/** Of what clients can cause at any rate, a line is written at most once in this time, in milliseconds. */
const QUIET_MS = 60_000;

/** Logs a message at once, then at most one a minute, with the number of those left out. `now` is of a clock that never goes back. */
export function throttled(log: (message: string) => void, now: () => number): (message: string) => void {
  let [at, muted] = [-Infinity, 0];
  return (message) => {
    if (now() - at < QUIET_MS) {
      muted += 1;
      return;
    }
    log(muted === 0 ? message : `${message} (and ${muted} more before)`);
    [at, muted] = [now(), 0];
  };
}
