import process from 'node:process';
import { formatFault, type Fault } from '../config/fault.ts';
import { describeInterfaceEnd, openLog, readFiles, sayOrigin, type Findings } from './configuration.ts';
import { UpstreamError } from '../api/types.ts';
import type { Diagnosis } from '../api/reader.ts';
import type { Collector } from '../collect/collector.ts';
import type { AccountStatus, EntityStatus } from '../collect/view.ts';
import type { AccountConfig } from '../config/config.ts';
import { escapeUnsafe } from '../log/logger.ts';
import { ExitStatus } from './process.ts';
import { KEY_HINT, type ReadingOptions, withLists } from './upstream/session.ts';
import type { CommonOptions } from './flags.ts';

export interface CheckOutput {
  readonly stdout: Pick<NodeJS.WritableStream, 'write'>;
  readonly stderr: Pick<NodeJS.WritableStream, 'write'>;
}

/**
 * The command `check` without calls upstream, and the flag `--config.check`: every fault and every warning on standard
 * error as `file:line:column: path: message`, one sentence per valid file on standard output. Gives the exit status:
 * 2 when there is a fault; warnings do not change it.
 */
export function check(findings: readonly Findings[], output: CheckOutput): 0 | 2 {
  for (const { name, faults, warnings } of findings) {
    if (faults.length === 0) output.stdout.write(`${name}: valid\n`);
    for (const fault of [...faults, ...warnings.map(asWarning)]) output.stderr.write(`${formatFault(fault)}\n`);
  }
  return findings.some(({ faults }) => faults.length > 0) ? 2 : 0;
}

function asWarning(fault: Fault): Fault {
  return { ...fault, message: `warning: ${fault.message}` };
}

/** The flags of the command. */
export interface CheckOptions extends CommonOptions {
  readonly 'web.config.file'?: string;
  readonly live: boolean;
}

/** The command `check`: the files, and with `--live` the accounts too. */
export async function runCheck(options: CheckOptions): Promise<void> {
  const files = { configFile: options['config.file'], webConfigFile: options['web.config.file'], pipe: true };
  const { loaded, findings } = await readFiles(files);
  const status = check(findings, process);
  if (status !== 0 || loaded === undefined) throw new ExitStatus(2);
  if (options.live) await checkLive({ ...options, loaded });
  else sayOrigin(openLog(options).logger, loaded.origin);
}

/**
 * What each key can see, what matches nothing, and whether the plan fits. An account that is refused or cannot be read ends
 * it with status 1; warnings do not.
 */
async function checkLive(options: ReadingOptions): Promise<void> {
  await withLists(options, async ({ config, collector, signal, print }) => {
    if (config.accounts.some(({ queries }) => queries.length > 0)) {
      await collector.refreshNow({ groups: new Set(['queries']) }, Infinity, signal);
      signal.throwIfAborted();
    }
    const statuses = new Map(collector.status().map((status) => [status.name, status]));
    const reports = await Promise.all(
      config.accounts.map(async (account) => {
        const status = statuses.get(account.name);
        if (!account.applications.read && status !== undefined) return reportQueries(account, status);
        if (!isRead(status)) return unreadable(account, status);
        return report(account, status, await tried(collector, account, signal), Date.now());
      }),
    );
    print(reports.map(({ text }) => `${text}\n`).join('\n'));
    if (reports.some(({ failed }) => failed)) throw new ExitStatus(1);
  });
}

/** What is printed about one account. */
interface Report {
  readonly text: string;
  readonly failed: boolean;
}

/** The status of an account whose application list was read. */
type ReadStatus = AccountStatus & { readonly applications: NonNullable<AccountStatus['applications']> };

/** What was found beyond the lists, or why that could not be tried. */
type Tried = Diagnosis | { readonly problem: string };

const NOTHING: Diagnosis = { facts: [], warnings: [] };

/** How the interfaces are called where no end of theirs is known. */
const API_NAMES: Readonly<Record<AccountConfig['api'], string>> = { rest: 'REST', nerdgraph: 'NerdGraph' };

function isRead(status: AccountStatus | undefined): status is ReadStatus {
  return status?.up === true && status.applications !== undefined;
}

