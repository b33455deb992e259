import type { RestTimeslice } from '../../api/rest/restColumns.ts';
import { endOf, UpstreamError } from '../../api/types.ts';
import type { CallOptions, MetricDataResult, TimeRange, UpstreamReader } from '../../api/upstreamReader.ts';
import { isDatastore, METRIC } from '../../formulas/metricInputs.ts';
import { readEach, readOne } from '../upstream/readForCommand.ts';
import { before, byThroughput, probe } from './connections.ts';
import type { GraphAccount, Probe, RestAccount, RestConnection } from './connections.ts';
import { count, holds, undecided, word, type Judged } from './evidence.ts';
import { TEN_MINUTES } from './factRow.ts';
import { judgeFilter, judgeMemoryHosts, judgeMemoryMinutes, judgeRaw, judgeUnit, judgeWindow, sum } from './judges.ts';
import type { Minute, Pair, Summarized } from './judges.ts';
import { NO_METRIC } from './nrqlFacts.ts';
import { judgeCut } from './nrqlJudges.ts';
import { APP_ID, rowsFor } from './queryProbes.ts';

const DATABASES = '/allWeb';
const PAGE_OF_NAMES = 1_000;
/** Minutes that a summary may cover: thirty, plus a few for a window that ended earlier. */
const MINUTES = 36;

/** What was read of each metric in one minute, by its name. */
type MinuteColumns = Pick<MetricDataResult, 'metrics'>;

/** What an application had in each minute of a range, oldest first, from the reader of counters, which rounds nothing. */
export async function readMinutes(
  { reader, call }: { readonly reader: UpstreamReader; readonly call: CallOptions },
  applicationId: number,
  names: readonly string[],
  range: TimeRange,
): Promise<readonly MinuteColumns[]> {
  const subject = { applicationId, hostKey: undefined, metrics: reader.select(names) };
  const { metrics } = await readOne(reader.counters, subject, range, call);
  const starts = Array.from({ length: (range.to - range.from) / 60 }, (_, index) => range.from + 60 * index);
  return starts.map((start) => {
    const columnsOf = (name: string) => metrics.get(name)?.find(({ from }) => from === start)?.columns ?? {};
    return { metrics: new Map(names.map((name) => [name, columnsOf(name)])) };
  });
}

export function countAt({ metrics }: MinuteColumns, name: string): number {
  return metrics.get(name)?.count ?? 0;
}

/** The calls of a metric and their time, by minute. */
function minutesOf(read: readonly MinuteColumns[], name: string): readonly Minute[] {
  return read.map((minute) => ({ calls: countAt(minute, name), seconds: minute.metrics.get(name)?.sum ?? 0 }));
}

const callsIn = (minutes: readonly Minute[]): number => sum(minutes.map(({ calls }) => calls));

/** The mean response time; 0 without calls. */
function responseTimeOf(minutes: readonly Minute[]): number {
  return sum(minutes.map(({ seconds }) => seconds)) / (callsIn(minutes) || Infinity);
}

const STEPS = [30, 60, 120] as const;

/** Checks how many names one call may have, with at most three calls, up to the first refusal. */
async function checkMaxNames(
  rest: RestConnection,
  id: number,
  names: readonly string[],
  range: TimeRange,
): Promise<Judged> {
  // Short names first, because the length of the address is another limit.
  const shortest = names.toSorted((a, b) => a.length - b.length);
  if (shortest.length < STEPS[0]) return undecided('too few metric names', count('names', shortest.length));
  let highest = 0;
  for (const step of STEPS) {
    if (shortest.length < step) break;
    try {
      await rest.metricData(id, shortest.slice(0, step), range);
      highest = step;
    } catch (error) {
      const isRefused = error instanceof UpstreamError && [400, 414, 422].includes(error.failure.status ?? 0);
      if (!isRefused) throw error;
      break;
    }
  }
  return holds(highest >= STEPS[0], count('names', highest));
}

/** The form of a metric in a response. */
function shapeOf(timeslices: readonly RestTimeslice[] | undefined): 'absent' | 'empty' | 'zeros' | 'present' {
  const values = Object.values(timeslices?.[0]?.values ?? {});
  if (values.length === 0) return timeslices === undefined ? 'absent' : 'empty';
  return values.every((value) => value === 0) ? 'zeros' : 'present';
}

const SUMMARY_IDS = [
  'rest_summary_window',
  'rest_response_time_unit',
  'rest_throughput_unit',
  'rest_error_rate_scale',
  'rest_end_user_unit',
] as const;
const NAME_IDS = ['rest_next_keeps_filters', 'rest_names_page', 'rest_names_most', 'rest_name_filter'] as const;

