import { describe, expect, it } from 'vitest';
import { account, nerdGraphAccount } from '../e2e/support/config.ts';
import { runProgram, type Program } from '../e2e/support/program.ts';
import { simulatorForFile } from '../support/simulator.ts';

const simulator = await simulatorForFile({ applications: 1, hostsPerApplication: 1 });

const ADDRESS = '--web.listen-address=127.0.0.1:0';
const whenItListens = { interruptOnce: ({ written }: Program) => written.stderr.includes('msg=Listening') };

/** Has the program say on standard error which flags of V8 it sets. */
const TELLING_FLAGS = [
  "import v8 from 'node:v8'",
  "import { syncBuiltinESMExports } from 'node:module'",
  'const set = v8.setFlagsFromString',
  'v8.setFlagsFromString = (flag) => { console.error(`V8 ${flag}`); set(flag) }',
  'syncBuiltinESMExports()',
].join(';');
const telling = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(TELLING_FLAGS)}` };

describe('serve', () => {
  it('warns at the start of an interface with an end of life, and of deprecated settings', async () => {
    const accounts = [account(simulator, 'old'), nerdGraphAccount(simulator, 'new', { api_key_header: 'X-Api-Key' })];
    const { status, stderr } = await runProgram(['serve', ADDRESS], { ...whenItListens, config: { accounts } });
    const warnings = stderr.split('\n').filter((line) => line.includes(' level=warn '));
    expect(warnings).toEqual([
      expect.stringMatching(/msg="config\.yaml:\d+:\d+: accounts\[1\]\.api_key_header: .*Api-Key/),
      expect.stringMatching(/account=old interface="REST, which New Relic ends on 2027-07-31, in \d+ days: /),
    ]);
    expect(status).toBe(0);
  });

  it('sets no V8 flag at run time, because Node.js warns that this may crash', async () => {
    const config = { accounts: [account(simulator)] };
    const [serve, backfill] = await Promise.all([
      runProgram(['serve', ADDRESS], { ...whenItListens, config, env: telling }),
      runProgram(['backfill', '--from=2026-01-01T00:00:00Z', '--to=2026-01-01T00:01:00Z'], { config, env: telling }),
    ]);
    expect(serve.stderr).toContain('msg=Listening');
    expect(`${serve.stderr}${backfill.stderr}`).not.toMatch(/^V8 /m);
  });
});