async function tried(collector: Collector, { name }: AccountConfig, signal: AbortSignal): Promise<Tried> {
  try {
    return await collector.diagnose(name, signal);
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    return { problem: error.message };
  }
}

function unreadable(account: AccountConfig, status: AccountStatus | undefined): Report {
  const list = status?.entities.find(({ group }) => group === 'applications');
  const verdict = status?.refused === undefined ? 'the application list cannot be read' : 'the key is refused';
  const lines = [
    `${placeOf(account)}: ${verdict}: ${list?.problem ?? 'nothing was read'}`,
    ...(list?.reason === 'auth' ? [`  ${KEY_HINT}`] : []),
    ...(status?.warnings ?? []).map((warning) => `  warning: ${warning}`),
  ];
  return { text: lines.map(escapeUnsafe).join('\n'), failed: true };
}

function placeOf({ name, region, base_url }: AccountConfig): string {
  return `account ${name} (${region === undefined ? '' : `region ${region}, `}${base_url})`;
}

/** What there is to say about one account at a time, Unix milliseconds. */
function report(account: AccountConfig, status: ReadStatus, found: Tried, now: number): Report {
  const failing = status.entities.filter(({ problem, query }) => problem !== undefined && query === undefined);
  const { applications, visible } = status;
  const reporting = applications.filter((application) => application.reporting).length;
  const { facts, warnings } = 'problem' in found ? NOTHING : found;
  const lines = [
    `${placeOf(account)}: the key is accepted`,
    `  interface: ${describeInterfaceEnd(account, now) ?? API_NAMES[account.api]}`,
    ...facts.map((fact) => `  account: ${fact}`),
    `  applications: ${visible.applications} visible, ${applications.length} exported, ${reporting} of them reporting`,
    `  key transactions: ${keyTransactions(account, status, failing)}`,
    ...queryLines(status),
    ...planLine(status),
    ...[...status.warnings, ...warnings].map((warning) => `  warning: ${warning}`),
    ...failing.map(({ group, application, problem }) =>
      [`  problem: ${group}`, application === undefined ? '' : ` of "${application}"`, `: ${problem}`].join(''),
    ),
    ...('problem' in found ? [`  problem: ${found.problem}`] : []),
  ];
  return {
    text: lines.map(escapeUnsafe).join('\n'),
    failed: failing.length > 0 || hasFailedQuery(status) || 'problem' in found,
  };
}

/** About an account that reads no applications. */
function reportQueries(account: AccountConfig, status: AccountStatus): Report {
  const lines = [`${placeOf(account)}: no applications are read`, ...queryLines(status), ...planLine(status)];
  const warnings = status.warnings.map((warning) => `  warning: ${warning}`);
  return { text: [...lines, ...warnings].map(escapeUnsafe).join('\n'), failed: hasFailedQuery(status) };
}

/** Each query was run once. */
function queryLines({ queries }: AccountStatus): readonly string[] {
  return queries.map(({ name, problem, rows = 0, columns, labels, series, cut }) => {
    if (problem !== undefined) return `  query ${name}: problem: ${problem}`;
    const parts = [
      `${rows} rows`,
      `columns ${columns.length === 0 ? 'none' : columns.join(', ')}`,
      `labels ${labels.length === 0 ? 'none' : labels.join(', ')}`,
      `${series} series`,
      cut === 0 ? 'not cut' : `${cut} series cut by max_series`,
    ];
    return `  query ${name}: ${parts.join('; ')}`;
  });
}

function hasFailedQuery({ queries }: AccountStatus): boolean {
  return queries.some(({ problem }) => problem !== undefined);
}

function planLine({ plan }: AccountStatus): readonly string[] {
  const fits = plan.stretch > 1 ? 'which does not fit' : 'every group keeps its interval';
  return [`  plan: ${plan.callsPerMinute.toFixed(1)} of ${plan.budget} calls per minute, ${fits}`];
}

function keyTransactions(account: AccountConfig, status: AccountStatus, failing: readonly EntityStatus[]): string {
  if (account.key_transactions === false) return 'not read';
  if (failing.some(({ group }) => group === 'key_transactions')) return 'cannot be read';
  return `${status.visible.keyTransactions} visible, ${status.keyTransactions} exported`;
}
