import type { Group } from '../metrics/groups.ts';
import type { AccountConfig } from '../config/config.ts';
import type { Scope } from './view.ts';

/** What must be kept up to date besides a group itself: the lists its entities come from. */
const NEEDS: Readonly<Record<Group, readonly Group[]>> = {
  applications: [],
  key_transactions: ['applications'],
  metric_names: ['applications'],
  application_metrics: ['applications', 'metric_names'],
  hosts: ['applications'],
  host_metrics: ['applications', 'metric_names', 'hosts'],
  instances: ['applications'],
  custom_metrics: ['applications', 'metric_names', 'application_metrics', 'hosts', 'host_metrics'],
};

/**
 * What must have been read once: the names a metric data call asks for, and the application's data, which decides the
 * database kind of its hosts (contract 4, point 6; contract 5.4).
 */
const NEEDS_ONCE: Readonly<Partial<Record<Group, readonly Group[]>>> = {
  application_metrics: ['custom_metrics'],
  host_metrics: ['application_metrics', 'custom_metrics'],
};

/** The groups to refresh for a scope's groups: those and their lists always, further ones only until tried once. */
export function neededGroups({ groups, listsOnly }: Pick<Scope, 'groups' | 'listsOnly'>): {
  always: ReadonlySet<Group>;
  once: ReadonlySet<Group>;
} {
  if (listsOnly === true) return { always: groups, once: new Set() };
  return {
    always: new Set([...groups].flatMap((group) => [group, ...NEEDS[group]])),
    once: new Set([...groups].flatMap((group) => NEEDS_ONCE[group] ?? [])),
  };
}

/** True when the account reads this group at all. */
export function isEnabled(account: AccountConfig, group: Group): boolean {
  switch (group) {
    case 'key_transactions':
      return account.key_transactions !== false;
    case 'hosts':
    case 'host_metrics':
      return account.hosts || account.applications.settings.some(({ hosts }) => hosts === true);
    case 'instances':
      return account.instances;
    case 'custom_metrics':
      return account.custom_metrics.length > 0;
    default:
      return true;
  }
}

/** True when the scope takes in this account. */
export function coversAccount(scope: Scope, account: string): boolean {
  return scope.account === undefined || scope.account === account;
}

/** True when the scope takes in this application; undefined is a list of the whole account. */
export function coversApplication(scope: Scope, applicationId: number | undefined): boolean {
  return scope.applicationId === undefined || applicationId === undefined || scope.applicationId === applicationId;
}
