import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FACTS } from '../../src/tools/facts/facts.ts';
import { account } from '../e2e/support/config.ts';
import { inFolder } from '../support/folder.ts';
import { simulatorForFile } from '../support/simulator.ts';
import { edit, startProxy } from '../api/nerdgraph/proxy.ts';
import { commandsOn } from '../support/inProcess.ts';

const simulator = await simulatorForFile();
const factsOf =
  (upstream: { readonly url: string }) =>
  (...flags: readonly string[]) =>
    commandsOn(account(upstream, 'prod'), account(simulator, 'closed', { api_key: 'NRAK-WRONG' }))('check', ...flags);
const facts = factsOf(simulator);

describe('check --live --facts', () => {
  it('prints the rows of the chosen account as one JSON document, and writes the file to share', () =>
    inFolder(async (folder) => {
      const output = join(folder, 'facts.json');
      const withoutOthers = edit(
        (answer) => {
          answer.otherResult = null;
        },
        (nrql) => /^SELECT count.* LIMIT 5$/.test(nrql),
      );
      const changed = factsOf({ url: await startProxy(simulator, withoutOthers) });
      const flags = ['--live', '--facts', '--account=prod', `--output=${output}`, '--format=json'];
      const { status, stdout, stderr } = await changed(...flags);
      const { accounts } = JSON.parse(stdout) as {
        accounts: { account: string; rows: { id: string; verdict: string }[] }[];
      };
      expect(accounts.map(({ account }) => account)).toEqual(['prod']);
      expect(accounts[0]?.rows.map(({ id }) => id)).toEqual(FACTS.map(({ id }) => id));
      const differing = accounts[0]?.rows.filter(({ verdict }) => verdict === 'differs').map(({ id }) => id);
      expect(differing).toEqual(['nerdgraph_other_result']);
      expect(status).toBe(1);
      expect(stderr).toContain(`Wrote ${output}: ${FACTS.length} rows without names. Next: attach it`);
      const shared = readFileSync(output, 'utf8');
      const shape = { program: 'newrelic-apm-exporter', accounts: [{ rows: expect.any(Array) as unknown }] };
      expect(JSON.parse(shared)).toMatchObject(shape);
      expect(shared).not.toContain('prod');
      const again = await changed(...flags);
      expect([again.status, again.stdout]).toEqual([2, '']);
      expect(again.stderr).toContain('--force');
      expect(readFileSync(output, 'utf8')).toBe(shared);
      const calls = simulator.requests.count();
      const nowhere = await facts('--live', '--facts', `--output=${join(folder, 'nowhere', 'facts.json')}`);
      expect([nowhere.status, simulator.requests.count()]).toEqual([2, calls]);
      expect(nowhere.stderr).toContain('there is no folder');
    }));

  it('replaces the file with --force, also where the account cannot be read, which gives status 1 and a message', () =>
    inFolder(async (folder) => {
      const output = join(folder, 'facts.json');
      writeFileSync(output, 'old');
      const { status, stdout } = await facts('--live', '--facts', '--account=closed', `--output=${output}`, '--force');
      expect(status).toBe(1);
      expect(stdout).toMatch(
        /^Account closed: 0 as assumed, 0 differ, \d+ not decidable here\nerror: the account cannot be read: .*\n\nAll facts/,
      );
      expect(stdout).toContain('hint: use a valid user key');
      expect(stdout).not.toContain('NRAK-WRONG');
      expect(readFileSync(output, 'utf8')).toContain('"word": "auth"');
    }));

  it.each([
    [['--facts'], '--live'],
    [['--live', '--account=prod'], '--facts'],
    [['--live', '--output=x.json'], '--facts'],
    [['--live', '--facts', '--wait=31m'], '30m'],
    [['--live', '--facts', '--account=none'], 'prod, closed'],
  ])('rejects %j as wrong usage, and says what to change', async (flags, hint) => {
    const { status, stdout, stderr } = await facts(...flags);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toContain(hint);
    expect(existsSync('x.json')).toBe(false);
  });
});
