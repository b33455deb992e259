import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { account } from '../e2e/support/config.ts';
import { inFolder } from '../support/folder.ts';
import { simulatorForFile, simulatorForTest } from '../support/simulator.ts';
import { runInProcess, type ToolResult } from '../support/inProcess.ts';

const simulator = await simulatorForFile({ applications: 16 });
const nerdgraph = (service: { readonly url: string }, name = 'shop', more: object = {}) =>
  account(service, name, { api: 'nerdgraph', base_url: `${service.url}/graphql`, ...more });
const FILES = ['differences.yaml', 'queries.yaml', 'report.md', 'rules.yaml'];

/** Runs the command with a folder to write to. */
function runIn(
  folder: string,
  flags: readonly string[] = [],
  accounts: readonly object[] = [nerdgraph(simulator)],
): Promise<ToolResult> {
  return runInProcess(['alert-rules', `--output=${folder}`, ...flags], { config: { accounts } as never });
}

interface JsonReport {
  readonly cost: Readonly<Record<string, number | string>>;
  readonly conditions: readonly {
    readonly id: string;
    readonly policy: string;
    readonly name: string;
    readonly mapped: boolean;
    readonly notes: readonly string[];
  }[];
}

describe('the command alert-rules', () => {
  it('makes the folder, writes all files, and begins with what the queries cost', async () => {
    await inFolder(async (folder) => {
      const output = join(folder, 'new/rules');
      const { status, stdout, stderr } = await runIn(output);
      expect({ status, stderr }).toEqual({
        status: 0,
        stderr: `wrote queries.yaml, rules.yaml, differences.yaml, report.md in ${output}\n`,
      });
      expect(readdirSync(output).toSorted()).toEqual(FILES);
      expect(stdout).toMatch(
        /^The queries cost 21 calls a minute, 3\.5% of requests_per_minute \(600\), and scan \d+ minutes/,
      );
      expect(stdout).toMatch(/^not mapped +Every kind of condition +Apdex +condition\n +its query: apdex\(\)/m);
      expect(stdout).toMatch(/^21 mapped, 14 not mapped$/m);
      expect(readFileSync(join(output, 'report.md'), 'utf8')).toContain('The queries cost 21 calls a minute');
    });
  });

  it('works for an account of the REST interface, and gives the report as JSON', async () => {
    await inFolder(async (folder) => {
      const rest = account(simulator, 'shop', { account_id: 1_234_567, limits: { requests_per_minute: 30 } });
      const { status, stdout } = await runIn(folder, ['--format=json'], [rest]);
      expect(status).toBe(0);
      const report = JSON.parse(stdout) as JsonReport;
      expect(Object.keys(report)[0]).toBe('cost');
      expect(report.cost).toMatchObject({ queries_per_minute: 21, requests_per_minute: 30, share: 0.7 });
      expect(report.cost['warning']).toContain('--policy');
      expect(report.conditions.filter(({ mapped }) => mapped)).toHaveLength(21);
      expect(report.conditions.filter(({ mapped, notes }) => !mapped && notes.length === 0)).toEqual([]);
    });
  });

  it('converts the policies that are meant, and disabled conditions where they are wanted', async () => {
    await inFolder(async (folder) => {
      const { stdout } = await runIn(folder, ['--policy=Every*', '--disabled', '--format=json']);
      const { conditions } = JSON.parse(stdout) as JsonReport;
      expect(new Set(conditions.map(({ policy }) => policy))).toEqual(new Set(['Every kind of condition', '']));
      expect(conditions.find(({ name }) => name === 'Switched off')).toMatchObject({ mapped: true });
      const { queries } = parse(readFileSync(join(folder, 'queries.yaml'), 'utf8')) as { readonly queries: unknown[] };
      expect(queries).toHaveLength(9);
    });
  });

  it('replaces no file without --force, and says which there are', async () => {
    await inFolder(async (folder) => {
      writeFileSync(join(folder, 'rules.yaml'), 'mine');
      const refused = await runIn(folder);
      expect(refused).toMatchObject({ status: 2, stdout: '' });
      expect(refused.stderr).toContain(`${join(folder, 'rules.yaml')} would be replaced: give --force`);
      expect(readdirSync(folder)).toEqual(['rules.yaml']);
      expect((await runIn(folder, ['--force'])).status).toBe(0);
      expect(readFileSync(join(folder, 'rules.yaml'), 'utf8')).toContain('groups:');
      expect(readdirSync(folder).toSorted()).toEqual(FILES);
    });
  });

  it('writes none of the files where a folder has the name of one', async () => {
    await inFolder(async (folder) => {
      mkdirSync(join(folder, 'report.md'));
      const refused = await runIn(folder, ['--force']);
      expect(refused).toMatchObject({ status: 2, stdout: '' });
      expect(refused.stderr).toContain(`${join(folder, 'report.md')} cannot be replaced`);
      expect(readdirSync(folder)).toEqual(['report.md']);
      writeFileSync(join(folder, 'file'), '');
      const inFile = await runIn(join(folder, 'file', 'rules'));
      expect([inFile.status, inFile.stderr]).toEqual([2, expect.stringContaining('file is no folder: choose another')]);
      expect((await runIn('')).status).toBe(2);
    });
  });

  it('wants one account, and a policy that there is', async () => {
    await inFolder(async (folder) => {
      const two = ['one', 'two'].map((name) => nerdgraph(simulator, name));
      const several = await runIn(folder, [], two);
      expect([several.status, several.stderr]).toEqual([2, expect.stringContaining('choose one with --account')]);
      expect(await runIn(folder, ['--account=three'], two)).toMatchObject({ status: 2 });
      const none = await runIn(folder, ['--policy=Nobody*']);
      expect([none.status, none.stderr]).toEqual([2, expect.stringContaining('no policy has a name like "Nobody*"')]);
      expect(readdirSync(folder)).toEqual([]);
      expect((await runIn(folder, ['--account=two'], two)).status).toBe(0);
    });
  });

  it('ends with 1, writes nothing and names the account where a search fails', async () => {
    const fault = { effect: 'graphql-error', class: 'ACCESS_DENIED', on: 'graphql_alerts', skip: 1, times: 1 } as const;
    const failing = await simulatorForTest({ applications: 2, faults: [fault] });
    await inFolder(async (folder) => {
      const output = join(folder, 'rules');
      const { status, stdout, stderr } = await runIn(output, [], [nerdgraph(failing)]);
      expect([status, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/^account shop: the alert conditions cannot be read: .*ACCESS_DENIED/);
      expect(existsSync(output)).toBe(false);
    });
  });

  it('shows no key and no control character, though texts of the account hold both', async () => {
    const keys = ['NRAK-SIMULATOR0000000000000000', 'NRAK-0123456789ABCDEFGHIJKLMNOPQ'];
    await inFolder(async (folder) => {
      const { status, stdout, stderr } = await runIn(folder);
      expect(status).toBe(0);
      expect(stdout).toContain('Errors \\u001b[2J seen with <secret>');
      const texts = FILES.map((name) => readFileSync(join(folder, name), 'utf8'));
      for (const each of [stdout, stderr, ...texts]) {
        for (const key of keys) expect(each).not.toContain(key);
        expect(each).not.toContain('\u001b');
      }
    });
  });
});
