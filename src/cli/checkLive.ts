import process from 'node:process';
import type { AccountStatus, EntityStatus } from '../collect/view.ts';
import type { AccountConfig } from '../config/config.ts';
import { endOfLife } from '../config/endOfLife.ts';
import { escapeUnsafe } from '../log/logfmt.ts';
import { ExitStatus } from './process/exitStatus.ts';
import { readLists } from './upstream/listReading.ts';
import type { CommonOptions } from './flags/commonFlags.ts';

/**
 * The command `check --live`, after the files were found valid: what each key can see, what matches nothing, and whether
 * the plan fits. An account that is refused or cannot be read ends it with status 1; warnings do not.
 */
export async function runCheckLive(options: CommonOptions): Promise<void> {
  const { config, collector } = await readLists(options);
  const reports = collector.status().map((status) => {
    const account = config.accounts.find(({ name }) => name === status.name);
    return account === undefined ? { text: '', failed: false } : report(account, status, Date.now());
  });
  process.stdout.write(reports.map(({ text }) => `${text}\n`).join('\n'));
  if (reports.some(({ failed }) => failed)) throw new ExitStatus(1);
}

/** What there is to say about one account at a time, Unix milliseconds. */
export function report(account: AccountConfig, status: AccountStatus, now: number): { text: string; failed: boolean } {
  const region = account.region === undefined ? '' : `region ${account.region}, `;
  const where = `account ${account.name} (${region}${account.base_url})`;
  const failing = status.entities.filter(({ problem }) => problem !== undefined);
  const list = failing.find(({ group }) => group === 'applications');
  if (list !== undefined || status.applications === undefined) {
    const problem = list?.problem ?? 'nothing was read';
    const verdict = status.refused === undefined ? 'the application list cannot be read' : 'the key is refused';
    return { text: escapeUnsafe(`${where}: ${verdict}: ${problem}`), failed: true };
  }
  const { applications, visible, plan } = status;
  const reporting = applications.filter((application) => application.reporting).length;
  const lines = [
    `${where}: the key is accepted`,
    ...interfaceEnd(account, now),
    `  applications: ${visible.applications} visible, ${applications.length} exported, ${reporting} of them reporting`,
    `  key transactions: ${keyTransactions(account, status, failing)}`,
    `  plan: ${plan.callsPerMinute.toFixed(1)} of ${plan.budget} calls per minute, ` +
      (plan.stretch > 1 ? 'which does not fit' : 'every group keeps its interval'),
    ...status.warnings.map((warning) => `  warning: ${warning}`),
    ...failing.map(({ group, application, problem }) =>
      [`  problem: ${group}`, application === undefined ? '' : ` of "${application}"`, `: ${problem}`].join(''),
    ),
  ];
  return { text: lines.map(escapeUnsafe).join('\n'), failed: failing.length > 0 };
}

/** How long the interface of the account still exists, where its end is known. */
function interfaceEnd(account: AccountConfig, now: number): string[] {
  const end = endOfLife(account);
  if (end === undefined) return [];
  const day = new Date(end * 1000).toISOString().slice(0, 10);
  const days = Math.max(0, Math.ceil((end - now / 1000) / 86_400));
  return [
    `  interface: REST, which the vendor ends on ${day}, in ${days} days: "api: nerdgraph" reads the same account`,
  ];
}

function keyTransactions(account: AccountConfig, status: AccountStatus, failing: readonly EntityStatus[]): string {
  if (account.key_transactions === false) return 'not read';
  if (failing.some(({ group }) => group === 'key_transactions')) return 'cannot be read';
  return `${status.visible.keyTransactions} visible, ${status.keyTransactions} exported`;
}
