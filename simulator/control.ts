import * as z from 'zod';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SimulatorState } from './simulatorState.ts';
import { CHANGE } from './changes.ts';
import { describeFaults, FAULT_RULE } from './faults/faultRules.ts';
import { isReporting } from './world/worldEntities.ts';

const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/;
const CONTROL = /^\/control\/(?<what>faults|requests|accounts|applications|key_transactions)(?:\/(?<id>\d{1,15}))?$/;
const MAX_ENTRIES = 1000;

const RENAMED = z.strictObject({ name: z.string().nullable() });
const ACCOUNT = RENAMED.extend({
  id: z.int().positive().max(2_147_483_647).optional(),
  applications: z.int().nonnegative().max(100_000).optional(),
}).transform(({ id, ...rest }) => ({ ...rest, ...(id === undefined ? {} : { id }) }));

export function isControl(path: string): boolean {
  return path === '/control' || path.startsWith('/control/');
}

function requests(state: SimulatorState): unknown {
  const log = state.requests;
  return {
    count: log.count(),
    by_kind: log.byKind,
    by_status: log.statuses,
    running: log.running,
    max_concurrency: log.maxConcurrency,
    busiest_minute: log.busiest(),
    ranges: log.ranges(),
    newest: log.all().slice(-MAX_ENTRIES),
  };
}

function applications(state: SimulatorState): unknown {
  return state.world.applications().map((application) => ({
    id: application.id,
    name: application.name,
    language: application.archetype.language,
    reporting: isReporting(application, state.now()),
  }));
}

/** Executes a call of the control endpoint. The response body is any JSON value. Throws an Error on a bad body. */
function execute(
  state: SimulatorState,
  request: IncomingMessage,
  path: string,
  text: string,
): readonly [status: number, body?: unknown] {
  const groups = CONTROL.exec(path)?.groups;
  if (groups === undefined) {
    const error =
      'there are /control/faults, /control/requests, /control/accounts, /control/applications and /control/key_transactions';
    return [404, { error }];
  }
  const verb = request.method ?? '';
  const id = Number(groups['id'] ?? NaN);
  const body = verb === 'POST' ? (JSON.parse(text) as unknown) : undefined;
  switch (`${verb} ${groups['what']}${Number.isNaN(id) ? '' : '/id'}`) {
    case 'GET faults':
      return [200, state.faults.entries()];
    case 'POST faults': {
      const rules = z.union([FAULT_RULE.transform((rule) => [rule]), z.array(FAULT_RULE)]).parse(body);
      return [201, { ids: rules.map((rule) => state.faults.add(rule)) }];
    }
    case 'DELETE faults':
      state.faults.clear();
      return [204];
    case 'DELETE faults/id':
      return state.faults.remove(id) ? [204] : [404, { error: `no fault rule ${id}` }];
    case 'GET requests':
      return [200, requests(state)];
    case 'DELETE requests':
      state.requests.clear();
      return [204];
    case 'GET accounts':
      return [200, state.accounts];
    case 'POST accounts': {
      const account = { id: state.nextAccountId, ...ACCOUNT.parse(body) };
      state.addAccount(account);
      return [201, { id: account.id }];
    }
    case 'POST accounts/id':
      return state.renameAccount(id, RENAMED.parse(body).name) ? [204] : [404, { error: `no account ${id}` }];
    case 'DELETE accounts/id':
      return state.removeAccount(id) ? [204] : [404, { error: `no account ${id}` }];
    case 'GET applications':
      return [200, applications(state)];
    case 'POST applications/id':
    case 'POST key_transactions/id':
      state.change(id, CHANGE.parse(body));
      return [204];
    case 'DELETE applications/id':
    case 'DELETE key_transactions/id':
      state.restore(id);
      return [204];
    default:
      return [405, { error: `${verb} is not possible here` }];
  }
}

/** Serves `/control/...` to callers on the loopback interface. */
export function control(
  state: SimulatorState,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  text: string,
): void {
  let result: ReturnType<typeof execute>;
  try {
    result = LOOPBACK.test(request.socket.remoteAddress ?? '')
      ? execute(state, request, path, text)
      : [403, { error: 'the control endpoint answers on the loopback interface only' }];
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    result = [400, { error: error instanceof z.ZodError ? describeFaults(error) : error.message }];
  }
  const [status, body] = result;
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' });
  response.end(body === undefined ? undefined : `${JSON.stringify(body, null, 2)}\n`);
}
