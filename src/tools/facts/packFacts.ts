import { type FactTable, type Query } from './factRow.ts';
import { DAY_S, HOUR_S } from '../../formulas/units.ts';

const MONTH = 30 * DAY_S;
const CONSUMPTION = 'newrelic.resourceConsumption';
const DEFINITIONS = "New Relic's entity definitions";

/** The events that a pack reads, and the fields of them that it names. */
interface PackEvents extends Pick<Query, 'over' | 'delay' | 'minEvents'> {
  readonly source: string;
  /** Families of the pack. */
  readonly wrong: readonly string[];
  readonly from: string;
  readonly fields: readonly string[];
  readonly where?: string;
  /** Only events with this attribute are counted; all of them by default. */
  readonly counted?: string;
}

/** The row of a pack: each field that it reads should be on at least one event. The range is an hour by default. */
function pack<const E extends PackEvents>({ from, fields, where, counted, ...row }: E) {
  const columns = fields.map((field, index) => `count(${field}) AS f${index}`).join(', ');
  const condition = where === undefined ? '' : ` WHERE ${where}`;
  return {
    over: HOUR_S,
    ...row,
    relies: `${from.replace(/, (?=\w+$)/, ' and ')} ${from.includes(',') ? 'have' : 'has'} the fields that the pack reads`,
    nrql: `SELECT count(${counted ?? '*'}) AS n, ${columns} FROM ${from}${condition} {time}`,
    judge: 'fields',
    fields,
  } as const;
}

/** The assumptions about the events that packs read. */
export const PACK_FACTS = {
  pack_alert_events: pack({
    source: 'public queries',
    wrong: ['newrelic_alert_events_*'],
    from: 'NrAiIncident',
    fields: ['event', 'incidentId', 'openTime', 'policyName', 'conditionName', 'priority', 'entity.name', 'muted'],
    over: MONTH,
  }),
  pack_service_levels: pack({
    source: DEFINITIONS,
    wrong: ['newrelic_service_level_*'],
    from: 'ServiceLevelSnapshot',
    fields: ['sliCompliance', 'remainingErrorBudget', 'entity.guid', 'entity.name'],
  }),
  pack_deployments: pack({
    source: "New Relic's migration guide",
    wrong: ['newrelic_deployment_timestamp_seconds'],
    from: 'ChangeTrackingEvent, Deployment',
    fields: ['timestamp', 'version', 'entity.guid', 'entity.name'],
    over: MONTH,
  }),
  pack_transactions: pack({
    source: "New Relic's data dictionary",
    wrong: ['newrelic_transaction_*'],
    from: 'Transaction',
    fields: ['duration', 'transactionType', 'appName', 'appId'],
    where: 'appId = {app}',
    over: DAY_S,
  }),
  pack_browser: pack({
    source: DEFINITIONS,
    wrong: ['newrelic_browser_*'],
    from: 'PageView, PageViewTiming, JavaScriptError',
    fields: ['appName', 'largestContentfulPaint', 'interactionToNextPaint', 'cumulativeLayoutShift'],
  }),
  pack_synthetics: pack({
    source: DEFINITIONS,
    wrong: ['newrelic_synthetics_*'],
    from: 'SyntheticCheck',
    fields: ['result', 'duration', 'monitorName', 'locationLabel'],
  }),
  pack_limits: pack({
    source: "New Relic's page on limits",
    wrong: ['newrelic_limit_used_per_minute', 'newrelic_limit_allowed_per_minute'],
    from: 'Metric',
    fields: [`${CONSUMPTION}.limitValue`, 'limitName', 'limitTimeInterval'],
    where: `${CONSUMPTION}.currentValue IS NOT NULL OR ${CONSUMPTION}.limitValue IS NOT NULL`,
    counted: `${CONSUMPTION}.currentValue`,
  }),
  pack_limits_reached: pack({
    source: "New Relic's page on limits",
    wrong: ['newrelic_limit_incidents'],
    from: 'NrIntegrationError',
    fields: ['limitName'],
    where: "category IN ('RateLimit', 'ResourceLimit')",
    minEvents: 1,
  }),
  pack_usage: pack({
    source: "New Relic's page on usage queries",
    wrong: ['newrelic_usage_*'],
    from: 'NrConsumption, NrMTDConsumption',
    fields: [
      ...(['GigabytesIngested', 'productLine', 'usageMetric', 'metric', 'consumption'] as const),
      ...(['FullPlatformUsersBillable', 'CoreUsersBillable'] as const),
    ],
    // New Relic notes usage about three hours late.
    delay: 4 * HOUR_S,
    minEvents: 1,
  }),
} as const satisfies FactTable<`pack_${string}`>;
