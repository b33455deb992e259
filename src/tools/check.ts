import process from 'node:process';
import { formatDiagnostic } from '../config/diagnostic.ts';
import { counted } from '../text/wording.ts';
import { openLog, readFiles, logIfFromEnvironment } from '../cli/configuration.ts';
import { UpstreamError, type FailureReason, REMEDIES } from '../api/upstreamError.ts';
import type { Diagnosis } from '../api/upstreamReader.ts';
import type { AccountStatus, TaskStatus, EntryStatus } from '../collect/serve/accountStatus.ts';
import type { AccountCollector } from '../collect/accounts/accountCollector.ts';
import { findUnmatchedExclusions } from '../collect/serve/accountWarnings.ts';
import { groupFailures, type FailureGroup } from '../collect/serve/failureGroups.ts';
import { describeEnd, type AccountConfig } from '../config/config.ts';
import { escapeUnsafe } from '../text/escaping.ts';
import { ExitStatus, UsageError, colourLines } from '../cli/process.ts';
import { describeScanned, calculateScannedMinutes } from './scannedMinutes.ts';
import { paint } from './terminal.ts';
import { pairAccounts, type CommandContext, type ReadingOptions, withLists } from './upstream/session.ts';
import type { FactsOptions } from './facts/runFacts.ts';

/** Runs the command `check`: checks the files, and with `--live` the accounts. */
export async function runCheck(
  options: FactsOptions & { readonly 'web.config.file'?: string; readonly live: boolean; readonly facts: boolean },
): Promise<void> {
  checkMisuse(options);
  const files = { configFile: options['config.file'], webConfigFile: options['web.config.file'], once: true };
  const { loaded, findings } = await readFiles(files);
  for (const { name, diagnostics, warnings } of findings) {
    // `--facts` prints only the facts.
    if (diagnostics.length === 0 && !options.facts) process.stdout.write(`${name}: ${paint('green', 'valid')}\n`);
    const asDiagnostics = warnings.map((warning) => ({ ...warning, message: `warning: ${warning.message}` }));
    for (const each of [...diagnostics, ...asDiagnostics]) process.stderr.write(`${formatDiagnostic(each)}\n`);
  }
  if (loaded === undefined || findings.some(({ diagnostics }) => diagnostics.length > 0)) throw new ExitStatus(2);
  if (options.facts) await (await import('./facts/runFacts.ts')).runFacts({ ...options, loaded });
  else if (options.live) await checkLive({ ...options, loaded });
  else logIfFromEnvironment(openLog(options).logger, loaded.path);
}

function checkMisuse({ live, facts, ...options }: Parameters<typeof runCheck>[0]): void {
  if (facts && !live) throw new UsageError('--facts needs --live: give --live, too');
  const defaults = { account: undefined, wait: undefined, output: undefined, force: false, format: 'table' } as const;
  const flags = Object.keys(defaults) as (keyof typeof defaults)[];
  const flag = flags.find((name) => options[name] !== defaults[name]);
  if (!facts && flag !== undefined) throw new UsageError(`--${flag} needs --facts: give --live --facts, too`);
}

/** Status 1 if an account cannot be read; warnings keep status 0. */
async function checkLive(options: ReadingOptions): Promise<void> {
  await withLists(options, async (session) => {
    const { config, collector, signal, print } = session;
    if (config.accounts.some(({ queries, entities }) => queries.length + entities.length > 0)) {
      await collector.refresh({ groups: new Set(['golden_metrics', 'queries']) }, Infinity, signal, true);
      signal.throwIfAborted();
    }
    // Only metric data show whether a custom metric has the configured value, so this probes one application for each.
    const collectors = collector.collectors();
    for (const account of collectors) {
      const { name } = account.context.account;
      for (const id of findCustomExamples(account)) await collector.probe(name, id, Infinity, signal);
    }
    signal.throwIfAborted();
    const entries = collector.entries().map((entry) => reportEntry(entry, collectors));
    const accounts = pairAccounts(collector).map((each) => report(...each, session));
    const all = [...entries, ...(await Promise.all(accounts))];
    print(all.map(({ text }) => `${text}\n`).join('\n'));
    if (all.some(({ failed }) => failed)) throw new ExitStatus(1);
  });
}

