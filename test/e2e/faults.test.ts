import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Simulator } from '../../src/simulator/simulator.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import type { ParsedFamily } from '../support/exposition.ts';
import { value } from '../support/exposition.ts';
import { lint } from '../support/expositionLint.ts';
import { authority, certificate, LOCALHOST } from '../web/support/certificates.ts';
import { byAccount, type AccountView } from './support/accountView.ts';
import { everyInterval } from './support/config.ts';
import { ALL_KINDS, answerFaults, type Fault, type Kind, type Outcome } from './support/faultCases.ts';
import { FAILING_NAMES_FLAG } from './support/failingNames.ts';
import { complaintsAtStart, complaintsWhenHealed, complaintsWhileHeld, VICTIM } from './support/faultRules.ts';
import { Front } from './support/front.ts';
import { MovedClock } from './support/movedClock.ts';
import { startExporter, type Exporter } from './support/program.ts';

/** Every key holds this, so that one search finds any of them. */
const KEY_MARK = 'MATRIXSECRET';
const PHASE_LIMIT = 240_000;
const clock = new MovedClock();
const WORLD = { applications: 2, hostsPerApplication: 2, keyTransactions: 2, now: clock.now };

interface Case {
  readonly account: string;
  readonly fault: Fault;
  readonly kind: Kind;
  readonly outcome: Outcome;
}

interface Connection {
  readonly account: string;
  readonly name: string;
  readonly strike: () => Promise<void> | void;
  readonly heal: () => Promise<void> | void;
}

const elsewhere = createServer((request, response) => {
  travelled.push(JSON.stringify(request.headers));
  response.end('{"applications":[]}');
});
const travelled: string[] = [];
const namesFail = join(tmpdir(), `names-fail-${process.pid}`);

/** Each fault strikes the list and the metric data, and the first one every kind of call. */
const cases: readonly Case[] = answerFaults('http://127.0.0.1:1/')
  .flatMap((fault, row) =>
    (row === 0 ? ALL_KINDS : (['applications', 'metric_data'] as const)).map((kind) => ({ fault, kind })),
  )
  .map(({ fault, kind }, index) => ({ account: `case-${index}`, fault, kind, outcome: fault.outcome }));
const CONNECTION_FAULTS = ['refused connection', 'DNS failure', 'certificate that is not trusted', 'no TLS'] as const;

const simulators = new Map<string, Simulator>();
const connections: Connection[] = [];
const closing: (() => Promise<unknown>)[] = [];
/** The answers that the tests judge: struck from the start, healed, struck again while values are held, healed again. */
const answers: Record<'start' | 'healed' | 'held' | 'end', ReturnType<typeof byAccount>> = {
  start: byAccount([]),
  healed: byAccount([]),
  held: byAccount([]),
  end: byAccount([]),
};
const pages: string[] = [];
let exporter: Exporter;
let lastScrape: readonly ParsedFamily[] = [];

const keyOf = (account: string): string => `NRAK-${KEY_MARK}${account.toUpperCase().replace('-', '')}`;
const simulatorOf = (account: string): Simulator => {
  const simulator = simulators.get(account);
  if (simulator === undefined) throw new Error(`no simulator for ${account}`);
  return simulator;
};

function strike(): void {
  const { port } = elsewhere.address() as { port: number };
  for (const { account, fault, kind } of cases) {
    const isList = kind === 'applications' || kind === 'key_transactions';
    const rule = fault.rule.effect === 'redirect' ? { location: `http://127.0.0.1:${port}/v2/x.json` } : {};
    simulatorOf(account).faults.add({
      ...fault.rule,
      ...rule,
      on: kind,
      ...(isList ? {} : { app: Number(VICTIM.app_id) }),
    });
  }
}

/**
 * Scrapes until each account has had an answer without a complaint, or the limit has passed: then the tests say who
 * complains. Accounts take their turns, so each is judged by the first answer that shows what must come about; where
 * nothing must, by the last.
 */
async function watch(complaints: (account: string, view: AccountView) => readonly string[]) {
  const end = Date.now() + PHASE_LIMIT;
  const shown = new Map<string, AccountView>();
  for (;;) {
    // What is struck may hang: waiting for it would only take time.
    lastScrape = await exporter.scrape('/metrics', 2);
    const all = byAccount(lastScrape);
    for (const account of simulators.keys()) {
      if (shown.has(account) && comesAbout(account)) continue;
      if (complaints(account, all(account)).length === 0) shown.set(account, all(account));
      else shown.delete(account);
    }
    if (shown.size === simulators.size || Date.now() > end)
      return (account: string) => shown.get(account) ?? all(account);
    await sleep(100);
  }
}

