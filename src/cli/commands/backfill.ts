import { Command } from 'commander';
import { parseDuration } from '../../config/duration.ts';
import type { Labels } from '../../metrics/sample.ts';
import { addLabel } from '../backfill/labels.ts';
import { parseMoment } from '../backfill/moment.ts';
import { checked, collected } from '../flags/arguments.ts';
import { addCommonFlags, type CommonOptions } from '../flags/commonFlags.ts';

interface BackfillFlags extends CommonOptions {
  readonly from: string;
  readonly to?: string;
  readonly window?: number;
  readonly app?: readonly string[];
  readonly hosts: boolean;
  readonly label?: Labels;
  readonly output?: string;
  readonly force: boolean;
  readonly resume: boolean;
}

const EXAMPLES = `
Times are ISO 8601 with a zone, how long ago (7d, 1h30m), or now.

Examples:
  # The last week of every application the configuration serves
  newrelic-apm-exporter backfill --from=7d --output=week.om
  promtool tsdb create-blocks-from openmetrics week.om /var/lib/prometheus

  # One day of one application and its hosts, each minute by itself, as the series of an existing scrape job
  newrelic-apm-exporter backfill --from=2026-11-20T00:00:00Z --to=2026-11-21T00:00:00Z --app=Checkout --hosts \\
    --window=1m --label=job=newrelic-apm-exporter --label=instance=exporter:9126 --output=checkout.om

  # After an interruption, with the same flags
  newrelic-apm-exporter backfill --from=7d --output=week.om --resume`;

/** The command `backfill`. What it does is loaded when it runs. */
export function backfillCommand(): Command {
  const command = new Command('backfill')
    .description(
      'write the past of the window metrics as OpenMetrics, for promtool tsdb create-blocks-from openmetrics',
    )
    .requiredOption('--from <time>', 'begin of the range; the first sample is a minute later', readTime)
    .option('--to <time>', 'end of the range (default: the end of the newest window)', readTime)
    .option('--window <duration>', 'window of each sample, whole minutes (default: collection.window)', (text) =>
      checked(text, parseWindow),
    )
    .option('--app <id or name>', 'one application; repeatable (default: what the configuration serves)', collected)
    .option('--hosts', 'the hosts of the applications too', false)
    .option(
      '--label <name=value>',
      'a label for every series, such as job; repeatable',
      (text: string, before?: Labels) => checked(text, (label) => addLabel(label, before ?? {})),
    )
    .option('--output <file>', 'where to write (default: standard output)')
    .option('--force', 'overwrite the output, and drop what an interrupted run has left', false)
    .option('--resume', 'go on with the interrupted run of this output', false)
    .addHelpText('after', EXAMPLES);
  return addCommonFlags(command).action(async (flags: BackfillFlags) => {
    const { runBackfill } = await import('../backfill/run.ts');
    const { from, to, window, app: apps = [], hosts, label: labels = {}, output, force, resume } = flags;
    await runBackfill(flags, { from, to, window, apps, hosts, labels, output, force, resume });
  });
}

/** Checked here, resolved against the clock when the command runs; the text is what a resumed run is compared by. */
function readTime(text: string): string {
  checked(text, parseMoment);
  return text;
}

function parseWindow(text: string): number {
  const window = parseDuration(text);
  if (window === undefined || window < 60_000 || window % 60_000 !== 0) {
    throw new Error('It must be a duration of whole minutes, such as 1m or 30m.');
  }
  return window;
}