function findCustomExamples({ context, inventory }: AccountCollector): readonly number[] {
  const examples = context.customMetrics.map(({ template: { pattern } }) =>
    [...inventory.applications].find(([, { data }]) => data?.customNames?.some((name) => pattern.test(name))),
  );
  return [...new Set(examples.flatMap((example) => example?.[0] ?? []))];
}

/** `failed`: a part of the entry or account cannot be read. */
function renderReport(heading: string, verdict: string, lines: readonly string[], failed: boolean) {
  const shown = lines.map((line) => `\n${colourLines(escapeUnsafe(`  ${line}`), process.stdout)}`);
  const text = `${escapeUnsafe(heading)}: ${paint(failed ? 'red' : 'green', escapeUnsafe(verdict))}${shown.join('')}`;
  return { text, failed };
}

function reportEntry(status: EntryStatus, collectors: readonly AccountCollector[]) {
  const { entry, problem, reason, listed = 0, exported = 0, missingMetrics } = status;
  const entryCollectors = collectors.filter(({ list }) => list?.entry === entry);
  const warnings = renderWarnings([...status.warnings, ...findUnmatchedExclusions(entryCollectors)], missingMetrics);
  const lines = [...renderHint(reason), ...warnings];
  if (problem !== undefined)
    return renderReport(`entry ${entry}`, `the list of accounts cannot be read: ${problem}`, lines, true);
  const verdict = `${counted(listed, 'account')} visible, ${exported} exported`;
  return renderReport(`entry ${entry}`, verdict, lines, missingMetrics.length > 0);
}

const renderHint = (reason?: FailureReason): readonly string[] =>
  reason === undefined ? [] : [`hint: ${REMEDIES[reason]}`];

/** Renders warnings. Missing golden metrics that the configuration names are problems. */
function renderWarnings(warnings: readonly string[], missingMetrics: readonly string[]): readonly string[] {
  return warnings.map((text) => `${missingMetrics.includes(text) ? 'problem' : 'warning'}: ${text}`);
}

async function report(status: AccountStatus, collector: AccountCollector, { config, signal }: CommandContext) {
  const { context, schedule } = collector;
  const { account } = context;
  const { name, region, base_url } = account;
  const heading = `account ${name} (${region === undefined ? '' : `region ${region}, `}${base_url})`;
  const warnings = renderWarnings(
    [...status.warnings, ...(collector.list === undefined ? findUnmatchedExclusions([collector]) : [])],
    status.entities.flatMap(({ missingMetrics }) => missingMetrics),
  );
  const { plan } = status;
  const fits = plan.slowdown > 1 ? 'which does not fit' : 'every group keeps its interval';
  const others = [
    ...renderEntities(status),
    ...renderQueries(status),
    `plan: ${plan.callsPerMinute.toFixed(1)} of ${plan.budget} calls per minute, ${fits}`,
    ...describeScanned(calculateScannedMinutes(account, config.collection, plan)),
    ...warnEmptyQueries(status),
    ...warnings,
  ];
  const hasFailed =
    status.queries.some(({ problem }) => problem !== undefined) ||
    status.entities.some((each) => each.problem !== undefined || each.missingMetrics.length > 0 || each.failing > 0);
  if (!account.applications.read) return renderReport(heading, 'no applications are read', others, hasFailed);
  const { applications, visible, tasks } = status;
  if (!status.up || applications === undefined) {
    const list = tasks.find(({ group }) => group === 'applications');
    const refusal = list?.reason === 'forbidden' ? 'the key cannot read this account' : 'the key is refused';
    const verdict = status.refused === undefined ? 'the application list cannot be read' : refusal;
    const lines = [...renderHint(list?.reason), ...warnings];
    return renderReport(heading, `${verdict}: ${list?.problem ?? 'nothing was read'}`, lines, true);
  }
  // `renderQueries` and `renderEntities` render other failures.
  const failing = tasks.filter(
    ({ group, problem }) => problem !== undefined && !['queries', 'entities', 'golden_metrics'].includes(group),
  );
  const problems = groupFailures(failing).map(renderFailure);
  const found = await context.reader
    .diagnose(schedule.advanceWindow(), { signal, patient: true })
    .catch((error: unknown): Diagnosis => {
      if (!(error instanceof UpstreamError)) throw error;
      problems.push(error.message);
      return { facts: [], warnings: [] };
    });
  const reporting = applications.filter((application) => application.reporting).length;
  const { api, endOfLife: end } = status;
  const plain = api === 'rest' ? 'REST' : 'NerdGraph';
  const lines = [
    `interface: ${end === undefined ? plain : describeEnd(end, Date.now() / 1000)}`,
    ...found.facts.map((fact) => `account: ${fact}`),
    `applications: ${visible.applications} visible, ${applications.length} exported, ${reporting} of them reporting`,
    `key transactions: ${countKeyTransactions(account, status, failing)}`,
    ...others,
    ...found.warnings.map((warning) => `warning: ${warning}`),
    ...problems.map((problem) => `problem: ${problem}`),
  ];
  return renderReport(heading, 'the key is accepted', lines, problems.length > 0 || hasFailed);
}

