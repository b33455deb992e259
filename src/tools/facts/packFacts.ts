import { DAY_S, HOUR_S } from '../../formulas/units.ts';
import { fieldsOf } from './judges.ts';
import { query, type Fact } from './queries.ts';

/** Which events are counted. */
interface Choice {
  /** A condition for them. */
  readonly where?: string;
  /** Only events with this attribute count. */
  readonly counted?: string;
  /** The length of the range in seconds, an hour by default, and by how much it ends before the newest complete minute. */
  readonly over?: number;
  readonly delay?: number;
  /** Fewer events than this, ten by default, may lack a field by chance. */
  readonly minEvents?: number;
}

/**
 * The fact that each field that a pack reads is on at least one event. Its query counts the events as `n`, and those with each
 * field as `f0`, `f1`, ...
 */
function has(types: string, fields: readonly string[], choice: Choice = {}) {
  const { where, counted = '*', over = HOUR_S, delay, minEvents = 10 } = choice;
  const columns = fields.map((field, index) => `count(${field}) AS f${index}`).join(', ');
  const from = `${types}${where === undefined ? '' : ` WHERE ${where}`}`;
  const names = fields.map((field) => `\`${field}\``).join(', ');
  const relies = `${types.replace(/, (?=\w+$)/, ' and ')} ${types.includes(',') ? 'have' : 'has'} ${names}`;
  const nrql = `SELECT count(${counted}) AS n, ${columns} FROM ${from} {time}`;
  return { relies, fields, ...query(nrql, (answer) => fieldsOf(fields, minEvents, answer), over, delay) };
}

const MONTH = 30 * DAY_S;
const CONSUMPTION = 'newrelic.resourceConsumption';
const DEFINITIONS = "New Relic's entity definitions";
const LIMITS = "New Relic's page on limits";
const ALERTS = ['event', 'incidentId', 'openTime', 'policyName', 'conditionName', 'priority', 'entity.name', 'muted'];
const BROWSER = ['appName', 'largestContentfulPaint', 'interactionToNextPaint', 'cumulativeLayoutShift'];
const DATA = ['GigabytesIngested', 'productLine', 'usageMetric', 'metric', 'consumption'];
const USERS = ['FullPlatformUsersBillable', 'CoreUsersBillable'];

/** What each pack reads. */
export const PACK_FACTS: Readonly<Record<string, Omit<Fact, 'id'>>> = {
  pack_alert_events: {
    source: 'public queries',
    wrong: ['newrelic_alert_events_*'],
    ...has('NrAiIncident', ALERTS, { over: MONTH }),
  },
  pack_service_levels: {
    source: DEFINITIONS,
    wrong: ['newrelic_service_level_*'],
    ...has('ServiceLevelSnapshot', ['sliCompliance', 'remainingErrorBudget', 'entity.guid', 'entity.name']),
  },
  pack_deployments: {
    source: "New Relic's migration guide",
    wrong: ['newrelic_deployment_timestamp_seconds'],
    ...has('ChangeTrackingEvent, Deployment', ['timestamp', 'version', 'entity.guid', 'entity.name'], { over: MONTH }),
  },
  pack_transactions: {
    source: "New Relic's data dictionary",
    wrong: ['newrelic_transaction_*'],
    ...has('Transaction', ['duration', 'transactionType', 'appName', 'appId'], { where: 'appId = {app}', over: DAY_S }),
  },
  pack_browser: {
    source: DEFINITIONS,
    wrong: ['newrelic_browser_*'],
    ...has('PageView, PageViewTiming, JavaScriptError', BROWSER),
  },
  pack_synthetics: {
    source: DEFINITIONS,
    wrong: ['newrelic_synthetics_*'],
    ...has('SyntheticCheck', ['result', 'duration', 'monitorName', 'locationLabel']),
  },
  pack_limits: {
    source: LIMITS,
    wrong: ['newrelic_limit_used_per_minute', 'newrelic_limit_allowed_per_minute'],
    ...has('Metric', [`${CONSUMPTION}.limitValue`, 'limitName', 'limitTimeInterval'], {
      where: `${CONSUMPTION}.currentValue IS NOT NULL OR ${CONSUMPTION}.limitValue IS NOT NULL`,
      counted: `${CONSUMPTION}.currentValue`,
    }),
  },
  pack_limits_reached: {
    source: LIMITS,
    wrong: ['newrelic_limit_incidents'],
    ...has('NrIntegrationError', ['limitName'], {
      where: "category IN ('RateLimit', 'ResourceLimit')",
      minEvents: 1,
    }),
  },
  pack_usage: {
    source: "New Relic's page on usage queries",
    wrong: ['newrelic_usage_*'],
    // New Relic notes usage about three hours late.
    ...has('NrConsumption, NrMTDConsumption', [...DATA, ...USERS], { minEvents: 1, delay: 4 * HOUR_S }),
  },
};
