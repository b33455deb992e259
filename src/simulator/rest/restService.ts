import * as entities from './restEntities.ts';
import type { IncomingMessage } from 'node:http';
import { type FaultRule, pageFaultOf, type RestKind } from '../faults/faultRules.ts';
import type { ServiceCall, ServiceOptions } from '../serviceCall.ts';
import { MinuteLimit } from '../simulatorState.ts';
import {
  type ServiceAnswer,
  failure,
  limited,
  notFound,
  refusal,
  sentKey,
  parameters,
  type RequestTarget,
} from '../simulatorHttp.ts';
import { matchRoute, type RestCall, type Route } from './restCall.ts';
import { metricNames, metricTimeslices } from './restMetrics.ts';

const ANSWERS: Readonly<Record<RestKind, (call: RestCall) => ServiceAnswer>> = {
  applications: entities.applications,
  application: entities.application,
  hosts: entities.hosts,
  host: entities.host,
  instances: entities.instances,
  instance: entities.instance,
  key_transactions: entities.keyTransactions,
  key_transaction: entities.keyTransaction,
  metric_names: metricNames,
  metric_data: metricTimeslices,
};

function decoded(text: string): string {
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

  read(request: IncomingMessage, target: RequestTarget): ServiceCall {
    const { path, search } = target;
    const route = matchRoute(path);
    return {
      kinds: route === undefined ? [] : [route.kind],
      applicationIds: route?.applicationId === undefined ? [] : [route.applicationId],
      text: decoded(search === '' ? path : `${path}?${search}`),
      isGraphql: false,
      path,
      search,
      format: route?.format ?? 'json',
      answer: (rule) => this.#answer(request, target, route, rule),
    };
  }

  async #answer(
    request: IncomingMessage,
    { path, search }: RequestTarget,
    route: Route | undefined,
    rule: FaultRule | undefined,
  ): Promise<ServiceAnswer> {
    const { apiKeys, state, settings } = this.#options;
    if (request.method !== 'GET') return failure(405, 'Method Not Allowed', [], { Allow: 'GET' });
    const key = sentKey(request.headers);
    const refused = refusal(key, apiKeys);
    if (refused !== undefined) return refused;
    const now = state.now();
    if (!this.#limit.count(key?.value ?? '', now))
      return limited(this.#limit.most, (Math.floor(now / 60_000) + 1) * 60);
    if (route === undefined) return notFound();
    return ANSWERS[route.kind]({
      world: state.world('rest'),
      settings,
      now,
      route,
      address: `${this.#scheme}://${request.headers.host ?? 'localhost'}${path}`,
      query: await parameters(request, search),
      pageFault: pageFaultOf(rule),
    });
  }
}