/** Renders the reads with one failure as one line: an account may have thousands of such reads. */
function renderFailure({ group, problem, tasks: [first, ...others] }: FailureGroup): string {
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return `${group}${first?.application === undefined ? '' : ` of "${first.application}"${more}`}: ${problem}`;
}

function renderQueries({ queries }: AccountStatus): readonly string[] {
  return queries.map(({ name, problem, rows = 0, columns, labels, series, cut }) => {
    if (problem !== undefined) return `query ${name}: problem: ${problem}`;
    const parts = [
      counted(rows, 'row'),
      `columns ${columns.join(', ') || 'none'}`,
      `labels ${labels.join(', ') || 'none'}`,
      `${series} series, ${cut === 0 ? 'none' : `${cut} more`} left out by max_series`,
    ];
    return `query ${name}: ${parts.join('; ')}`;
  });
}

/** Warns of queries without rows or numbers: New Relic reports no error for an unknown event type or attribute. */
function warnEmptyQueries({ queries, warnings }: AccountStatus): readonly string[] {
  // Another warning already names the column.
  const isExplained = (name: string): boolean => warnings.some((text) => text.startsWith(`queries: "${name}" `));
  return queries
    .filter(({ name, problem, series }) => problem === undefined && series === 0 && !isExplained(name))
    .map(
      ({ name, rows = 0 }) =>
        `warning: query ${name}: ${rows === 0 ? 'no rows' : 'no numbers'}: check the spelling and case of the event after FROM ` +
        'and of each attribute, unless nothing happened in its window',
    );
}

function renderEntities({ entities, tasks }: AccountStatus): readonly string[] {
  return entities.flatMap((each) => {
    const { type, problem, listed = 0, exported, reporting, failing, metrics, series } = each;
    if (problem !== undefined) return [`entities ${type}: problem: ${problem}`];
    const parts = [
      `${listed} visible, ${exported} exported, ${reporting} of them reporting`,
      `metrics ${metrics.join(', ') || 'none'}`,
      counted(series, 'value'),
    ];
    const read = `entities ${type}: ${parts.join('; ')}`;
    const failed = tasks.find((task) => task.entityType === type && task.problem !== undefined);
    if (failed === undefined) return [read];
    const words = `golden metrics of ${counted(failing, 'entity', 'entities')} cannot be read: ${failed.problem}`;
    return [read, `entities ${type}: problem: ${words}`];
  });
}

function countKeyTransactions(account: AccountConfig, status: AccountStatus, failing: readonly TaskStatus[]): string {
  if (account.key_transactions === false) return 'not read';
  if (failing.some(({ group }) => group === 'key_transactions')) return 'cannot be read';
  return `${status.visible.keyTransactions} visible, ${status.keyTransactions} exported`;
}
