import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { breakConnection, distort, refuse, transmit } from './faults/faultEffects.ts';
import type { FaultRule, FaultTarget } from './faults/faultRules.ts';
import type { ServiceSettings } from './simulatorSettings.ts';
import type { LoggedOperation, SimulatorState } from './simulatorState.ts';
import { type ServiceAnswer, type BodyFormat, type Rendered, send, sentKey } from './simulatorHttp.ts';

export const NERDGRAPH_PATH = '/graphql';

/** What both interfaces of the service work with. */
export interface ServiceOptions {
  readonly state: SimulatorState;
  readonly settings: ServiceSettings;
  readonly apiKeys: ReadonlySet<string>;
  /** Every call waits this long first. */
  readonly latencyMs: number;
  /** Ends pauses when the simulator closes. */
  readonly signal: AbortSignal;
}

/** A call as its interface reads it. */
export interface ServiceCall extends FaultTarget {
  readonly path: string;
  /** As it came, still encoded, without the question mark. */
  readonly search: string;
  /** What a GraphQL document asks for. */
  readonly operations?: readonly LoggedOperation[];
  readonly format: BodyFormat;
  /** What the service says; a fault may change what is in it. */
  readonly answer: (rule: FaultRule | undefined) => ServiceAnswer | Promise<ServiceAnswer>;
}

const NOTHING: Rendered = { status: 200, headers: {}, text: '' };

/** The way of a call from its arrival to its answer: it is logged, waits, meets the first fault that is for it, and is answered. */
export async function serve(
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
    accept: headers.accept,
    userAgent: headers['user-agent'],
    keyHeader: key?.header,
    keyValid: key !== undefined && apiKeys.has(key.value),
    ...(call.operations === undefined ? {} : { operations: call.operations }),
  });
  response.once('close', () => done(response.writableFinished ? response.statusCode : undefined));

  if (latencyMs > 0) await pause(latencyMs, undefined, { signal });
  const rule = state.faults.strike(call);
  if (rule?.effect === 'hang') return;
  if (rule?.effect === 'reset') {
    breakConnection(response);
    return;
  }
  const refused = rule && refuse(rule, { now: state.now(), key: key?.value ?? '', isGraphql: call.isGraphql });
  if (refused !== undefined) {
    send(response, refused);
    return;
  }
  const answer = await call.answer(rule);
  // Without an Accept header the REST interface says 200 and nothing else.
  const isEmpty = !call.isGraphql && answer.status === 200 && headers.accept === undefined;
  await transmit(rule, response, isEmpty ? NOTHING : distort(rule, answer, call.format), signal);
}
