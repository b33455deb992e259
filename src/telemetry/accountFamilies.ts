import type { AccountStatus, EntityState, GroupStatus } from '../collect/view.ts';
import type { OwnFamily } from '../exposition/own.ts';
import type { ExporterFamily } from '../metrics/catalogueExporter.ts';
import { EXPORTER } from '../metrics/catalogueExporter.ts';
import type { Labels } from '../metrics/sample.ts';

const STATES: readonly EntityState[] = ['fresh', 'stale', 'missing'];

/**
 * The gauges of an account's state, made anew for each answer, so that nothing is left of a group or an account that is
 * gone. What is not known yet is absent. One entry for each series.
 */
export function accountFamilies(status: AccountStatus): OwnFamily[] {
  const { name: account, api, region, budget } = status;
  return [
    ...gauge(EXPORTER.up, { account }, Number(status.up)),
    ...gauge(EXPORTER.accountInfo, { account, api, region }, 1),
    ...gauge(EXPORTER.apiEndOfLife, { account }, status.endOfLife),
    ...gauge(EXPORTER.windowEnd, { account }, status.windowEnd),
    ...gauge(EXPORTER.apiBudget, { account }, budget.inForce),
    ...gauge(EXPORTER.apiPausedUntil, { account }, budget.pausedUntil),
    ...status.groups.flatMap((group) => groupFamilies(account, group)),
  ];
}

function groupFamilies(account: string, status: GroupStatus): OwnFamily[] {
  const labels = { account, group: status.group };
  const success = status.success === undefined ? undefined : Number(status.success);
  return [
    ...gauge(EXPORTER.collectionSuccess, labels, success),
    ...gauge(EXPORTER.collectionLastSuccess, labels, status.lastSuccess),
    ...gauge(EXPORTER.collectionDuration, labels, status.durationSeconds),
    ...STATES.flatMap((state) => gauge(EXPORTER.collectionEntities, { ...labels, state }, status.entities[state])),
    ...gauge(EXPORTER.oldestWindowEnd, labels, status.oldestWindowEnd),
    ...gauge(EXPORTER.effectiveInterval, labels, status.effectiveIntervalSeconds),
  ];
}

function gauge(family: ExporterFamily, labels: Labels, value: number | undefined): OwnFamily[] {
  return value === undefined ? [] : [{ ...family, series: [{ suffix: '', labels, value }] }];
}
