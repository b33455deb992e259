import type { Archetype, SimulatedComponent } from './archetypes.ts';
import { type StoredTimeslice, apdex, EMPTY, timing, type MetricKind } from './timesliceValues.ts';
import { type InstanceMinute, chanceOf } from './traffic.ts';

/**
 * For what a metric can be asked: `everywhere`; `agent`: the vendor documents it for applications only, though
 * agents report it per host; `browser`: it exists for the application alone.
 */
type MetricReach = 'everywhere' | 'agent' | 'browser';

export interface MetricDefinition {
  readonly name: string;
  readonly kind: MetricKind;
  readonly reach: MetricReach;
  /** What an instance reports of it for a minute; undefined when it reports nothing. */
  readonly record: (minute: InstanceMinute) => StoredTimeslice | undefined;
  /** How many times a minute agents measure it; once unless given. `record` gives the mean of a minute as one measurement. */
  readonly samplesPerMinute?: number;
  /** The transaction for which the same figures are stored a second time, under the same name with a scope. */
  readonly scope?: string;
}

const SPREAD = 0.6;
/** How many times a minute the agent of a language measures memory; 4 for the others. */
const MEMORY_SAMPLES: Readonly<Record<string, number>> = { nodejs: 12, dotnet: 6 };

/** Splits requests by the share of answers that come within T and within 4T, taking durations as exponential. */
function apdexOf(requests: number, failed: number, seconds: number, target: number): StoredTimeslice {
  const answered = Math.max(0, requests - failed);
  const slower = (limit: number): number => (seconds <= 0 ? 0 : Math.exp(-limit / seconds));
  const satisfied = Math.round(answered * (1 - slower(target)));
  const tolerating = Math.min(answered - satisfied, Math.round(answered * (slower(target) - slower(4 * target))));
  return apdex(satisfied, tolerating, requests - satisfied - tolerating, target);
}

const webErrors = (minute: InstanceMinute): number => Math.min(minute.errors, minute.requests);
const ifAny = (count: number): StoredTimeslice | undefined => (count === 0 ? undefined : timing(count, 0, 0, 0));

function component(part: SimulatedComponent, salt: number): MetricDefinition {
  return {
    name: part.metric,
    kind: 'timing',
    reach: 'agent',
    record: (minute) => {
      const calls = Math.round(minute.requests * part.callsPerRequest);
      if (calls === 0) return EMPTY;
      const seconds = minute.requests * minute.responseSeconds * part.share * (0.9 + 0.1 * chanceOf(minute, salt));
      return timing(calls, seconds / calls, SPREAD, 1);
    },
  };
}

function webMetrics(kind: Archetype): readonly MetricDefinition[] {
  if (kind.web === undefined) return [];
  const duration = (minute: InstanceMinute) => timing(minute.requests, minute.responseSeconds, SPREAD, 0);
  const { queueSeconds, totalTimeFactor } = kind;
  const definitions: MetricDefinition[] = [
    { name: 'HttpDispatcher', kind: 'dispatcher', reach: 'everywhere', record: duration },
    { name: 'WebTransaction', kind: 'transaction', reach: 'everywhere', record: duration },
    {
      name: 'Apdex',
      kind: 'apdex',
      reach: 'everywhere',
      record: (minute) => apdexOf(minute.requests, webErrors(minute), minute.responseSeconds, kind.apdexTarget),
    },
  ];
  if (queueSeconds !== undefined) {
    const record = (minute: InstanceMinute) => timing(minute.requests, minute.queueSeconds, SPREAD, 1);
    definitions.push({ name: 'WebFrontend/QueueTime', kind: 'timing', reach: 'agent', record });
  }
  if (totalTimeFactor !== undefined) {
    const record = (minute: InstanceMinute) =>
      timing(minute.requests, minute.responseSeconds * totalTimeFactor, SPREAD, 1);
    definitions.push({ name: 'WebTransactionTotalTime', kind: 'timing', reach: 'agent', record });
  }
  return definitions;
}

/** Page views of the whole application, or of the part of them that one transaction serves. */
function browserMetrics(
  suffix: string,
  part: (views: number, minute: InstanceMinute) => number,
  kind: Archetype,
): readonly MetricDefinition[] {
  const views = (minute: InstanceMinute) => part(minute.pageViews, minute);
  return [
    {
      name: `EndUser${suffix}`,
      kind: 'end_user',
      reach: 'browser',
      record: (minute) => ({
        ...timing(views(minute), minute.pageSeconds, SPREAD, 0.7),
        sumOfSquares: views(minute) * Math.min(minute.responseSeconds, minute.pageSeconds * 0.2),
      }),
    },
    {
      name: `EndUser/Apdex${suffix}`,
      kind: 'apdex',
      reach: 'browser',
      record: (minute) => apdexOf(views(minute), 0, minute.pageSeconds, kind.endUserApdexTarget),
    },
    {
      name: `EndUser/RB${suffix}`,
      kind: 'end_user_rb',
      reach: 'browser',
      record: (minute) => timing(views(minute), minute.pageSeconds * 0.45, SPREAD, 0.02),
    },
  ];
}

