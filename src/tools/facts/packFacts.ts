import { DAY_S, HOUR_S } from '../../formulas/units.ts';
import { judgeFields } from './judges.ts';
import { query, type About, type Row } from './queries.ts';

interface Pack extends Pick<About, 'wrong' | 'over' | 'delay'> {
  readonly source: string;
  readonly fields: readonly string[];
  /** Only events with this attribute count. */
  readonly counted?: string;
  /** With fewer events, a field may be missing by chance. */
  readonly minEvents?: number;
}

/** Checks that some event has each field of a pack. `n` counts events; `f0`, `f1`, ... count events with a field. */
function checkFields(events: string, { source, fields, counted = '*', minEvents = 10, over = HOUR_S, ...pack }: Pack) {
  const [types = ''] = events.split(' WHERE ');
  const names = fields.map((field) => `\`${field}\``).join(', ');
  const columns = fields.map((field, index) => `count(${field}) AS f${index}`).join(', ');
  const relies = `${types.replace(/, (?=\w+$)/, ' and ')} ${types.includes(',') ? 'have' : 'has'} ${names} (${source})`;
  const nrql = `SELECT count(${counted}) AS n, ${columns} FROM ${events} {time}`;
  return query(nrql, (answer) => judgeFields(fields, minEvents, answer), { ...pack, fields, relies, over });
}

const DEFINITIONS = "New Relic's entity definitions";
const LIMITS = "New Relic's page on limits";
const USED = 'newrelic.resourceConsumption.currentValue';
const ALLOWED = 'newrelic.resourceConsumption.limitValue';
const ORIGINAL_USERS = 'NrMTDConsumption WHERE FullUsersBillable IS NOT NULL OR BasicUsersBillable IS NOT NULL';
/** New Relic records usage about three hours late. */
const USAGE = { source: "New Relic's page on usage queries", minEvents: 1, delay: 4 * HOUR_S };

export const PACK_FACTS: Readonly<Record<string, Row>> = {
  pack_alert_events: checkFields('NrAiIncident', {
    source: 'public queries',
    wrong: ['newrelic_alert_events_*'],
    fields: ['event', 'incidentId', 'openTime', 'policyName', 'conditionName', 'priority', 'entity.name', 'muted'],
    over: 30 * DAY_S,
  }),
  pack_service_levels: checkFields('ServiceLevelSnapshot', {
    source: DEFINITIONS,
    wrong: ['newrelic_service_level_*'],
    fields: ['sliCompliance', 'remainingErrorBudget', 'entity.guid', 'entity.name'],
  }),
  pack_deployments: checkFields('ChangeTrackingEvent, Deployment', {
    source: "New Relic's migration guide",
    wrong: ['newrelic_deployment_timestamp_seconds'],
    fields: ['timestamp', 'version', 'entity.guid', 'entity.name'],
    over: 30 * DAY_S,
  }),
  pack_transactions: checkFields('Transaction WHERE appId = {app}', {
    source: "New Relic's data dictionary",
    wrong: ['newrelic_transaction_*'],
    fields: ['duration', 'transactionType', 'appName', 'appId'],
    over: DAY_S,
  }),
  pack_browser: checkFields('PageView, PageViewTiming, JavaScriptError', {
    source: DEFINITIONS,
    wrong: ['newrelic_browser_*'],
    fields: ['appName', 'largestContentfulPaint', 'interactionToNextPaint', 'cumulativeLayoutShift'],
  }),
  pack_synthetics: checkFields('SyntheticCheck', {
    source: DEFINITIONS,
    wrong: ['newrelic_synthetics_*'],
    fields: ['result', 'duration', 'monitorName', 'locationLabel'],
  }),
  pack_limits: checkFields(`Metric WHERE ${USED} IS NOT NULL OR ${ALLOWED} IS NOT NULL`, {
    source: LIMITS,
    wrong: ['newrelic_limit_used_per_minute', 'newrelic_limit_allowed_per_minute'],
    fields: [ALLOWED, 'limitName', 'limitTimeInterval'],
    counted: USED,
  }),
  pack_limits_reached: checkFields("NrIntegrationError WHERE category IN ('RateLimit', 'ResourceLimit')", {
    source: LIMITS,
    wrong: ['newrelic_limit_incidents'],
    fields: ['limitName'],
    minEvents: 1,
  }),
  pack_usage: checkFields('NrConsumption, NrMTDConsumption', {
    ...USAGE,
    wrong: ['newrelic_usage_*'],
    fields: ['GigabytesIngested', 'productLine', 'usageMetric', 'metric', 'consumption'],
  }),
  // An organisation rarely has the counts of both user models.
  pack_usage_users: checkFields('NrMTDConsumption', {
    ...USAGE,
    wrong: ['newrelic_usage_month_full_platform_users'],
    fields: ['FullPlatformUsersBillable', 'CoreUsersBillable'],
    counted: 'CoreUsersBillable',
  }),
  pack_usage_full_users: checkFields(ORIGINAL_USERS, {
    ...USAGE,
    wrong: ['newrelic_usage_month_full_users'],
    fields: ['FullUsersBillable'],
  }),
};
