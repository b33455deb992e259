import type { IncomingMessage } from 'node:http';
import type { CallKind, FaultRule } from '../faults/faultRules.ts';
import { failure, invalidKey, limited, NOT_FOUND, sentKey, type ServiceResponse } from '../simulatorHttp.ts';
import { MinuteLimit, type ServiceCall, type ServiceOptions } from '../simulatorState.ts';
import type { RestCall } from './restCall.ts';
import { APPLICATIONS, HOSTS, INSTANCES, KEY_TRANSACTIONS } from './restEntities.ts';
import { metricNames, metricTimeslices } from './restMetrics.ts';

/** The endpoints: kind, path and response. A word after a colon is the name of an id. */
const ROUTES = (
  [
    ['applications', 'applications', APPLICATIONS.list],
    ['application', 'applications/:application', APPLICATIONS.single],
    ['hosts', 'applications/:application/hosts', HOSTS.list],
    ['host', 'applications/:application/hosts/:host', HOSTS.single],
    ['instances', 'applications/:application/instances', INSTANCES.list],
    ['instance', 'applications/:application/instances/:instance', INSTANCES.single],
    ['key_transactions', 'key_transactions', KEY_TRANSACTIONS.list],
    ['key_transaction', 'key_transactions/:key_transaction', KEY_TRANSACTIONS.single],
    ...['', '/hosts/:host', '/instances/:instance'].flatMap((part) => [
      ['metric_names', `applications/:application${part}/metrics`, metricNames] as const,
      ['metric_data', `applications/:application${part}/metrics/data`, metricTimeslices] as const,
    ]),
  ] satisfies readonly (readonly [CallKind, string, (call: RestCall) => ServiceResponse])[]
).map(([kind, path, respond]) => {
  const pattern = new RegExp(
    String.raw`^/v2/${path.replace(/:(\w+)/g, String.raw`(?<$1>\d{1,15})`)}\.(?<format>json|xml)$`,
  );
  return { kind, respond, pattern };
});

/** Finds the endpoint of a path without its query; undefined for an unknown path. */
function findRoute(path: string) {
  for (const { kind, respond, pattern } of ROUTES) {
    const groups = pattern.exec(path)?.groups;
    if (groups === undefined) continue;
    const { format, ...texts } = groups;
    const ids: RestCall['ids'] = Object.fromEntries(Object.entries(texts).map(([name, id]) => [name, Number(id)]));
    return { kind, respond, ids, format: format === 'xml' ? ('xml' as const) : ('json' as const) };
  }
  return undefined;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The REST interface of the service. */
export class RestService {
  readonly #options: ServiceOptions;
  readonly #scheme: 'http' | 'https';
  readonly #limit: MinuteLimit;

  constructor(options: ServiceOptions, scheme: 'http' | 'https') {
    this.#options = options;
    this.#scheme = scheme;
    this.#limit = new MinuteLimit(options.settings.callsPerMinute);
  }

  /** @param search the part of the address after the question mark */
  read(request: IncomingMessage, path: string, search: string, body: string): ServiceCall {
    const route = findRoute(path);
    return {
      kinds: route === undefined ? [] : [route.kind],
      applicationIds: route?.ids.application === undefined ? [] : [route.ids.application],
      text: decode(search === '' ? path : `${path}?${search}`),
      isGraphql: false,
      path,
      search,
      format: route?.format ?? 'json',
      respond: (rule: FaultRule | undefined) => {
        const { apiKeys, state, settings } = this.#options;
        if (request.method !== 'GET') return failure(405, 'Method Not Allowed', [], { Allow: 'GET' });
        const key = sentKey(request.headers);
        if (key === undefined || !apiKeys.has(key.value)) {
          // In `Api-Key`, New Relic accepts user keys only and treats an unknown key as missing.
          return key?.header === 'X-Api-Key' ? invalidKey(key.value) : failure(401, 'No API key specified');
        }
        const now = state.now();
        if (!this.#limit.count(key.value, now))
          return limited(this.#limit.perMinute, (Math.floor(now / 60_000) + 1) * 60);
        if (route === undefined) return NOT_FOUND;
        const address = `${this.#scheme}://${request.headers.host ?? 'localhost'}${path}`;
        // `curl -d` sends parameters in the body, as a form.
        const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true;
        const query = new URLSearchParams(isForm ? `${search}&${body}` : search);
        return route.respond({ world: state.world, settings, now, ids: route.ids, address, query, rule });
      },
    };
  }
}
