import process from 'node:process';
import { Command, CommanderError, Option } from 'commander';
import { backfillCommand } from './backfill.ts';
import { ExitStatus } from './exitStatus.ts';
import { errorText } from '../log/errorText.ts';
import { addCommonFlags, addWebFlags, type CommonOptions } from './serveFlags.ts';
import { simulateCommand, simulatorFlags, type SimulatorFlags } from './simulate.ts';
import { HOME, NAME, VERSION } from './version.ts';

/** Bad usage, such as a flag that does not exist (contract 1). */
const USAGE = 2;

/** What nobody foresaw, such as a proxy setting that is no address (contract 1). */
const FAILED = 1;

/** All commands with their flags. What a command does is loaded only when it runs, so that the daemon starts quickly. */
export function buildProgram(): Command {
  const program = new Command(NAME)
    .description('Prometheus exporter for the APM REST API v2 of New Relic')
    .version(`${NAME} ${VERSION}`, '--version')
    .helpOption('-h, --help')
    .addHelpText('after', `\nWithout a command it serves. Documentation: ${HOME}#readme`)
    .exitOverride()
    .showHelpAfterError('(add --help for commands and flags)');
  addServe(program);
  addCheck(program);
  addPlan(program);
  addDiscover(program);
  addMetricNames(program);
  program.addCommand(backfillCommand());
  program.addCommand(
    simulateCommand().addHelpText(
      'after',
      examples(
        'simulate',
        '--listen-address=127.0.0.1:9127',
        '--applications=200 --fault status=503,on=metric_data,times=3',
      ),
    ),
  );
  addDemo(program);
  return program;
}

/** Runs the program with the arguments after the script's name; gives the exit status of a command that has ended. */
export async function runProgram(program: Command, args: readonly string[]): Promise<number> {
  try {
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof ExitStatus) return error.status;
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE;
    process.stderr.write(`${errorText(error, args.includes('--log.level=debug'))}\n`);
    return FAILED;
  }
}

function addServe(program: Command): void {
  const command = program.command('serve', { isDefault: true }).description('run the exporter (the default)');
  addWebFlags(addCommonFlags(command))
    .option('--config.check', 'check the configuration and exit, as the command check', false)
    .addHelpText(
      'after',
      examples('serve', '--config.file=config.yaml', '--web.listen-address=127.0.0.1:9126 --log.format=json'),
    )
    .allowExcessArguments()
    .action(async (options: Record<string, unknown>) => {
      const [unknown] = command.args;
      // Without the name of a command, commander takes the word for an argument of the default one.
      if (unknown !== undefined) command.error(`error: there is no command '${unknown}'`);
      const { serve } = await import('./serve.ts');
      await serve(options);
    });
}

function addCheck(program: Command): void {
  const command = program
    .command('check')
    .description('check the configuration: every fault as file:line:column: path: message');
  addCommonFlags(command)
    .option('--web.config.file <path>', 'check this web configuration, too')
    .option('--live', "also read each account's lists: what its key can see, and whether the plan fits", false)
    .addHelpText('after', examples('check', '--config.file=config.yaml', '--live'))
    .action(async (options: CommonOptions & { 'web.config.file'?: string; live: boolean }) => {
      const { checkFiles } = await import('./serve.ts');
      const status = await checkFiles({
        configFile: options['config.file'],
        webConfigFile: options['web.config.file'],
      });
      if (status !== 0) throw new ExitStatus(status);
      if (!options.live) {
        const { sayOrigin } = await import('./live.ts');
        sayOrigin(options);
        return;
      }
      const { runCheckLive } = await import('./checkLive.ts');
      await runCheckLive(options);
    });
}

function addPlan(program: Command): void {
  const command = program
    .command('plan')
    .description('what a steady state costs in calls per minute; reads only lists');
  addCommonFlags(command)
    .addOption(format(['table', 'json']))
    .addHelpText('after', examples('plan', '--config.file=config.yaml', '--format=json'))
    .action(async (options: CommonOptions & { format: 'table' | 'json' }) => {
      const { runPlan } = await import('./plan.ts');
      await runPlan(options);
    });
}

function addDiscover(program: Command): void {
  const command = program
    .command('discover')
    .description('list applications, hosts, instances and key transactions with their ids');
  addCommonFlags(command)
    .addOption(format(['table', 'yaml', 'json']))
    .addHelpText('after', examples('discover', '', '--format=yaml   # ready for applications.include'))
    .action(async (options: CommonOptions & { format: 'table' | 'yaml' | 'json' }) => {
      const { runDiscover } = await import('./discover.ts');
      await runDiscover(options);
    });
}

function addMetricNames(program: Command): void {
  const command = program.command('metric-names').description('list the metric names of an application');
  addCommonFlags(command)
    .requiredOption('--app <id or name>', 'the application')
    .option('--name <substring>', 'only names that contain this')
    .option('--all-pages', 'read more than 20 pages, a call each', false)
    .addOption(format(['table', 'json']))
    .addHelpText(
      'after',
      examples('metric-names', '--app=1234567 --name=/allWeb', '--app="Checkout API" --format=json'),
    )
    .action(
      async (options: CommonOptions & { app: string; name?: string; allPages: boolean; format: 'table' | 'json' }) => {
        const { runMetricNames } = await import('./metricNames.ts');
        await runMetricNames(options);
      },
    );
}

function addDemo(program: Command): void {
  const command = program
    .command('demo')
    .description('the exporter and the simulator in one process: no account and no configuration needed');
  simulatorFlags(addWebFlags(addCommonFlags(command)))
    .addHelpText('after', examples('demo', '', '--web.listen-address=127.0.0.1:0 --applications=50'))
    .action(async (options: SimulatorFlags) => {
      const { demo } = await import('./demo.ts');
      const anyPort = command.getOptionValueSource('listenAddress') === 'default';
      await demo(anyPort ? { ...options, listenAddress: { ...options.listenAddress, port: 0 } } : options);
    });
}

function format(choices: readonly string[]): Option {
  return new Option('--format <format>', 'how the result is written').choices(choices).default(choices[0]);
}

function examples(command: string, ...flags: readonly string[]): string {
  return ['', 'Examples:', ...flags.map((flag) => `  ${NAME} ${command} ${flag}`.trimEnd())].join('\n');
}
