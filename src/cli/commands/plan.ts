import { Command } from 'commander';
import { addCommonFlags, formatFlag, type CommonOptions } from '../flags/commonFlags.ts';
import { examples } from './examples.ts';

/** The command `plan`. What it does is loaded when it runs. */
export function planCommand(): Command {
  const command = new Command('plan').description('what a steady state costs in calls per minute; reads only lists');
  return addCommonFlags(command)
    .addOption(formatFlag(['table', 'json']))
    .addHelpText('after', examples('plan', '--config.file=config.yaml', '--format=json'))
    .action(async (options: CommonOptions & { format: 'table' | 'json' }) => {
      const { runPlan } = await import('../plan.ts');
      await runPlan(options);
    });
}
