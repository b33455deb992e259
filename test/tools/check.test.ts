import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolders } from '../config/folder.ts';
import { runInProcess } from '../support/inProcess.ts';

const newFolder = temporaryFolders();
const VALID = 'accounts: [{api_key: NRAK-ABCD}]';

/** Checks these texts of both files. */
function check(config: string, web: string) {
  const folder = newFolder();
  writeFileSync(join(folder, 'web.yaml'), web);
  return runInProcess(['check', '--web.config.file=web.yaml'], { folder, config });
}

describe('check', () => {
  it('says that each file is valid and gives status 0', async () => {
    const stdout = 'config.yaml: valid\nweb.yaml: valid\n';
    expect(await check(VALID, 'basic_auth_users: {}')).toEqual({ status: 0, stdout, stderr: '' });
  });

  it('prints every fault of every file to standard error and gives status 2', async () => {
    expect(await check('accounts: [{api_key: NRAK-ABCD, region: moon}]\nmore: 1\n', '')).toMatchObject({
      status: 2,
      stderr: 'config.yaml:1:41: accounts[0].region: must be us, eu, gov or jp\nconfig.yaml:2:1: more: unknown key\n',
    });
    const broken = await check('- 1', 'nope: 1');
    expect([broken.status, broken.stdout]).toEqual([2, '']);
    expect(broken.stderr).toMatch(/^config\.yaml:1:1: .*\nweb\.yaml:1:1: nope: unknown key\n$/);
  });

  it('prints warnings, which do not change the status', async () => {
    const { status, stdout, stderr } = await check('accounts: [{api_key: abcd}]', '');
    expect([status, stdout]).toEqual([0, 'config.yaml: valid\nweb.yaml: valid\n']);
    expect(stderr).toMatch(/^config\.yaml:1:22: accounts\[0\]\.api_key: warning: is not a user key: .*\n$/);
  });

  it('checks the environment without a file, and reports a missing configuration', async () => {
    const env = { NEW_RELIC_API_KEY: 'NRAK-ABCD' };
    expect(await runInProcess(['check'], { env })).toMatchObject({ status: 0, stdout: 'environment: valid\n' });
    expect(await runInProcess(['check'], { env: { ...env, NEW_RELIC_REGION: 'mars' } })).toMatchObject({
      status: 2,
      stderr: 'environment: NEW_RELIC_REGION: must be us, eu, gov or jp\n',
    });
    expect(await runInProcess(['check', '--config.file=/nowhere/c.yaml'])).toMatchObject({
      status: 2,
      stderr: '/nowhere/c.yaml: the configuration file does not exist\n',
    });
    const nothing = await runInProcess(['check']);
    expect([nothing.status, nothing.stderr]).toEqual([
      2,
      expect.stringContaining('or set one of the two; the command demo needs none of them\n'),
    ]);
  });
});
