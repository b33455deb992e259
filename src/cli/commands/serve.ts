import { Command } from 'commander';
import { suggest } from '../../config/suggest.ts';
import { addCommonFlags, type LogOptions } from '../flags/commonFlags.ts';
import { addWebFlags } from '../flags/serveFlags.ts';
import { collectGarbageEarly } from '../process/garbage.ts';
import { examples } from './examples.ts';

/** Said where the flags of the daemon are. */
export const ENVIRONMENT = `
Without a configuration file it reads one account, from the environment:
  NEW_RELIC_API_KEY     its key; or NEW_RELIC_API_KEY_FILE, a file that holds it
  NEW_RELIC_REGION      us (the default), eu, gov or jp
  NEW_RELIC_API         rest (the default) or nerdgraph
  NEW_RELIC_ACCOUNT_ID  the account to read with nerdgraph, where the key sees several`;

/** Adds the flags of `serve`, which the help of the program lists too. */
export function addServeFlags(command: Command): Command {
  return addWebFlags(addCommonFlags(command)).option(
    '--config.check',
    'check the configuration and exit, as the command check',
    false,
  );
}

/** The command `serve`. What it does is loaded when it runs. */
export function serveCommand(): Command {
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
      const { serve } = await import('../serve.ts');
      await serve(options);
    });
}
