import process from 'node:process';
import type { Collector } from '../collect/collector.ts';
import type { AccountStatus } from '../collect/view.ts';
import { formatDuration } from '../config/duration.ts';
import { FAMILIES } from '../metrics/catalogue.ts';
import { GROUPS, type Group } from '../metrics/groups.ts';
import { ExitStatus } from './exitStatus.ts';
import { readLists } from './listReading.ts';
import type { CommonOptions } from './serveFlags.ts';
import { table } from './table.ts';

/** What one account's steady state costs, in figures (contract 1, `plan`). */
export interface AccountPlan {
  readonly account: string;
  readonly callsPerMinute: number;
  readonly budget: number;
  /** Calls per minute as a share of the budget; above 1 it does not fit. */
  readonly share: number;
  /** 1 when it fits, else the factor by which every group is refreshed slower. */
  readonly stretch: number;
  /** Series expected of the groups at most, the exporter's own left out. */
  readonly series: number;
  readonly groups: readonly {
    readonly group: string;
    readonly callsPerMinute: number;
    readonly share: number;
    readonly intervalSeconds: number;
    readonly effectiveIntervalSeconds: number;
  }[];
  /** What to change when it does not fit, and what else should be looked at. */
  readonly advice: readonly string[];
}

/** What a plan is made of. */
const LISTS: readonly Group[] = ['applications', 'key_transactions', 'hosts', 'instances'];

/** Families with a label of their own have several series: zones, and a component per kind of call. */
const SERIES_PER_LABELLED_FAMILY = 4;

/** The command `plan`. An account whose lists cannot be read has no plan: status 1. */
export async function runPlan(options: CommonOptions & { readonly format: 'table' | 'json' }): Promise<void> {
  const { collector } = await readLists(options, LISTS);
  const statuses = collector.status();
  const unread = statuses.filter(({ applications }) => applications === undefined);
  for (const { name, entities } of unread) {
    const problem = entities.find(({ group }) => group === 'applications')?.problem ?? 'nothing was read';
    process.stderr.write(`account ${name}: the application list cannot be read: ${problem}\n`);
  }
  const read = statuses.filter(({ applications }) => applications !== undefined);
  const plans = read.map((status) => planOf(status, seriesOf(collector, status)));
  if (plans.length > 0) process.stdout.write(formatPlans(plans, options.format));
  if (unread.length > 0) throw new ExitStatus(1);
}

/** The series of the lists as they are, and those of the metric data at most. */
function seriesOf(collector: Collector, { name, entities }: AccountStatus): number {
  const lists = collector.answer({ groups: new Set(GROUPS), account: name });
  const ofLists = lists.blocks.reduce((sum, { samples }) => sum + samples.length, 0);
  const ofData = entities.reduce((sum, { group }) => sum + (MOST_SERIES.get(group) ?? 0), 0);
  return ofLists + ofData;
}

const MOST_SERIES: ReadonlyMap<Group, number> = new Map(
  (['application_metrics', 'host_metrics'] as const).map((group) => [
    group,
    FAMILIES.filter((family) => family.group === group).reduce(
      (sum, { labelNames }) => sum + (labelNames.length > 0 ? SERIES_PER_LABELLED_FAMILY : 1),
      0,
    ),
  ]),
);

/** @param series the series expected of the account */
export function planOf(status: AccountStatus, series: number): AccountPlan {
  const { plan } = status;
  return {
    account: status.name,
    callsPerMinute: plan.callsPerMinute,
    budget: plan.budget,
    share: plan.callsPerMinute / plan.budget,
    stretch: plan.stretch,
    series,
    groups: plan.groups.map(({ group, callsPerMinute, interval, effectiveInterval }) => ({
      group,
      callsPerMinute,
      share: callsPerMinute / plan.budget,
      intervalSeconds: interval / 1000,
      effectiveIntervalSeconds: effectiveInterval / 1000,
    })),
    advice: status.warnings,
  };
}

/** As a table for people, or as JSON; ends in a line feed. */
export function formatPlans(plans: readonly AccountPlan[], format: 'table' | 'json'): string {
  if (format === 'json') return `${JSON.stringify({ accounts: plans }, undefined, 2)}\n`;
  return plans.map(asTable).join('\n');
}

function asTable({ account, groups, callsPerMinute, budget, share, series, advice, stretch }: AccountPlan): string {
  const rows = groups.map((group) => [
    group.group,
    group.callsPerMinute.toFixed(2),
    percent(group.share),
    duration(group.intervalSeconds),
    duration(group.effectiveIntervalSeconds),
  ]);
  const verdict =
    stretch > 1
      ? `It does not fit: every group is refreshed ${stretch.toFixed(2)} times slower.`
      : 'It fits: every group keeps its interval.';
  return [
    `Account ${account}`,
    table([
      ['GROUP', 'CALLS/MIN', 'SHARE', 'INTERVAL', 'EFFECTIVE'],
      ...rows,
      ['total', callsPerMinute.toFixed(2), percent(share), '', ''],
    ]),
    `Budget: ${budget} calls per minute. ${verdict}`,
    `Series expected: at most ${series}.`,
    ...advice.map((text) => `Warning: ${text}`),
    '',
  ].join('\n');
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)}%`;
}

function duration(seconds: number): string {
  return formatDuration(Math.round(seconds) * 1000);
}
