import { describe, expect, it } from 'vitest';
import { buildProgram } from '../../src/cli/program.ts';
import { toolCommands } from '../../src/tools/commands.ts';
import { runInProcess } from '../support/inProcess.ts';

const COMMANDS = buildProgram(toolCommands()).commands.map((command) => command.name());

describe('wrong usage', () => {
  it.each([
    [['nope'], "there is no command 'nope'"],
    [['chekc'], `there is no command 'chekc'; did you mean "check"?`],
    [['--log.level=debug', 'nope'], "there is no command 'nope'"],
    [['--web.listen-adress=:1'], "unknown option '--web.listen-adress'\n(Did you mean --web.listen-address?)"],
    [['NRAK-SECRETSECRETSECRETSECRET'], "there is no command '<secret>'"],
    [['--log.level', 'NRAK-SECRETSECRETSECRETSECRET'], "option '--log.level <level>' argument '<secret>' is invalid"],
    [['backfill', '--nope', '--from=7d'], "unknown option '--nope'"],
    [['backfill', '--fro', '7d'], "unknown option '--fro'\n(Did you mean --from?)"],
    [['simulate', '--seeed=1'], "unknown option '--seeed'\n(Did you mean --seed?)"],
    [['demo', '--latency=soon'], "option '--latency <duration>' argument 'soon' is invalid."],
    [
      ['check', 'config.yaml'],
      "too many arguments for 'check'. Expected 0 arguments but got 1. Name the configuration with --config.file=<path>.",
    ],
    [['--config=my.yaml'], "unknown option '--config'. Name the configuration with --config.file=<path>."],
    [['--config', 'my.yaml'], "unknown option '--config'. Name the configuration with --config.file=<path>."],
    [['-c', 'my.yaml'], "unknown option '-c'. Name the configuration with --config.file=<path>."],
    [['check', '--config=my.yaml'], "unknown option '--config'. Name the configuration with"],
    [['my.yaml'], "there is no command 'my.yaml'. Name the configuration with --config.file=<path>."],
    [['--port=9999'], "unknown option '--port'. Set the address to listen on with --web.listen-address=<host:port>."],
    [['--port', '9999'], "unknown option '--port'. Set the address to listen on with"],
    [['-p', '9999'], "unknown option '-p'. Set the address to listen on with"],
    [['serve', '--listen=:9999'], "unknown option '--listen'. Set the address to listen on with"],
    [['demo', '--web.port=9999'], "unknown option '--web.port'. Set the address to listen on with"],
    [['--api-key=NRAK-SECRET'], "unknown option '--api-key'. No flag takes a key: set NEW_RELIC_API_KEY, or name"],
    [['check', '--license-key', 'NRAK-SECRET'], "unknown option '--license-key'. No flag takes a key"],
    [['--verbose'], "unknown option '--verbose'. Set the log level with --log.level=debug."],
    [['-v'], "unknown option '-v'. Set the log level with --log.level=debug."],
    [
      ['backfill', '--from=7d', '--window=30min'],
      "option '--window <duration>' argument '30min' is invalid. It must be a duration of whole minutes",
    ],
    [
      ['query', '--window=1.5h', 'SELECT'],
      "option '--window <duration>' argument '1.5h' is invalid. It must be a duration",
    ],
    [['discover', '--format=xml'], "option '--format <format>' argument 'xml' is invalid"],
    [['discover', '--app=1', '--entities'], "option '--entities [type]' cannot be used with option '--app"],
    [['metric-names', '--ap=1'], "unknown option '--ap'\n(Did you mean --app?)"],
    [['metric-names', '--api-key=NRAK-SECRET'], `unknown option '--api-key'`],
    [
      ['serve', '--web.telemetry-path=/probe'],
      "option '--web.telemetry-path <path>' argument '/probe' is invalid. It is the path of another endpoint",
    ],
    [['serve', '--web.listen-address=nonsense'], "option '--web.listen-address <address>' argument 'nonsense'"],
    // The YAML of the command would have this window, and check would refuse it.
    [['query', '--window=367d', 'SELECT'], "option '--window <duration>' argument '367d' is invalid. It must be"],
    [['--log.level=loud'], "option '--log.level <level>' argument 'loud' is invalid"],
  ])('%j prints a sentence and a hint, without the values of unknown flags', async (args, sentence) => {
    const { status, stdout, stderr } = await runInProcess(args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(`error: ${sentence}`);
    expect(stderr).toMatch(/\n\(add --help for commands and flags\)\n$/);
    expect(stderr).not.toContain('NRAK-SECRET');
  });
});

it.each([
  ['backfill', 'give --from, the beginning of the range'],
  ['metric-names', 'give --app, the id or name of an application'],
])('%s names the flag that it needs', async (command, sentence) => {
  expect(await runInProcess([command])).toEqual({ status: 2, stdout: '', stderr: `error: ${sentence}\n` });
});

describe('the help', () => {
  it.each(COMMANDS)('of %s has examples that begin with the program and the command', async (command) => {
    const { status, stdout, stderr } = await runInProcess([command, '--help']);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout.split('Examples:\n')[1]).toContain(`  newrelic-apm-exporter ${command}`);
  });

  it('without a command shows the flags of serve, every command, and the variables that replace a file', async () => {
    const [root, serve] = [await runInProcess(['--help']), await runInProcess(['serve', '--help'])];
    const flagsOf = (help: string): string[] => [...help.matchAll(/^ {2}(--[a-z.-]+)/gm)].map(([, flag]) => flag ?? '');
    expect(flagsOf(serve.stdout)).toContain('--web.disable-exporter-metrics');
    expect(flagsOf(root.stdout).toSorted()).toEqual(flagsOf(serve.stdout).toSorted());
    for (const command of COMMANDS) expect(root.stdout).toMatch(new RegExp(`^  ${command} \\[options\\]`, 'm'));
    for (const name of ['API_KEY', 'API_KEY_FILE', 'REGION', 'API', 'ACCOUNT_ID']) {
      for (const { stdout } of [root, serve]) expect(stdout).toMatch(new RegExp(`\\bNEW_RELIC_${name}\\b`));
    }
  });

  it('of backfill has no example that ends now, because scraped samples would overlap', async () => {
    const { stdout } = await runInProcess(['backfill', '--help']);
    const examples = stdout.split('Examples:\n')[1]?.match(/^ *newrelic-apm-exporter backfill.*/gm) ?? [];
    expect(examples.length).toBeGreaterThan(2);
    for (const example of examples) expect(example).toMatch(/ --to=\d+[hd] /);
  });

  it('of demo groups its flags and describes them for demo', async () => {
    const { stdout } = await runInProcess(['demo', '--help']);
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
});
