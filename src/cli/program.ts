import process from 'node:process';
import { Command, Help } from 'commander';
import { backfillCommand } from './commands/backfill.ts';
import { checkCommand } from './commands/check.ts';
import { compareCommand } from './commands/compare.ts';
import { demoCommand } from './commands/demo.ts';
import { discoverCommand } from './commands/discover.ts';
import { metricNamesCommand } from './commands/metricNames.ts';
import { planCommand } from './commands/plan.ts';
import { addServeFlags, ENVIRONMENT, serveCommand } from './commands/serve.ts';
import { simulateCommand } from './commands/simulate.ts';
import { HOME, NAME, REVISION, VERSION } from './process/version.ts';

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
  const serve = serveCommand();
  const commands = [
    serve,
    checkCommand(),
    planCommand(),
    discoverCommand(),
    metricNamesCommand(),
    backfillCommand(),
    compareCommand(),
    simulateCommand(),
    demoCommand(),
  ];
  for (const command of commands) {
    program.addCommand(command.copyInheritedSettings(program), { isDefault: command === serve });
  }
  // Commander takes a stray word for an argument of the default command, which says better what is wrong.
  serve.allowExcessArguments();
  for (const command of [program, ...commands]) {
    command
      .optionsGroup('Options:')
      .version(`${NAME} ${VERSION} (revision ${REVISION}, Node.js ${process.version})`, '--version');
  }
  return program;
}
