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
import { ExitStatus, withColours } from '../cli/process.ts';
import { escapeUnsafe } from '../text/escaping.ts';
import { sumOf } from './grouping.ts';
import { scannedInWords, scannedMinutes } from './scannedMinutes.ts';
import { accountsOf, reportUnread, withLists } from './upstream/session.ts';
import type { CommonOptions } from '../cli/flags.ts';
import { jsonText, paint, table, wrapped } from './terminal.ts';

/** The command `plan`. An account or a type of entities whose list cannot be read is left out, and gives status 1. */
export async function runPlan(options: CommonOptions & { readonly format: 'table' | 'json' }): Promise<void> {
  await withLists(options, ({ config, collector, print, reportError }) => {
    const unread = reportUnread(collector.status(), reportError);
    const read = accountsOf(collector).filter(([{ name }]) => !unread.has(name));
    const lists = read.flatMap(([{ name, tasks }]) =>
      tasks.flatMap((task) => (task.group === 'entities' && task.state === 'missing' ? [{ name, ...task }] : [])),
    );
    for (const { name, entityType = '', problem = 'nothing was read', reason } of lists) {
      const sentence = `account ${name}: the entities of ${entityType} cannot be read, and are not in the plan: ${problem}`;
      reportError(sentence, reason);
    }
    const plans = read.map((each) => planOf(...each, config.collection));
    const unlisted = collector.entries().filter(({ problem, isEmpty }) => problem !== undefined || isEmpty);
    for (const { entry, problem = 'it leaves no account', reason } of unlisted) {
      reportError(`entry ${entry}: the list of accounts cannot be used: ${problem}`, reason);
    }
    const total = totalOf(plans);
    if (plans.length > 0)
      print(
        options.format === 'table'
          ? [...plans.map(asTable), ...(plans.length > 1 ? [totalInWords(total)] : [])].join('\n')
          : jsonText({ accounts: plans, total }),
      );
    if (unread.size + lists.length + unlisted.length > 0) throw new ExitStatus(1);
  });
}

/** The cost of one account's steady state, in the form of the JSON output. */
function planOf(
  { name, plan, tasks, warnings }: AccountStatus,
  collector: AccountCollector,
  collection: CollectionConfig,
) {
  const { account } = collector.context;
  const countOf = (group: Group): number => tasks.filter((task) => task.group === group).length;
  return {
    account: name,
    callsPerMinute: plan.callsPerMinute,
    budget: plan.budget,
    /** Calls per minute as a share of the budget; above 1 it does not fit. */
    share: plan.callsPerMinute / plan.budget,
    /** 1 when it fits, else the factor by which every interval is stretched. */
    stretch: plan.slowdown,
    /** The number of entities whose metric data the calls read. */
    counted: {
      applications: countOf('application_metrics'),
      hosts: countOf('host_metrics'),
      entities: countOf('golden_metrics'),
    },
    series: expectedSeries(collector),
    /** Minutes of data that queries read per minute, by group, query and type of entities; price plans by compute charge for them. */
    scannedMinutes: scannedMinutes(account, collection, plan),
    groups: plan.groups.map(({ group, callsPerMinute, interval, effectiveInterval }) => ({
      group,
      callsPerMinute,
      share: callsPerMinute / plan.budget,
      intervalSeconds: interval / 1000,
      effectiveIntervalSeconds: effectiveInterval / 1000,
    })),
    /** The warnings of the status page: what to change where it does not fit, and others. */
    advice: warnings,
  };
}

/** What all accounts cost together; each has a budget of its own. */
function totalOf(plans: readonly ReturnType<typeof planOf>[]) {
  const read = (of: keyof (typeof plans)[number]['counted']): number => sumOf(plans, (plan) => plan.counted[of]);
  return {
    accounts: plans.length,
    callsPerMinute: sumOf(plans, (plan) => plan.callsPerMinute),
    counted: { applications: read('applications'), hosts: read('hosts'), entities: read('entities') },
    series: sumOf(plans, (plan) => plan.series),
  };
}

