import { BOUNDS } from '../http/response.ts';
import { endOf, secondsOf, type Timeslice } from '../types.ts';
import { CallFailure, explainTooLarge, type UpstreamError } from '../upstreamError.ts';
import {
  oneByOne,
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
import { formatTime, metricTarget, queryOf, type RestClient, type Target } from './restClient.ts';
import { columnsOf, isKnown, parseMetricData, rangeOf, type MetricTimeslices } from './restColumns.ts';
import type { RestMemory } from './restMemory.ts';
import { LIMITS, summarizeSeries, toSeries } from './restSeries.ts';
import type { Columns } from '../../formulas/metricInputs.ts';

const LONGEST_NAME_SHOWN = 120;
const RAW = '&raw=true';

/** Encoded lists of names: encoding them costs more than the rest of an address. */
const encoded = new WeakMap<readonly string[], string>();

/**
 * The reads of metric data of applications and hosts.
 *
 * @param raw true: requests values that are not rounded to three digits
 */
export function metricDataReads(
  rest: RestClient,
  memory: RestMemory,
  { raw, refusedNamesMs }: { readonly raw: boolean; readonly refusedNamesMs: number },
): Pick<UpstreamReader, 'metricData' | 'metricSeries' | 'counters' | 'refuseCounters'> {
  /** A refused metric is added without values: it is unknown, not one that the application does not have. */
  const read = async (
    subject: MetricDataSubject,
    range: TimeRange,
    call: CallOptions,
    switches: string,
    look?: (body: unknown) => void,
  ): Promise<MetricTimeslices> => {
    const { applicationId, hostKey, metrics } = subject;
    const times = `from=${formatTime(range.from)}&to=${formatTime(range.to)}${switches}`;
    const targetOf = (names: readonly string[]): Target => {
      const query = encoded.get(names) ?? queryOf(names.map((name) => ['names[]', name]));
      if (names === metrics.names) encoded.set(names, query);
      return metricTarget('metrics/data.json', subject, `${query}&${times}`);
    };
    const calls = {
      read: (names: readonly string[]) =>
        rest.one(targetOf(names), call, BOUNDS.metricData, (body, discarded) => {
          look?.(body);
          return parseMetricData(body, range, discarded, (name, slice): Timeslice => {
            return { from: slice.from, to: slice.to, columns: columnsOf(name, slice, metrics.values?.get(name)) };
          });
        }),
      refuse: (name: string) => {
        const about = hostKey === undefined ? `application ${applicationId}` : `hosts of application ${applicationId}`;
        const shown = Array.from(name).slice(0, LONGEST_NAME_SHOWN).join('');
        rest.http.reportRefused(
          targetOf([name]).endpoint,
          `${about}: New Relic refuses the metric name ${JSON.stringify(shown)}: what is calculated from it is missing`,
        );
      },
      isFailing: () => rest.http.isFailing(call),
    };
    const remedy = `application ${applicationId}: leave it out (applications.exclude)`;
    const batched = readInBatches(memory, subject, calls, refusedNamesMs);
    const { data, refused } = await explainTooLarge(remedy, batched);
    if (refused.length === 0) return data;
    const unknown: readonly Timeslice[] = [{ ...range, columns: {} }];
    return new Map([...data, ...refused.map((name) => [name, unknown] as const)]);
  };

  const figures = raw ? RAW : '';
  /** The number of calls that the names of a subject take when nothing is refused. */
  const callsOf = (subject: MetricDataSubject): number =>
    Math.max(1, batches(allowedOf(memory, subject), memory.maxNames).length);
  return {
    metricData: oneByOne(
      async (subject, range, call) =>
        summarized(await read(subject, range, call, `&summarize=true${figures}`), subject.metrics, range),
      callsOf,
    ),
    metricSeries: {
      ...oneByOne(async (subject, chunk: SeriesChunk, call) => {
        const data = await read(subject, { from: chunk.readFrom, to: chunk.to }, call, figures);
        return toSeries(data, subject.metrics.names, chunk);
      }, callsOf),
      limits: LIMITS,
      summarize: summarizeSeries,
    },
    // Always raw, because rounded averages would add up to wrong seconds.
    counters: oneByOne(async (subject, range, call) => {
      let window = range;
      const metrics = await read(subject, range, call, RAW, (body) => {
        window = sharedRange(window, rangeOf(body));
      });
      return { window, metrics };
    }, callsOf),
    refuseCounters: (problem) =>
      rest.http.reportFailure('/applications/{id}/metrics/data.json', new CallFailure('invalid_response', problem)),
  };
}

/** The columns of a summarized response. A timeslice of another length than the others is unknown. */
function summarized(data: MetricTimeslices, { names }: MetricSelection, range: TimeRange): MetricDataResult {
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

/** Limit for the characters of the query of one metric data call. */
export const MAX_CHARACTERS = 4_000;

/** Names for each call after New Relic refused a longer list. */
const CAUTIOUS_NAMES = 10;

/** Characters of the rest of the query: the window and the switches. */
const REST_OF_QUERY = 100;

const PER_NAME = '&names[]='.length + 4; // The brackets travel percent-encoded.

/** Length of the longest encoding of one character of a name. */
const LONGEST_CHARACTER = '%E8%AA%9E'.length;

/** Splits names into as few calls as the limits allow, in order. If all names certainly fit, the same list is returned. */
export function batches(names: readonly string[], maxNames: number): readonly (readonly string[])[] {
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
 * The owners whose refused names a read leaves out; newly refused ones are stored under the last. What is refused for a host
 * may be valid for the application.
 */
function omittedFrom({ applicationId, hostKey }: MetricDataSubject): readonly string[] {
  const own = `names of ${applicationId}`;
  return hostKey === undefined ? [own] : [own, `${own} hosts`];
}

/** Status codes that may mean "too many names" or "not this name". */
const REFUSALS = new Set([400, 414, 422]);

/** The names that are not left out; the same list if that is all of them. */
function allowedOf({ omissions }: RestMemory, subject: MetricDataSubject): readonly string[] {
  const { names } = subject.metrics;
  if (omissions.isEmpty) return names;
  const owners = omittedFrom(subject);
  const allowed = names.filter((name) => !owners.some((owner) => omissions.isOmitted(owner, name)));
  return allowed.length === names.length ? names : allowed;
}

/**
 * Reads the metric data of any number of names in as few calls as possible (docs/reference.md, "Metric data calls"); the values
 * of `refused` names are unknown. Rejects when a call fails for another reason than a refusal, because incomplete inputs would
 * give wrong calculations, or when the first and the last name are both refused before anything was read.
 *
 * @param calls `read` reads these names in one call, `refuse` is called with each refused name, and `isFailing` is true
 * while calls of the account fail in a row
 * @param omitMs how long a refused name is left out
 */
export async function readInBatches(
  memory: RestMemory,
  subject: MetricDataSubject,
  calls: {
    readonly read: (names: readonly string[]) => Promise<MetricTimeslices>;
    readonly refuse: (name: string) => void;
    readonly isFailing: () => boolean;
  },
  omitMs: number,
): Promise<{ readonly data: MetricTimeslices; readonly refused: readonly string[] }> {
  const { names } = subject.metrics;
  let left = allowedOf(memory, subject);
  const refused = left === names ? [] : names.filter((name) => !left.includes(name));
  let data: MetricTimeslices | undefined;
  const single = new Map<string, UpstreamError | undefined>();
  /** Requests a list, a single name only once; returns the refusal. */
  const request = async (list: readonly string[]): Promise<UpstreamError | undefined> => {
    const [name = '', second] = list;
    if (second === undefined && single.has(name)) return single.get(name);
    const outcome = await outcomeOf(calls.read(list));
    const refusal = 'error' in outcome ? outcome.error : undefined;
    // A failure without a status, such as a timeout, is not a refusal.
    if (refusal !== undefined && !REFUSALS.has(refusal.failure.status ?? 0)) throw refusal;
    if ('value' in outcome) data = data === undefined ? outcome.value : new Map([...data, ...outcome.value]);
    if (second === undefined) single.set(name, refusal);
    return refusal;
  };
  const leaveOutRefused = async (list: readonly string[], refusal: UpstreamError): Promise<void> => {
    // Until something was read, a refusal may concern the application or the window, and then every call would be refused.
    for (const sample of [names.slice(0, 1), names.slice(-1)]) if (data === undefined) await request(sample);
    if (data === undefined) throw refusal;
    for (const name of list) {
      if ((await request([name])) === undefined) continue;
      refused.push(name);
      memory.omissions.omit(omittedFrom(subject).at(-1) ?? '', name, omitMs);
      calls.refuse(name);
    }
  };
  while (left.length > 0) {
    // The names are split again before each call, because an earlier call, perhaps of another subject, may have lowered the
    // limit.
    const [batch = left] = batches(left, memory.maxNames);
    left = left.slice(batch.length);
    const refusal = await request(batch);
    if (refusal === undefined) continue;
    // If calls for other subjects fail too, the cause is not a name.
    if (data === undefined && calls.isFailing()) throw refusal;
    const isLong = batch.length > CAUTIOUS_NAMES;
    let isTooLong = isLong;
    for (const part of isLong ? batches(batch, CAUTIOUS_NAMES) : [batch]) {
      const again = isLong ? await request(part) : refusal;
      if (again === undefined) continue;
      isTooLong = false;
      await leaveOutRefused(part, again);
    }
    if (isTooLong) memory.maxNames = CAUTIOUS_NAMES;
  }
  const found = data ?? new Map<string, never>();
  // A name that was left out may have been read as a sample, to distinguish a refused name from a refusal of everything.
  return { data: found, refused: refused.filter((name) => !found.has(name)) };
}
