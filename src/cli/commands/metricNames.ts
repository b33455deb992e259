import { Command } from 'commander';
import { addCommonFlags, formatFlag } from '../flags/commonFlags.ts';
import type { MetricNamesOptions } from '../metricNames/metricNames.ts';
import { examples } from './examples.ts';

/** The command `metric-names`. What it does is loaded when it runs. */
export function metricNamesCommand(): Command {
  const command = new Command('metric-names').description('list the metric names of an application');
  return addCommonFlags(command)
    .requiredOption('--app <id or name>', 'the application')
    .option('--host <id or name>', 'the names of this host of it')
    .option('--name <substring>', 'only names that contain this')
    .option('--all-pages', 'read all pages, a call each', true)
    .option('--no-all-pages', 'stop after 20 pages')
    .addOption(formatFlag(['table', 'json']))
    .addHelpText(
      'after',
      examples('metric-names', '--app=1234567 --name=/allWeb', '--app="Checkout API" --host=web-1 --format=json'),
    )
    .action(async (options: MetricNamesOptions) => {
      const { runMetricNames } = await import('../metricNames/metricNames.ts');
      await runMetricNames(options);
    });
}
