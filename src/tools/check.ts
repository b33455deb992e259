import process from 'node:process';
import { formatDiagnostic } from '../config/diagnostic.ts';
import { counted } from '../config/wording.ts';
import { describeInterfaceEnd, openLog, readFiles, logIfFromEnvironment } from '../cli/configuration.ts';
import { UpstreamError } from '../api/upstreamError.ts';
import type { Diagnosis } from '../api/upstreamReader.ts';
import type { AccountStatus, TaskStatus, EntryStatus } from '../collect/accountStatus.ts';
import type { AccountCollector } from '../collect/accountCollector.ts';
import { unmatchedExclusions } from '../collect/accountWarnings.ts';
import { REMEDIES } from '../api/remedies.ts';
import type { AccountConfig } from '../config/config.ts';
import { escapeUnsafe } from '../log/logger.ts';
import { groupFailures, type FailureGroup } from '../web/statusPage/failureTable.ts';
import { ExitStatus, printError, withColours } from '../cli/process.ts';
import { paint } from './terminal.ts';
import { type ReadingOptions, withLists } from './upstream/session.ts';
import type { FactsOptions } from './facts/runFacts.ts';

/** The command `check`: the files, and with `--live` the accounts too. */
export async function runCheck(
  options: FactsOptions & { readonly 'web.config.file'?: string; readonly live: boolean; readonly facts: boolean },
): Promise<void> {
  const misused = misuseOf(options);
  if (misused !== undefined) {
    printError(misused);
    throw new ExitStatus(2);
  }
  const files = { configFile: options['config.file'], webConfigFile: options['web.config.file'], once: true };
  const { loaded, findings } = await readFiles(files);
  for (const { name, diagnostics, warnings } of findings) {
    // With `--facts` only the rows of facts are printed.
    if (diagnostics.length === 0 && !options.facts) process.stdout.write(`${name}: ${paint('green', 'valid')}\n`);
    const asDiagnostics = warnings.map((warning) => ({ ...warning, message: `warning: ${warning.message}` }));
    for (const each of [...diagnostics, ...asDiagnostics]) process.stderr.write(`${formatDiagnostic(each)}\n`);
  }
  if (loaded === undefined || findings.some(({ diagnostics }) => diagnostics.length > 0)) throw new ExitStatus(2);
  if (options.facts) await (await import('./facts/runFacts.ts')).runFacts({ ...options, loaded });
  else if (options.live) await checkLive({ ...options, loaded });
  else logIfFromEnvironment(openLog(options).logger, loaded.path);
}

/** The error for a flag that is given without the flag that it needs; undefined without one. */
function misuseOf(options: Parameters<typeof runCheck>[0]): string | undefined {
  const { live, facts, account, wait, output, force, format } = options;
  if (facts) return live ? undefined : '--facts asks the accounts: give --live, too';
  const given = { account, wait, output, force: force || undefined, format: format === 'table' ? undefined : format };
  const [flag] = Object.entries(given).find(([, value]) => value !== undefined) ?? [];
  return flag === undefined ? undefined : `--${flag} goes with --facts: give --live --facts, too`;
}

/** The check of `--live`. An account that is refused or cannot be read ends it with status 1; a warning does not. */
async function checkLive(options: ReadingOptions): Promise<void> {
  await withLists(options, async ({ config, collector, signal, print }) => {
    if (config.accounts.some(({ queries, entities }) => queries.length + entities.length > 0)) {
      await collector.refreshNow({ groups: new Set(['golden_metrics', 'queries']) }, Infinity, signal);
      signal.throwIfAborted();
    }
    // Only metric data tell whether a custom metric has the configured values, so one application that has it is probed.
    const collectors = collector.collectors();
    for (const account of collectors) {
      const { name } = account.context.account;
      for (const id of customExamples(account)) await collector.probe(name, id, Infinity, signal);
    }
    signal.throwIfAborted();
    const statuses = new Map(collector.status().map((status) => [status.name, status]));
    const reports = await Promise.all(
      collectors.map((each) => report(each, statuses.get(each.context.account.name), signal)),
    );
    const all = [...collector.entries().map((entry) => reportEntry(entry, collectors)), ...reports];
    print(all.map(({ text }) => `${text}\n`).join('\n'));
    if (all.some(({ failed }) => failed)) throw new ExitStatus(1);
  });
}

