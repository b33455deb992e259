import { BOUNDS } from '../http/response.ts';
import { endOf, secondsOf, type Timeslice } from '../types.ts';
import { CallFailure, explainTooLarge, type UpstreamError } from '../upstreamError.ts';
import {
  createSingleRead,
  outcomeOf,
  sharedRange,
  type CallOptions,
  type MetricDataResult,
  type MetricDataSubject,
  type MetricSelection,
  type SeriesChunk,
  type TimeRange,
  type UpstreamReader,
} from '../upstreamReader.ts';
import { formatTime, createMetricTarget, encodeQuery, type RestClient, type Target } from './restClient.ts';
import { convertTimeslices, isKnown, parseMetricData, parseRange, type MetricTimeslices } from './restColumns.ts';
import type { RestMemory } from './restMemory.ts';
import { LIMITS, summarizeSeries, toSeries } from './restSeries.ts';
import type { Columns } from '../../formulas/metricInputs.ts';

const LONGEST_NAME_SHOWN = 120;
const RAW = '&raw=true';

/** Encoding is the expensive part of an address. */
const encodedNames = new WeakMap<readonly string[], string>();

/** Creates the reads of metric data of applications and hosts. */
export function createMetricDataReads(
  rest: RestClient,
  memory: RestMemory,
  { raw, refusedNamesMs: omitMs }: { readonly raw: boolean; readonly refusedNamesMs: number },
): Pick<UpstreamReader, 'metricData' | 'metricSeries' | 'counters' | 'refuseCounters'> {
  const figures = raw ? RAW : '';
  const callsOf = (subject: MetricDataSubject): number =>
    Math.max(1, splitNames(selectAllowed(memory, subject), memory.maxNames).length);
  const readSummary = async (subject: MetricDataSubject, range: TimeRange, call: CallOptions) => {
    const switches = `&summarize=true${figures}`;
    const data = await new NamesRead({ rest, memory, omitMs, subject, range, switches, call }).run();
    return toMetricDataResult(data, subject.metrics, range);
  };
  const readSeries = async (subject: MetricDataSubject, chunk: SeriesChunk, call: CallOptions) => {
    const range = { from: chunk.readFrom, to: chunk.to };
    const data = await new NamesRead({ rest, memory, omitMs, subject, range, switches: figures, call }).run();
    return toSeries(data, subject.metrics.names, chunk);
  };
  const readMinutes = async (subject: MetricDataSubject, range: TimeRange, call: CallOptions) => {
    // Always raw: rounded averages would add up to wrong seconds.
    const read = new NamesRead({ rest, memory, omitMs, subject, range, switches: RAW, isForCounters: true, call });
    const metrics = await read.run();
    return { window: read.window, metrics };
  };
  return {
    metricData: createSingleRead(readSummary, callsOf),
    metricSeries: { ...createSingleRead(readSeries, callsOf), limits: LIMITS, summarize: summarizeSeries },
    counters: createSingleRead(readMinutes, callsOf),
    refuseCounters: (problem) =>
      rest.http.reportFailure('/applications/{id}/metrics/data.json', new CallFailure('invalid_response', problem)),
  };
}

/** Returns the columns of a summary. The first known timeslice gives the window; one of another length is unknown. */
function toMetricDataResult(data: MetricTimeslices, { names }: MetricSelection, range: TimeRange): MetricDataResult {
  const metrics = new Map<string, Columns>();
  let window: TimeRange | undefined;
  for (const name of names) {
    const last = data.get(name)?.at(-1);
    if (last === undefined) continue;
    const isReported = isKnown(last);
    if (isReported) window ??= { from: last.from, to: endOf(last) };
    const fits = !isReported || window === undefined || secondsOf(last) === window.to - window.from;
    metrics.set(name, fits ? last.columns : {});
  }
  return { window: window ?? range, metrics };
}

