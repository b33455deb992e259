import { Command } from 'commander';
import { addCommonFlags, type LogOptions } from '../flags/commonFlags.ts';
import { addWebFlags } from '../flags/serveFlags.ts';
import { addSimulatorFlags, type SimulatorFlags } from '../flags/simulatorFlags.ts';
import { collectGarbageEarly } from '../process/garbage.ts';
import { examples } from './examples.ts';

/** The command `demo`. What it does is loaded when it runs. */
export function demoCommand(): Command {
  const command = new Command('demo').description(
    'the exporter and the simulator in one process: no account and no configuration needed',
  );
  addWebFlags(
    addCommonFlags(
      command.optionsGroup('Exporter:'),
      'take the part "collection" of this configuration file (default: none, config.yaml is not looked at)',
    ),
  );
  addSimulatorFlags(command.optionsGroup('Simulated upstream:'), {
    host: '127.0.0.1',
    port: 0,
    text: 'a free port of 127.0.0.1',
  });
  return command
    .addHelpText('after', examples('demo', '', '--web.listen-address=127.0.0.1:0 --applications=50'))
    .action(async (options: SimulatorFlags & LogOptions) => {
      collectGarbageEarly();
      const { demo } = await import('../demo.ts');
      await demo(options);
    });
}
