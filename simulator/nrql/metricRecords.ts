import type { MetricDefinition } from '../world/agentMetrics.ts';
import {
  hasHostAgent,
  hostIdentity,
  MICROMETER_REQUESTS,
  SERVICE_DURATION,
  SERVICE_ERRORS,
  serviceIdentity,
  serviceProvider,
} from '../world/monitoredEntities.ts';
import { type StoredTimeslice, timing } from '../world/timesliceValues.ts';
import type { InstanceMinute } from '../world/traffic.ts';
import type { World } from '../world/world.ts';
import { guidOf, HOURLY_AFTER_MINUTES, isShown, MINUTE, RETENTION_MINUTES } from '../world/worldEntities.ts';
import { type NrqlCondition, NrqlError } from './condition.ts';
import {
  ENTITY_VALUES,
  type Input,
  KEY_TRANSACTION_DURATION,
  KEY_TRANSACTION_ERRORS,
  METRIC_VALUES,
  TIMESLICE_VALUE,
} from './parseQuery.ts';
import type { Tally } from './nrqlFunctions.ts';
import type { Groups } from './rowTally.ts';

/** Records with the same attributes: one metric, one host, one scope. */
interface Series {
  /** Attributes by name: null if the records lack the attribute, undefined if it is not known yet. */
  readonly attributes: Readonly<Record<string, string | null | undefined>>;
  /** Returns the stored timeslice of an instance for a minute; undefined if there is none. */
  readonly record: (done: InstanceMinute) => StoredTimeslice | undefined;
}

/** The attribute value that marks the metric of a series. */
const PRESENT = 'present';
/** Attributes that select applications. A query of timeslices needs one. */
const SOURCES = ['appId', 'appName', 'entity.guid'];

function isMet({ meets }: NrqlCondition, attributes: Series['attributes']): boolean | undefined {
  return meets((name) => (name in attributes ? attributes[name] : null));
}