/** Limit for the characters of the query string of one call. */
export const MAX_CHARACTERS = 4_000;
/** Limit for the names of a call after New Relic refused a longer list. */
const CAUTIOUS_NAMES = 10;
/** Characters of the query string without names: the window and the switches. */
const REST_OF_QUERY = 100;
const PER_NAME = '&names%5B%5D='.length;
/** Length of the longest percent-encoding of one UTF-16 unit. */
const LONGEST_CHARACTER = '%E8%AA%9E'.length;

/** Splits names, in order, into as few calls as the limits allow. Returns the same list if all names certainly fit. */
export function splitNames(names: readonly string[], maxNames: number): readonly (readonly string[])[] {
  const longest = names.reduce((sum, { length }) => sum + PER_NAME + length * LONGEST_CHARACTER, REST_OF_QUERY);
  if (names.length <= maxNames && longest <= MAX_CHARACTERS) return names.length === 0 ? [] : [names];
  const result: string[][] = [];
  let characters = 0;
  for (const name of names) {
    const length = PER_NAME + encodeURIComponent(name).length;
    const batch = result.at(-1);
    characters += length;
    if (batch !== undefined && batch.length < maxNames && characters <= MAX_CHARACTERS) batch.push(name);
    else {
      result.push([name]);
      characters = REST_OF_QUERY + length;
    }
  }
  return result;
}

/**
 * Returns the collections of refused names that a read leaves out. New refusals go into the last collection: a name
 * that New Relic refuses for a host may be valid for its application.
 */
function listOmissionKeys({ applicationId, hostKey }: MetricDataSubject): readonly string[] {
  const applicationKey = `names of ${applicationId}`;
  return hostKey === undefined ? [applicationKey] : [applicationKey, `${applicationKey} hosts`];
}

/** Status codes that may mean "too many names" or "not this name". */
const REFUSALS = new Set([400, 414, 422]);

/** Returns the names that are not omitted. Returns the same list if no name is omitted. */
function selectAllowed({ omissions }: RestMemory, subject: MetricDataSubject): readonly string[] {
  const { names } = subject.metrics;
  if (omissions.isEmpty) return names;
  const owners = listOmissionKeys(subject);
  const allowed = names.filter((name) => !owners.some((owner) => omissions.isOmitted(owner, name)));
  return allowed.length === names.length ? names : allowed;
}

interface NamesRequest {
  readonly rest: RestClient;
  readonly memory: RestMemory;
  readonly subject: MetricDataSubject;
  readonly range: TimeRange;
  /** Query parameters besides names and times. */
  readonly switches: string;
  /** True: the response must say which minutes it is for. */
  readonly isForCounters?: boolean;
  /** Milliseconds to leave out a refused name. */
  readonly omitMs: number;
  readonly call: CallOptions;
}

/** Reads any number of names in as few calls as possible (docs/reference.md, "Metric data calls"). */
class NamesRead {
  /** The intersection of the ranges that the responses for counters name. */
  window: TimeRange;
  readonly #request: NamesRequest;
  readonly #times: string;
  #data: MetricTimeslices | undefined;
  readonly #refused: string[] = [];
  /** Refusals of names requested alone. Undefined: New Relic answered. */
  readonly #singleResults = new Map<string, UpstreamError | undefined>();

  constructor(request: NamesRequest) {
    const { range, switches } = request;
    this.#request = request;
    this.window = range;
    this.#times = `from=${formatTime(range.from)}&to=${formatTime(range.to)}${switches}`;
  }