function totalInWords({ accounts, callsPerMinute, counted: ofData, series }: ReturnType<typeof totalOf>): string {
  const parts = [counted(ofData.applications, 'application'), counted(ofData.hosts, 'host')];
  if (ofData.entities > 0) parts.push(counted(ofData.entities, 'entity', 'entities'));
  return `Total of ${counted(accounts, 'account')}: ${callsPerMinute.toFixed(2)} calls per minute for ${parts.join(', ')}; at most ${series} series.\n`;
}

function asTable(plan: ReturnType<typeof planOf>): string {
  const { account, groups, callsPerMinute, budget, counted: ofData, series, advice, stretch } = plan;
  const rows = groups.map((group) => [
    describeGroup(group.group),
    group.callsPerMinute.toFixed(2),
    percent(group.share),
    duration(group.intervalSeconds),
    duration(group.effectiveIntervalSeconds),
  ]);
  const verdict =
    stretch > 1
      ? `${paint('red', 'It does not fit')}.`
      : `${paint('green', 'It fits')}: every group keeps its interval.`;
  const sentences = [
    `Metric data are read of ${counted(ofData.applications, 'application')} and ${counted(ofData.hosts, 'host')}` +
      `${ofData.entities === 0 ? '' : `, golden metrics of ${counted(ofData.entities, 'entity', 'entities')}`}.`,
    `Series expected: at most ${series}${groups.some(({ group }) => group === 'queries') ? '; those of queries are not counted' : ''}.`,
    ...scannedInWords(plan.scannedMinutes),
    ...advice.map((text) => `warning: ${text}`),
  ];
  return [
    `Account ${escapeUnsafe(account)}`,
    table([
      ['GROUP', 'CALLS/MIN', 'SHARE', 'INTERVAL', 'EFFECTIVE'],
      ...rows,
      ['total', callsPerMinute.toFixed(2), percent(plan.share), '', ''],
    ]),
    `Budget: ${budget} calls per minute. ${verdict}`,
    ...sentences.map((sentence) => withColours(wrapped(sentence), process.stdout)),
    '',
  ].join('\n');
}

function duration(seconds: number): string {
  return formatDuration(Math.round(seconds) * 1000);
}

const LISTS = new Set(GROUPS.filter((group) => FIRST_OF[group].gives === 'list'));

/** Apdex has three zones. */
const ZONES = 3;

/** Components beside the database: Memcache and External. */
const OTHER_COMPONENTS = 2;

/**
 * The number of series of an account once all of it has been read: exact for lists, the maximum for metric data, because only the
 * data show which values an application or an entity has. Queries are not counted.
 */
export function expectedSeries(account: AccountCollector): number {
  const { context, inventory } = account;
  const now = context.clock.monotonic();
  const lists = AccountSnapshot.atOnce(account, { groups: LISTS }, { asOf: now, now }).blocks;
  const ofLists = sumOf(lists, ({ samples }) => samples.values.length);
  const ofEntities = sumOf([...inventory.entities.types.values()], ({ entities }) =>
    sumOf([...entities.values()], ({ subject, columns }) =>
      sumOf(subject === undefined ? [] : columns, ({ select }) =>
        Math.max(1, readStatement(`SELECT ${select}`).columns[0]?.percentiles ?? 0),
      ),
    ),
  );
  const ofApplications = sumOf([...inventory.applications.values()], ({ data }) =>
    data === undefined ? 0 : seriesOfData(context, data),
  );
  return ofLists + ofEntities + ofApplications;
}

/** The number of series of the metric data of an application and all its hosts. */
function seriesOfData({ selections }: AccountContext, data: ApplicationData): number {
  const components = Math.max(1, data.datastores?.length ?? 0) + OTHER_COMPONENTS;
  const seriesOf = (scope: FamilyScope, count: number): number =>
    count * builtIn(scope, components) + sumOf(selections.select(data, scope).custom.matches, ({ series }) => series);
  const counters = data.tasks.counters === undefined ? 0 : COUNTED.length;
  return seriesOf('application', 1) + counters + seriesOf('host', data.hosts.size);
}

/** The number of series of the window metrics of one application or host. */
function builtIn(scope: FamilyScope, components: number): number {
  return sumOf(WINDOW_FAMILIES[scope], ({ labelNames }) => {
    if (labelNames.includes('component')) return components;
    return labelNames.includes('zone') ? ZONES : 1;
  });
}
