import process from 'node:process';
import type { AccountStatus } from '../collect/serve/accountStatus.ts';
import type { AccountCollector } from '../collect/accounts/accountCollector.ts';
import type { AccountContext } from '../collect/inventory/accountContext.ts';
import { AccountSnapshot } from '../collect/serve/accountSnapshot.ts';
import type { ApplicationData } from '../collect/inventory/records.ts';
import type { CollectionConfig } from '../config/config.ts';
import { COUNTED } from '../metrics/counterFamilies.ts';
import type { FamilyScope } from '../metrics/family.ts';
import { WINDOW_FAMILIES } from '../metrics/windowFamilies.ts';
import { readStatement } from '../nrql/statement.ts';
import { formatDuration } from '../config/duration.ts';
import { counted, percent } from '../text/wording.ts';
import { FIRST_OF, describeGroup, GROUPS, type Group } from '../reads/reads.ts';
import { ExitStatus, colourLines } from '../cli/process.ts';
import { escapeUnsafe } from '../text/escaping.ts';
import { sumBy } from './grouping.ts';
import { describeScanned, calculateScannedMinutes } from './scannedMinutes.ts';
import { pairAccounts, reportUnread, withLists } from './upstream/session.ts';
import type { CommonOptions } from '../cli/flags.ts';
import { renderJson, paint, renderTable, wrapText } from './terminal.ts';

/** Runs the command `plan`. Skips an account or type of entities whose list cannot be read, and ends with status 1. */
export async function runPlan(options: CommonOptions & { readonly format: 'table' | 'json' }): Promise<void> {
  await withLists(options, ({ config, collector, print, reportError }) => {
    const unread = reportUnread(collector.status(), reportError);
    const read = pairAccounts(collector).filter(([{ name }]) => !unread.has(name));
    const lists = read.flatMap(([{ name, tasks }]) =>
      tasks.flatMap((task) => (task.group === 'entities' && task.state === 'missing' ? [{ name, ...task }] : [])),
    );
    for (const { name, entityType = '', problem = 'nothing was read', reason } of lists) {
      const type = `the entities of ${entityType}`;
      reportError(`account ${name}: ${type} cannot be read, and are not in the plan: ${problem}`, reason);
    }
    const plans = read.map((each) => buildPlan(...each, config.collection));
    const unlisted = collector.entries().filter(({ problem, isEmpty }) => problem !== undefined || isEmpty);
    for (const { entry, problem = 'it leaves no account', reason } of unlisted) {
      reportError(`entry ${entry}: the list of accounts cannot be used: ${problem}`, reason);
    }
    const total = sumPlans(plans);
    const table = [...plans.map(renderPlan), ...(plans.length > 1 ? [describeTotal(total)] : [])].join('\n');
    if (plans.length > 0) print(options.format === 'table' ? table : renderJson({ accounts: plans, total }));
    if (unread.size + lists.length + unlisted.length > 0) throw new ExitStatus(1);
  });
}

function buildPlan(status: AccountStatus, collector: AccountCollector, collection: CollectionConfig) {
  const { name, plan, tasks, warnings } = status;
  const { account } = collector.context;
  const countOf = (group: Group): number => tasks.filter((task) => task.group === group).length;
  return {
    account: name,
    callsPerMinute: plan.callsPerMinute,
    budget: plan.budget,
    share: plan.callsPerMinute / plan.budget,
    /** The factor by which all intervals grow; 1 if the plan fits. */
    stretch: plan.slowdown,
    counted: {
      applications: countOf('application_metrics'),
      hosts: countOf('host_metrics'),
      entities: countOf('golden_metrics'),
    },
    series: expectedSeries(collector),
    scannedMinutes: calculateScannedMinutes(account, collection, plan),
    groups: plan.groups.map(({ group, callsPerMinute, interval, effectiveInterval }) => ({
      group,
      callsPerMinute,
      share: callsPerMinute / plan.budget,
      intervalSeconds: interval / 1000,
      effectiveIntervalSeconds: effectiveInterval / 1000,
    })),
    advice: warnings,
  };
}

function sumPlans(plans: readonly ReturnType<typeof buildPlan>[]) {
  return {
    accounts: plans.length,
    callsPerMinute: sumBy(plans, (plan) => plan.callsPerMinute),
    counted: {
      applications: sumBy(plans, (plan) => plan.counted.applications),
      hosts: sumBy(plans, (plan) => plan.counted.hosts),
      entities: sumBy(plans, (plan) => plan.counted.entities),
    },
    series: sumBy(plans, (plan) => plan.series),
  };
}

