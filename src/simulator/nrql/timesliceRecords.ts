import type { MetricDefinition } from '../world/agentMetrics.ts';
import type { EventSearch } from '../world/events.ts';
import type { StoredTimeslice } from '../world/timesliceValues.ts';
import type { InstanceMinute } from '../world/traffic.ts';
import type { WorldScope, World } from '../world/world.ts';
import { type SimulatedInstance, isShown } from '../world/worldEntities.ts';
import type { NrqlCondition } from './condition.ts';
import { comparisons, meets, NrqlError } from './condition.ts';
import { KEY_TRANSACTION_DURATION, KEY_TRANSACTION_ERRORS, TIMESLICE_VALUE } from './parseQuery.ts';

/** The attributes and values of a record by name; one that it lacks is null, one that is not known yet is undefined. */
export type SeriesAttributes = Readonly<Record<string, string | null | undefined>>;

/** Records that share their attributes: of one metric, from one host, for one scope. */
export interface Series {
  readonly attributes: SeriesAttributes;
  /** What an instance has stored for a minute; undefined when that is nothing. */
  readonly record: (done: InstanceMinute) => StoredTimeslice | undefined;
}

/** The series of an application that a query is about: those that each of its instances reports. */
export interface SelectedSeries {
  readonly scope: WorldScope;
  readonly seriesOf: (instance: SimulatedInstance) => readonly Series[];
}

const PRESENT = 'present';
/** What says which applications a query of timeslices is about: the service wants one of them. */
const SOURCES = ['appId', 'appName', 'entity.guid'];

function isMet(where: NrqlCondition | undefined, attributes: SeriesAttributes): boolean | undefined {
  if (where === undefined) return true;
  return meets(where, (name) => (name in attributes ? attributes[name] : null));
}

/** An agent sends nothing about what did not happen: such a record was never stored. */
function recordOf({ record, samplesPerMinute = 1 }: MetricDefinition): Series['record'] {
  return (done) => {
    const one = record(done);
    if (one === undefined || (one.count === 0 && one.total === 0 && one.totalExclusive === 0)) return undefined;
    if (samplesPerMinute === 1) return one;
    return {
      ...one,
      count: one.count * samplesPerMinute,
      total: one.total * samplesPerMinute,
      totalExclusive: one.totalExclusive * samplesPerMinute,
      sumOfSquares: one.sumOfSquares * samplesPerMinute,
    };
  };
}

/**
 * The timeslices of applications that meet a condition. Browser metrics have no host. Throws an NrqlError when the condition is
 * about no application that there is.
 */
export function* timesliceSeries(
  world: World,
  guidOf: EventSearch['guidOf'],
  where: NrqlCondition | undefined,
): Generator<SelectedSeries> {
  const hasSource = where !== undefined && comparisons(where).some(({ attribute }) => SOURCES.includes(attribute));
  const meant = world.applications().flatMap((application) => {
    const attributes: SeriesAttributes = {
      appId: String(application.id),
      appName: application.name,
      'entity.guid': guidOf('APPLICATION', application.id),
      host: undefined,
      metricTimesliceName: undefined,
      scope: undefined,
      [TIMESLICE_VALUE]: PRESENT,
    };
    return !hasSource || isMet(where, attributes) === false ? [] : [{ id: application.id, attributes }];
  });
  if (meant.length === 0)
    throw new NrqlError('No application was matched (did you specify appId, appName or entity.guid?)');
  for (const { id, attributes } of meant) {
    const scope = world.scope({ application: id });
    if (scope === undefined) continue;
    const candidates = world.metrics(scope).flatMap((metric) => seriesOfMetric(metric, attributes, where));
    if (candidates.length === 0) continue;
    const byHost = new Map<string, readonly Series[]>();
    for (const host of new Set(scope.instances.map((instance) => instance.host))) {
      const shown = isShown(scope.application, host) ? host : null;
      byHost.set(
        host,
        candidates.flatMap((candidate) => atHost(candidate, shown, where)),
      );
    }
    yield { scope, seriesOf: ({ host }) => byHost.get(host) ?? [] };
  }
}

/** A series whose host may still be open. */
function seriesOfMetric(
  metric: MetricDefinition,
  ofApplication: SeriesAttributes,
  where: NrqlCondition | undefined,
): readonly Series[] {
  const named = { ...ofApplication, metricTimesliceName: metric.name };
  if (isMet(where, named) === false) return [];
  const scopes = metric.scope === undefined ? [null] : [null, metric.scope];
  const record = recordOf(metric);
  return scopes.flatMap((scope) => {
    const attributes = { ...named, scope, ...(metric.reach === 'browser' ? { host: null } : {}) };
    return isMet(where, attributes) === false ? [] : [{ attributes, record }];
  });
}

function atHost(
  { attributes, record }: Series,
  host: string | null,
  where: NrqlCondition | undefined,
): readonly Series[] {
  const complete = attributes['host'] === null ? attributes : { ...attributes, host };
  return isMet(where, complete) === true ? [{ attributes: complete, record }] : [];
}

/** The durations and errors of key transactions that meet a condition. They carry the guid of the key transaction alone. */
export function* keyTransactionSeries(
  world: World,
  guidOf: EventSearch['guidOf'],
  where: NrqlCondition | undefined,
): Generator<SelectedSeries> {
  for (const { id, source, state } of world.keyTransactions()) {
    const scope = world.scope({ application: source.applicationId });
    if (scope === undefined || state === 'idle' || state === 'silent') continue;
    const series = (
      [
        [KEY_TRANSACTION_DURATION, `WebTransaction/${source.transaction}`],
        [KEY_TRANSACTION_ERRORS, `Errors/WebTransaction/${source.transaction}`],
      ] as const
    ).flatMap(([value, name]): readonly Series[] => {
      const metric = world.metric(scope, name);
      const attributes = { 'entity.guid': guidOf('KEY_TRANSACTION', id), [value]: PRESENT };
      return metric === undefined || isMet(where, attributes) !== true
        ? []
        : [{ attributes, record: recordOf(metric) }];
    });
    if (series.length > 0) yield { scope, seriesOf: () => series };
  }
}
