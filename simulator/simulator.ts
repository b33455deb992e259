import { setMaxListeners } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { NERDGRAPH_PATH, type ServiceCall, type ServiceOptions, SimulatorState } from './simulatorState.ts';
import { deliver } from './faults/faultEffects.ts';
import type { FaultRuleInput } from './faults/faultRules.ts';
import { readBody, failure, listen, render, send, sentKey, type TlsFiles } from './simulatorHttp.ts';
import { control, isControl } from './control.ts';
import { RestService } from './rest/restService.ts';
import { type ServiceSettings, DEMO_API_KEY, DEFAULT_SETTINGS } from './simulatorSettings.ts';
import { type WorldOptions, createWorld } from './world/world.ts';

export interface SimulatorOptions extends Partial<WorldOptions>, Partial<ServiceSettings> {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /** The delay before every response, in milliseconds. */
  readonly latencyMs?: number;
  /** Default: the demo key. */
  readonly apiKeys?: readonly string[];
  /** Serves https; a plain HTTP call to the same port gets a 301 to the https address. */
  readonly tls?: TlsFiles;
  /** Milliseconds since 1970; default the system's clock. */
  readonly now?: () => number;
  readonly faults?: readonly FaultRuleInput[];
  /** The number of calls that the log keeps as entries; default 100,000. */
  readonly loggedRequests?: number;
  /** Serves `/control/...` on the loopback interface; default on. */
  readonly control?: boolean;
}

export type Simulator = SimulatorState & {
  /** Without `/v2` or `/graphql`, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  readonly close: () => Promise<void>;
};

/** Returns the host for a URL. For a listener on all interfaces, that is the loopback interface. */
function toUrlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

function reportFailure(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  send(response, render(failure(500, 'Internal Server Error', [String(error)]), 'json'));
}

/** Serves a call: logs it, waits, applies the first matching fault, and responds. */
async function serve(
  { state, apiKeys, latencyMs, signal }: ServiceOptions,
  call: ServiceCall,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = '', headers } = request;
  const key = sentKey(headers);
  const done = state.requests.begin({
    at: state.now(),
    elapsed: performance.now(),
    method,
    path: call.path,
    query: call.search,
    kind: call.kinds[0],
    applicationId: call.isGraphql ? undefined : call.applicationIds[0],
    keyHeader: key?.header,
    keyValid: key !== undefined && apiKeys.has(key.value),
    ...(call.operations === undefined ? {} : { operations: call.operations }),
  });
  response.once('close', () => done(response.writableFinished ? response.statusCode : undefined));
  if (latencyMs > 0) await pause(latencyMs, undefined, { signal });
  await deliver(state.faults.strike(call), call, response, { now: state.now(), key: key?.value ?? '', signal });
}

/** Starts the simulator. Rejects if it cannot listen, or on a bad fault rule. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { host = '127.0.0.1', tls } = options;
  const scheme = tls === undefined ? 'http' : 'https';
  const state = new SimulatorState(
    createWorld(options),
    options.now ?? Date.now,
    options.accounts,
    options.loggedRequests,
  );
  for (const rule of options.faults ?? []) state.faults.add(rule);
  // Loads the GraphQL library only when a simulator starts.
  const { GraphqlService } = await import('./nerdgraph/graphqlService.ts');
  const stopping = new AbortController();
  // Every waiting call adds a listener, without a limit.
  setMaxListeners(0, stopping.signal);
  const shared = {
    state,
    settings: { ...DEFAULT_SETTINGS, ...options },
    apiKeys: new Set(options.apiKeys ?? [DEMO_API_KEY]),
    latencyMs: options.latencyMs ?? 0,
    signal: stopping.signal,
  };
  const rest = new RestService(shared, scheme);
  const graphql = await GraphqlService.open(shared);
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [, path = '/', search = ''] = /^([^?]*)(?:\?(.*))?$/s.exec(request.url ?? '/') ?? [];
    const body = await readBody(request);
    if (body === undefined) send(response, render(failure(413, 'Payload Too Large'), 'json'));
    else if (options.control !== false && isControl(path)) control(state, request, response, path, body);
    else {
      const isGraphql = path === NERDGRAPH_PATH;
      const call = isGraphql ? await graphql.read(request, response, body) : rest.read(request, path, search, body);
      await serve(shared, call, request, response);
    }
  };
  const listener = await listen(host, options.port ?? 0, tls, (request, response) => {
    handle(request, response).catch((error: unknown) => reportFailure(response, error));
  });
  return Object.assign(state, {
    url: `${scheme}://${toUrlHost(host)}:${listener.port}`,
    port: listener.port,
    close: () => {
      stopping.abort();
      return listener.close();
    },
  });
}
