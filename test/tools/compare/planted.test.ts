import { afterEach, describe, expect, it } from 'vitest';
import {
  configureBothInterfaces,
  compare,
  renderComparison,
  type CompareOptions,
  type Comparison,
} from '../../../src/tools/compare/compare.ts';
import type { AccountsDependencies } from '../../../src/collect/accounts/accounts.ts';
import { openAccounts } from '../../../src/tools/upstream/session.ts';
import { DEMO_API_KEY } from '../../../simulator/simulatorSettings.ts';
import { configOf, withAccount } from '../../config/reading.ts';
import { simulatorForFile } from '../../support/simulator.ts';
import { openedReader } from '../upstream/support.ts';

const [SHOP, OTHER] = [1_000_001, 1_000_002];
const EVERYTHING: Pick<CompareOptions, 'app' | 'hosts' | 'tolerance'> = { app: [], hosts: true, tolerance: 0.01 };

const simulator = await simulatorForFile({ applications: 4, hostsPerApplication: 2 });
const changed = new Set<number>();
afterEach(() => {
  for (const id of changed) simulator.restore(id);
  changed.clear();
});

function plant(id: number, on: 'rest' | 'nerdgraph', change: object): void {
  simulator.change(id, { on, ...change });
  changed.add(id);
}

async function compared(options: Partial<typeof EVERYTHING> = {}, keys = ''): Promise<Comparison> {
  const ending = keys === '' ? 'v2' : 'graphql';
  const text = withAccount(
    `base_url: "${simulator.url}/${ending}", account_id: 1234567${keys === '' ? ', api: rest' : keys}`,
  ).replace('abcd', DEMO_API_KEY);
  const config = configureBothInterfaces(configOf(text), undefined);
  const { signal } = new AbortController();
  const openReader: AccountsDependencies['openReader'] = (account, from, limiter) =>
    openedReader(account, from, { limiter });
  const accounts = openAccounts({ config, signal, openReader });
  try {
    return await compare({ config, accounts, signal, openReader }, { ...EVERYTHING, ...options }, Date.now());
  } finally {
    await Promise.all(accounts.map(({ reader }) => reader.close()));
  }
}

/** What nothing explains, as `family only-side` or `family number`. */
function unexplained({ differences }: Comparison): string[] {
  const found = differences
    .filter(({ expected }) => !expected)
    .map(({ family, rest, nerdgraph }) => {
      const what = rest === null ? 'only NerdGraph' : nerdgraph === null ? 'only REST' : 'number';
      return `${family.replace('newrelic_', '')} ${what}`;
    });
  return [...new Set(found)];
}

function keyTransactionOf(applicationId: number): number {
  const found = simulator.world.keyTransactions().find(({ source }) => source.application.id === applicationId);
  if (found === undefined) throw new Error(`application ${applicationId} has no key transaction`);
  return found.id;
}

