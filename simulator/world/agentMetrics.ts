import type { Archetype } from './archetypes.ts';
import { type StoredTimeslice, apdex, EMPTY, timing, type MetricKind } from './timesliceValues.ts';
import { fraction, type InstanceMinute } from './traffic.ts';

export interface MetricDefinition {
  readonly name: string;
  readonly kind: MetricKind;
  /**
   * The scopes that have the metric: `everywhere`; `agent`: applications, and hosts if the option `hostMetrics` is
   * `all`, because New Relic documents it for applications only; `browser`: applications.
   */
  readonly reach: 'everywhere' | 'agent' | 'browser';
  /** Returns the timeslice that an instance reports for a minute; undefined if it reports none. */
  readonly record: (minute: InstanceMinute) => StoredTimeslice | undefined;
  /** How often an agent measures in a minute; default 1. `record` returns the mean of a minute as one measurement. */
  readonly samplesPerMinute?: number;
  /** A transaction: New Relic stores a second copy of the record, with this scope. */
  readonly scope?: string;
}

const SPREAD = 0.6;
/** The number of memory measurements in a minute by language; 4 for other languages. */
const MEMORY_SAMPLES: Readonly<Record<string, number>> = { nodejs: 12, dotnet: 6 };

/** Sorts requests into the zones of Apdex. Failed requests are frustrated; durations are exponentially distributed. */
function createApdex(requests: number, failed: number, seconds: number, target: number): StoredTimeslice {
  const succeeded = Math.max(0, requests - failed);
  const slower = (limit: number): number => (seconds <= 0 ? 0 : Math.exp(-limit / seconds));
  const satisfied = Math.round(succeeded * (1 - slower(target)));
  const tolerating = Math.min(succeeded - satisfied, Math.round(succeeded * (slower(target) - slower(4 * target))));
  return apdex(satisfied, tolerating, requests - satisfied - tolerating, target);
}

const webErrors = (minute: InstanceMinute): number => Math.min(minute.errors, minute.requests);
const countIfAny = (count: number): StoredTimeslice | undefined => (count === 0 ? undefined : timing(count, 0, 0, 0));

function metric(
  name: string,
  kind: MetricKind,
  record: MetricDefinition['record'],
  reach: MetricDefinition['reach'] = 'everywhere',
): MetricDefinition {
  return { name, kind, reach, record };
}

function componentMetrics({ components }: Archetype): readonly MetricDefinition[] {
  return Object.entries(components).map(([name, [callsPerRequest, share]], index) => {
    const record = (minute: InstanceMinute): StoredTimeslice => {
      const calls = Math.round(minute.requests * callsPerRequest);
      if (calls === 0) return EMPTY;
      const chance = fraction(minute.entropy, 100 + index);
      const seconds = minute.requests * minute.responseSeconds * share * (0.9 + 0.1 * chance);
      return timing(calls, seconds / calls, SPREAD, 1);
    };
    return metric(name, 'timing', record, 'agent');
  });
}

function webMetrics({ web, apdexTarget, queueSeconds, totalTimeFactor }: Archetype): readonly MetricDefinition[] {
  if (web === undefined) return [];
  const duration = (minute: InstanceMinute) => timing(minute.requests, minute.responseSeconds, SPREAD, 0);
  const queue = (minute: InstanceMinute) => timing(minute.requests, minute.queueSeconds, SPREAD, 1);
  const total = (minute: InstanceMinute) =>
    timing(minute.requests, minute.responseSeconds * (totalTimeFactor ?? 0), SPREAD, 1);
  return [
    metric('HttpDispatcher', 'dispatcher', duration),
    metric('WebTransaction', 'transaction', duration),
    metric('Apdex', 'apdex', (minute) =>
      createApdex(minute.requests, webErrors(minute), minute.responseSeconds, apdexTarget),
    ),
    ...(queueSeconds === undefined ? [] : [metric('WebFrontend/QueueTime', 'timing', queue, 'agent')]),
    ...(totalTimeFactor === undefined ? [] : [metric('WebTransactionTotalTime', 'timing', total, 'agent')]),
  ];
}

/** Creates the metrics of page views: of the whole application, or of the part that one transaction serves. */
function browserMetrics(
  suffix: string,
  part: (views: number, minute: InstanceMinute) => number,
  { browser, endUserApdexTarget }: Archetype,
): readonly MetricDefinition[] {
  if (browser === undefined) return [];
  const views = (minute: InstanceMinute) => part(minute.pageViews, minute);
  const endUser = (minute: InstanceMinute): StoredTimeslice => {
    const sumOfSquares = views(minute) * Math.min(minute.responseSeconds, minute.pageSeconds * 0.2);
    return timing(views(minute), minute.pageSeconds, SPREAD, 0.7, sumOfSquares);
  };
  const zones = (minute: InstanceMinute) => createApdex(views(minute), 0, minute.pageSeconds, endUserApdexTarget);
  return [
    metric(`EndUser${suffix}`, 'end_user', endUser, 'browser'),
    metric(`EndUser/Apdex${suffix}`, 'apdex', zones, 'browser'),
  ];
}

