import { Command } from 'commander';
import { checked, collected } from '../flags/arguments.ts';
import { addCommonFlags, formatFlag, type CommonOptions } from '../flags/commonFlags.ts';

interface CompareFlags extends CommonOptions {
  readonly account?: string;
  readonly accountId?: number;
  readonly app?: readonly string[];
  readonly hosts: boolean;
  readonly tolerance: number;
  readonly format: 'table' | 'json';
}

const EXAMPLES = `
It reads the same applications over the same window through REST and through NerdGraph, with the key of one account, and
tells what differs. What is expected to differ never makes it fail: docs/migrating.md says why.

Examples:
  newrelic-apm-exporter compare --account-id=1234567
  newrelic-apm-exporter compare --account=production --app="Checkout API" --hosts --format=json`;

/** The command `compare`. What it does is loaded when it runs. */
export function compareCommand(): Command {
  const command = new Command('compare')
    .description('read one account through REST and NerdGraph, and tell where they differ')
    .option('--account <name>', 'the account of the configuration (default: the only one)')
    .option('--account-id <number>', 'its number at the service, for NerdGraph (default: as configured)', (text) =>
      checked(text, parseAccountId),
    )
    .option('--app <id or name>', 'one application; repeatable (default: what the configuration serves)', collected)
    .option('--hosts', 'the hosts of the applications too: over REST a call for each', false)
    .option(
      '--tolerance <ratio>',
      'relative difference up to which values count as the same',
      (text) => checked(text, parseTolerance),
      0.01,
    )
    .addOption(formatFlag(['table', 'json']))
    .addHelpText('after', EXAMPLES);
  return addCommonFlags(command).action(async (flags: CompareFlags) => {
    const { runCompare } = await import('../compare/run.ts');
    const { account, accountId, app: apps = [], ...others } = flags;
    await runCompare({ ...others, account, accountId, apps });
  });
}

function parseAccountId(text: string): number {
  if (!/^[1-9][0-9]{0,14}$/.test(text)) throw new Error('It must be the number of an account, such as 1234567.');
  return Number(text);
}

function parseTolerance(text: string): number {
  const ratio = Number(text);
  if (!/^[0-9]*\.?[0-9]+$/.test(text) || ratio > 1) throw new Error('It must be a ratio from 0 to 1, such as 0.01.');
  return ratio;
}
