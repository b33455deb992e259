import type { AskedGraph, Probe } from './asked.ts';
import { before, DAY, HOUR, numberAt } from './asked.ts';
import type { FactId } from './facts.ts';
import { judgeFields } from './judges.ts';
import { isList, isObject } from '../../api/http/readRecords.ts';

/** The events that a pack reads, and the fields of them that it names. */
interface Events {
  readonly id: FactId;
  readonly from: string;
  readonly fields: readonly string[];
  /** The range of the query, in seconds. */
  readonly over: number;
  /** True to read only the largest application; other events are rare, or read for only an hour. */
  readonly ofApplication?: boolean;
  readonly where?: string;
  /** The condition for the counted events; all of them by default. */
  readonly counted?: string;
  /** The least number of events for a verdict, because few events may lack a field by chance. */
  readonly least?: number;
}

const MONTH = 30 * DAY;
const CONSUMPTION = 'newrelic.resourceConsumption';

/** The events by pack, in the order of the table of facts. */
export const EVENTS: readonly Events[] = [
  {
    id: 'pack_alert_events',
    from: 'NrAiIncident',
    fields: ['event', 'incidentId', 'openTime', 'policyName', 'conditionName', 'priority', 'entity.name'],
    over: MONTH,
  },
  {
    id: 'pack_service_levels',
    from: 'ServiceLevelSnapshot',
    fields: ['sliCompliance', 'remainingErrorBudget', 'entity.guid', 'entity.name'],
    over: HOUR,
  },
  {
    id: 'pack_deployments',
    from: 'ChangeTrackingEvent, Deployment',
    fields: ['timestamp', 'version', 'entity.guid', 'entity.name'],
    over: MONTH,
  },
  {
    id: 'pack_transactions',
    from: 'Transaction',
    fields: ['duration', 'transactionType', 'appName', 'appId'],
    over: DAY,
    ofApplication: true,
  },
  {
    id: 'pack_browser',
    from: 'PageView, PageViewTiming, JavaScriptError',
    fields: ['appName', 'largestContentfulPaint', 'interactionToNextPaint', 'cumulativeLayoutShift'],
    over: HOUR,
  },
  {
    id: 'pack_synthetics',
    from: 'SyntheticCheck',
    fields: ['result', 'duration', 'monitorName', 'locationLabel'],
    over: HOUR,
  },
  {
    id: 'pack_limits',
    from: 'Metric',
    fields: [`${CONSUMPTION}.limitValue`, 'limitName', 'limitTimeInterval'],
    over: HOUR,
    where: `${CONSUMPTION}.currentValue IS NOT NULL OR ${CONSUMPTION}.limitValue IS NOT NULL`,
    counted: `${CONSUMPTION}.currentValue`,
  },
  {
    id: 'pack_usage',
    from: 'NrConsumption, NrMTDConsumption',
    fields: [
      ...['GigabytesIngested', 'productLine', 'usageMetric', 'metric', 'consumption'],
      ...['FullPlatformUsersBillable', 'CoreUsersBillable'],
    ],
    over: HOUR,
    least: 1,
  },
];

/** The query that counts the events with each field. */
export function fieldsQuery(
  { from, fields, over, ofApplication, where, counted = '*' }: Events,
  asked: Pick<AskedGraph, 'largest' | 'to'>,
): string {
  const range = before(asked.to, over);
  const conditions = [ofApplication === true ? `appId = ${asked.largest[0]?.id ?? 0}` : undefined, where];
  const condition = conditions.filter((each) => each !== undefined).join(' AND ');
  return [
    `SELECT count(${counted}) AS n, ${fields.map((field, index) => `count(${field}) AS f${index}`).join(', ')}`,
    `FROM ${from}${condition === '' ? '' : ` WHERE ${condition}`}`,
    `SINCE ${range.from * 1000} UNTIL ${range.to * 1000}`,
  ].join(' ');
}

/** The fields of each pack, one call each. */
export const FIELD_PROBES: readonly Probe<AskedGraph>[] = EVENTS.map((events) => ({
  ids: [events.id],
  ask: async (asked) => {
    const { results } = await asked.graph.result(fieldsQuery(events, asked));
    const [row] = isList(results) ? results.filter(isObject) : [];
    const present = events.fields.map((field, index) => [field, numberAt(row, `f${index}`)] as const);
    return { [events.id]: judgeFields(numberAt(row, 'n'), Object.fromEntries(present), events.least) };
  },
}));
