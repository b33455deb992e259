import { Secrets } from '../../log/secrets.ts';
import { join } from 'node:path';
import process from 'node:process';
import type { AlertSettings } from '../../api/alerts.ts';
import { accountThrough } from '../../config/config.ts';
import { globMatches } from '../../config/match.ts';
import { readQueries } from '../../config/queries.ts';
import { PACKS } from '../../config/schema/query.ts';
import type { CommonOptions } from '../../cli/flags.ts';
import { checkOutput } from '../outputFiles.ts';
import { UsageError } from '../../cli/process.ts';
import { jsonText, lineLength, table, wrapped } from '../terminal.ts';
import { unreadable } from '../upstream/readForCommand.ts';
import { theAccount, withAccounts } from '../upstream/session.ts';
import { type Conversion, convert, costWords } from './convert.ts';
import { FILE_NAMES, fileTexts, writeAll } from './files.ts';

interface AlertRulesOptions extends CommonOptions {
  readonly account?: string;
  readonly output: string;
  /** A glob for the names of the policies to convert; undefined: all. */
  readonly policy?: string;
  /** True to convert disabled conditions, too. */
  readonly disabled: boolean;
  readonly force: boolean;
  readonly format: 'table' | 'json';
}

/** The command `alert-rules`: writes the alert conditions of an account as queries and rules, and reports on each. */
export async function runAlertRules(options: AlertRulesOptions): Promise<void> {
  await withAccounts(
    options,
    async ({ accounts: [account], print, mask }) => {
      if (account?.reader.alertSettings === undefined) throw new Error('there is no account to read');
      const { config } = account;
      const found = await account.reader.alertSettings(account.call).catch((error: unknown) => {
        throw unreadable(account, 'the alert conditions', error);
      });
      const settings = cleaned(choosePolicies(found, options.policy), mask);
      const conversion = convert(
        settings,
        { name: config.name, labels: config.labels, id: settings.accountId },
        {
          withDisabled: options.disabled,
          takenQueries: packQueries(),
          requestsPerMinute: config.limits.requests_per_minute,
        },
      );
      const texts = [...fileTexts(conversion, config.name)].map(([name, text]) => [name, mask(text)] as const);
      writeAll(options.output, new Map(texts));
      process.stderr.write(`wrote ${FILE_NAMES.join(', ')} in ${options.output}\n`);
      const { cost, report } = conversion;
      const document = { cost, account: config.name, conditions: report };
      print(options.format === 'json' ? jsonText(document) : tableReport(conversion));
    },
    (config) => {
      const { output, force } = options;
      const account = theAccount(config);
      if (output === '') throw new UsageError('--output: the name of the folder is missing');
      checkOutput(
        FILE_NAMES.map((name) => join(output, name)),
        { force, makesFolder: true },
      );
      return { ...config, accounts: [accountThrough('nerdgraph', account)] };
    },
  );
}

/** The settings reduced to the chosen policies. Throws a UsageError when there is none. */
function choosePolicies(settings: AlertSettings, pattern: string | undefined): AlertSettings {
  if (pattern === undefined) return settings;
  const policies = settings.policies.filter(({ name }) => globMatches(pattern, name));
  if (policies.length === 0) throw new UsageError(`--policy: no policy has a name like "${pattern}"`);
  return { ...settings, policies };
}

/** The settings with keys masked in every text, and without unpaired surrogates, which no file can hold. */
function cleaned(settings: AlertSettings, mask: (text: string) => string): AlertSettings {
  const clean = (_: string, value: unknown): unknown =>
    typeof value === 'string' ? mask(Buffer.from(value).toString()) : value;
  return JSON.parse(JSON.stringify(settings), clean) as AlertSettings;
}

/** The names of the queries in the shipped packs, because an account may run them beside the converted ones. */
function packQueries(): readonly string[] {
  const { further } = readQueries({ accounts: [{ account_id: 1, query_packs: PACKS }] }, '.', new Secrets());
  return further.flat().map(({ name }) => name);
}

/** The rows of the report, each with its notes below it. */
function tableReport({ report, cost }: Conversion): string {
  const width = lineLength();
  const rows = report.map((row) => [row.mapped ? 'mapped' : 'not mapped', row.policy, row.name, row.kind]);
  const [heading = '', ...lines] = table([['RESULT', 'POLICY', 'NAME', 'KIND'], ...rows], width).split('\n');
  const indented = (note: string): string => `  ${wrapped(note, width - 2).replaceAll('\n', '\n  ')}`;
  const mapped = report.filter((row) => row.mapped).length;
  return [
    ...costWords(cost).map((sentence) => wrapped(sentence, width)),
    '',
    heading,
    ...report.flatMap(({ notes }, index) => [lines[index] ?? '', ...notes.map(indented)]),
    '',
    `${mapped} mapped, ${report.length - mapped} not mapped`,
    '',
  ].join('\n');
}
