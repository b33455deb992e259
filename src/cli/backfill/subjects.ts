import type { Application } from '../../api/types.ts';
import { effectiveSettings, onlyIds, readsMetricData, selects } from '../../collect/inventory/selection.ts';
import { applicationLabels } from '../../metrics/labels.ts';
import type { Labels } from '../../metrics/sample.ts';
import type { LiveAccount } from '../upstream/session.ts';
import { findApplication } from '../upstream/applications.ts';
import type { Subject } from './state.ts';
import { UsageError } from '../process/usageError.ts';

export interface SubjectOptions {
  /** Ids or exact names; empty: the applications whose metric data the configuration has the daemon read. */
  readonly apps: readonly string[];
  readonly hosts: boolean;
  /** Labels that every series gets. */
  readonly labels: Labels;
}

/**
 * The applications to backfill, in the order of the accounts and their lists, and how many the configuration includes but
 * that do not report now. Throws an Error whose message is a sentence when an `--app` names none or several.
 */
export async function findSubjects(
  accounts: readonly LiveAccount[],
  options: SubjectOptions,
): Promise<{ readonly subjects: Subject[]; readonly notReporting: number }> {
  for (const { config } of accounts) {
    const taken = Object.keys(options.labels).find((name) => Object.hasOwn(config.labels, name));
    if (taken !== undefined) throw new UsageError(`--label ${taken}: account ${config.name} has a label of that name`);
  }
  const named = options.apps.length > 0 ? await findNamed(accounts, options.apps) : undefined;
  const subjects: Subject[] = [];
  let notReporting = 0;
  for (const [index, account] of accounts.entries()) {
    const served = named === undefined ? await readServed(account) : [...(named.get(account)?.values() ?? [])];
    for (const application of served) {
      // Who names an application wants its past, whether or not it reports now.
      if (named === undefined && !readsMetricData(account.config, application)) notReporting += 1;
      else subjects.push(toSubject(account, index, application, options));
    }
  }
  return { subjects, notReporting };
}

async function findNamed(
  accounts: readonly LiveAccount[],
  apps: readonly string[],
): Promise<Map<LiveAccount, Map<number, Application>>> {
  const named = new Map<LiveAccount, Map<number, Application>>();
  for (const app of new Set(apps)) {
    const { account, application } = await findApplication(accounts, app);
    const ofAccount = named.get(account) ?? new Map<number, Application>();
    named.set(account, ofAccount.set(application.id, application));
  }
  return named;
}

async function readServed({ config, reader, call }: LiveAccount): Promise<Application[]> {
  const ids = onlyIds(config.applications);
  const list = await reader.listApplications(ids === undefined ? {} : { ids }, call);
  return list.filter((application) => selects(config.applications, application));
}

function toSubject(
  { config }: LiveAccount,
  account: number,
  application: Application,
  options: SubjectOptions,
): Subject {
  const { database, hosts } = effectiveSettings(config, application);
  return {
    account,
    id: application.id,
    name: application.name,
    ...(application.language === undefined ? {} : { language: application.language }),
    labels: { ...applicationLabels(config.name, config.labels, application), ...options.labels },
    database,
    hosts: options.hosts && hosts,
  };
}
