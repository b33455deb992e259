import * as z from 'zod';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { CHANGE, type SimulatorState } from './simulatorState.ts';
import { describeFaults, FAULT_RULE } from './faults/faultRules.ts';
import { isReporting } from './world/worldEntities.ts';
import { readBody, type Target } from './wire/httpListener.ts';

/** What the control endpoint says: a status and anything JSON can hold. */
interface ControlAnswer {
  readonly status: number;
  readonly body?: unknown;
}

const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/;
const CONTROL = /^\/control\/(?<what>faults|requests|applications|key_transactions)(?:\/(?<id>\d{1,15}))?$/;
const MOST_ENTRIES = 1000;

export function isControl(target: Target): boolean {
  return target.path === '/control' || target.path.startsWith('/control/');
}

function requests(state: SimulatorState): unknown {
  const log = state.requests;
  return {
    count: log.count(),
    by_kind: log.counts(),
    by_status: log.statuses(),
    running: log.running,
    max_concurrency: log.maxConcurrency,
    busiest_minute: log.busiest(),
    ranges: log.ranges(),
    newest: log.all().slice(-MOST_ENTRIES),
  };
}

function applications(state: SimulatorState): unknown {
  const world = state.world('rest');
  return world.applications().map((application) => ({
    id: application.id,
    name: application.name,
    language: application.archetype.language,
    reporting: isReporting(application, state.now()),
  }));
}

/** A control call: what it is about, its HTTP method, and an id. */
interface Command {
  readonly verb: string;
  readonly what: string;
  readonly id: number | undefined;
  readonly body: unknown;
}

function onFaults(state: SimulatorState, { verb, id, body }: Command): ControlAnswer | undefined {
  if (verb === 'GET' && id === undefined) return { status: 200, body: state.faults.entries() };
  if (verb === 'POST' && id === undefined) {
    const rules = z.union([FAULT_RULE.transform((rule) => [rule]), z.array(FAULT_RULE)]).parse(body);
    return { status: 201, body: { ids: rules.map((rule) => state.faults.add(rule)) } };
  }
  if (verb !== 'DELETE') return undefined;
  if (id === undefined) state.faults.clear();
  else if (!state.faults.remove(id)) return { status: 404, body: { error: `no fault rule ${id}` } };
  return { status: 204 };
}

function onRequests(state: SimulatorState, { verb, id }: Command): ControlAnswer | undefined {
  if (id !== undefined) return undefined;
  if (verb === 'GET') return { status: 200, body: requests(state) };
  if (verb !== 'DELETE') return undefined;
  state.requests.clear();
  return { status: 204 };
}

function onEntities(state: SimulatorState, { verb, what, id, body }: Command): ControlAnswer | undefined {
  if (verb === 'GET' && id === undefined && what === 'applications') return { status: 200, body: applications(state) };
  if (id === undefined || (verb !== 'POST' && verb !== 'DELETE')) return undefined;
  if (verb === 'POST') state.change(id, CHANGE.parse(body));
  else state.restore(id);
  return { status: 204 };
}

async function obey(state: SimulatorState, request: IncomingMessage, target: Target): Promise<ControlAnswer> {
  const groups = CONTROL.exec(target.path)?.groups;
  if (groups === undefined) {
    return {
      status: 404,
      body: {
        error: 'there are /control/faults, /control/requests, /control/applications and /control/key_transactions',
      },
    };
  }
  const verb = request.method ?? '';
  const text = verb === 'POST' ? await readBody(request) : '';
  const what = groups['what'] ?? '';
  const command: Command = {
    verb,
    what,
    id: groups['id'] === undefined ? undefined : Number(groups['id']),
    body: text === '' ? undefined : (JSON.parse(text) as unknown),
  };
  const act = { faults: onFaults, requests: onRequests, applications: onEntities, key_transactions: onEntities }[what];
  return act?.(state, command) ?? { status: 405, body: { error: `${verb} is not possible here` } };
}

/** Serves `/control/...` to callers on the loopback interface. */
export async function control(
  state: SimulatorState,
  request: IncomingMessage,
  response: ServerResponse,
  target: Target,
): Promise<void> {
  let said: ControlAnswer;
  try {
    said = LOOPBACK.test(request.socket.remoteAddress ?? '')
      ? await obey(state, request, target)
      : { status: 403, body: { error: 'the control endpoint answers on the loopback interface only' } };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    said = { status: 400, body: { error: error instanceof z.ZodError ? describeFaults(error) : error.message } };
  }
  response.writeHead(said.status, { 'Content-Type': 'application/json; charset=utf-8' });
  response.end(said.body === undefined ? undefined : `${JSON.stringify(said.body, null, 2)}\n`);
}