/** Creates the record function of a metric. It returns undefined for idle minutes: agents send no empty records. */
function createRecord({ record, samplesPerMinute = 1 }: MetricDefinition): Series['record'] {
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
 * Yields, for each application that meets a condition, the matching series of its hosts. Browser metrics have no host.
 * Throws an NrqlError if the condition selects no existing application.
 */
function* timesliceSeries(world: World, where: NrqlCondition) {
  const hasSource = where.comparisons.some(({ attribute }) => SOURCES.includes(attribute));
  const applications = hasSource ? world.applications() : [];
  const meant = applications.flatMap((application) => {
    const { id, name } = application;
    const attributes: Series['attributes'] = {
      appId: String(id),
      appName: name,
      'entity.guid': guidOf(world.options.accountId, 'APPLICATION', id),
      host: undefined,
      metricTimesliceName: undefined,
      scope: undefined,
      [TIMESLICE_VALUE]: PRESENT,
    };
    return isMet(where, attributes) === false ? [] : [{ application, attributes }];
  });
  if (meant.length === 0)
    throw new NrqlError('No application was matched (did you specify appId, appName or entity.guid?)');
  for (const { application, attributes: common } of meant) {
    const scope = world.whole(application);
    const candidates = world.metrics(scope).flatMap((metric) => {
      const named = {
        ...common,
        metricTimesliceName: metric.name,
        host: metric.reach === 'browser' ? null : undefined,
      };
      if (isMet(where, named) === false) return [];
      const scopes = [null, ...(metric.scope === undefined ? [] : [metric.scope])];
      const record = createRecord(metric);
      return scopes.map((scopeName): Series => ({ attributes: { ...named, scope: scopeName }, record }));
    });
    if (candidates.length === 0) continue;
    const seriesOf = (host: string): readonly Series[] => {
      const shown = isShown(application, host) ? host : null;
      return candidates
        .map(({ attributes, record }) => ({
          attributes: attributes['host'] === null ? attributes : { ...attributes, host: shown },
          record,
        }))
        .filter(({ attributes }) => isMet(where, attributes) === true);
    };
    yield { scope, seriesOf };
  }
}

/** Yields durations and errors of the key transactions that meet a condition. The only other attribute is the guid. */
function* keyTransactionSeries(world: World, where: NrqlCondition) {
  for (const { id, source, state } of world.keyTransactions()) {
    if (state === 'idle' || state === 'silent') continue;
    const scope = world.whole(source.application);
    const names = {
      [KEY_TRANSACTION_DURATION]: `WebTransaction/${source.transaction}`,
      [KEY_TRANSACTION_ERRORS]: `Errors/WebTransaction/${source.transaction}`,
    };
    const series = Object.entries(names).flatMap(([value, name]): readonly Series[] => {
      const metric = world.metric(scope, name);
      const attributes = { 'entity.guid': guidOf(world.options.accountId, 'KEY_TRANSACTION', id), [value]: PRESENT };
      return metric === undefined || isMet(where, attributes) !== true
        ? []
        : [{ attributes, record: createRecord(metric) }];
    });
    if (series.length > 0) yield { scope, seriesOf: () => series };
  }
}

/** Creates the gauges that an OpenTelemetry collector reports for a host, from 0 to 1, by state or file system. */
function hostGauges(guid: string): readonly Series[] {
  const gauge = (name: string, by: Series['attributes'], part: (done: InstanceMinute) => number): Series => ({
    attributes: { 'entity.guid': guid, [name]: PRESENT, ...by },
    record: (done) => timing(1, part(done), 0, 0),
  });
  const cpu = ({ cpuSeconds }: InstanceMinute): number => Math.min(1, cpuSeconds / 60);
  const memory = ({ memoryMegabytes }: InstanceMinute): number => memoryMegabytes / 800;
  return [
    gauge('system.cpu.utilization', { state: 'used' }, cpu),
    gauge('system.cpu.utilization', { state: 'idle' }, (done) => 1 - cpu(done)),
    gauge('system.memory.utilization', { state: 'used' }, memory),
    gauge('system.memory.utilization', { state: 'free' }, (done) => 1 - memory(done)),
    gauge('system.filesystem.utilization', { type: 'ext4' }, () => 0.45),
    gauge('system.filesystem.utilization', { type: 'squashfs' }, () => 1),
  ];
}

/** Creates the requests of a service by exception. Failed requests take as long as successful requests. */
function micrometerRequests(
  guid: string,
  calls: MetricDefinition | undefined,
  errors: MetricDefinition | undefined,
): readonly Series[] {
  const requests = (exception: string, countOf: (all: number, failed: number) => number): Series => ({
    attributes: { 'entity.guid': guid, [MICROMETER_REQUESTS]: PRESENT, exception },
    record: (done) => {
      const all = calls?.record(done);
      if (all === undefined || all.count === 0) return undefined;
      const count = countOf(all.count, Math.min(all.count, errors?.record(done)?.count ?? 0));
      return count === 0 ? undefined : timing(count, (1000 * all.total) / all.count, 0, 0);
    },
  });
  return [requests('none', (all, failed) => all - failed), requests('TimeoutException', (_, failed) => failed)];
}

/** Yields metrics of services, and of hosts that report through OpenTelemetry. They have the guid of their entity. */
function* entitySeries(world: World, where: NrqlCondition) {
  const { accountId } = world.options;
  const wanted = (series: readonly Series[]): readonly Series[] =>
    series.filter(({ attributes }) => isMet(where, attributes) === true);
  for (const application of world.applications()) {
    const scope = world.whole(application);
    const { guid } = serviceIdentity(accountId, application);
    const calls = world.metric(
      scope,
      application.archetype.web === undefined ? 'OtherTransaction/all' : 'HttpDispatcher',
    );
    const errors = world.metric(scope, 'Errors/all');
    const isMicrometer = serviceProvider(application) === 'micrometer';
    const serviceSeries = [
      { metric: calls, name: SERVICE_DURATION },
      { metric: errors, name: SERVICE_ERRORS },
    ].flatMap(({ metric, name }): readonly Series[] =>
      metric === undefined
        ? []
        : [{ attributes: { 'entity.guid': guid, [name]: PRESENT }, record: createRecord(metric) }],
    );
    const service = wanted(isMicrometer ? micrometerRequests(guid, calls, errors) : serviceSeries);
    const hosts = hasHostAgent(application) ? [] : scope.instances;
    const gauges = new Map(
      hosts.map(({ host, hostId }) => [host, wanted(hostGauges(hostIdentity(accountId, hostId).guid))]),
    );
    const seriesOf = (host: string): readonly Series[] => [...service, ...(gauges.get(host) ?? [])];
    if ([service, ...gauges.values()].some((series) => series.length > 0)) yield { scope, seriesOf };
  }
}

const HOUR_MINUTES = 60;

/**
 * Adds the metric records of a query to its groups. The time of a record is the beginning of its minute. In a range
 * that begins more than eight days ago, it is the beginning of the hour, because New Relic keeps only whole hours.
 */
export function collectMetrics(groups: Groups, { world, now }: { readonly world: World; readonly now: number }): void {
  const { query, range } = groups;
  const complete = Math.floor(now / MINUTE);
  const unit = range.begin < now - HOURLY_AFTER_MINUTES * MINUTE ? HOUR_MINUTES : 1;
  const fromMinute = Math.max(Math.ceil(range.begin / MINUTE / unit) * unit, complete - RETENTION_MINUTES);
  const toMinute = Math.min(Math.ceil(range.until / MINUTE / unit) * unit, complete);
  const existenceIsEnough = range.buckets.length === 1 && query.functions.every((name) => name === 'uniques');
  for (const { scope, seriesOf } of selectSeries(query)(world, query.where)) {
    const hosts = new Set(scope.instances.map(({ host }) => host));
    const pending = new Map(
      [...hosts].map((host) => [host, seriesOf(host).flatMap((series) => routeSeries(series, groups) ?? [])]),
    );
    for (const { done, instance, minute } of world.minutes(scope, fromMinute, toMinute, now)) {
      const bucket = range.bucketOf((minute - (minute % unit)) * MINUTE);
      const silent = (pending.get(instance.host) ?? []).filter(({ record, group, readers, choosesFacet }) => {
        const found = record(done);
        if (found === undefined) return true;
        group.isChosen ||= choosesFacet;
        group.records += 1;
        const tallies = groups.tallies(group, bucket);
        for (const [index, read] of readers.entries()) {
          const tally = tallies[index];
          if (tally !== undefined) read?.(found, tally);
        }
        return false;
      });
      if (!existenceIsEnough) continue;
      // Drops series that have a record: `uniques` needs no more.
      pending.set(instance.host, silent);
      if ([...pending.values()].every((series) => series.length === 0)) break;
    }
  }
}

/** Selects the source of series by the values in the inputs and the condition. */
function selectSeries({ inputs, where }: Groups['query']) {
  const names = new Set([...inputs, ...where.comparisons].map(({ attribute }) => attribute));
  if (names.has(KEY_TRANSACTION_DURATION) || names.has(KEY_TRANSACTION_ERRORS)) return keyTransactionSeries;
  return ENTITY_VALUES.some((name) => names.has(name)) ? entitySeries : timesliceSeries;
}

/** Finds the group of a series and a reader for each input; undefined without a facet attribute or any input. */
function routeSeries({ attributes, record }: Series, groups: Groups) {
  const facet = groups.query.facets.map(({ attribute }) => attributes[attribute ?? '']);
  const readers = groups.query.inputs.map((input) => createReader(input, attributes));
  if (!facet.every((value) => typeof value === 'string') || readers.every((reader) => reader === undefined))
    return undefined;
  return { record, group: groups.group(facet), readers, choosesFacet: readers[0] !== undefined };
}

/** Creates a function that adds records to a tally; undefined if the records have no value for the input. */
function createReader(
  input: Input,
  attributes: Series['attributes'],
): ((record: StoredTimeslice, tally: Tally) => void) | undefined {
  const { attribute, field } = input;
  if (isMet(input.where, attributes) === false) return undefined;
  if (attribute === undefined) return ({ count }, tally) => tally.add(field === 'count' ? count : 1, 1, 1, 1);
  const value = attributes[attribute];
  if (typeof value !== 'string') return undefined;
  if (!METRIC_VALUES.includes(attribute)) return (_, tally) => tally.addValue(value, 0, input);
  if (field !== undefined) return (record, tally) => tally.add(1, record[field], record[field], record[field]);
  return attribute === KEY_TRANSACTION_ERRORS || attribute === SERVICE_ERRORS
    ? ({ count }, tally) => tally.add(count, count, count, count)
    : ({ count, total, min, max }, tally) => tally.add(count, total, min, max);
}
