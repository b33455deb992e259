import { checkAccount, type AccountFacts } from '../../../src/tools/facts/checkAccount.ts';
import { connect } from '../../../src/tools/facts/askedAccount.ts';
import { throughNerdGraph } from '../../../src/tools/facts/runFacts.ts';
import { clientOptions, openReader } from '../../../src/cli/createReader.ts';
import { openAccounts } from '../../../src/tools/upstream/session.ts';
import type { Api } from '../../../src/api/upstreamReader.ts';
import { Secrets } from '../../../src/log/secrets.ts';
import type { FaultRuleInput } from '../../../simulator/faults/faultRules.ts';
import { DEMO_API_KEY } from '../../../simulator/simulatorSettings.ts';
import { startSimulator, type SimulatorOptions, type Simulator } from '../../../simulator/simulator.ts';
import { SILENT } from '../../api/support/silent.ts';
import { configOf } from '../../config/reading.ts';

/** A busy hour, half a minute past it. */
const NOW = Date.UTC(2026, 10, 20, 14, 7, 30);
let now = NOW;

/** The facts of one account over a simulator. */
export interface CheckedSimulator extends AccountFacts {
  /** The texts of all NRQL queries. */
  readonly queries: readonly string[];
  /** All calls, those for lists too. */
  readonly requests: number;
}

/** One simulator for each size of world, because the simulator computes the alert events of a world only once. */
const simulators = new Map<string, Simulator>();

/** Closes and forgets all simulators. Each test file calls it at its end, because the next file shares this module. */
export async function closeSimulators(): Promise<void> {
  const open = [...simulators.values()];
  simulators.clear();
  await Promise.all(open.map((simulator) => simulator.close()));
}

type Size = Pick<SimulatorOptions, 'applications' | 'hostsPerApplication'>;

async function simulatorWith(size: Size, faults: readonly FaultRuleInput[]): Promise<Simulator> {
  const key = JSON.stringify(size);
  const options = { ...size, now: () => now, nrqlPerMinute: 0, identicalPerMinute: 0 };
  const simulator = simulators.get(key) ?? (await startSimulator(options));
  simulators.set(key, simulator);
  simulator.requests.clear();
  simulator.faults.clear();
  for (const fault of faults) simulator.faults.add(fault);
  return simulator;
}

/** Asks a simulator whose clock moves only while something is waited for. */
export async function checkSimulator(
  api: Api,
  {
    wait = 0,
    size = { applications: 16 },
    faults = [],
    account: name = 'default',
    through,
  }: {
    /** Minutes of `--wait`. */
    readonly wait?: number;
    readonly size?: Size;
    readonly faults?: readonly FaultRuleInput[];
    readonly account?: string;
    /** Gives the address to call in place of that of the simulator. */
    readonly through?: (target: string) => Promise<string>;
  } = {},
): Promise<CheckedSimulator> {
  now = NOW;
  const simulator = await simulatorWith(size, faults);
  const ending = api === 'rest' ? 'v2' : 'graphql';
  const url = (await through?.(simulator.url)) ?? simulator.url;
  const text = `accounts: [{name: ${name}, api_key: ${DEMO_API_KEY}, base_url: "${url}/${ending}", api: ${api}, account_id: 1234567}]\n`;
  const config = throughNerdGraph(configOf(text));
  const { signal } = new AbortController();
  const surroundings = { secrets: new Secrets(), environment: {}, observer: () => SILENT, keyProblem: () => undefined };
  const accounts = openAccounts({
    config,
    signal,
    openReader: (account, from, limiter) => openReader(account, from, surroundings, limiter),
  });
  const [live] = accounts;
  if (live === undefined) throw new Error('there is no account');
  const account = connect(live, clientOptions(live.config, config, surroundings, live.limiter));
  try {
    const found = await checkAccount(account, {
      now: () => now,
      sleep: (ms) => {
        now += ms;
        return Promise.resolve();
      },
      waitMs: 60_000 * wait,
      delayMs: config.collection.delay,
    });
    const operations = simulator.requests.all().flatMap(({ operations: checkedBy = [] }) => checkedBy);
    const queries = operations.filter(({ kind }) => kind === 'graphql_nrql').map(({ text: query }) => query);
    return { ...found, queries, requests: simulator.requests.count() };
  } finally {
    await Promise.all([...accounts.map(({ reader }) => reader), account].map((each) => each.close()));
  }
}

/** The ids of rows with a verdict, in the order of the table. */
export function idsOf({ rows }: AccountFacts, verdict: string): readonly string[] {
  return rows.filter(({ judged }) => judged.verdict === verdict).map(({ id }) => id);
}
