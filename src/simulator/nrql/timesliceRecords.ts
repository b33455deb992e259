import type { InstanceIdentity } from '../world/worldEntities.ts';
import type { MetricDefinition } from '../world/agentMetrics.ts';
import type { Scope, World } from '../world/world.ts';
import type { Timeslice } from '../world/timesliceValues.ts';
import type { InstanceMinute } from '../world/traffic.ts';
import { type Condition, meets } from './condition.ts';
import { KEY_TRANSACTION_DURATION, KEY_TRANSACTION_ERRORS, TIMESLICE_VALUE } from './parseQuery.ts';

/** The attributes and values of a record by name; one that it lacks is null, one that is not known yet is undefined. */
export type Attributes = Readonly<Record<string, string | null | undefined>>;

/** Records that share their attributes: of one metric, from one host, for one scope. */
export interface Series {
  readonly attributes: Attributes;
  /** What an instance has stored for a minute; undefined when that is nothing. */
  readonly record: (done: InstanceMinute) => Timeslice | undefined;
}

/** The series of an application that a query is about: those that each of its instances reports. */
export interface Selection {
  readonly scope: Scope;
  readonly seriesOf: (instance: InstanceIdentity) => readonly Series[];
}

/** Gives the entity guids of a world. */
export interface Guids {
  readonly application: (id: number) => string;
  readonly keyTransaction: (id: number) => string;
}

const PRESENT = 'present';

function isMet(where: Condition | undefined, attributes: Attributes): boolean | undefined {
  if (where === undefined) return true;
  return meets(where, (name) => (name in attributes ? attributes[name] : null));
}

/** An agent sends nothing about what did not happen: such a record was never stored. */
function stored(record: Timeslice | undefined): Timeslice | undefined {
  if (record === undefined) return undefined;
  return record.count === 0 && record.total === 0 && record.totalExclusive === 0 ? undefined : record;
}

function samples(record: Timeslice | undefined, perMinute: number): Timeslice | undefined {
  if (record === undefined || perMinute === 1) return record;
  return {
    ...record,
    count: record.count * perMinute,
    total: record.total * perMinute,
    totalExclusive: record.totalExclusive * perMinute,
    sumOfSquares: record.sumOfSquares * perMinute,
  };
}

function recordOf({ record, samplesPerMinute = 1 }: MetricDefinition): Series['record'] {
  return (done) => samples(stored(record(done)), samplesPerMinute);
}

/** The timeslices of applications that meet a condition. Browser metrics have no host. */
export function* timesliceSeries(world: World, guids: Guids, where: Condition | undefined): Generator<Selection> {
  for (const application of world.applications()) {
    const ofApplication: Attributes = {
      appId: String(application.id),
      appName: application.name,
      'entity.guid': guids.application(application.id),
      host: undefined,
      metricTimesliceName: undefined,
      scope: undefined,
      [TIMESLICE_VALUE]: PRESENT,
    };
    if (isMet(where, ofApplication) === false) continue;
    const scope = world.scope({ application: application.id });
    if (scope === undefined) continue;
    const candidates = world.metrics(scope).flatMap((metric) => seriesOfMetric(metric, ofApplication, where));
    if (candidates.length === 0) continue;
    const byHost = new Map<string, readonly Series[]>();
    for (const { host } of scope.instances) {
      if (!byHost.has(host))
        byHost.set(
          host,
          candidates.flatMap((candidate) => atHost(candidate, host, where)),
        );
    }
    yield { scope, seriesOf: ({ host }) => byHost.get(host) ?? [] };
  }
}

/** A series whose host may still be open. */
function seriesOfMetric(
  metric: MetricDefinition,
  ofApplication: Attributes,
  where: Condition | undefined,
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

function atHost({ attributes, record }: Series, host: string, where: Condition | undefined): readonly Series[] {
  const complete = attributes['host'] === null ? attributes : { ...attributes, host };
  return isMet(where, complete) === true ? [{ attributes: complete, record }] : [];
}

/** The durations and errors of key transactions that meet a condition. They carry the guid of the key transaction alone. */
export function* keyTransactionSeries(world: World, guids: Guids, where: Condition | undefined): Generator<Selection> {
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
      const attributes = { 'entity.guid': guids.keyTransaction(id), [value]: PRESENT };
      return metric === undefined || isMet(where, attributes) !== true
        ? []
        : [{ attributes, record: recordOf(metric) }];
    });
    if (series.length > 0) yield { scope, seriesOf: () => series };
  }
}
