import process from 'node:process';
import { Command } from 'commander';
import { addCommonFlags, type CommonOptions } from '../flags/commonFlags.ts';
import { ExitStatus } from '../process/exitStatus.ts';
import { examples } from './examples.ts';

/** The command `check`. What it does is loaded when it runs. */
export function checkCommand(): Command {
  const command = new Command('check').description(
    'check the configuration: every fault as file:line:column: path: message',
  );
  return addCommonFlags(command)
    .option('--web.config.file <path>', 'check this web configuration, too')
    .option('--live', "also read each account's lists: what its key can see, and whether the plan fits", false)
    .addHelpText('after', examples('check', '--config.file=config.yaml', '--live'))
    .action(async (options: CommonOptions & { 'web.config.file'?: string; live: boolean }) => {
      const [{ readFiles }, { check }] = await Promise.all([import('../configuration.ts'), import('../check.ts')]);
      const { findings } = await readFiles({
        configFile: options['config.file'],
        webConfigFile: options['web.config.file'],
      });
      const status = check(findings, process);
      if (status !== 0) throw new ExitStatus(status);
      if (!options.live) {
        const { sayOrigin } = await import('../upstream/command.ts');
        sayOrigin(options);
        return;
      }
      const { runCheckLive } = await import('../checkLive.ts');
      await runCheckLive(options);
    });
}
