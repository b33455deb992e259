import { DAY_S, HOUR_S } from '../../formulas/units.ts';

/** The events of a pack, of which each field that the pack reads should be on at least one. */
export interface PackEvents {
  readonly id: string;
  readonly source: string;
  readonly wrong: readonly string[];
  readonly from: string;
  readonly fields: readonly string[];
  readonly where?: string;
  /** Only events with this attribute count. */
  readonly counted?: string;
  /** The length of the range in seconds, an hour by default, and by how much it ends before the newest complete minute. */
  readonly over?: number;
  readonly delay?: number;
  /** Fewer events than this, ten by default, may lack a field by chance. */
  readonly minEvents?: number;
}

const MONTH = 30 * DAY_S;
const CONSUMPTION = 'newrelic.resourceConsumption';
const DEFINITIONS = "New Relic's entity definitions";
const LIMITS = "New Relic's page on limits";

/** What each pack reads. */
export const PACK_EVENTS: readonly PackEvents[] = [
  {
    ...{ id: 'pack_alert_events', source: 'public queries', wrong: ['newrelic_alert_events_*'], over: MONTH },
    from: 'NrAiIncident',
    fields: ['event', 'incidentId', 'openTime', 'policyName', 'conditionName', 'priority', 'entity.name', 'muted'],
  },
  {
    ...{ id: 'pack_service_levels', source: DEFINITIONS, wrong: ['newrelic_service_level_*'] },
    from: 'ServiceLevelSnapshot',
    fields: ['sliCompliance', 'remainingErrorBudget', 'entity.guid', 'entity.name'],
  },
  {
    ...{ id: 'pack_deployments', source: "New Relic's migration guide", over: MONTH },
    wrong: ['newrelic_deployment_timestamp_seconds'],
    from: 'ChangeTrackingEvent, Deployment',
    fields: ['timestamp', 'version', 'entity.guid', 'entity.name'],
  },
  {
    ...{
      id: 'pack_transactions',
      source: "New Relic's data dictionary",
      wrong: ['newrelic_transaction_*'],
      over: DAY_S,
    },
    from: 'Transaction',
    fields: ['duration', 'transactionType', 'appName', 'appId'],
    where: 'appId = {app}',
  },
  {
    ...{ id: 'pack_browser', source: DEFINITIONS, wrong: ['newrelic_browser_*'] },
    from: 'PageView, PageViewTiming, JavaScriptError',
    fields: ['appName', 'largestContentfulPaint', 'interactionToNextPaint', 'cumulativeLayoutShift'],
  },
  {
    ...{ id: 'pack_synthetics', source: DEFINITIONS, wrong: ['newrelic_synthetics_*'] },
    from: 'SyntheticCheck',
    fields: ['result', 'duration', 'monitorName', 'locationLabel'],
  },
  {
    ...{ id: 'pack_limits', source: LIMITS },
    wrong: ['newrelic_limit_used_per_minute', 'newrelic_limit_allowed_per_minute'],
    from: 'Metric',
    fields: [`${CONSUMPTION}.limitValue`, 'limitName', 'limitTimeInterval'],
    where: `${CONSUMPTION}.currentValue IS NOT NULL OR ${CONSUMPTION}.limitValue IS NOT NULL`,
    counted: `${CONSUMPTION}.currentValue`,
  },
  {
    ...{ id: 'pack_limits_reached', source: LIMITS, wrong: ['newrelic_limit_incidents'], minEvents: 1 },
    from: 'NrIntegrationError',
    fields: ['limitName'],
    where: "category IN ('RateLimit', 'ResourceLimit')",
  },
  {
    ...{ id: 'pack_usage', source: "New Relic's page on usage queries", wrong: ['newrelic_usage_*'], minEvents: 1 },
    from: 'NrConsumption, NrMTDConsumption',
    fields: [
      ...['GigabytesIngested', 'productLine', 'usageMetric', 'metric', 'consumption'],
      ...['FullPlatformUsersBillable', 'CoreUsersBillable'],
    ],
    // New Relic notes usage about three hours late.
    delay: 4 * HOUR_S,
  },
];

/** The query that counts the events of a pack as `n`, and those with each field as `f0`, `f1`, ... */
export function packQuery({ fields, from, where, counted = '*' }: PackEvents): string {
  const columns = fields.map((field, index) => `count(${field}) AS f${index}`).join(', ');
  return `SELECT count(${counted}) AS n, ${columns} FROM ${from}${where === undefined ? '' : ` WHERE ${where}`} {time}`;
}