export const REST_PROBES: readonly Probe<RestAccount>[] = [
  probe(SUMMARY_IDS, async ({ rest, largest, minute }) => {
    const summaries: Summarized[] = [];
    const times: Pair[] = [];
    const rates: Pair[] = [];
    const errors: Pair[] = [];
    const browsers: Pair[] = [];
    for (const { id, summary, endUserSummary } of largest.slice(0, 3)) {
      const read = await readMinutes(rest, id, [METRIC.web, METRIC.errors, 'EndUser'], before(minute, MINUTES * 60));
      const { requestRate = 0, responseTime, errorRate = 0 } = summary ?? {};
      if (requestRate > 0 && responseTime !== undefined) {
        const minutes = minutesOf(read, METRIC.web);
        const calls = callsIn(minutes.slice(-4));
        const failed = sum(read.slice(-4).map((each) => countAt(each, METRIC.errors)));
        summaries.push({ minutes, requestRate, responseTime });
        times.push({ seen: responseTime, expected: responseTimeOf(minutes.slice(-4)) });
        rates.push({ seen: requestRate, expected: calls / 240 });
        errors.push({ seen: errorRate, expected: failed / (calls || Infinity) });
      }
      const seconds = responseTimeOf(minutesOf(read, 'EndUser'));
      if (endUserSummary?.responseTime !== undefined && seconds > 0) {
        browsers.push({ seen: endUserSummary.responseTime, expected: seconds });
      }
    }
    return {
      rest_summary_window: judgeWindow(summaries, [3, 4]),
      rest_response_time_unit: judgeUnit(times, { 1: 'milliseconds', [1 / 1000]: 'seconds' }, 'no traffic'),
      rest_throughput_unit: judgeUnit(rates, { 1: 'per minute', [1 / 60]: 'per second', 60: 'per hour' }, 'no traffic'),
      rest_error_rate_scale: judgeUnit(errors, { 1: 'fraction', 100: 'percent' }, 'no errors'),
      rest_end_user_unit: judgeUnit(browsers, { 1: 'seconds', 1000: 'milliseconds' }, 'no browser data'),
    };
  }),
  probe(['rest_raw', 'rest_window_as_asked'], async ({ rest, first, to }) => {
    const range = before(to, 3 * TEN_MINUTES);
    const [slice] = (await rest.metricData(first.id, [METRIC.web], range)).get(METRIC.web) ?? [];
    const values = Object.entries(slice?.values ?? {}).flatMap(([name, value]) =>
      name.endsWith('count') ? [] : [value],
    );
    return {
      rest_raw: judgeRaw(values, (slice?.values['call_count'] ?? 0) / 30),
      rest_window_as_asked:
        slice === undefined ? undecided('no traffic') : judgeCut(range, { from: slice.from, to: endOf(slice) }, 0),
    };
  }),
  probe(NAME_IDS, async ({ rest, first, largest, to }) => {
    const pages: { readonly id: number; readonly names: readonly string[]; readonly next: URL | undefined }[] = [];
    for (const { id } of largest) {
      if (pages.at(-1)?.next === undefined) pages.push({ id, ...(await rest.namesPage(id, '/')) });
    }
    const [ofFirst] = pages;
    const [longest] = pages.toSorted((a, b) => b.names.length - a.names.length);
    const { names = [], next } = pages.at(-1) ?? {};
    const size = count('names', names.length);
    const keeps = next?.searchParams.get('name') === '/';
    return {
      rest_next_keeps_filters:
        next === undefined
          ? undecided('no list of several pages')
          : holds(keeps, word('shape', keeps ? 'filter kept' : 'filter lost')),
      rest_names_page:
        next === undefined ? undecided('no list of several pages', size) : holds(names.length === PAGE_OF_NAMES, size),
      rest_name_filter: judgeFilter(ofFirst?.names ?? [], DATABASES, (await rest.namesPage(first.id, DATABASES)).names),
      rest_names_most: await checkMaxNames(rest, longest?.id ?? first.id, longest?.names ?? [], before(to, 60)),
    };
  }),
  probe('rest_unknown_name', async ({ rest, first, to }) => {
    try {
      const data = await rest.metricData(first.id, [METRIC.web, NO_METRIC], before(to, TEN_MINUTES));
      const shape = shapeOf(data.get(NO_METRIC));
      return data.has(METRIC.web) ? holds(shape === 'absent', word('shape', shape)) : undecided('no traffic');
    } catch (error) {
      if (!(error instanceof UpstreamError) || ![400, 404, 422].includes(error.failure.status ?? 0)) throw error;
      return holds(false, word('shape', 'error'), word('failure', error.failure.reason));
    }
  }),
  probe('rest_errors_absent', async ({ rest, listed, to }) => {
    const without = listed.filter(
      ({ reporting, summary }) => reporting !== false && summary?.errorRate === 0 && (summary.requestRate ?? 0) > 0,
    );
    for (const { id } of byThroughput(without).slice(0, 2)) {
      const data = await rest.metricData(id, [METRIC.web, METRIC.errors], before(to, TEN_MINUTES));
      const shape = shapeOf(data.get(METRIC.errors));
      // Errors in earlier minutes of the range make the metric present; the next application is tried then.
      if (shape !== 'present') return holds(shape !== 'empty', word('shape', shape));
    }
    return undecided('no application without errors');
  }),
  probe(['rest_memory_minutes', 'rest_memory_hosts'], async ({ rest, largest, to }) => {
    const chosen =
      largest.find(({ hosts = 0 }) => hosts >= 2 && hosts <= 3) ?? largest.find(({ hosts }) => hosts === 1);
    if (chosen === undefined) return undecided('no application with one to three hosts');
    const applicationId = chosen.id;
    const range = before(to, TEN_MINUTES);
    const data = await rest.metricData(applicationId, [METRIC.memory], range);
    const whole = data.get(METRIC.memory)?.at(-1)?.values['total_used_mb'];
    const minutes = await readMinutes(rest, applicationId, [METRIC.memory], range);
    const hosts = await readOne(rest.reader.hosts, { applicationId }, range, rest.call);
    const isCounted = hosts.every(({ summary }) => summary?.instanceCount !== undefined) && hosts.length <= 3;
    const selection = rest.reader.select([METRIC.memory]);
    const subjectOf = ({ key }: (typeof hosts)[number]) => ({ applicationId, hostKey: key, metrics: selection });
    const read = await readEach(rest.reader.metricData, isCounted ? hosts : [], subjectOf, range, rest.call);
    return {
      rest_memory_minutes: judgeMemoryMinutes(
        whole,
        minutes.map(({ metrics }) => metrics.get(METRIC.memory)?.stated?.memory ?? 0).filter((value) => value > 0),
      ),
      rest_memory_hosts: judgeMemoryHosts(
        whole,
        read.map(([{ summary }, { metrics }]) => ({
          megabytes: metrics.get(METRIC.memory)?.stated?.processMemory ?? 0,
          processes: summary?.instanceCount ?? 0,
        })),
      ),
    };
  }),
  probe('rest_silent_application', ({ listed }) => {
    const silent = listed.filter(({ reporting }) => reporting === false);
    const shape = silent.every(({ summary }) => summary === undefined) ? 'absent' : 'present';
    const judged = holds(shape === 'absent', word('shape', shape));
    return Promise.resolve(silent.length === 0 ? undecided('no application that does not report') : judged);
  }),
  probe('rest_key_transaction_window', async ({ rest, listed, keyTransactions, minute }) => {
    const ids = new Set(listed.map(({ id }) => id));
    const busy = byThroughput(keyTransactions).filter(
      ({ summary, applicationId }) => (summary?.requestRate ?? 0) > 0 && ids.has(applicationId ?? NaN),
    );
    if (busy.length === 0) return undecided('no key transaction');
    const subjects: Summarized[] = [];
    for (const { transactionName = '', applicationId = 0, summary } of busy.slice(0, 3)) {
      const read = await readMinutes(rest, applicationId, [transactionName], before(minute, MINUTES * 60));
      const { requestRate = 0, responseTime } = summary ?? {};
      if (responseTime === undefined) continue;
      subjects.push({ minutes: minutesOf(read, transactionName), requestRate, responseTime });
    }
    return judgeWindow(subjects, [10]);
  }),
];

/** Checks through both interfaces that the REST list of names has each type of database that NerdGraph has data of. */
export const DATABASE_PROBE: Probe<RestAccount & GraphAccount> = {
  ...probe('same_database_types', async (account) => {
    const names = "appId IN ({apps}) AND metricTimesliceName LIKE 'Datastore/%/allWeb'";
    const query = `SELECT count(newrelic.timeslice.value) FROM Metric WHERE ${names} FACET appId, metricTimesliceName {time} LIMIT MAX`;
    const found = (await rowsFor(account, query)).map(({ facet }) => [facet].flat().map(String));
    const missing = new Set<string>();
    const ids = [...new Set(found.map(([id]) => Number(id)))].slice(0, 3);
    for (const each of ids) {
      const listed = (await account.rest.namesPage(each, DATABASES)).names;
      for (const [id, name = ''] of found) {
        if (Number(id) === each && isDatastore(name) && !listed.includes(name)) missing.add(name.split('/')[1] ?? '');
      }
    }
    if (ids.length === 0) return undecided('no database');
    return holds(missing.size === 0, ...[...missing].map((type) => word('database type', type)));
  }),
  needs: APP_ID,
};
