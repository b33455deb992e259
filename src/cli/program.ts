import process from 'node:process';
import { Command, Help } from 'commander';
import { suggest } from '../config/suggest.ts';
import { backfillCommand } from './backfill.ts';
import { compareCommand } from './compare.ts';
import type { DiscoverOptions } from './discover/discover.ts';
import { checked, collected, parseId } from './flags/arguments.ts';
import { addCommonFlags, formatFlag, type CommonOptions, type LogOptions } from './flags/commonFlags.ts';
import { addWebFlags } from './flags/serveFlags.ts';
import type { MetricNamesOptions } from './metricNames/metricNames.ts';
import { ExitStatus } from './process/exitStatus.ts';
import { collectGarbageEarly } from './process/garbage.ts';
import { HOME, NAME, REVISION, VERSION } from './process/version.ts';
import { simulateCommand, simulatorFlags, type SimulatorFlags } from './simulate.ts';

/** Said where the flags of the daemon are. */
const ENVIRONMENT = `
Without a configuration file it reads one account, from the environment:
  NEW_RELIC_API_KEY     its key; or NEW_RELIC_API_KEY_FILE, a file that holds it
  NEW_RELIC_REGION      us (the default), eu, gov or jp
  NEW_RELIC_API         rest (the default) or nerdgraph
  NEW_RELIC_ACCOUNT_ID  the account to read with nerdgraph, where the key sees several`;

/** All commands with their flags. What a command does is loaded only when it runs, so that the daemon starts quickly. */
export function buildProgram(): Command {
  const program = new Command(NAME)
    .description('Prometheus exporter for New Relic APM')
    .usage('[command] [options]')
    .helpOption('-h, --help')
    .addHelpText('after', `\nWithout a command it serves.\n${ENVIRONMENT}\n\nDocumentation: ${HOME}#readme`)
    .exitOverride()
    .showHelpAfterError('(add --help for commands and flags)');
  const flagsOfServe = addServeFlags(new Command().optionsGroup('Options of serve, the default command:')).options;
  const help = new Help();
  program.configureHelp({
    visibleOptions: (command) => [...help.visibleOptions(command), ...(command === program ? flagsOfServe : [])],
    // Every switch is off by default.
    optionDescription: (option) => help.optionDescription(option).replace(/ \(default: false\)$/, ''),
  });
  const commands = [
    serveCommand(),
    checkCommand(),
    planCommand(),
    discoverCommand(),
    metricNamesCommand(),
    backfillCommand(),
    compareCommand(),
    simulateCommand().addHelpText(
      'after',
      examples(
        'simulate',
        '--listen-address=127.0.0.1:9127',
        '--applications=200 --fault status=503,on=metric_data,times=3',
      ),
    ),
    demoCommand(),
  ];
  for (const command of commands) {
    program.addCommand(command.copyInheritedSettings(program), { isDefault: command.name() === 'serve' });
  }
  // Commander takes a stray word for an argument of the default command, which says better what is wrong.
  commands[0]?.allowExcessArguments();
  for (const command of [program, ...commands]) {
    command
      .optionsGroup('Options:')
      .version(`${NAME} ${VERSION} (revision ${REVISION}, Node.js ${process.version})`, '--version');
  }
  return program;
}

function addServeFlags(command: Command): Command {
  return addWebFlags(addCommonFlags(command)).option(
    '--config.check',
    'check the configuration and exit, as the command check',
    false,
  );
}

function serveCommand(): Command {
  const command = new Command('serve').description('run the exporter (the default)');
  return addServeFlags(command)
    .addHelpText(
      'after',
      ENVIRONMENT +
        '\n' +
        examples('serve', '--config.file=config.yaml', '--web.listen-address=127.0.0.1:9126 --log.format=json'),
    )
    .action(async (options: Record<string, unknown> & LogOptions) => {
      const [unknown] = command.args;
      if (unknown !== undefined) {
        const names = (command.parent?.commands ?? []).map((other) => other.name());
        command.error(`error: there is no command '${unknown}'${suggest(unknown, names)}`);
      }
      collectGarbageEarly();
      const { serve } = await import('./serve.ts');
      await serve(options);
    });
}