describe('compare', () => {
  describe.each([
    ['rest', 'nerdgraph', 'REST', 'NerdGraph'],
    ['nerdgraph', 'rest', 'NerdGraph', 'REST'],
  ] as const)('with a difference in %s', (side, _, without, only) => {
    it('finds an unlisted application, with or without --app', async () => {
      plant(SHOP, side, { removed: true });
      for (const app of [[], [String(SHOP), String(OTHER)]]) {
        const comparison = await compared({ app });
        expect(unexplained(comparison)).toContain(`application_info only ${only}`);
        const found = comparison.differences.find(({ family }) => family === 'newrelic_application_info');
        expect([found?.labels['app_id'], found?.reason]).toEqual([
          String(SHOP),
          `${without} does not list this application`,
        ]);
        expect(comparison.unexpected).toBeGreaterThan(0);
      }
    });

    it('reports that nothing is in common where the only application is unlisted, and names it', async () => {
      plant(SHOP, side, { removed: true });
      await expect(compared({ app: [String(SHOP)] })).rejects.toThrow(
        new RegExp(`no reporting application in common \\(.*${only} lists .* \\(${SHOP}\\)`),
      );
    });

    it('finds an unlisted host with all its series', async () => {
      const application = simulator.world.application(SHOP);
      const [first] = application === undefined ? [] : simulator.world.hosts(application, Date.now());
      const host = first?.host ?? '';
      plant(SHOP, side, { hosts_removed: [host] });
      const comparison = await compared();
      const ofHost = comparison.differences.filter(({ labels, expected }) => labels['host'] === host && !expected);
      expect(ofHost.length).toBeGreaterThan(10);
      expect(new Set(ofHost.map(({ reason }) => reason))).toEqual(new Set([`${without} does not list this host`]));
      expect(unexplained(comparison)).toContain(`host_info only ${only}`);
      expect(unexplained(comparison).filter((each) => !each.startsWith('host_'))).toEqual([]);
      const lines = renderComparison(comparison, false).split('\n');
      const line = lines[lines.findIndex((each) => each.includes(`${without} does not list this host`)) - 1];
      expect(line).toContain(`${ofHost.length} series of`);
      expect(line).toContain(host);
    });

    it('finds missing settings, with any values', async () => {
      plant(SHOP, side, { settings: null });
      expect(unexplained(await compared())).toContain(`application_server_side_config_enabled only ${only}`);
    });

    it('finds different numbers, and shows them first', async () => {
      plant(SHOP, side, { traffic: { requests_per_minute: 7_000, response_milliseconds: 900 } });
      const comparison = await compared();
      expect(unexplained(comparison)).toContain('application_response_time_seconds number');
      expect(comparison.differences[0]?.difference).toBeGreaterThan(0.01);
    });

    it('finds an unlisted key transaction', async () => {
      const id = keyTransactionOf(SHOP);
      plant(id, side, { removed: true });
      const comparison = await compared();
      expect(unexplained(comparison)).toContain(`key_transaction_info only ${only}`);
      expect(comparison.differences.map(({ reason }) => reason)).toContain(
        `${without} does not list this key transaction`,
      );
    });

    it('finds a key transaction that belongs to another application', async () => {
      plant(keyTransactionOf(SHOP), side, { application: OTHER });
      for (const app of [[], [String(SHOP)]]) {
        const comparison = await compared({ app });
        const found = comparison.differences.filter(
          ({ reason }) => reason?.includes('list different applications') === true,
        );
        expect(found.map(({ labels }) => labels['app_id']).sort()).toEqual([String(SHOP), String(OTHER)]);
        for (const id of [SHOP, OTHER])
          expect(renderComparison(comparison, false)).toMatch(
            new RegExp(`app_id="${id}".*\\n.*absent.*list different applications`),
          );
        expect(comparison.unexpected).toBe(2);
      }
    });

    it('notes renamed applications and key transactions, also in the table, without failing', async () => {
      plant(SHOP, side, { name: 'Renamed shop' });
      plant(keyTransactionOf(SHOP), side, { name: 'Renamed payment' });
      for (const app of [[], [String(SHOP)], ['Renamed shop']]) {
        const comparison = await compared({ app });
        expect(comparison.notes).toEqual([
          expect.stringMatching(new RegExp(`^application ${SHOP} is called .*"Renamed shop" over ${without}`)),
          expect.stringMatching(/^key transaction \d+ is called .*"Renamed payment"/),
        ]);
        expect(comparison.unexpected).toBe(0);
        expect(renderComparison(comparison, false, 160)).toContain('Renamed shop');
      }
    });
  });

  it('fails where a selected key transaction cannot be read, instead of reporting differences', async () => {
    plant(keyTransactionOf(SHOP), 'nerdgraph', { failing: true });
    await expect(compared()).rejects.toThrow('the data cannot be read over NerdGraph');
    expect((await compared({}, ', key_transactions: false')).unexpected).toBe(0);
  });

  it('selects applications by tags as NerdGraph lists them', async () => {
    const comparison = await compared({ hosts: false }, ', applications: {include: [{tag: TEAM, value: shop}]}');
    const ids = comparison.differences.map(({ labels }) => labels['app_id']);
    expect(ids).toContain(String(SHOP));
    expect(ids).not.toContain('1000004');
    expect(comparison.unexpected).toBe(0);
  });
});

describe('the table of compare', () => {
  it('shows differing names in full, fits other lines to the terminal, and has its parts in order', async () => {
    plant(SHOP, 'nerdgraph', { traffic: { requests_per_minute: 7_000, response_milliseconds: 900 }, settings: null });
    const comparison = await compared();
    const { family, labels } = comparison.differences[0]!;
    for (const most of [160, 80, 60]) {
      const lines = renderComparison(comparison, true, most).split('\n');
      const widths = lines.filter((line) => !line.includes('{')).map((line) => Array.from(line).length);
      expect(Math.max(...widths)).toBeLessThanOrEqual(most);
      expect(lines.some((line) => line.startsWith(`${family}{app_id="${labels['app_id']}"`))).toBe(true);
    }
    const [heading, open = '', expected, verdict, ...others] = renderComparison(comparison, false, 160)
      .trimEnd()
      .split('\n\n');
    expect(heading).toMatch(/^Account default, window/);
    expect(open).toMatch(/^Differences that nothing explains: [1-9]/);
    const values = open.split('\n').filter((line) => line.startsWith('  '));
    expect(values.map((line) => line.includes('absent')).join('')).toMatch(/^(?:false)+(?:true)+$/);
    expect(values[0]).toMatch(/^ {2}REST \S+, NerdGraph \S+: [\d.]+ %$/);
    expect(expected).toMatch(/^Differences that are expected: [1-9]/);
    expect(verdict).toContain('not judged');
    expect(verdict).not.toContain('interfaces agree');
    expect(others).toEqual([]);
  });
});
