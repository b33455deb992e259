import { Argument, Command, Option } from 'commander';
import {
  addColorFlag,
  addCommonFlags,
  addLogFlags,
  addWebFlags,
  parseValidDuration,
  renderExamples,
  createFormatFlag,
  parseWith,
  collectWith,
  parseWholeNumber,
} from '../cli/flags.ts';
import { renderCommandLine } from '../cli/typed.ts';
import { APIS } from '../api/upstreamReader.ts';
import { REGIONS } from '../config/interfaces.ts';
import { addSimulatorFlags, parseRatio } from './simulatorFlags.ts';
import type { Labels } from '../metrics/family.ts';
import { addLabel, parseMoment } from './backfill/backfillFlags.ts';
import { DAY_MS, MINUTE_MS } from '../formulas/units.ts';

/** Returns all commands except the daemon, with their flags. A command loads its code when it runs. */
export function toolCommands(): readonly Command[] {
  return [
    defineTool(
      createReadingCommand('check'),
      'check the configuration: every fault as file:line:column: path: message',
      async () => (await import('./check.ts')).runCheck,
      [
        '--config.file=config.yaml',
        '--live',
        '--live --facts --output=facts.json   # undocumented behaviour of New Relic',
      ],
    )
      .option('--web.config.file <path>', 'check this web configuration, too')
      .option('--live', "also read each account's lists: show what its key sees, and whether the plan fits", false)
      .option('--facts', 'with --live: check undocumented behaviour of New Relic on each account: docs/facts.md', false)
      .option('--account <name>', 'with --facts: only this account')
      .option('--wait <duration>', 'with --facts: watch late data arrive, at most 30m', parseWait)
      .option('--output <file>', 'with --facts: also write a file to share, without names')
      .option('--force', 'with --facts: replace the file of --output', false)
      .addOption(createFormatFlag(['table', 'json'])),
    defineTool(
      createReadingCommand('plan'),
      'show what a steady state costs in calls per minute; reads only lists',
      async () => (await import('./plan.ts')).runPlan,
      ['--config.file=config.yaml', '--format=json'],
    ).addOption(createFormatFlag(['table', 'json'])),
    defineTool(
      createReadingCommand('discover'),
      'list applications, hosts, instances and key transactions with their ids',
      async () => (await import('./discover.ts')).runDiscover,
      ['', '--format=yaml   # ready for applications.include', '--app=1234567 --format=json'],
    )
      .addOption(createAccountFlag('all of them'))
      .option('--app <id or name>', 'only this application; repeatable', collectWith(String))
      .option('--key-transaction <id>', 'only this key transaction; repeatable', collectWith(parseId))
      .addOption(new Option('--entities [type]', ABOUT_ENTITIES).conflicts(['app', 'keyTransaction']))
      .addOption(
        new Option('--accounts', ABOUT_ACCOUNTS).default(false).conflicts(['app', 'keyTransaction', 'entities']),
      )
      .addOption(createFormatFlag(['table', 'yaml', 'json'])),
    defineTool(
      createReadingCommand('metric-names'),
      'list the metric names of an application',
      async () => (await import('./metricNames.ts')).runMetricNames,
      ['--app=1234567 --name=/allWeb', '--app="Checkout API" --host=web-1 --format=json'],
    )
      .option('--app <id or name>', 'the application (required)')
      .addOption(createAccountFlag('the one that has the application'))
      .option('--host <id or name>', 'the names of this host of the application')
      .option('--name <substring>', 'only names that contain this')
      .addOption(createFormatFlag(['table', 'json'])),
    defineTool(
      createReadingCommand('query'),
      'run one NRQL query as the exporter would, and print its rows or the configuration to paste',
      async () => (await import('./tryQuery.ts')).tryQuery,
      [
        '"SELECT count(*) AS orders FROM Transaction FACET appName"',
        '"SELECT count(*) AS orders FROM Transaction FACET appName" --format=yaml   # ready for queries',
        '--name=alert_events/open --format=metrics',
      ],
    )
      .argument('[nrql]', 'the query, without SINCE, UNTIL and LIMIT')
      .option('--name <query>', 'a query of the configuration instead of a text')
      .addOption(createAccountFlag('the only one, or the only one with the query'))
      .option('--window <duration>', 'time range of the query, whole minutes', parseWindow)
      .option('--delay <duration>', 'the range ends this long ago (default: as configured)', parseDelay)
      .addOption(createFormatFlag(['table', 'json', 'yaml', 'metrics'])),
    defineBackfill(),
    defineTool(
      createReadingCommand('compare'),
      'read one account through REST and NerdGraph, and report differences',
      async () => (await import('./compare/compare.ts')).runCompare,
      COMPARE_EXAMPLES,
    )
      .addOption(createAccountFlag('the only one'))
      .option('--account-id <number>', 'its number at New Relic, for NerdGraph (default: as configured)', parseId)
      .addOption(createAppFlag())
      .option('--hosts', 'the hosts of the applications too: over REST a call for each', false)
      .option('--all', 'print every family, even without differences', false)
      .option('--tolerance <ratio>', 'relative difference up to which values count as equal', parseRatio, 0.01)
      .addOption(createFormatFlag(['table', 'json'])),
    addSimulatorFlags(
      defineTool(
        addColorFlag(new Command('simulate')),
        'run a deterministic simulator of New Relic, for demos, tests and rehearsals of failures',
        async () => (await import('./simulate.ts')).simulate,
        ['--listen-address=127.0.0.1:9127', '--applications=200 --fault status=503,on=metric_data,times=3'],
      ),
    ),
    defineDemo(),
    defineTool(
      addLogFlags(new Command('init')),
      'read what the key in NEW_RELIC_API_KEY sees, and write a first configuration',
      async () => (await import('./init.ts')).runInit,
      ['', '--region=eu --api-key-file=/run/secrets/new_relic_api_key --output=eu.yaml'],
    )
      .option('--api-key-file <file>', 'file that holds the key, instead of NEW_RELIC_API_KEY')
      .addOption(new Option('--region <region>', 'region (default: NEW_RELIC_REGION, or us)').choices(REGIONS))
      .addOption(new Option('--api <api>', 'interface (default: NEW_RELIC_API, or nerdgraph)').choices(APIS))
      .option('--base-url <url>', 'address of the interface instead of a region, as base_url of the configuration')
      .option('--output <file>', 'where to write', 'config.yaml')
      .option('--force', 'replace the file of --output', false),
    defineTool(
      addColorFlag(new Command('completion')),
      'print a script that completes commands, flags and their values in a shell',
      async () => (await import('./completion.ts')).printCompletion,
      ['bash   # for source <(...)', 'zsh', 'fish'],
    ).addArgument(new Argument('<shell>', 'the shell that reads the script').choices(['bash', 'zsh', 'fish'])),
  ];
}

