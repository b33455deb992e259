import { describe, expect, it } from 'vitest';
import { check } from '../../src/tools/check.ts';
import { readFiles, type Findings } from '../../src/cli/configuration.ts';
import type { Diagnostic } from '../../src/config/diagnostic.ts';

const FAULT: Diagnostic = { file: 'c.yaml', line: 3, column: 7, path: 'accounts[0].region', message: 'must be us' };

function run(...findings: Findings[]) {
  const printed = { stdout: '', stderr: '' };
  const to = (name: 'stdout' | 'stderr') => ({
    write: (text: string | Uint8Array): boolean => {
      printed[name] += String(text);
      return true;
    },
  });
  const status = check(findings, { stdout: to('stdout'), stderr: to('stderr') });
  return { status, ...printed };
}

const source = (name: string, ...diagnostics: Diagnostic[]): Findings => ({ name, diagnostics, warnings: [] });

describe('check', () => {
  it('says that each source is valid and gives status 0', () => {
    expect(run(source('c.yaml'), source('web.yaml'))).toEqual({
      status: 0,
      stdout: 'c.yaml: valid\nweb.yaml: valid\n',
      stderr: '',
    });
  });

  it('prints every fault of every source to standard error and gives status 2', () => {
    const broken = source('c.yaml', FAULT, { ...FAULT, line: undefined, column: undefined, path: '' });
    expect(run(broken, source('web.yaml'), source('x', { ...FAULT, file: 'x', path: '' }))).toEqual({
      status: 2,
      stdout: 'web.yaml: valid\n',
      stderr: 'c.yaml:3:7: accounts[0].region: must be us\nc.yaml: must be us\nx:3:7: must be us\n',
    });
  });

  it('prints warnings as such; they do not change the status', () => {
    expect(run({ name: 'c.yaml', diagnostics: [], warnings: [FAULT] })).toEqual({
      status: 0,
      stdout: 'c.yaml: valid\n',
      stderr: 'c.yaml:3:7: accounts[0].region: warning: must be us\n',
    });
  });

  it('checks the configuration where it is found', async () => {
    const checked = async (configFile: string | undefined, env: Record<string, string>) => {
      const { findings } = await readFiles({ configFile, once: false }, env, () => false);
      return run(...findings);
    };
    expect(await checked(undefined, { NEW_RELIC_API_KEY: 'abcd' })).toMatchObject({
      status: 0,
      stdout: 'environment: valid\n',
    });
    expect(await checked(undefined, { NEW_RELIC_API_KEY: 'abcd', NEW_RELIC_REGION: 'mars' })).toMatchObject({
      status: 2,
      stderr: 'environment: NEW_RELIC_REGION: must be us, eu, gov or jp\n',
    });
    expect(await checked('/nowhere/c.yaml', {})).toMatchObject({
      status: 2,
      stderr: '/nowhere/c.yaml: the configuration file does not exist\n',
    });
    const nothing = await checked(undefined, {});
    expect([nothing.status, nothing.stderr]).toEqual([2, expect.stringContaining('or set one of the two\n')]);
  });
});
