import { Command, CommanderError } from 'commander';
import { ExitStatus } from './exitStatus.ts';
import { simulateCommand, simulatorFlags, type SimulatorFlags } from './simulate.ts';
import { HOME, NAME, VERSION } from './version.ts';
import { addCommonFlags, addWebFlags } from './serveFlags.ts';

/** Bad usage, such as a flag that does not exist (contract 1). */
const USAGE = 2;

/**
 * All commands with their flags. What a command does is loaded only when it runs, so that the daemon starts quickly.
 */
export function buildProgram(): Command {
  const program = new Command(NAME)
    .description('Prometheus exporter for the APM REST API v2 of New Relic')
    .version(`${NAME} ${VERSION}`, '--version')
    .helpOption('-h, --help')
    .addHelpText('after', `\nWithout a command it serves. Documentation: ${HOME}#readme`)
    .exitOverride()
    .showHelpAfterError('(add --help for the flags)');

  addWebFlags(addCommonFlags(program.command('serve', { isDefault: true }).description('run the exporter (the default)')))
    .option('--config.check', 'check the configuration and exit, as the command check', false)
    .action(async (options: Record<string, unknown>) => {
      const { serve } = await import('./serve.ts');
      await serve(options);
    });
  program.addCommand(simulateCommand());
  const demoCommand = program
    .command('demo')
    .description('the exporter and the simulator in one process: no account and no configuration needed');
  simulatorFlags(addWebFlags(addCommonFlags(demoCommand))).action(async (options: SimulatorFlags) => {
    const { demo } = await import('./demo.ts');
    const anyPort = demoCommand.getOptionValueSource('listenAddress') === 'default';
    await demo(anyPort ? { ...options, listenAddress: { ...options.listenAddress, port: 0 } } : options);
  });
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
    throw error;
  }
}