/**
 * For each custom metric, the id of one application that has it: the data of that application show whether New Relic has the
 * configured value.
 */
function customExamples({ context, inventory }: AccountCollector): readonly number[] {
  const examples = context.customMetrics.flatMap(({ template }) => {
    const having = [...inventory.applications].find(([, { data }]) =>
      data?.customNames?.some((name) => template.pattern.test(name)),
    );
    return having === undefined ? [] : [having[0]];
  });
  return [...new Set(examples)];
}

/** Names of the interfaces in messages, used where an interface has no known end. */
const API_NAMES: Readonly<Record<AccountConfig['api'], string>> = { rest: 'REST', nerdgraph: 'NerdGraph' };

/** The text printed about one account; `failed` is true when a part of it cannot be read. */
interface AccountReport {
  readonly text: string;
  readonly failed: boolean;
}

/** An entry with `account_ids`: its list, and what no account of it has. */
function reportEntry(status: EntryStatus, collectors: readonly AccountCollector[]): AccountReport {
  const { entry, problem, reason, listed = 0, exported = 0, warnings, missingMetrics } = status;
  const ofEntry = collectors.filter(({ list }) => list?.entry === entry);
  const verdict =
    problem === undefined
      ? `${counted(listed, 'account')} visible, ${exported} exported`
      : `the list of accounts cannot be read: ${problem}`;
  const lines = [
    ...(reason === undefined ? [] : [`hint: ${REMEDIES[reason]}`]),
    ...[...warnings, ...unmatchedExclusions(ofEntry)].map(
      (text) => `${missingMetrics.includes(text) ? 'problem' : 'warning'}: ${text}`,
    ),
  ];
  return {
    text: [`entry ${entry}: ${verdict}`, ...lines.map((line) => `  ${line}`)].map(escapeUnsafe).join('\n'),
    failed: problem !== undefined || missingMetrics.length > 0,
  };
}

async function report(
  collector: AccountCollector,
  status: AccountStatus | undefined,
  signal: AbortSignal,
): Promise<AccountReport> {
  const { context, schedule, limiter } = collector;
  const { account } = context;
  const { name, region, base_url } = account;
  const target = `account ${name} (${region === undefined ? '' : `region ${region}, `}${base_url})`;
  const reported = (verdict: string, lines: readonly string[], failed: boolean): AccountReport => ({
    text: [
      `${escapeUnsafe(target)}: ${paint(failed ? 'red' : 'green', escapeUnsafe(verdict))}`,
      ...lines.map((line) => withColours(escapeUnsafe(`  ${line}`), process.stdout)),
    ].join('\n'),
    failed,
  });
  const missing = new Set(status?.entities.flatMap(({ missingMetrics }) => missingMetrics));
  const warnings = [
    ...(status?.warnings ?? []),
    ...(collector.list === undefined ? unmatchedExclusions([collector]) : []),
  ].map((text) => `${missing.has(text) ? 'problem' : 'warning'}: ${text}`);
  const others = status === undefined ? [] : [...entityLines(status), ...queryLines(status), planLine(status)];
  others.push(...emptyQueries(status?.queries ?? []), ...warnings);
  const hasFailed = status?.queries.some(({ problem }) => problem !== undefined) === true || hasFailedType(status);
  if (status !== undefined && !account.applications.read) {
    return reported('no applications are read', others, hasFailed);
  }
  if (status?.up !== true || status.applications === undefined) {
    const list = status?.tasks.find(({ group }) => group === 'applications');
    const refusal = list?.reason === 'forbidden' ? 'the key cannot read this account' : 'the key is refused';
    const verdict = status?.refused === undefined ? 'the application list cannot be read' : refusal;
    const lines = [...(list?.reason === undefined ? [] : [`hint: ${REMEDIES[list.reason]}`]), ...warnings];
    return reported(`${verdict}: ${list?.problem ?? 'nothing was read'}`, lines, true);
  }
  // Queries and entities have lines of their own.
  const failing = status.tasks.filter(
    ({ group, problem }) => problem !== undefined && !['queries', 'entities', 'golden_metrics'].includes(group),
  );
  const { applications, visible } = status;
  const reporting = applications.filter((application) => application.reporting).length;
  const found = await context.reader
    .diagnose(schedule.advanceWindow(), { signal, limiter, patient: true })
    .catch((error: unknown): Diagnosis & { readonly problem: string } => {
      if (!(error instanceof UpstreamError)) throw error;
      return { facts: [], warnings: [], problem: error.message };
    });
  const problems = [...groupFailures(failing).map(failureLine), ...('problem' in found ? [found.problem] : [])];
  const lines = [
    `interface: ${describeInterfaceEnd(account, Date.now()) ?? API_NAMES[account.api]}`,
    ...found.facts.map((fact) => `account: ${fact}`),
    `applications: ${visible.applications} visible, ${applications.length} exported, ${reporting} of them reporting`,
    `key transactions: ${keyTransactions(account, status, failing)}`,
    ...others,
    ...found.warnings.map((warning) => `warning: ${warning}`),
    ...problems.map((problem) => `problem: ${problem}`),
  ];
  return reported('the key is accepted', lines, problems.length > 0 || hasFailed);
}