function transactionMetrics(kind: Archetype): readonly MetricDefinition[] {
  return kind.transactions.flatMap(({ name, share, slowness }, index): readonly MetricDefinition[] => {
    const before = kind.transactions.slice(0, index).reduce((sum, transaction) => sum + transaction.share, 0);
    const isLast = index === kind.transactions.length - 1;
    // Rounding the running sum, not each share, keeps the parts adding up; the chance keeps small wholes fair.
    const part = (whole: number, minute: InstanceMinute) => {
      const offset = chanceOf(minute, 77);
      const end = isLast ? whole : Math.floor(whole * (before + share) + offset);
      return end - Math.floor(whole * before + offset);
    };
    const seconds = (minute: InstanceMinute) => minute.responseSeconds * slowness;
    const browser = kind.browser === undefined ? [] : browserMetrics(`/${name}`, part, kind);
    return [
      ...browser,
      {
        name: `WebTransaction/${name}`,
        kind: 'transaction',
        reach: 'everywhere',
        record: (minute) => timing(part(minute.requests, minute), seconds(minute), SPREAD, 0.5),
      },
      {
        name: `Apdex/${name}`,
        kind: 'apdex',
        reach: 'everywhere',
        record: (minute) =>
          apdexOf(
            part(minute.requests, minute),
            part(webErrors(minute), minute),
            seconds(minute),
            kind.apdexTarget * slowness,
          ),
      },
      {
        name: `Errors/WebTransaction/${name}`,
        kind: 'errors',
        reach: 'everywhere',
        record: (minute) => ifAny(part(webErrors(minute), minute)),
      },
    ];
  });
}

function processMetrics(kind: Archetype): readonly MetricDefinition[] {
  const definitions: MetricDefinition[] = [
    {
      name: 'Errors/all',
      kind: 'errors',
      reach: 'everywhere',
      record: (minute) => ifAny(minute.errors),
    },
    { name: 'Errors/allWeb', kind: 'errors', reach: 'everywhere', record: (minute) => ifAny(webErrors(minute)) },
    {
      name: 'Memory/Physical',
      kind: 'memory',
      reach: 'everywhere',
      record: (minute) => timing(1, minute.memoryMegabytes, 0, 1),
      samplesPerMinute: MEMORY_SAMPLES[kind.language] ?? 4,
    },
    {
      name: 'CPU/User Time',
      kind: 'cpu',
      reach: 'everywhere',
      record: (minute) => timing(1, minute.cpuSeconds, 0, 1),
    },
    { name: 'Agent/MetricsReported/count', kind: 'timing', reach: 'everywhere', record: () => timing(1, 0.076, 0, 1) },
  ];
  if (kind.background !== undefined) {
    const record = (minute: InstanceMinute) => timing(minute.background, minute.backgroundSeconds, SPREAD, 0.4);
    definitions.push({ name: 'OtherTransaction/all', kind: 'timing', reach: 'everywhere', record });
  }
  if (kind.garbageCollection) {
    const record = (minute: InstanceMinute) => timing(60, 0.0002 + 0.0002 * chanceOf(minute, 900), SPREAD, 1);
    definitions.push({ name: 'GC/System/Pauses', kind: 'gc', reach: 'everywhere', record });
  }
  return definitions;
}

function statementMetrics(kind: Archetype): readonly MetricDefinition[] {
  return Array.from({ length: kind.statements }, (_, index) => ({
    name: `Datastore/statement/Postgres/table_${String(index + 1).padStart(4, '0')}/select`,
    kind: 'timing',
    reach: 'everywhere',
    record: (minute) => timing(Math.round(minute.requests * 0.02), 0.004 * (1 + chanceOf(minute, index)), SPREAD, 1),
  }));
}

function scopeOf(kind: Archetype): string {
  const [first] = kind.transactions;
  return first === undefined ? 'OtherTransaction/Background/run' : `WebTransaction/${first.name}`;
}

/** Every metric an application of this archetype has, by name, in the order of the metric name list. */
export function metricDefinitions(kind: Archetype): ReadonlyMap<string, MetricDefinition> {
  const all: readonly MetricDefinition[] = [
    ...webMetrics(kind),
    ...kind.components.map((part, index) => component(part, 100 + index)),
    ...kind.retiredMetrics.map((name): MetricDefinition => ({
      name,
      kind: 'timing',
      reach: 'agent',
      record: () => EMPTY,
    })),
    ...processMetrics(kind),
    ...(kind.browser === undefined ? [] : browserMetrics('', (views) => views, kind)),
    ...transactionMetrics(kind),
    ...kind.customMetrics.map(({ name, mean }, index): MetricDefinition => ({
      name,
      kind: 'timing',
      reach: 'everywhere',
      record: (minute) => timing(1, mean * (0.7 + 0.6 * chanceOf(minute, 500 + index)), 0, 1),
      // The first of them is reported from within a transaction.
      ...(index === 0 ? { scope: scopeOf(kind) } : {}),
    })),
    ...statementMetrics(kind),
  ];
  return new Map(all.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map((metric) => [metric.name, metric]));
}
