import { describe, expect, it } from 'vitest';
import { check, configurationSource } from '../../src/cli/check.ts';
import type { FaultSource } from '../../src/cli/check.ts';
import type { Fault } from '../../src/config/fault.ts';

const FAULT: Fault = { file: 'c.yaml', line: 3, column: 7, path: 'accounts[0].region', message: 'must be us' };

async function run(...sources: FaultSource[]) {
  const printed = { stdout: '', stderr: '' };
  const to = (name: 'stdout' | 'stderr') => ({
    write: (text: string | Uint8Array): boolean => {
      printed[name] += String(text);
      return true;
    },
  });
  const status = await check(sources, { stdout: to('stdout'), stderr: to('stderr') });
  return { status, ...printed };
}

const source = (name: string, ...faults: Fault[]): FaultSource => ({
  name,
  read: () => Promise.resolve({ faults, warnings: [] }),
});

describe('check', () => {
  it('says that each source is valid and gives status 0', async () => {
    expect(await run(source('c.yaml'), source('web.yaml'))).toEqual({
      status: 0,
      stdout: 'c.yaml: valid\nweb.yaml: valid\n',
      stderr: '',
    });
  });

  it('prints every fault of every source to standard error and gives status 2', async () => {
    const broken = source('c.yaml', FAULT, { ...FAULT, line: undefined, column: undefined, path: '' });
    expect(await run(broken, source('web.yaml'), source('x', { ...FAULT, file: 'x', path: '' }))).toEqual({
      status: 2,
      stdout: 'web.yaml: valid\n',
      stderr: 'c.yaml:3:7: accounts[0].region: must be us\nc.yaml: must be us\nx:3:7: must be us\n',
    });
  });

  it('prints the warnings of a valid source to standard error and gives status 0', async () => {
    const read = () => Promise.resolve({ faults: [], warnings: [FAULT] });
    expect(await run({ name: 'c.yaml', read })).toEqual({
      status: 0,
      stdout: 'c.yaml: valid\n',
      stderr: 'c.yaml:3:7: accounts[0].region: warning: must be us\n',
    });
  });

  it('checks the configuration where it is found', async () => {
    const options = { flag: undefined, exists: () => false };
    expect(await run(configurationSource({ ...options, env: { NEW_RELIC_API_KEY: 'abcd' } }))).toMatchObject({
      status: 0,
      stdout: 'environment: valid\n',
    });
    const mars = { NEW_RELIC_API_KEY: 'abcd', NEW_RELIC_REGION: 'mars' };
    expect(await run(configurationSource({ ...options, env: mars }))).toMatchObject({
      status: 2,
      stderr: 'environment: NEW_RELIC_REGION: must be us, eu, gov or jp\n',
    });
    const missing = await run(configurationSource({ ...options, flag: '/nowhere/c.yaml', env: {} }));
    expect(missing).toMatchObject({ status: 2, stderr: '/nowhere/c.yaml: the configuration file does not exist\n' });
    const nothing = await run(configurationSource({ ...options, env: {} }));
    expect([nothing.status, nothing.stderr]).toEqual([2, expect.stringContaining('set NEW_RELIC_API_KEY\n')]);
  });
});
