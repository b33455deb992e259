import { BOUNDS } from '../http/body.ts';
import { CallFailure } from '../http/callFailure.ts';
import { formatTime, isList, isObject, parseTime, type Json, type LeftOut } from '../http/readRecords.ts';
import { endOf, secondsOf, type MetricData, type Timeslice } from '../types.ts';
import {
  oneByOne,
  type BatchRead,
  type CallOptions,
  type MetricDataAnswer,
  type MetricDataSubject,
  type SeriesRead,
  type TimeRange,
} from '../reader.ts';
import { summarizeSeries, toSeries, planRestChunks } from './restSeries.ts';
import { NameSplitting, type RefusedNames } from './nameSplitting.ts';
import { metricTarget, queryOf, type RestClient, type Target } from './restClient.ts';

/** Value names that count or time something. The values of custom metrics may be anything under any name. */
const NEVER_NEGATIVE = new Set([
  ...['call_count', 'count', 'error_count', 'calls_per_minute', 'requests_per_minute', 'errors_per_minute'],
  ...['s', 't', 'f', 'score', 'threshold', 'threshold_min'],
  ...['average_response_time', 'average_call_time', 'percent', 'used_mb_by_host', 'total_used_mb'],
]);
const CUSTOM = 'Custom/';

const NO_VALUES: Timeslice['values'] = Object.freeze({});

/**
 * The timeslices of an answer, oldest first. Checked by hand in one pass: this is by far the most frequent
 * answer. Throws a CallFailure without the envelope, or when none of its metrics can be read.
 *
 * A metric that was answered without anything usable has one timeslice over the range asked for, without values:
 * calculations tell "not answered" (`Errors/all`: no errors) from "not known".
 *
 * @param range what was asked for, Unix seconds
 */
export function parseMetricData(body: unknown, range: TimeRange, leftOut: LeftOut): MetricData {
  const data = isObject(body) ? body['metric_data'] : undefined;
  if (!isObject(data) || !isList(data['metrics'])) {
    throw new CallFailure('invalid_response', 'the answer has no "metric_data" with "metrics"');
  }
  const answered = data['metrics'];
  const timeslices = new TimesliceParser(leftOut);
  const metrics = new Map<string, readonly Timeslice[]>();
  for (const metric of answered) {
    const name = isObject(metric) ? metric['name'] : undefined;
    if (!isObject(metric) || typeof name !== 'string' || name === '' || metrics.has(name)) leftOut.record('metrics');
    else metrics.set(name, timeslices.parse(name, metric['timeslices']));
  }
  if (answered.length > 0 && metrics.size === 0) {
    throw new CallFailure('invalid_response', `none of the ${answered.length} metrics of the answer can be read`);
  }
  const found = isList(data['metrics_found']) ? data['metrics_found'] : [];
  for (const name of [...metrics.keys(), ...found]) {
    if (typeof name === 'string' && !metrics.get(name)?.length) metrics.set(name, [{ ...range, values: NO_VALUES }]);
  }
  return metrics;
}

class TimesliceParser {
  readonly #leftOut: LeftOut;
  /** All timeslices of an answer share a few times. */
  readonly #times = new Map<string, number | undefined>();

  constructor(leftOut: LeftOut) {
    this.#leftOut = leftOut;
  }

  /** Two of one beginning would be counted twice: the first counts. */
  parse(metric: string, timeslices: unknown): readonly Timeslice[] {
    const parsed: Timeslice[] = [];
    for (const each of isList(timeslices) ? timeslices : [undefined]) {
      const timeslice = this.#timeslice(metric, each);
      if (timeslice === undefined) this.#leftOut.value('metrics.timeslices');
      else parsed.push(timeslice);
    }
    parsed.sort((a, b) => a.from - b.from);
    const single = parsed.filter(({ from }, index) => from !== parsed[index - 1]?.from);
    for (let repeated = parsed.length - single.length; repeated > 0; repeated -= 1) {
      this.#leftOut.value('metrics.timeslices');
    }
    return single;
  }

  #timeslice(metric: string, timeslice: unknown): Timeslice | undefined {
    if (!isObject(timeslice) || !isObject(timeslice['values'])) return undefined;
    const from = this.#time(timeslice['from']);
    const to = this.#time(timeslice['to']);
    if (from === undefined || to === undefined || to <= from) return undefined;
    return { from, to, values: this.#values(metric, timeslice['values']) };
  }

  #time(text: unknown): number | undefined {
    if (typeof text !== 'string') return undefined;
    if (!this.#times.has(text)) this.#times.set(text, parseTime(text));
    return this.#times.get(text);
  }

  /** As they were parsed, which copies nothing, unless some are impossible. Only own properties are values. */
  #values(metric: string, values: Json): Timeslice['values'] {
    const mayBeNegative = metric.startsWith(CUSTOM);
    if (allPossible(values, mayBeNegative)) return values;
    const possible: [string, number][] = [];
    for (const [name, value] of Object.entries(values)) {
      if (isPossible(name, value, mayBeNegative)) possible.push([name, value]);
      else this.#leftOut.value('metrics.timeslices.values');
    }
    return Object.fromEntries(possible);
  }
}

