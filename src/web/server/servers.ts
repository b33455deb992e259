import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer, type ServerOptions as TlsServerOptions } from 'node:https';
import type { Compare } from '../authentication/passwords.ts';
import { WebConfigStore } from '../webConfig/webConfig.ts';
import { asksForCertificate } from '../webConfig/tlsSettings.ts';
import { createGate, createRateLimiter } from './gate.ts';
import { Connections } from './connections.ts';
import { watchDescriptors } from './descriptors.ts';
import { expandLocalhost, listen, ListenError, type ListenAddress } from './listening.ts';
import { followTlsSettings } from './handshakes.ts';
import { counted } from '../../text/wording.ts';

export type Servers = Awaited<ReturnType<typeof startServers>>;

/** Limits against slow, large or many requests. A scrape needs a fraction of each limit. */
const LIMITS: ServerOptions = {
  maxHeaderSize: 16_384,
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 2_000,
  // Above the usual scrape intervals, so that a scraper can reuse its connection.
  keepAliveTimeout: 125_000,
  noDelay: true,
};
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Longer than a scrape may wait for New Relic. */
const IDLE_TIMEOUT_MS = 150_000;

/** Decides once whether to use TLS. Throws a {@link ListenError}, and closes all, if an address is not available. */
export async function startServers(options: {
  readonly app: RequestListener;
  /** Ignored if `sockets` is set. */
  readonly listen: readonly ListenAddress[];
  /** File descriptors of listening sockets. */
  readonly sockets?: readonly number[] | undefined;
  /** Path of a web configuration that loadWebConfig accepted; undefined: plain HTTP without passwords. */
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
  const mayEnter = rateLimit === undefined ? undefined : createRateLimiter(rateLimit, options.monotonic);
  const connections = new Connections();
  const refusedLogins = throttle(options.warn, options.monotonic);
  const refusedCertificates = throttle(options.warn, options.monotonic);
  const failedAccept = throttle(options.warn, options.monotonic);
  const refusedLogin = (address: string): void => {
    options.refusedLogin();
    refusedLogins(`Refused a login from ${address}: wrong user name or password.`);
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
      // findRefusal checks the certificate after the handshake, with the current client_auth_type.
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
        server.timeout = IDLE_TIMEOUT_MS;
        servers.push(server);
        const { text, port } = await listen(
          server,
          'fd' in target ? target : { ...target, port: target.port || chosen },
        );
        chosen = port;
        addresses.push(text);
        server.on('error', (error) =>
          failedAccept(`Cannot accept connections on ${addresses.join(', ')}: ${error.message}`),
        );
      }
    }
  } catch (error) {
    await connections.close(servers, 0);
    throw error;
  }
  const stopWatching = watchDescriptors(failedAccept);
  return {
    scheme: tls === undefined ? 'http' : 'https',
    /** `host:port` of every listening socket, with the port that the system chose for port 0. */
    addresses,
    /** Waits up to `graceMs` for responses in flight. Resolves when every connection and socket is closed. */
    close: (graceMs: number): Promise<void> => {
      stopWatching();
      return connections.close(servers, graceMs);
    },
  } as const;
}

const LOG_INTERVAL_MS = 60_000;

/** Logs at most one message a minute, with the number of suppressed ones. `now`: milliseconds of a monotonic clock. */
export function throttle(log: (message: string) => void, now: () => number): (message: string) => void {
  let [loggedAt, suppressed] = [-Infinity, 0];
  return (message) => {
    if (now() - loggedAt < LOG_INTERVAL_MS) {
      suppressed += 1;
      return;
    }
    log(suppressed === 0 ? message : `${message} (${counted(suppressed, 'similar message')} suppressed)`);
    [loggedAt, suppressed] = [now(), 0];
  };
}