const casesByAccount = new Map(cases.map((each) => [each.account, each]));

function comesAbout(account: string): boolean {
  const outcome = casesByAccount.get(account)?.outcome.kind;
  return outcome === undefined || outcome === 'fails' || outcome === 'pauses';
}

function configOf(delay: number) {
  const limits = { request_timeout: '4s', max_concurrent_requests: 1, max_retries: 1, requests_per_minute: 5000 };
  const accounts = [...cases, ...connections].map(({ account }) => ({
    name: account,
    base_url: urls.get(account),
    api_key: keyOf(account),
    limits,
    ...(tlsOf.has(account) ? { tls: { ca_file: 'ca.pem', server_name: 'localhost' } } : {}),
  }));
  return { accounts, collection: { window: '5m', delay: `${delay}s`, intervals: everyInterval('1s') } };
}
const urls = new Map<string, string>();
const tlsOf = new Set<string>();

async function openSimulators(): Promise<string> {
  for (const { account } of cases) {
    const simulator = await startSimulator({ ...WORLD, apiKeys: [keyOf(account)] });
    simulators.set(account, simulator);
    closing.push(() => simulator.close());
    urls.set(account, simulator.url);
  }
  const ca = await authority('trusted');
  const trusted = await certificate('localhost', LOCALHOST, ca);
  const strange = await certificate('localhost', LOCALHOST);
  for (const [index, name] of CONNECTION_FAULTS.entries()) {
    const account = `connection-${index}`;
    const isTls = name === 'certificate that is not trusted' || name === 'no TLS';
    const options = { ...WORLD, apiKeys: [keyOf(account)] };
    const simulator = await startSimulator(isTls ? { ...options, tls: trusted } : options);
    const front = await Front.open(simulator.port);
    closing.push(
      () => simulator.close(),
      () => front.close(),
    );
    simulators.set(account, simulator);
    const host = name === 'DNS failure' ? 'localhost' : '127.0.0.1';
    urls.set(account, `${isTls ? 'https' : 'http'}://${host}:${front.port}`);
    if (isTls) tlsOf.add(account);
    if (name === 'refused connection') {
      connections.push({ account, name, strike: () => front.refuse(), heal: () => front.restore() });
    } else if (name === 'DNS failure') {
      const strikeNames = (): void => {
        writeFileSync(namesFail, '');
        front.drop();
      };
      connections.push({ account, name, strike: strikeNames, heal: () => rmSync(namesFail) });
    } else {
      const other = await startSimulator(name === 'no TLS' ? options : { ...options, tls: strange });
      closing.push(() => other.close());
      const back = (): void => front.leadTo(simulator.port);
      connections.push({ account, name, strike: () => front.leadTo(other.port), heal: back });
    }
  }
  return ca.cert;
}

beforeAll(async () => {
  elsewhere.listen(0, '127.0.0.1');
  const ca = await openSimulators();
  strike();
  const delay = 180;
  exporter = await startExporter({
    config: configOf(delay),
    files: { 'ca.pem': ca },
    flags: ['--log.level=debug', '--web.enable-lifecycle'],
    nodeArgs: [...clock.program.nodeArgs, FAILING_NAMES_FLAG],
    env: { ...clock.program.env, FAILING_NAMES: namesFail },
  });

  const judge =
    (complaints: (view: AccountView, each: Case) => readonly string[]) => (account: string, view: AccountView) => {
      const each = casesByAccount.get(account);
      return each === undefined ? [] : complaints(view, each);
    };
  answers.start = await watch(judge((view, { kind, outcome }) => complaintsAtStart(view, kind, outcome)));
  await lookAround();
  for (const simulator of simulators.values()) simulator.faults.clear();
  // What was left out of a good answer comes back with the next window.
  clock.minutesLater(1);
  answers.healed = await watch((_, view) => complaintsWhenHealed(view));

  strike();
  for (const connection of connections) await connection.strike();
  exporter.writeConfig(configOf(delay - 60));
  const reload = await fetch(`${exporter.url}/-/reload`, { method: 'POST' });
  expect(reload.status).toBe(200);
  const struck = judge((view, { account, kind, outcome }) =>
    complaintsWhileHeld(view, answers.healed(account), kind, outcome),
  );
  answers.held = await watch((account, view) =>
    casesByAccount.has(account)
      ? struck(account, view)
      : ALL_KINDS.flatMap((kind) => brokenConnection(account, kind, view)),
  );
  // Struck, and with something held: what a probe may show of a failure, it shows now.
  await lookAround(simulators.keys());

  for (const simulator of simulators.values()) simulator.faults.clear();
  for (const connection of connections) await connection.heal();
  answers.end = await watch((account, view) => {
    const each = casesByAccount.get(account);
    return each !== undefined && healsLate(each) ? [] : complaintsWhenHealed(view);
  });
  await lookAround();
}, 4 * PHASE_LIMIT);

