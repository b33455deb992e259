import type { AccountStatus } from '../collect/view.ts';
import { formatDuration } from '../config/duration.ts';
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
    ...advice,
    '',
  ].join('\n');
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)}%`;
}

function duration(seconds: number): string {
  return formatDuration(Math.round(seconds) * 1000);
}