const ABOUT_ENTITIES = 'types of entities, or the entities of one type with their golden metrics';
const ABOUT_ACCOUNTS =
  'the accounts that the keys of entries with account_ids list; yaml is ready for include_accounts';

const createReadingCommand = (name: string): Command => addCommonFlags(new Command(name));

/** Defines a command that loads its code when it runs. `help` is the text after the flags, or the flags of examples. */
function defineTool(
  command: Command,
  description: string,
  load: () => Promise<(...args: never[]) => Promise<void> | void>,
  help: string | readonly string[],
): Command {
  return command
    .description(description)
    .addHelpText('after', typeof help === 'string' ? help : renderExamples(command.name(), ...help))
    .action(async (...args: readonly unknown[]) => {
      // Commander has no types for the values of flags.
      const run = (await load()) as (...args: readonly unknown[]) => Promise<void> | void;
      await run(...args);
    });
}

/** `otherwise` describes the accounts that the command reads without the flag. */
function createAccountFlag(otherwise: string): Option {
  const what = 'the account to read, by name or id, or an entry for all of its accounts';
  return new Option('--account <name>', `${what} (default: ${otherwise})`);
}

function createAppFlag(): Option {
  return new Option('--app <id or name>', 'one application; repeatable')
    .argParser(collectWith(String))
    .default([], 'what the configuration serves');
}