function transactionMetrics(kind: Archetype): readonly MetricDefinition[] {
  return kind.transactions.flatMap(({ name, share, slowness }, index): readonly MetricDefinition[] => {
    const before = kind.transactions.slice(0, index).reduce((sum, transaction) => sum + transaction.share, 0);
    const isLast = index === kind.transactions.length - 1;
    // Rounds the running sum, not each share, so that the parts add up. The random offset spreads small numbers evenly.
    const part = (whole: number, minute: InstanceMinute) => {
      const offset = fraction(minute.entropy, 77);
      const end = isLast ? whole : Math.floor(whole * (before + share) + offset);
      return end - Math.floor(whole * before + offset);
    };
    const requests = (minute: InstanceMinute) => part(minute.requests, minute);
    const errors = (minute: InstanceMinute) => part(webErrors(minute), minute);
    const seconds = (minute: InstanceMinute) => minute.responseSeconds * slowness;
    const target = kind.apdexTarget * slowness;
    return [
      ...browserMetrics(`/${name}`, part, kind),
      metric(`WebTransaction/${name}`, 'transaction', (minute) =>
        timing(requests(minute), seconds(minute), SPREAD, 0.5),
      ),
      metric(`Apdex/${name}`, 'apdex', (minute) =>
        createApdex(requests(minute), errors(minute), seconds(minute), target),
      ),
      metric(`Errors/WebTransaction/${name}`, 'errors', (minute) => countIfAny(errors(minute))),
    ];
  });
}

function processMetrics({ language, background }: Archetype): readonly MetricDefinition[] {
  const tasks = (minute: InstanceMinute) => timing(minute.background, minute.backgroundSeconds, SPREAD, 0.4);
  return [
    metric('Errors/all', 'errors', (minute) => countIfAny(minute.errors)),
    metric('Errors/allWeb', 'errors', (minute) => countIfAny(webErrors(minute))),
    {
      ...metric('Memory/Physical', 'memory', (minute) => timing(1, minute.memoryMegabytes, 0, 1)),
      samplesPerMinute: MEMORY_SAMPLES[language] ?? 4,
    },
    metric('CPU/User Time', 'cpu', (minute) => timing(1, minute.cpuSeconds, 0, 1)),
    metric('Agent/MetricsReported/count', 'timing', () => timing(1, 0.076, 0, 1)),
    ...(background === undefined ? [] : [metric('OtherTransaction/all', 'timing', tasks)]),
  ];
}

function statementMetrics(kind: Archetype): readonly MetricDefinition[] {
  return Array.from({ length: kind.statements }, (_, index) => {
    const name = `Datastore/statement/Postgres/table_${String(index + 1).padStart(4, '0')}/select`;
    return metric(name, 'timing', (minute) =>
      timing(Math.round(minute.requests * 0.02), 0.004 * (1 + fraction(minute.entropy, index)), SPREAD, 1),
    );
  });
}

/** A transaction reports the first custom metric, so it has a scope. */
function customMetrics({ customMetrics: metrics, transactions: [first] }: Archetype): readonly MetricDefinition[] {
  const scope = first === undefined ? 'OtherTransaction/Background/run' : `WebTransaction/${first.name}`;
  return metrics.map(({ name, mean }, index) => ({
    ...metric(name, 'timing', (minute) => timing(1, mean * (0.7 + 0.6 * fraction(minute.entropy, 500 + index)), 0, 1)),
    ...(index === 0 ? { scope } : {}),
  }));
}

/** Returns every metric of an archetype by name, in the order of the metric name list. */
export function metricDefinitions(kind: Archetype): ReadonlyMap<string, MetricDefinition> {
  const all: readonly MetricDefinition[] = [
    ...webMetrics(kind),
    ...componentMetrics(kind),
    ...kind.retiredMetrics.map((name) => metric(name, 'timing', () => EMPTY, 'agent')),
    ...processMetrics(kind),
    ...browserMetrics('', (views) => views, kind),
    ...transactionMetrics(kind),
    ...customMetrics(kind),
    ...statementMetrics(kind),
  ];
  return new Map(all.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map((one) => [one.name, one]));
}
