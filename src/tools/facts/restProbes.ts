import type { RestTimeslice } from '../../api/rest/restColumns.ts';
import { UpstreamError } from '../../api/upstreamError.ts';
import type { TimeRange } from '../../api/upstreamReader.ts';
import { isDatastore, METRIC, type Columns } from '../../formulas/metricInputs.ts';
import { readOne } from '../upstream/readForCommand.ts';
import { before, byThroughput, probe, TEN_MINUTES } from './factConnections.ts';
import type { GraphAccount, Probe, RestAccount, RestConnection } from './factConnections.ts';
import { count, holds, undecided, word } from './evidence.ts';
import { COUNT, NO_METRIC } from './facts.ts';
import { judgeFactor, judgeRaw, judgeWindow, sum, type Minute, type Summarized } from './judges.ts';
import { APP_ID, rowsFor } from './queryProbes.ts';

const DATABASES = '/allWeb';
/** The factor by which memory may change between two reads: processes come and go. */
const FLUCTUATION = 1.05;
/** Minutes that a summary may cover: thirty, plus a few for a window that ended earlier. */
const MINUTES = 36;

/** Reads metrics as counters do, without rounding: what the application had in each minute, oldest first. */
export async function readMinutes(
  { reader, call }: Pick<RestConnection, 'reader' | 'call'>,
  applicationId: number,
  names: readonly string[],
  range: TimeRange,
): Promise<(name: string) => readonly Columns[]> {
  const subject = { applicationId, hostKey: undefined, metrics: { names } };
  const { metrics } = await readOne(reader.counters, subject, range, call);
  const starts = Array.from({ length: (range.to - range.from) / 60 }, (_, index) => range.from + 60 * index);
  return (name) => starts.map((start) => metrics.get(name)?.find(({ from }) => from === start)?.columns ?? {});
}

/** The calls of a metric and their time, by minute. */
function minutesOf(columnsOf: Awaited<ReturnType<typeof readMinutes>>, name: string): readonly Minute[] {
  return columnsOf(name).map(({ count: calls = 0, sum: seconds = 0 }) => ({ calls, seconds }));
}

const callsIn = (minutes: readonly Minute[]): number => sum(minutes.map(({ calls }) => calls));

/** The mean response time; 0 without calls. */
function responseTimeOf(minutes: readonly Minute[]): number {
  return sum(minutes.map(({ seconds }) => seconds)) / (callsIn(minutes) || Infinity);
}

/** The form of a metric in a response. */
function shapeOf(timeslices: readonly RestTimeslice[] | undefined): 'absent' | 'empty' | 'zeros' | 'present' {
  const values = Object.values(timeslices?.[0]?.values ?? {});
  if (values.length === 0) return timeslices === undefined ? 'absent' : 'empty';
  return values.every((value) => value === 0) ? 'zeros' : 'present';
}

function isRefusal(error: unknown, statuses: readonly number[]): error is UpstreamError {
  return error instanceof UpstreamError && statuses.includes(error.failure.status ?? 0);
}