const BACKFILL_EXAMPLES = `
Times are ISO 8601 with a zone, how long ago (7d, 1h30m), or now.

Examples:
  # The last week of every application the configuration serves, as the series of the scrape job, but for the hours that
  # Prometheus still has in its head block
  ${renderCommandLine('backfill', '--from=7d --to=3h --label=job=newrelic-apm-exporter --label=instance=exporter:9126 --output=week.om')}
  promtool tsdb create-blocks-from openmetrics week.om blocks && cp -r blocks/. /var/lib/prometheus/

  # One application and its hosts, a sample for each minute alone
  ${renderCommandLine('backfill', '--from=1d --to=3h --app=Checkout --hosts --window=1m --output=checkout.om')}

  # After an interruption, with the same flags
  ${renderCommandLine('backfill', '--from=7d --to=3h --label=job=newrelic-apm-exporter --label=instance=exporter:9126 --output=week.om --resume')}`;

function defineBackfill(): Command {
  const label = new Option('--label <name=value>', 'a label for every series, such as job; repeatable')
    .argParser((text: string, before: Labels) => parseWith((one) => addLabel(one, before))(text))
    .default({}, 'none');
  return defineTool(
    createReadingCommand('backfill'),
    'write the history of the window metrics as OpenMetrics, for promtool tsdb create-blocks-from openmetrics',
    async () => (await import('./backfill/backfill.ts')).runBackfill,
    BACKFILL_EXAMPLES,
  )
    .option('--from <time>', 'begin of the range (required); the first sample is a minute later', checkTime)
    .option('--to <time>', 'end of the range (default: the end of the newest window)', checkTime)
    .option('--window <duration>', 'window of each sample, whole minutes (default: collection.window)', parseWindow)
    .addOption(createAccountFlag('all of them'))
    .addOption(createAppFlag())
    .option('--hosts', 'the hosts of the applications too', false)
    .addOption(label)
    .option('--output <file>', 'where to write (default: standard output)')
    .option('--force', 'overwrite the output, and delete the data of an interrupted run', false)
    .option('--resume', 'continue the interrupted run of this output', false);
}

/** The command resolves the time against its own clock, and a resumed run compares the text. */
const checkTime = parseWith((text) => {
  parseMoment(text, 0);
  return text;
});

const parseId = parseWholeNumber(1);
const parseWait = parseValidDuration('such as 10m, at most 30m', (wait) => wait > 0 && wait <= 1_800_000);
const areMinutes = (most: number) => (ms: number) => ms > 0 && ms <= most && ms % MINUTE_MS === 0;
const parseWindow = parseValidDuration('of whole minutes, such as 1m or 30m, at most 366d', areMinutes(366 * DAY_MS));
const parseDelay = parseValidDuration('of whole minutes, such as 10m or 4h, at most 24h', areMinutes(DAY_MS));

const COMPARE_EXAMPLES = `
It reads the same applications over the same window through REST and through NerdGraph, with the key of one account, and
reports differences. Expected differences never make it fail: docs/migrating.md explains them.

Examples:
  ${renderCommandLine('compare', '--account-id=1234567')}
  ${renderCommandLine('compare', '--account=production --app="Checkout API" --hosts --format=json')}`;

function defineDemo(): Command {
  const command = defineTool(
    new Command('demo'),
    'run the exporter and the simulator in one process: needs no account and no configuration',
    async () => (await import('./demo.ts')).demo,
    ['', '--web.listen-address=127.0.0.1:0 --applications=50'],
  );
  const aboutFile = 'take the part "collection" of this configuration file (default: none, not even config.yaml)';
  addWebFlags(addCommonFlags(command.optionsGroup('Exporter:'), aboutFile));
  const address = { host: '127.0.0.1', port: 0, text: 'a free port of 127.0.0.1' };
  return addSimulatorFlags(command.optionsGroup('Simulated New Relic:'), address);
}
