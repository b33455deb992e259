import { Command } from 'commander';
import type { DiscoverOptions } from '../discover/discover.ts';
import { checked, collected, parseId } from '../flags/arguments.ts';
import { addCommonFlags, formatFlag } from '../flags/commonFlags.ts';
import { examples } from './examples.ts';

/** The command `discover`. What it does is loaded when it runs. */
export function discoverCommand(): Command {
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
      const { runDiscover } = await import('../discover/discover.ts');
      await runDiscover(options);
    });
}
