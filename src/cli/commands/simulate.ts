import { Command } from 'commander';
import { addSimulatorFlags, simulatorOptions, type SimulatorFlags } from '../flags/simulatorFlags.ts';
import type { SimulatorOptions } from '../../simulator/simulator.ts';
import { examples } from './examples.ts';

/** The command `simulate`. A wrong flag is a CommanderError, a start that failed an ExitStatus. */
export function simulateCommand(): Command {
  const command = new Command('simulate')
    .description(
      'an embedded, deterministic implementation of the upstream service, for demos, tests and rehearsals of failures',
    )
    .exitOverride();
  return addSimulatorFlags(command)
    .addHelpText(
      'after',
      examples(
        'simulate',
        '--listen-address=127.0.0.1:9127',
        '--applications=200 --fault status=503,on=metric_data,times=3',
      ),
    )
    .action(async (flags: SimulatorFlags) => {
      const options = readOptions(command, flags);
      const { simulate } = await import('../simulate.ts');
      await simulate(options, flags);
    });
}

function readOptions(command: Command, flags: SimulatorFlags): SimulatorOptions {
  try {
    return simulatorOptions(flags);
  } catch (error) {
    return command.error(`error: ${error instanceof Error ? error.message : String(error)}`);
  }
}
