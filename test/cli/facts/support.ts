import { askAccount, type AccountFacts } from '../../../src/cli/facts/askAccount.ts';
import { openFactAccounts, throughBoth } from '../../../src/cli/facts/runFacts.ts';
import { clientOptions, openReader } from '../../../src/cli/upstream/createReader.ts';
import { openAccounts } from '../../../src/cli/upstream/session.ts';
import { systemClock } from '../../../src/collect/clock.ts';
import type { Api } from '../../../src/api/upstreamReader.ts';
import { Secrets } from '../../../src/log/secrets.ts';
import type { PlantedFact } from '../../../src/simulator/facts/facts.ts';
import { DEMO_API_KEY } from '../../../src/simulator/simulatorSettings.ts';
import { startSimulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts';
import { SILENT } from '../../api/support/silent.ts';
import { configOf } from '../../config/reading.ts';

/** A busy hour, half a minute past it. */
const NOW = Date.UTC(2026, 10, 20, 14, 7, 30);

/** What the facts of one account over a simulator are, and the calls they took beyond the lists. */
export interface AskedSimulator extends AccountFacts {
  readonly calls: number;
  /** The texts of all NRQL queries, and which account they were for. */
  readonly queries: readonly string[];
  readonly requests: number;
}

/** Asks a simulator of its own, whose clock moves only while something is waited for. */
export async function askSimulator(
  api: Api,
  facts: readonly PlantedFact[] = [],
  {
    wait = false,
    simulator: options = {},
    account: name = 'default',
    through,
  }: {
    readonly wait?: boolean;
    readonly simulator?: SimulatorOptions;
    readonly account?: string;
    /** Gives the address to call in place of that of the simulator. */
    readonly through?: (target: () => string) => Promise<string>;
  } = {},
): Promise<AskedSimulator> {
  let now = NOW;
  const simulator = await startSimulator({ ...options, facts: new Set(facts), now: () => now });
  const ending = api === 'rest' ? 'v2' : 'graphql';
  const url = (await through?.(() => simulator.url)) ?? simulator.url;
  const text = `accounts: [{name: ${name}, api_key: ${DEMO_API_KEY}, base_url: "${url}/${ending}", api: ${api}, account_id: 1234567}]\n`;
  const config = throughBoth(configOf(text), undefined);
  const { signal } = new AbortController();
  const surroundings = { secrets: new Secrets(), environment: {}, observer: () => SILENT, keyProblem: () => undefined };
  const accounts = openAccounts(
    { config, signal, openReader: (account, from) => openReader(account, from, surroundings) },
    systemClock,
  );
  const opened = openFactAccounts({
    accounts,
    config,
    signal,
    clientOptions: (account, from) => clientOptions(account, from, surroundings),
  });
  const [account] = opened;
  if (account === undefined) throw new Error('there is no account');
  try {
    const found = await askAccount(account, {
      now: () => now,
      sleep: (ms) => {
        now += ms;
        return Promise.resolve();
      },
      waitMs: wait ? 600_000 : 0,
      delayMs: config.collection.delay,
    });
    const operations = simulator.requests.all().flatMap(({ operations: asked = [] }) => asked);
    const queries = operations.filter(({ kind }) => kind === 'graphql_nrql').map(({ text: query }) => query);
    return { ...found, calls: account.calls.made, queries, requests: simulator.requests.count() };
  } finally {
    await Promise.all([...accounts, account.rest, account.graph].map((each) => each.close()));
    await simulator.close();
  }
}

/** The ids of rows with a verdict, in the order of the table. */
export function idsOf({ rows }: AccountFacts, verdict: string): readonly string[] {
  return rows.filter(({ judged }) => judged.verdict === verdict).map(({ id }) => id);
}