afterAll(async () => {
  if (existsSync(namesFail)) rmSync(namesFail);
  clock.close();
  elsewhere.close();
  elsewhere.closeAllConnections();
  await exporter.stop();
  await Promise.all(closing.map((close) => close()));
});

/** True where the good answer that heals comes with the next window only, or after a long pause. */
function healsLate({ kind, outcome }: Case): boolean {
  if (outcome.kind === 'pauses') return true;
  if (outcome.kind === 'fails') return outcome.reason === 'auth' && kind !== 'applications';
  return outcome.kind !== 'harmless';
}

/** Every page, for the search for keys. */
async function lookAround(accounts: Iterable<string> = []): Promise<void> {
  const probes = [...accounts].map((name) => `/probe?account=${name}&app_id=${VICTIM.app_id}&debug=true`);
  for (const path of ['/metrics', '/', '/api/status', '/config', '/sd', ...probes]) {
    const answer = await exporter.get(path, { 'X-Prometheus-Scrape-Timeout-Seconds': '2' });
    pages.push(`${path} ${answer.status}\n${await answer.text()}`);
  }
}

/** What must be true of an account that cannot be reached, for one kind of call. */
function brokenConnection(account: string, kind: Kind, view: AccountView): string[] {
  const outcome = { kind: 'fails', reason: 'network' } as const;
  // The application list cannot be read whatever the kind.
  return complaintsWhileHeld(view, answers.healed(account), kind, outcome).filter(
    (complaint) => kind === 'applications' || !complaint.startsWith('up '),
  );
}

describe('a fault of an answer', () => {
  test.each(cases.map((each) => [each.fault.name, each.kind, each] as const))(
    '%s, in calls of the kind %s',
    (_, kind, each) => {
      const { account, outcome } = each;
      expect(complaintsAtStart(answers.start(account), kind, outcome)).toEqual([]);
      expect(complaintsWhenHealed(answers.healed(account))).toEqual([]);
      expect(complaintsWhileHeld(answers.held(account), answers.healed(account), kind, outcome)).toEqual([]);
      if (!healsLate(each)) expect(complaintsWhenHealed(answers.end(account))).toEqual([]);
    },
  );
});

describe('a fault of the connection', () => {
  test.each(CONNECTION_FAULTS.flatMap((name, index) => ALL_KINDS.map((kind) => [name, kind, index] as const)))(
    '%s, in calls of the kind %s',
    (_, kind, index) => {
      const account = `connection-${index}`;
      expect(brokenConnection(account, kind, answers.held(account))).toEqual([]);
      expect(complaintsWhenHealed(answers.end(account))).toEqual([]);
    },
  );
});

describe('after all faults', () => {
  test('the process is the same one, is healthy, and has not kept the memory of large bodies', async () => {
    expect((await exporter.get('/-/healthy')).status).toBe(200);
    expect(value(lastScrape, 'process_resident_memory_bytes')).toBeLessThan(800 * 1024 * 1024);
    expect(lint(lastScrape)).toEqual([]);
    expect(exporter.output()).not.toMatch(/unhandled|uncaught|Unexpected error|could not be answered/i);
  });

  test('every page answered, and no key is anywhere', () => {
    for (const page of pages) expect(page.split('\n')[0]).toMatch(/ 200$|^\/sd 503$|^\/probe.* (200|404)$/);
    for (const text of [...pages, exporter.output()]) {
      const at = text.indexOf(KEY_MARK);
      expect(at < 0 ? '' : text.slice(Math.max(0, at - 200), at + 60)).toBe('');
    }
  });

  test('nothing was sent to the other origin', () => {
    expect(travelled).toEqual([]);
  });
});