  /**
   * Returns the timeslices by metric name. A refused metric has no values: it is unknown, not absent. Rejects if a call
   * fails for another reason than a refusal, because incomplete inputs give wrong results. Also rejects if New Relic
   * refuses the first and the last name before any answer.
   */
  async run(): Promise<MetricTimeslices> {
    const { subject, range } = this.#request;
    const remedy = `application ${subject.applicationId}: leave it out (applications.exclude)`;
    await explainTooLarge(remedy, this.#readAll());
    const data = this.#data ?? new Map<string, never>();
    // `#leaveOutRefused` may have read an omitted name as a sample.
    const refused = this.#refused.filter((name) => !data.has(name));
    if (refused.length === 0) return data;
    const unknown: readonly Timeslice[] = [{ from: range.from, to: range.to, columns: {} }];
    return new Map([...data, ...refused.map((name) => [name, unknown] as const)]);
  }

  async #readAll(): Promise<void> {
    const { rest, memory, subject, call } = this.#request;
    const { names } = subject.metrics;
    let remaining = selectAllowed(memory, subject);
    if (remaining !== names) this.#refused.push(...names.filter((name) => !remaining.includes(name)));
    while (remaining.length > 0) {
      // Split again before each call: a call of any subject may have lowered the limit.
      const [batch = remaining] = splitNames(remaining, memory.maxNames);
      remaining = remaining.slice(batch.length);
      const refusal = await this.#read(batch);
      if (refusal === undefined) continue;
      // While the account fails, a name is not the cause.
      if (this.#data === undefined && rest.http.isFailing(call)) throw refusal;
      const isLong = batch.length > CAUTIOUS_NAMES;
      let isTooLong = isLong;
      for (const part of isLong ? splitNames(batch, CAUTIOUS_NAMES) : [batch]) {
        const again = isLong ? await this.#read(part) : refusal;
        if (again === undefined) continue;
        isTooLong = false;
        await this.#leaveOutRefused(part, again);
      }
      if (isTooLong) memory.maxNames = CAUTIOUS_NAMES;
    }
  }

  async #leaveOutRefused(list: readonly string[], refusal: UpstreamError): Promise<void> {
    const { rest, memory, subject, omitMs } = this.#request;
    const { names } = subject.metrics;
    // Before any answer, New Relic may refuse the application or the window instead of a name. Two samples decide.
    for (const sample of [names.slice(0, 1), names.slice(-1)]) if (this.#data === undefined) await this.#read(sample);
    if (this.#data === undefined) throw refusal;
    const { applicationId, hostKey } = subject;
    const about = hostKey === undefined ? `application ${applicationId}` : `hosts of application ${applicationId}`;
    for (const name of list) {
      if ((await this.#read([name])) === undefined) continue;
      this.#refused.push(name);
      memory.omissions.omit(listOmissionKeys(subject).at(-1) ?? '', name, omitMs);
      const shown = JSON.stringify(Array.from(name).slice(0, LONGEST_NAME_SHOWN).join(''));
      const words = `${about}: New Relic refuses the metric name ${shown}: the values calculated from it are missing`;
      rest.http.reportFailure(this.#createTarget([name]).endpoint, new CallFailure('invalid_response', words));
    }
  }

  /** Reads a list, or a single name once. Returns the refusal. */
  async #read(list: readonly string[]): Promise<UpstreamError | undefined> {
    const [name = '', second] = list;
    if (second === undefined && this.#singleResults.has(name)) return this.#singleResults.get(name);
    const outcome = await outcomeOf(this.#call(list));
    const refusal = 'error' in outcome ? outcome.error : undefined;
    // A failure without a status, such as a timeout, is no refusal.
    if (refusal !== undefined && !REFUSALS.has(refusal.failure.status ?? 0)) throw refusal;
    if ('value' in outcome) {
      this.#data = this.#data === undefined ? outcome.value : new Map([...this.#data, ...outcome.value]);
    }
    if (second === undefined) this.#singleResults.set(name, refusal);
    return refusal;
  }

  #call(names: readonly string[]): Promise<MetricTimeslices> {
    const { rest, subject, range, isForCounters, call } = this.#request;
    return rest.readOne(this.#createTarget(names), call, BOUNDS.metricData, (body, discarded) => {
      if (isForCounters === true) this.window = sharedRange(this.window, parseRange(body));
      return convertTimeslices(parseMetricData(body, range, discarded), subject.metrics.values);
    });
  }

  #createTarget(names: readonly string[]): Target {
    const { subject } = this.#request;
    const query = encodedNames.get(names) ?? encodeQuery(names.map((name) => ['names[]', name]));
    if (names === subject.metrics.names) encodedNames.set(names, query);
    return createMetricTarget('metrics/data.json', subject, `${query}&${this.#times}`);
  }
}
