import { describe, expect, it } from 'vitest';
import { DEMO_API_KEY } from '../../src/simulator/simulatorSettings.ts';
import { parseFault } from '../../src/simulator/faults/faultRules.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { account } from '../e2e/support/config.ts';
import { runOnService, runTool } from './support/tool.ts';

const COMMANDS = [
  'serve',
  'check',
  'plan',
  'discover',
  'metric-names',
  'backfill',
  'alert-rules',
  'compare',
  'simulate',
  'demo',
];
const READING: string[][] = [
  ['check', '--live'],
  ['plan'],
  ['discover'],
  ['metric-names', '--app=1000001'],
  ['backfill', '--from=10m', '--to=5m', '--output=out.om'],
  ['alert-rules', '--output=rules'],
  ['compare'],
];

describe.concurrent('every command', () => {
  it.each(COMMANDS)('%s --help shows examples that begin with the program and its name', async (command) => {
    const { status, stdout, stderr } = await runTool([command, '--help']);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout.split('Examples:\n')[1]).toContain(`  newrelic-apm-exporter ${command}`);
  });

  it.each([
    [['nope'], "error: there is no command 'nope'"],
    [['chekc'], `error: there is no command 'chekc'; did you mean "check"?`],
    [['--log.level=debug', 'nope'], "error: there is no command 'nope'"],
    [['--web.listen-adress=:1'], "error: unknown option '--web.listen-adress'\n(Did you mean --web.listen-address?)"],
    [['backfill'], "error: required option '--from <time>' not specified"],
    [['backfill', '--nope', '--from=7d'], "error: unknown option '--nope'"],
    [['simulate', '--seeed=1'], "error: unknown option '--seeed'\n(Did you mean --seed?)"],
    [['simulate', '--tls-cert-file=x'], 'error: --tls-cert-file and --tls-key-file go together'],
    [['demo', '--tls-cert-file=x'], 'error: --tls-cert-file and --tls-key-file go together'],
    [['demo', '--latency=soon'], "error: option '--latency <duration>' argument 'soon' is invalid."],
    [['plan', '--nope'], "error: unknown option '--nope'"],
    [['help', 'foo'], "error: there is no command 'foo'"],
    [['help', 'chekc'], `error: there is no command 'chekc'; did you mean "check"?`],
    [
      ['check', 'config.yaml'],
      "error: too many arguments for 'check'. Expected 0 arguments but got 1. The configuration is named with --config.file=<path>.",
    ],
    [['plan', 'stray'], "error: too many arguments for 'plan'"],
    [['discover', '--format=xml'], "error: option '--format <format>' argument 'xml' is invalid"],
    [['metric-names'], "error: required option '--app <id or name>' not specified"],
    [
      ['serve', '--web.telemetry-path=/probe'],
      "error: option '--web.telemetry-path <path>' argument '/probe' is invalid. It is the path of another endpoint",
    ],
    [['serve', '--web.listen-address=nonsense'], "error: option '--web.listen-address <address>' argument 'nonsense'"],
  ])('%j is wrong usage: a sentence, a hint and status 2', async (args, sentence) => {
    const { status, stdout, stderr } = await runTool(args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr.slice(0, sentence.length)).toBe(sentence);
    expect(stderr).toMatch(/\n\(add --help for commands and flags\)\n$/);
  });

  it.each([
    [['--log.level=debug', 'check'], 'check'],
    [['--config.file', 'config.yaml', '--log.format=json', 'check'], 'check'],
    [['--config.file=config.yaml', 'check', '--log.level=error'], 'check'],
  ])('%j: flags before the command work', async (args) => {
    const result = await runTool(args, { config: 'accounts: [{api_key: NRAK-ABC}]' });
    expect(result).toEqual({ status: 0, stdout: 'config.yaml: valid\n', stderr: '' });
  });

  it.each([
    [[], 'error: several accounts are meant: choose one with --account: alpha, beta\n'],
    [['--account=gamma'], 'error: no account has the name given with --account: choose one of alpha, beta\n'],
  ])('query names the accounts where none is chosen, or one that there is not: %j', async (flags, sentence) => {
    const accounts = ['alpha', 'beta'].map((name) => `{name: ${name}, account_id: 7, api_key: NRAK-ABC}`);
    const config = `accounts: [${accounts.join(', ')}]`;
    const { status, stderr } = await runTool(['query', 'SELECT count(*) FROM Transaction', ...flags], { config });
    expect({ status, stderr }).toEqual({ status: 2, stderr: sentence });
  });

  it('says its version, its revision and that of Node, also after a command', async () => {
    const results = await Promise.all([runTool(['--version']), runTool(['serve', '--version'])]);
    for (const { status, stdout } of results) {
      expect(status).toBe(0);
      expect(stdout).toMatch(/^newrelic-apm-exporter \d+\.\d+\.\d+ \(revision [^ ,]+, Node\.js v\d+\.\d+\.\d+\)\n$/);
    }
  });

  it('the help without a command shows the flags of serve too', async () => {
    const [root, serve] = await Promise.all([runTool(['--help']), runTool(['serve', '--help'])]);
    const flagsOf = (help: string): string[] => [...help.matchAll(/^ {2}(--[a-z.-]+)/gm)].map(([, flag]) => flag ?? '');
    expect(flagsOf(serve.stdout)).toContain('--web.disable-exporter-metrics');
    expect(flagsOf(root.stdout).toSorted()).toEqual(flagsOf(serve.stdout).toSorted());
  });

  it('the help without a command lists every command, and the variables that stand for a file', async () => {
    const [root, serve] = await Promise.all([runTool(['--help']), runTool(['serve', '--help'])]);
    for (const command of COMMANDS) expect(root.stdout).toMatch(new RegExp(`^  ${command} \\[options\\]`, 'm'));
    for (const name of ['API_KEY', 'API_KEY_FILE', 'REGION', 'API', 'ACCOUNT_ID']) {
      for (const { stdout } of [root, serve]) expect(stdout).toMatch(new RegExp(`\\bNEW_RELIC_${name}\\b`));
    }
  });

  it('the help of demo groups its flags and says what is true of it', async () => {
    const { stdout } = await runTool(['demo', '--help']);
    const text = stdout.replace(/\n {10,}/g, ' ');
    const [, exporter = '', simulated = ''] =
      /\nExporter:\n([^]*)\nSimulated New Relic:\n([^]*)\nOptions:\n/.exec(text) ?? [];
    expect(exporter).toMatch(
      /--config\.file <path> +take the part "collection" of this configuration file \(default: none/,
    );
    expect(exporter).toContain('--web.listen-address');
    expect(simulated).toMatch(/--listen-address <address> .*\(default: a free port of 127\.0\.0\.1\)/);
    expect(simulated).not.toContain('--web');
  });

  it.each([['--log.level=debug'], ['--log.level', 'debug']])('%s %s shows the stack of an error', async (...flags) => {
    const env = { NEW_RELIC_API_KEY: 'NRAK-FROMTHEENVIRONMENT0000', HTTPS_PROXY: 'http://user:secret@:::' };
    const { status, stderr } = await runTool([...flags, '--web.listen-address=127.0.0.1:0'], { env });
    expect(status).toBe(1);
    expect(stderr).toMatch(/\n {4}at /);
  });

  it.each(READING)('%s without a configuration says what to do and ends with 2', async (...args) => {
    const { status, stdout, stderr } = await runTool(args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/^config\.yaml: there is no such file, and neither NEW_RELIC_API_KEY nor .* is set: .*\n$/);
  });

  it.each(READING)('%s runs from the environment alone, and says so in one log line', async (...args) => {
    // Without a way out, the call fails at the proxy; nothing leaves this machine.
    const env = { NEW_RELIC_API_KEY: 'NRAK-FROMTHEENVIRONMENT0000', HTTPS_PROXY: 'http://127.0.0.1:1' };
    const { status, stdout, stderr } = await runTool(args, { env });
    expect(status).toBe(1);
    const lines = stderr.split('\n').filter((line) => line.includes('no configuration file: one account named'));
    expect(lines).toHaveLength(1);
    expect(stdout + stderr).not.toContain('NRAK-FROM');
  });

  it('check without calls says so in one log line, too, and says nothing of a file', async () => {
    const [environment, file] = await Promise.all([
      runTool(['check'], { env: { NEW_RELIC_API_KEY: 'NRAK-FROMTHEENVIRONMENT0000' } }),
      runTool(['check'], { config: 'accounts: [{api_key: NRAK-ABC}]' }),
    ]);
    expect(environment).toMatchObject({ status: 0, stdout: 'environment: valid\n' });
    expect(environment.stderr).toMatch(/^[^\n]*no configuration file: one account named[^\n]*\n$/);
    expect(file).toEqual({ status: 0, stdout: 'config.yaml: valid\n', stderr: '' });
  });

  it.each<[NodeJS.Signals, ...string[]]>([
    ...READING.map((args): [NodeJS.Signals, ...string[]] => ['SIGINT', ...args]),
    ['SIGTERM', 'discover'],
  ])('%s stops %s: one word, the status that shells expect, no data, no stack', async (name, ...args) => {
    const simulator = await startSimulator({ applications: 1, latencyMs: 60_000 });
    let interrupted = false;
    const polling: { timer?: NodeJS.Timeout } = {};
    const { status, stdout, stderr } = await runTool(args, {
      config: { accounts: [account(simulator)] },
      onStart: (signal) => {
        polling.timer = setInterval(() => {
          if (interrupted || simulator.requests.running === 0) return;
          interrupted = true;
          signal(name);
        }, 20);
      },
    });
    clearInterval(polling.timer);
    await simulator.close();
    expect(interrupted).toBe(true);
    expect({ status, stdout: stdout.replace('config.yaml: valid\n', '') }).toEqual({
      status: name === 'SIGINT' ? 130 : 143,
      stdout: '',
    });
    expect(stderr).toMatch(args[0] === 'backfill' ? /stopped|resume/ : /stopped\n$/);
    expect(stderr).not.toMatch(/\n {4}at |Error:/);
  });

  // The others do not wait out a pause: they say what they could not read, and end.
  it.each(READING.filter(([name]) => name !== 'check' && name !== 'plan'))(
    '%s stops at once on ctrl-C while upstream has it pause',
    async (...args) => {
      const service = { applications: 1, faults: [parseFault('rate-limit=retry-after,seconds=120')] };
      const interruptOnce = (output: { readonly stderr: string }): boolean => output.stderr.includes('rate_limited');
      const { status, stderr } = await runOnService([...args, '--log.level=debug'], service, {}, { interruptOnce });
      expect(stderr).toContain('rate_limited');
      expect(status).toBe(130);
    },
  );

  it('says in a sentence that a proxy setting is no address', async () => {
    const env = { NEW_RELIC_API_KEY: 'NRAK-FROMTHEENVIRONMENT0000', HTTPS_PROXY: 'http://user:secret@:::' };
    for (const args of [['--web.listen-address=127.0.0.1:0'], ['plan'], ['discover']]) {
      const { status, stderr } = await runTool(args, { env });
      expect(status).toBe(1);
      expect(stderr).toMatch(/HTTPS_PROXY is no address: it should look like http:\/\/proxy\.example:3128\n$/);
      expect(stderr).not.toMatch(/secret|\n {4}at /);
    }
  });

  it('shows progress on standard error only, and only when it takes long', async () => {
    const service = { applications: 40, hostsPerApplication: 1, latencyMs: 300 };
    const settings = { limits: { max_concurrent_requests: 4 } };
    const { status, stdout, stderr } = await runOnService(['discover', '--format=json'], service, settings);
    expect(status).toBe(0);
    expect(stderr).toMatch(/reading hosts and instances of shop \[.*\] \d+\/40/);
    expect(() => JSON.parse(stdout) as unknown).not.toThrow();
    expect(stderr + stdout).not.toContain(DEMO_API_KEY);
  });
});
