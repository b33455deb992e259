import type { BatchRead, MetricDataSubject, MinuteSeries, TimeRange, UpstreamReader } from '../api/upstreamReader.ts';
import { countedMinutes, counterSamples } from '../metrics/counterFamilies.ts';
import type { WrittenSamples } from '../metrics/sample.ts';
import type { SampleWriter } from '../metrics/writeSamples.ts';
import { LONGEST_RANGE, OVERLAP, type CounterLedger } from './counterLedger.ts';
import { MINUTE_MS, MINUTE_S } from '../formulas/units.ts';

/** The seconds that the counters of an account missed, and the transactions that arrived late, since the start. */
export interface CounterTotals {
  lostSeconds: number;
  lateTransactions: number;
}

/** An application, and its requested range. */
interface CounterSubject extends MetricDataSubject {
  readonly requested: TimeRange;
}

/**
 * Reads a batch over the range of its first application: mostly the longest one, because the oldest read is due first. An
 * application with a longer range is left for another call.
 */
export function overFirstRange(read: UpstreamReader['counters']): BatchRead<CounterSubject, MinuteSeries> {
  return {
    plan: <T extends CounterSubject>(subjects: Iterable<T>, { to }: TimeRange) => {
      const left = subjects[Symbol.iterator]();
      const first = left.next();
      if (first.done === true) throw new RangeError('no subjects');
      const { from } = first.value.requested;
      const covered = function* (): Generator<T> {
        for (let next: IteratorResult<T> = first; next.done !== true; next = left.next()) {
          if (next.value.requested.from >= from) yield next.value;
        }
      };
      return read.plan(covered(), { from, to });
    },
  };
}

/** The range of one read in a steady state, for counters with an interval in milliseconds: the interval plus the overlap. */
export function steadyRange(interval: number, to: number): TimeRange {
  const seconds = OVERLAP + Math.max(MINUTE_S, Math.ceil(interval / MINUTE_MS) * MINUTE_S);
  return { from: to - Math.min(LONGEST_RANGE, seconds), to };
}

/**
 * Adds the response about an application to its counters, and gives their samples.
 *
 * @throws UpstreamError when a minute cannot be read, or the response is for another time
 */
export function book(
  ledger: CounterLedger,
  series: MinuteSeries,
  { applicationId, requested }: CounterSubject,
  {
    totals,
    reader,
    writer,
  }: { totals: CounterTotals; readonly reader: Pick<UpstreamReader, 'refuseCounters'>; readonly writer: SampleWriter },
): WrittenSamples {
  const fail = (problem: string): never => {
    throw reader.refuseCounters(`application ${applicationId}: ${problem}`);
  };
  const received = series.window;
  if (received.to <= Math.max(received.from, requested.from)) fail('the response is for another time than requested');
  const { late, lost, broken } = ledger.take({ requested, received, minutes: countedMinutes(series) });
  totals.lateTransactions += late;
  totals.lostSeconds += lost;
  if (broken !== undefined) fail(`the minute ${new Date(broken * 1000).toISOString()} cannot be read`);
  return writer.write('counters', counterSamples(ledger.totals));
}