function describeTotal({ accounts, callsPerMinute, counted: subjects, series }: ReturnType<typeof sumPlans>): string {
  const parts = [counted(subjects.applications, 'application'), counted(subjects.hosts, 'host')];
  if (subjects.entities > 0) parts.push(counted(subjects.entities, 'entity', 'entities'));
  return `Total of ${counted(accounts, 'account')}: ${callsPerMinute.toFixed(2)} calls per minute for ${parts.join(', ')}; at most ${series} series.\n`;
}

function renderPlan(plan: ReturnType<typeof buildPlan>): string {
  const { account, groups, callsPerMinute, budget, counted: subjects, series, advice, stretch } = plan;
  const rows = groups.map((group) => [
    describeGroup(group.group),
    group.callsPerMinute.toFixed(2),
    percent(group.share),
    formatSeconds(group.intervalSeconds),
    formatSeconds(group.effectiveIntervalSeconds),
  ]);
  const fit = `${paint('green', 'It fits')}: every group keeps its interval.`;
  const verdict = stretch > 1 ? `${paint('red', 'It does not fit')}.` : fit;
  const sentences = [
    `Reads metric data of ${counted(subjects.applications, 'application')} and ${counted(subjects.hosts, 'host')}` +
      `${subjects.entities === 0 ? '' : `, golden metrics of ${counted(subjects.entities, 'entity', 'entities')}`}.`,
    `Expected series: at most ${series}${groups.some(({ group }) => group === 'queries') ? ', without the series of queries' : ''}.`,
    ...describeScanned(plan.scannedMinutes),
    ...advice.map((text) => `warning: ${text}`),
  ];
  return [
    `Account ${escapeUnsafe(account)}`,
    renderTable([
      ['GROUP', 'CALLS/MIN', 'SHARE', 'INTERVAL', 'EFFECTIVE'],
      ...rows,
      ['total', callsPerMinute.toFixed(2), percent(plan.share), '', ''],
    ]),
    `Budget: ${budget} calls per minute. ${verdict}`,
    ...sentences.map((sentence) => colourLines(wrapText(sentence), process.stdout)),
    '',
  ].join('\n');
}

function formatSeconds(seconds: number): string {
  return formatDuration(Math.round(seconds) * 1000);
}

const LISTS = new Set(GROUPS.filter((group) => FIRST_OF[group].gives === 'list'));

const APDEX_ZONES = 3;

/** Memcache and External. */
const OTHER_COMPONENTS = 2;

/** Counts the series of an account without queries: exact for lists, the maximum for metric data. */
export function expectedSeries(account: AccountCollector): number {
  const { context, inventory } = account;
  const now = context.clock.monotonic();
  const lists = AccountSnapshot.atOnce(account, { groups: LISTS }, { asOf: now, now }).blocks;
  const listSeries = sumBy(lists, ({ samples }) => samples.values.length);
  const entitySeries = sumBy([...inventory.entities.types.values()], ({ entities }) =>
    sumBy([...entities.values()], ({ subject, columns }) =>
      sumBy(subject === undefined ? [] : columns, ({ select }) =>
        Math.max(1, readStatement(`SELECT ${select}`).columns[0]?.percentiles ?? 0),
      ),
    ),
  );
  const applicationSeries = sumBy([...inventory.applications.values()], ({ data }) =>
    data === undefined ? 0 : countDataSeries(context, data),
  );
  return listSeries + entitySeries + applicationSeries;
}

function countDataSeries({ selections }: AccountContext, data: ApplicationData): number {
  const components = Math.max(1, data.datastores?.length ?? 0) + OTHER_COMPONENTS;
  const countSeries = (scope: FamilyScope, count: number): number => {
    const builtIn = sumBy(WINDOW_FAMILIES[scope], ({ labelNames }) => {
      if (labelNames.includes('component')) return components;
      return labelNames.includes('zone') ? APDEX_ZONES : 1;
    });
    return count * builtIn + sumBy(selections.select(data, scope).custom.matches, ({ series }) => series);
  };
  const counters = data.tasks.counters === undefined ? 0 : COUNTED.length;
  return countSeries('application', 1) + counters + countSeries('host', data.hosts.size);
}