function allPossible(values: Json, mayBeNegative: boolean): values is Readonly<Record<string, number>> {
  for (const name in values) if (!isPossible(name, values[name], mayBeNegative)) return false;
  return true;
}

function isPossible(name: string, value: unknown, mayBeNegative: boolean): value is number {
  return (
    typeof value === 'number' && Number.isFinite(value) && (value >= 0 || mayBeNegative || !NEVER_NEGATIVE.has(name))
  );
}

const LONGEST_NAME_SHOWN = 120;

/** Reads the metric data of applications and hosts; all calls about one subject send the same pair of times. */
export class MetricDataCalls {
  readonly #rest: RestClient;
  readonly #raw: boolean;
  readonly #splitting: NameSplitting;
  /** Names as they travel, for each list of them that is in use: writing them costs more than all else of an address. */
  readonly #written = new WeakMap<readonly string[], string>();

  /** @param raw asks for values that are not rounded to three digits */
  constructor(rest: RestClient, raw: boolean, refused: RefusedNames) {
    this.#rest = rest;
    this.#raw = raw;
    this.#splitting = new NameSplitting(refused);
  }

  /** One timeslice per metric over the range. */
  readonly summarized: BatchRead<MetricDataSubject, MetricDataAnswer> = oneByOne(
    async (subject, range, call) => summarized(await this.#read(subject, range, true, call), subject, range),
    (subject) => this.#splitting.calls(subject),
  );

  readonly series: SeriesRead = {
    ...oneByOne(
      async (subject, chunk, call) => {
        const data = await this.#read(subject, { from: chunk.readFrom, to: chunk.to }, false, call);
        return toSeries(data, subject.names, chunk);
      },
      (subject) => this.#splitting.calls(subject),
    ),
    plan: planRestChunks,
    summarize: summarizeSeries,
  };

  /**
   * What upstream refused to answer has no values: nobody knows them. Without it, a calculation would take such a metric for
   * one that the application does not have (no errors, no queue, nothing to take off a total time).
   */
  async #read(
    subject: MetricDataSubject,
    range: TimeRange,
    summarize: boolean,
    call: CallOptions,
  ): Promise<MetricData> {
    const { applicationId, hostKey } = subject;
    const times = queryOf([
      ['from', formatTime(range.from)],
      ['to', formatTime(range.to)],
      ...(summarize ? [['summarize', 'true'] as const] : []),
      ...(this.#raw ? [['raw', 'true'] as const] : []),
    ]);
    const targetOf = (names: readonly string[]): Target =>
      metricTarget('metrics/data.json', subject, `${this.#namesQuery(names)}&${times}`);
    const { data, refused } = await this.#splitting.read(subject, {
      read: (names) =>
        this.#rest.one(targetOf(names), call, BOUNDS.metricData, (body, leftOut) =>
          parseMetricData(body, range, leftOut),
        ),
      refuse: (name) => {
        const about = hostKey === undefined ? `application ${applicationId}` : `hosts of application ${applicationId}`;
        const shown = Array.from(name).slice(0, LONGEST_NAME_SHOWN).join('');
        this.#rest.http.leftOut(
          targetOf([name]).endpoint,
          `${about}: upstream refuses the metric name ${JSON.stringify(shown)}: what is calculated from it is missing`,
        );
      },
      isSilent: () => this.#rest.http.isSilentFor(call),
    });
    if (refused.length === 0) return data;
    return new Map([...data, ...refused.map((name) => [name, [{ ...range, values: NO_VALUES }]] as const)]);
  }

  #namesQuery(names: readonly string[]): string {
    const query = this.#written.get(names) ?? queryOf(names.map((name) => ['names[]', name]));
    this.#written.set(names, query);
    return query;
  }
}

/**
 * The wanted values of a summarized answer. It has one timeslice of each metric; of several, the last counts. What is for
 * another length of time than the others is not known: its counts would be taken for theirs.
 */
function summarized(data: MetricData, { names, values }: MetricDataSubject, range: TimeRange): MetricDataAnswer {
  const metrics = new Map<string, Readonly<Record<string, number>>>();
  let window: TimeRange | undefined;
  for (const name of names) {
    const last = data.get(name)?.at(-1);
    if (last === undefined) continue;
    const isKnown = Object.keys(last.values).length > 0;
    if (isKnown) window ??= { from: last.from, to: endOf(last) };
    const fits = !isKnown || window === undefined || secondsOf(last) === window.to - window.from;
    metrics.set(name, fits ? picked(last.values, values?.(name)) : NO_VALUES);
  }
  return { window: window ?? range, metrics, datastores: undefined };
}

function picked(values: Timeslice['values'], wanted: readonly string[] | undefined): Timeslice['values'] {
  if (wanted === undefined) return values;
  const result: Record<string, number> = {};
  for (const name of wanted) {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value !== undefined) result[name] = value;
  }
  return result;
}
