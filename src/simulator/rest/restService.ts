import * as entities from './restEntities.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { type RestKind, pageFaultOf, type FaultRule } from '../faults/faultRules.ts';
import { type Answer, failure, notFound, refusal, sentKey, limited, send } from '../wire/httpAnswer.ts';
import { type Call, type Route, matchRoute } from './restCall.ts';
import { metricNames, metricTimeslices } from './restMetrics.ts';
import { distort, refuse, breakConnection, transmit } from '../faults/faultEffects.ts';
import type { ServiceSettings } from '../simulatorSettings.ts';
import { type SimulatorState, MinuteLimit } from '../simulatorState.ts';
import { parameters, type Target } from '../wire/httpListener.ts';

const ANSWERS: Readonly<Record<RestKind, (call: Call) => Answer>> = {
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

/** The answer of a healthy service to a call with a valid key. */
function answer(call: Call): Answer {
  return ANSWERS[call.route.kind](call);
}

interface ServiceOptions {
  readonly state: SimulatorState;
  readonly settings: ServiceSettings;
  readonly apiKeys: ReadonlySet<string>;
  readonly latencyMs: number;
  readonly scheme: 'http' | 'https';
  /** Ends pauses when the simulator closes. */
  readonly signal: AbortSignal;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The REST interface of the service: checks calls, answers them from the world, and applies the faults. */
export class Service {
  readonly #options: ServiceOptions;
  readonly #limit: MinuteLimit;

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.#limit = new MinuteLimit(options.settings.callsPerMinute);
  }

  async handle(request: IncomingMessage, response: ServerResponse, target: Target): Promise<void> {
    const { state, latencyMs, signal } = this.#options;
    const route = matchRoute(target.path);
    const done = this.#log(request, target, route);
    response.once('close', () => done(response.writableFinished ? response.statusCode : undefined));

    if (latencyMs > 0) await pause(latencyMs, undefined, { signal });
    const { path, search } = target;
    const rule = state.faults.strike({
      kinds: route === undefined ? [] : [route.kind],
      applicationIds: route?.applicationId === undefined ? [] : [route.applicationId],
      text: decoded(search === '' ? path : `${path}?${search}`),
      isGraphql: false,
    });
    if (rule?.effect === 'hang') return;
    if (rule?.effect === 'reset') {
      breakConnection(response);
      return;
    }
    const refused =
      rule === undefined
        ? undefined
        : refuse(rule, { now: state.now(), key: sentKey(request.headers)?.value ?? '', isGraphql: false });
    if (refused === undefined) await this.#answer(request, response, target, route, rule);
    else send(response, refused);
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    target: Target,
    route: Route | undefined,
    rule: FaultRule | undefined,
  ): Promise<void> {
    const said = this.#refuse(request, route) ?? (await this.#call(request, target, route, rule));
    const format = route?.format ?? 'json';
    // Without an Accept header the service says 200 and nothing else.
    const isEmpty =
      this.#options.settings.emptyWithoutAccept && said.status === 200 && request.headers.accept === undefined;
    const rendered = isEmpty ? { status: 200, headers: {}, text: '' } : distort(rule, said, format);
    await transmit(rule, response, rendered, this.#options.signal);
  }

  /** Why a call is not answered from the world, whatever its path. */
  #refuse(request: IncomingMessage, route: Route | undefined): Answer | undefined {
    const { apiKeys, state } = this.#options;
    if (request.method !== 'GET') return failure(405, 'Method Not Allowed', [], { Allow: 'GET' });
    const key = sentKey(request.headers);
    const refused = refusal(key, apiKeys);
    if (refused !== undefined) return refused;
    const now = state.now();
    if (!this.#limit.count(key?.value ?? '', now))
      return limited(this.#limit.most, (Math.floor(now / 60_000) + 1) * 60);
    return route === undefined ? notFound() : undefined;
  }

  async #call(
    request: IncomingMessage,
    { path, search }: Target,
    route: Route | undefined,
    rule: FaultRule | undefined,
  ): Promise<Answer> {
    if (route === undefined) return notFound();
    const { state, settings, scheme } = this.#options;
    return answer({
      world: state.world('rest'),
      settings,
      now: state.now(),
      route,
      origin: `${scheme}://${request.headers.host ?? 'localhost'}`,
      path,
      query: await parameters(request, search),
      pageFault: pageFaultOf(rule),
    });
  }

  #log(request: IncomingMessage, { path, search }: Target, route: Route | undefined) {
    const { state, apiKeys } = this.#options;
    const key = sentKey(request.headers);
    return state.requests.begin({
      at: state.now(),
      elapsed: performance.now(),
      method: request.method ?? '',
      path,
      query: search,
      kind: route?.kind,
      applicationId: route?.applicationId,
      accept: request.headers.accept,
      userAgent: request.headers['user-agent'],
      keyHeader: key?.header,
      keyValid: key !== undefined && apiKeys.has(key.value),
    });
  }
}