function checkCommand(): Command {
  const command = new Command('check').description(
    'check the configuration: every fault as file:line:column: path: message',
  );
  return addCommonFlags(command)
    .option('--web.config.file <path>', 'check this web configuration, too')
    .option('--live', "also read each account's lists: what its key can see, and whether the plan fits", false)
    .addHelpText('after', examples('check', '--config.file=config.yaml', '--live'))
    .action(async (options: CommonOptions & { 'web.config.file'?: string; live: boolean }) => {
      const [{ readFiles }, { check }] = await Promise.all([import('./configuration.ts'), import('./check.ts')]);
      const { findings } = await readFiles({
        configFile: options['config.file'],
        webConfigFile: options['web.config.file'],
      });
      const status = check(findings, process);
      if (status !== 0) throw new ExitStatus(status);
      if (!options.live) {
        const { sayOrigin } = await import('./upstream/command.ts');
        sayOrigin(options);
        return;
      }
      const { runCheckLive } = await import('./checkLive.ts');
      await runCheckLive(options);
    });
}

function planCommand(): Command {
  const command = new Command('plan').description('what a steady state costs in calls per minute; reads only lists');
  return addCommonFlags(command)
    .addOption(formatFlag(['table', 'json']))
    .addHelpText('after', examples('plan', '--config.file=config.yaml', '--format=json'))
    .action(async (options: CommonOptions & { format: 'table' | 'json' }) => {
      const { runPlan } = await import('./plan.ts');
      await runPlan(options);
    });
}

function discoverCommand(): Command {
  const command = new Command('discover').description(
    'list applications, hosts, instances and key transactions with their ids',
  );
  return addCommonFlags(command)
    .option('--app <id or name>', 'only this application; repeatable', collected)
    .option(
      '--key-transaction <id>',
      'only this key transaction; repeatable',
      (text: string, before?: readonly number[]) => [...(before ?? []), checked(text, parseId)],
    )
    .addOption(formatFlag(['table', 'yaml', 'json']))
    .addHelpText(
      'after',
      examples('discover', '', '--format=yaml   # ready for applications.include', '--app=1234567 --format=json'),
    )
    .action(async (options: DiscoverOptions) => {
      const { runDiscover } = await import('./discover/discover.ts');
      await runDiscover(options);
    });
}

function metricNamesCommand(): Command {
  const command = new Command('metric-names').description('list the metric names of an application');
  return addCommonFlags(command)
    .requiredOption('--app <id or name>', 'the application')
    .option('--host <id or name>', 'the names of this host of it')
    .option('--name <substring>', 'only names that contain this')
    .option('--all-pages', 'read more than 20 pages, a call each', false)
    .addOption(formatFlag(['table', 'json']))
    .addHelpText(
      'after',
      examples('metric-names', '--app=1234567 --name=/allWeb', '--app="Checkout API" --host=web-1 --format=json'),
    )
    .action(async (options: MetricNamesOptions) => {
      const { runMetricNames } = await import('./metricNames/metricNames.ts');
      await runMetricNames(options);
    });
}

function demoCommand(): Command {
  const command = new Command('demo').description(
    'the exporter and the simulator in one process: no account and no configuration needed',
  );
  addWebFlags(
    addCommonFlags(
      command.optionsGroup('Exporter:'),
      'take the part "collection" of this configuration file (default: none, config.yaml is not looked at)',
    ),
  );
  simulatorFlags(command.optionsGroup('Simulated upstream:'), {
    host: '127.0.0.1',
    port: 0,
    text: 'a free port of 127.0.0.1',
  });
  return command
    .addHelpText('after', examples('demo', '', '--web.listen-address=127.0.0.1:0 --applications=50'))
    .action(async (options: SimulatorFlags & LogOptions) => {
      collectGarbageEarly();
      const { demo } = await import('./demo.ts');
      await demo(options);
    });
}

function examples(command: string, ...flags: readonly string[]): string {
  return ['', 'Examples:', ...flags.map((flag) => `  ${NAME} ${command} ${flag}`.trimEnd())].join('\n');
}
