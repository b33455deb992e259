import {
  countCalls,
  type BatchRead,
  type MetricDataSubject,
  type MinuteSeries,
  type TimeRange,
  type UpstreamReader,
} from '../api/upstreamReader.ts';
import { UpstreamError } from '../api/types.ts';
import { COUNTER_METRICS, countedMinutes, countedValues, counterSamples } from '../metrics/counterFamilies.ts';
import type { WrittenSamples } from '../metrics/sample.ts';
import { NO_SAMPLES, type SampleWriter } from '../metrics/writeSamples.ts';
import { CounterLedger, LONGEST_READING, OVERLAP } from './counterLedger.ts';

const MINUTE = 60;

/** The counters of one application. They outlive times in which it does not report. */
export interface CounterRecord {
  readonly ledger: CounterLedger;
  samples: WrittenSamples;
}

/** What the counters of an account missed, in seconds, and what arrived late, since the start. */
export interface CounterTotals {
  lostSeconds: number;
  lateTransactions: number;
}

export function newCounterRecord(): CounterRecord {
  return { ledger: new CounterLedger(), samples: NO_SAMPLES };
}

/** An application, and the range that is asked for it. */
interface CounterSubject extends MetricDataSubject {
  readonly asked: TimeRange;
}

export function counterSubject(applicationId: number, { ledger }: CounterRecord, to: number): CounterSubject {
  const asked = ledger.nextRange(to);
  return { applicationId, hostKey: undefined, names: COUNTER_METRICS, values: countedValues, asked };
}

/**
 * Reads a batch over the longest range of its applications.
 *
 * @param interval milliseconds: a steady state reads this time and what it overlaps
 */
export function overLongestRange(
  read: UpstreamReader['counters'],
  interval: number,
): BatchRead<CounterSubject, MinuteSeries> {
  const steady = Math.min(LONGEST_READING, OVERLAP + Math.max(MINUTE, Math.ceil(interval / 60_000) * MINUTE));
  return {
    nextCall: (subjects, { to }) => {
      let from = subjects[0]?.asked.from ?? to;
      for (;;) {
        const next = read.nextCall(subjects, { from, to });
        const longest = earliest(subjects.slice(0, next.count));
        // A longer range has room for fewer applications.
        if (longest >= from) return next;
        from = longest;
      }
    },
    callsFor: (subjects, { to }) => countCalls(read, subjects, { from: to - steady, to }),
    read: (subjects, { to }, call) => read.read(subjects, { from: earliest(subjects), to }, call),
  };
}

function earliest(subjects: readonly CounterSubject[]): number {
  return subjects.reduce((first, { asked }) => Math.min(first, asked.from), Infinity);
}

/**
 * Books what was answered about an application.
 *
 * @param endpoint of the calls, for the failure
 * @throws UpstreamError where a minute cannot be read, or the response is for another time
 */
export function book(
  record: CounterRecord,
  series: MinuteSeries,
  { applicationId, asked }: CounterSubject,
  { totals, writer, endpoint }: { totals: CounterTotals; readonly writer: SampleWriter; readonly endpoint: string },
): void {
  const fail = (problem: string): never => {
    throw new UpstreamError(`application ${applicationId}: ${problem}`, { reason: 'invalid_response', endpoint });
  };
  const answered = {
    from: Math.ceil(series.window.from / MINUTE) * MINUTE,
    to: Math.min(Math.floor(series.window.to / MINUTE) * MINUTE, asked.to),
  };
  if (answered.to <= Math.max(answered.from, asked.from)) fail('the response is for another time than was asked for');
  const { late, lost, broken } = record.ledger.take({ asked, answered, minutes: countedMinutes(series) });
  totals.lateTransactions += late;
  totals.lostSeconds += lost;
  if (broken !== undefined) fail(`the minute ${new Date(broken * 1000).toISOString()} cannot be read`);
  record.samples = writer.write('counters', counterSamples(record.ledger.totals));
}