const SUMMARY_IDS = [
  'rest_summary_window',
  'rest_response_time_unit',
  'rest_throughput_unit',
  'rest_error_rate_scale',
  'rest_end_user_unit',
] as const;
export const REST_PROBES: readonly Probe<RestAccount>[] = [
  probe(SUMMARY_IDS, async ({ rest, largest, minute }) => {
    const range = before(minute(), MINUTES * 60);
    const read = [];
    for (const { id, summary, endUserSummary } of largest.slice(0, 3)) {
      const columnsOf = await readMinutes(rest, id, [METRIC.web, METRIC.errors, 'EndUser'], range);
      const minutes = minutesOf(columnsOf, METRIC.web);
      const [calls, time] = [callsIn(minutes.slice(-4)), responseTimeOf(minutes.slice(-4))];
      const failed = callsIn(minutesOf(columnsOf, METRIC.errors).slice(-4));
      const browser = { seen: endUserSummary?.responseTime, expected: responseTimeOf(minutesOf(columnsOf, 'EndUser')) };
      read.push({ ...summary, minutes, calls, time, failed, browser });
    }
    const times = read.map(({ responseTime, time }) => ({ seen: responseTime, expected: time }));
    const rates = read.map(({ requestRate, calls }) => ({ seen: requestRate, expected: calls / 240 }));
    const errors = read.map(({ errorRate, failed, calls }) => ({ seen: errorRate, expected: failed / calls }));
    const browsers = read.map(({ browser }) => browser);
    const perTime = { 1: 'per minute', [1 / 60]: 'per second', 60: 'per hour' };
    return {
      rest_summary_window: judgeWindow(read, [3, 4]),
      rest_response_time_unit: judgeFactor(times, { 1: 'milliseconds', [1 / 1000]: 'seconds' }, 'no traffic'),
      rest_throughput_unit: judgeFactor(rates, perTime, 'no traffic'),
      rest_error_rate_scale: judgeFactor(errors, { 1: 'fraction', 100: 'percent' }, 'no errors'),
      rest_end_user_unit: judgeFactor(browsers, { 1: 'seconds', 1000: 'milliseconds' }, 'no browser data'),
    };
  }),
  probe('rest_raw', async ({ rest, first, to }) => {
    const data = await rest.metricData(first.id, [METRIC.web], before(to, 3 * TEN_MINUTES));
    const { values = {} } = data.get(METRIC.web)?.[0] ?? {};
    const others = Object.entries(values).flatMap(([name, value]) => (name.endsWith('count') ? [] : [value]));
    return judgeRaw(others, (values['call_count'] ?? 0) / 30);
  }),
  probe(['rest_next_keeps_filters', 'rest_names_most'], async ({ rest, first, largest, to }) => {
    const pages: { readonly id: number; readonly names: readonly string[]; readonly next: URL | undefined }[] = [];
    for (const { id } of largest) {
      if (pages.at(-1)?.next === undefined) pages.push({ id, ...(await rest.namesPage(id, '/')) });
    }
    const [longest = { ...first, names: [] }] = pages.toSorted((a, b) => b.names.length - a.names.length);
    // Short names first, because the length of the address is another limit.
    const shortest = longest.names.toSorted((a, b) => a.length - b.length);
    const steps = [30, 60, 120].filter((step) => step <= shortest.length);
    let highest = 0;
    for (const step of steps) {
      try {
        await rest.metricData(longest.id, shortest.slice(0, step), before(to, 60));
        highest = step;
      } catch (error) {
        if (!isRefusal(error, [400, 414, 422])) throw error;
        break;
      }
    }
    const next = pages.at(-1)?.next;
    const keeps = next?.searchParams.get('name') === '/';
    return {
      rest_next_keeps_filters:
        next === undefined
          ? undecided('no list of several pages')
          : holds(keeps, word('shape', keeps ? 'filter kept' : 'filter lost')),
      rest_names_most:
        steps.length === 0
          ? undecided('too few metric names', count('names', shortest.length))
          : holds(highest > 0, count('names', highest)),
    };
  }),
  probe('rest_unknown_name', async ({ rest, first, to }) => {
    try {
      const data = await rest.metricData(first.id, [METRIC.web, NO_METRIC], before(to, TEN_MINUTES));
      const shape = shapeOf(data.get(NO_METRIC));
      return data.has(METRIC.web) ? holds(shape === 'absent', word('shape', shape)) : undecided('no traffic');
    } catch (error) {
      if (!isRefusal(error, [400, 404, 422])) throw error;
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
    const whole = await rest.metricData(applicationId, [METRIC.memory], range);
    const seen = whole.get(METRIC.memory)?.at(-1)?.values['total_used_mb'];
    const minutes = await readMinutes(rest, applicationId, [METRIC.memory], range);
    const hosts = await readOne(rest.reader.hosts, { applicationId }, range, rest.call);
    const isCounted = hosts.every(({ summary }) => summary?.instanceCount !== undefined) && hosts.length <= 3;
    const selection = { names: [METRIC.memory] };
    const ofHost = async ({ key, summary }: (typeof hosts)[number]): Promise<number> => {
      const subject = { applicationId, hostKey: key, metrics: selection };
      const { metrics } = await readOne(rest.reader.metricData, subject, range, rest.call);
      return (metrics.get(METRIC.memory)?.processMemory ?? 0) * (summary?.instanceCount ?? 0);
    };
    const ofHosts = await Promise.all((isCounted ? hosts : []).map(ofHost));
    const megabytes = minutes(METRIC.memory).flatMap(({ memory }) => memory ?? []);
    const forms = { 1: 'mean of the minutes', [megabytes.length]: 'sum of the minutes' };
    const mean = megabytes.length < 2 ? 0 : sum(megabytes) / megabytes.length;
    return {
      rest_memory_minutes: judgeFactor([{ seen, expected: mean }], forms, 'no host', FLUCTUATION),
      rest_memory_hosts: judgeFactor(
        [{ seen, expected: sum(ofHosts) }],
        { 1: 'all processes' },
        'no host',
        FLUCTUATION,
      ),
    };
  }),
  probe('rest_key_transaction_window', async ({ rest, listed, minute }) => {
    const ids = new Set(listed.map(({ id }) => id));
    const busy = byThroughput(await rest.reader.listKeyTransactions({}, rest.call)).filter(
      ({ summary, applicationId }) => (summary?.requestRate ?? 0) > 0 && ids.has(applicationId ?? NaN),
    );
    if (busy.length === 0) return undecided('no key transaction');
    const range = before(minute(), MINUTES * 60);
    const subjects: Summarized[] = [];
    for (const { transactionName = '', applicationId = 0, summary } of busy.slice(0, 3)) {
      const read = await readMinutes(rest, applicationId, [transactionName], range);
      subjects.push({ ...summary, minutes: minutesOf(read, transactionName) });
    }
    return judgeWindow(subjects, [10]);
  }),
];

/** Checks through both interfaces that the REST list of names has each type of database that NerdGraph has data of. */
export const DATABASE_PROBE = probe<RestAccount & GraphAccount>(
  'same_database_types',
  async (account) => {
    const names = "appId IN ({apps}) AND metricTimesliceName LIKE 'Datastore/%/allWeb'";
    const query = `${COUNT} ${names} FACET appId, metricTimesliceName {time} LIMIT MAX`;
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
  },
  APP_ID,
);