/** Reads that fail for one reason: an account may have thousands of them. */
function failureLine({ group, problem, tasks: [first, ...others] }: FailureGroup): string {
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return `${group}${first?.application === undefined ? '' : ` of "${first.application}"${more}`}: ${problem}`;
}

/** One line per query; each was run once. */
function queryLines({ queries }: AccountStatus): readonly string[] {
  return queries.map(({ name, problem, rows = 0, columns, labels, series, cut }) => {
    if (problem !== undefined) return `query ${name}: problem: ${problem}`;
    const parts = [
      counted(rows, 'row'),
      `columns ${columns.length === 0 ? 'none' : columns.join(', ')}`,
      `labels ${labels.length === 0 ? 'none' : labels.join(', ')}`,
      `${series} series, ${cut === 0 ? 'none' : `${cut} more`} left out by max_series`,
    ];
    return `query ${name}: ${parts.join('; ')}`;
  });
}

/** Warnings for queries without rows or numbers, because New Relic reports no error for an unknown event type or attribute. */
function emptyQueries(queries: AccountStatus['queries']): readonly string[] {
  return queries.flatMap(({ name, problem, rows = 0, series }) =>
    problem !== undefined || series > 0
      ? []
      : [
          `warning: query ${name}: ${rows === 0 ? 'no rows' : 'no numbers'}: look whether the event after FROM and each attribute ` +
            'are spelt as New Relic has them (case counts), unless nothing happened in its window',
        ],
  );
}

/** One line per type of entities, each of which was read once, and one per problem. */
function entityLines({ entities, tasks }: AccountStatus): readonly string[] {
  return entities.flatMap((each) => {
    const { type, problem, listed = 0, exported, reporting, failing, metrics, series } = each;
    if (problem !== undefined) return [`entities ${type}: problem: ${problem}`];
    const parts = [`${listed} visible, ${exported} exported, ${reporting} of them reporting`];
    parts.push(`metrics ${metrics.length === 0 ? 'none' : metrics.join(', ')}`, counted(series, 'value'));
    const read = `entities ${type}: ${parts.join('; ')}`;
    const failed = tasks.find((task) => task.entityType === type && task.problem !== undefined);
    if (failed === undefined) return [read];
    const words = `golden metrics of ${counted(failing, 'entity', 'entities')} cannot be read: ${failed.problem}`;
    return [read, `entities ${type}: problem: ${words}`];
  });
}

/** True when a list of entities or golden metrics cannot be read, or a named golden metric does not exist. */
function hasFailedType(status: AccountStatus | undefined): boolean {
  return (status?.entities ?? []).some(
    ({ problem, missingMetrics, failing }) => problem !== undefined || missingMetrics.length > 0 || failing > 0,
  );
}

function planLine({ plan }: AccountStatus): string {
  const fits = plan.slowdown > 1 ? 'which does not fit' : 'every group keeps its interval';
  return `plan: ${plan.callsPerMinute.toFixed(1)} of ${plan.budget} calls per minute, ${fits}`;
}

function keyTransactions(account: AccountConfig, status: AccountStatus, failing: readonly TaskStatus[]): string {
  if (account.key_transactions === false) return 'not read';
  if (failing.some(({ group }) => group === 'key_transactions')) return 'cannot be read';
  return `${status.visible.keyTransactions} visible, ${status.keyTransactions} exported`;
}
