import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DEMO_API_KEY } from '../../simulator/simulatorSettings.ts';
import { parseFault } from '../../simulator/faults/faultRules.ts';
import { authority, forLocalhost } from '../support/certificates.ts';
import { json, startServer } from '../api/support/testServer.ts';
import { startProxy } from '../api/support/tunnelProxy.ts';
import { account, configText } from '../e2e/support/config.ts';
import { NODE, runProgram } from '../e2e/support/program.ts';
import { inFolder } from '../support/folder.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { commandsOn, runInProcess } from '../support/inProcess.ts';

/** Commands that read an account: one that is done with it at once, one that writes, and one over both interfaces. */
const SAMPLE: string[][] = [['check', '--live'], ['backfill', '--from=10m', '--to=5m', '--output=out.om'], ['compare']];

describe.concurrent('a command', () => {
  it.each([
    [[], 'error: there are several accounts (alpha, beta): choose one with --account\n'],
    [['--account=alfa'], 'error: there is no account "alfa": the accounts are alpha, beta; did you mean "alpha"?\n'],
  ])('query names the accounts where --account is missing or unknown: %j', async (flags, sentence) => {
    const run = commandsOn(...['alpha', 'beta'].map((name) => ({ name, account_id: 7, api_key: 'NRAK-ABC' })));
    const { status, stderr } = await run('query', 'SELECT count(*) FROM Transaction', ...flags);
    expect({ status, stderr }).toEqual({ status: 2, stderr: sentence });
  });

  it('prints its version, its revision and the version of Node.js, also after a command', async () => {
    const results = await Promise.all([runInProcess(['--version']), runInProcess(['serve', '--version'])]);
    for (const { status, stdout } of results) {
      expect(status).toBe(0);
      expect(stdout).toMatch(/^newrelic-apm-exporter \d+\.\d+\.\d+ \(revision [^ ,]+, Node\.js v\d+\.\d+\.\d+\)\n$/);
    }
  });

  it.each(SAMPLE)('%s runs from the environment alone, and says so in one log line', async (...args) => {
    // Without a way out, the call fails at the proxy; nothing leaves this machine.
    const env = { NEW_RELIC_API_KEY: 'NRAK-FROMTHEENVIRONMENT0000', HTTPS_PROXY: 'http://127.0.0.1:1' };
    const { status, stdout, stderr } = await runProgram(args, { env });
    expect(status).toBe(1);
    const lines = stderr.split('\n').filter((line) => line.includes('no configuration file: one account named'));
    expect(lines).toHaveLength(1);
    expect(stdout + stderr).not.toContain('NRAK-FROM');
  });

  it.each(['check', '--config.check'])('%s, which makes no calls, also says so in one log line', async (way) => {
    const { status, stdout, stderr } = await runProgram([way], {
      env: { NEW_RELIC_API_KEY: 'NRAK-FROMTHEENVIRONMENT' },
    });
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'environment: valid\n' });
    expect(stderr).toMatch(/^[^\n]*no configuration file: one account named[^\n]*\n$/);
  });

  it.for<[NodeJS.Signals, ...string[]]>([
    ...SAMPLE.map((args): [NodeJS.Signals, ...string[]] => ['SIGINT', ...args]),
    ['SIGTERM', 'discover'],
  ])(
    '%s stops %s with one word, the status that shells expect, and no data or stack',
    async ([name, ...args], { onTestFinished }) => {
      const simulator = await simulatorForTest({ applications: 1, latencyMs: 60_000 }, onTestFinished);
      let interrupted = false;
      const { status, stdout, stderr } = await runProgram(args, {
        config: { accounts: [account(simulator)] },
        interruptOnce: (program) => {
          if (!interrupted && simulator.requests.running > 0) {
            interrupted = true;
            program.signal(name);
          }
          return false;
        },
      });
      expect(interrupted).toBe(true);
      expect({ status, stdout: stdout.replace('config.yaml: valid\n', '') }).toEqual({
        status: name === 'SIGINT' ? 130 : 143,
        stdout: '',
      });
      expect(stderr).toMatch(args[0] === 'backfill' ? /stopped|resume/ : /stopped\n$/);
      expect(stderr).not.toMatch(/\n {4}at |Error:/);
    },
  );

  // The others do not wait out a pause: they say what they could not read, and end.
  it.for(SAMPLE.filter(([name]) => name !== 'check'))(
    '%s reports the pause of a rate limit, and stops at once on ctrl-C',
    async (args, { onTestFinished }) => {
      const faults = [parseFault('rate-limit=retry-after,seconds=120')];
      const simulator = await simulatorForTest({ applications: 1, faults }, onTestFinished);
      const { status, stderr } = await runProgram(args, {
        config: { accounts: [account(simulator)] },
        interruptOnce: ({ written }) => written.stderr.includes('Rate limited by New Relic'),
      });
      expect(stderr).toContain('Rate limited by New Relic');
      expect(status).toBe(130);
    },
  );

  it('reports a proxy setting that is not an address, without the password in it', async () => {
    const env = { NEW_RELIC_API_KEY: 'NRAK-OFAVARIABLE0000000000', HTTPS_PROXY: 'http://user:secret@:::' };
    for (const args of [['--web.listen-address=127.0.0.1:0'], ['plan']]) {
      const { status, stderr } = await runProgram(args, { env });
      expect(status).toBe(2);
      expect(stderr).toMatch(
        /^environment: HTTPS_PROXY: is not a valid address: it should look like http:\/\/proxy\.example:3128\n$/m,
      );
      expect(stderr).not.toMatch(/secret|\n {4}at /);
    }
  });

  it.each([['discover'], ['plan'], ['metric-names', '--app=1'], ['backfill', '--from=10m'], ['compare']])(
    '%s reports an unreachable host once, with what to check',
    async (...args) => {
      const gone = account({ url: 'http://127.0.0.1:1' }, 'gone', { account_id: 1, limits: { max_retries: 0 } });
      const { status, stderr } = await commandsOn(gone)(...args);
      expect(status).toBe(1);
      expect(stderr).toMatch(/^error: .* cannot be read.*: connection refused .*\nhint: check DNS, .*\n$/);
    },
  );

  it('colours errors with --color=always, and nothing with never or without a terminal', async () => {
    const errorWith = async (flag: string, env = {}): Promise<string> =>
      (await runInProcess(['plan', flag, '--nope'], { env })).stderr.split(':')[0] ?? '';
    expect(await errorWith('--color=always', { NO_COLOR: '1' })).toBe('\u001b[31merror\u001b[39m');
    expect(await errorWith('--color=auto')).toBe('error');
    expect(await errorWith('--color=never', { FORCE_COLOR: '1' })).toBe('error');
  });

  it('shows no progress where standard error is not a terminal, however long the command takes', async ({
    onTestFinished,
  }) => {
    const simulator = await simulatorForTest(
      { applications: 16, hostsPerApplication: 1, latencyMs: 300 },
      onTestFinished,
    );
    const shop = account(simulator, 'shop', { limits: { max_concurrent_requests: 4 } });
    const { status, stdout, stderr } = await commandsOn(shop)('discover', '--format=json');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(() => JSON.parse(stdout) as unknown).not.toThrow();
    expect(stdout).not.toContain(DEMO_API_KEY);
  });

  it('shows a progress bar, colours and tables as wide as the terminal on a terminal', async ({
    skip,
    onTestFinished,
  }) => {
    skip(!existsSync('/usr/bin/script'), 'this system has no script, which opens a terminal');
    const simulator = await simulatorForTest(
      { applications: 16, hostsPerApplication: 1, latencyMs: 300 },
      onTestFinished,
    );
    const config = configText({ accounts: [account(simulator, 'shop', { limits: { max_concurrent_requests: 4 } })] });
    const shown = await inFolder(async (folder) => {
      writeFileSync(join(folder, 'config.yaml'), config);
      const command = `stty cols 70; "${NODE}" "${resolve(import.meta.dirname, '../../dist/main.js')}" discover`;
      const env = { PATH: process.env['PATH'], TERM: 'xterm' };
      return (await promisify(execFile)('/usr/bin/script', ['-qec', command, '/dev/null'], { cwd: folder, env }))
        .stdout;
    });
    expect(shown).toMatch(/reading hosts and instances of shop \[.*\] (?!16)\d+\/16/);
    expect(shown).toContain('\u001b[1mNAME\u001b[22m');
    const table = stripVTControlCharacters(shown.slice(shown.lastIndexOf('Account shop: 8 key'))).split('\r\n');
    expect(Math.max(...table.map(({ length }) => length))).toBe(70);
  });
});

describe('a proxy with an HTTPS address', () => {
  it('is verified by the authorities in NODE_EXTRA_CA_CERTS, as New Relic is', async () => {
    const ca = await authority();
    const signed = await forLocalhost(ca);
    const proxy = await startProxy({ tls: signed });
    const server = await startServer((response) => json(response, { applications: [], key_transactions: [] }), signed);
    onTestFinished(() => server.close());
    const config = `accounts: [{api: rest, base_url: ${server.origin}/v2, api_key: NRAK-ABC}]`;
    const HTTPS_PROXY = `https://localhost:${proxy.port}`;
    await inFolder(async (folder) => {
      const file = join(folder, 'ca.pem');
      writeFileSync(file, ca.cert);
      const refused = await runProgram(['discover'], { config, env: { HTTPS_PROXY } });
      expect(refused.stderr).toContain('certificate not trusted');
      const trusted = await runProgram(['discover'], { config, env: { HTTPS_PROXY, NODE_EXTRA_CA_CERTS: file } });
      expect(trusted).toMatchObject({ status: 0, stderr: '' });
    });
    expect(proxy.seen).not.toEqual([]);
  });
});
