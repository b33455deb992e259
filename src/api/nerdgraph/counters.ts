import type { NeededPart, QueryKind } from './batching.ts';
import { selectorOf } from './metricData.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { NextCall, makeQueries, readQueries } from './nextCall.ts';
import { ITSELF } from './rows.ts';
import { PLANNED_FACETS } from '../../nrql/facets.ts';
import {
  sharedRange,
  type BatchRead,
  type MetricDataSubject,
  type MinuteSeries,
  type Outcome,
  type TimeRange,
} from '../upstreamReader.ts';
import { MINUTE_MS, MINUTE_S } from '../../formulas/units.ts';

/** Reads minutes over a range. Parsing a response with more than `maxRows` would block the event loop for too long. */
function makeKind({ from, to }: TimeRange): QueryKind {
  return {
    read: 'counters',
    groupBy: 'application',
    columns: 'sums',
    maxRows: Math.floor(PLANNED_FACETS / ((to - from) / MINUTE_S)),
    bucketMinutes: 1,
    keepsUnreadable: true,
    // Each read covers the last ten minutes again, so leaving out the subject loses no minute.
    maxOmissionMs: 10 * MINUTE_MS,
  };
}

function makePart({ applicationId, metrics }: MetricDataSubject, kind: QueryKind): NeededPart {
  return { id: applicationId, selector: selectorOf(metrics, 'names'), kind };
}

/** Reads minutes for counters. Accepts a response for a part of the range, and makes no call for the rest. */
export function createCounterRead(account: NerdGraphAccount): BatchRead<MetricDataSubject, MinuteSeries> {
  return {
    take<T extends MetricDataSubject>(subjects: Iterable<T>, range: TimeRange) {
      const next = new NextCall<T>(account.memory);
      const kind = makeKind(range);
      for (const subject of subjects) if (!next.add(subject, [makePart(subject, kind)])) break;
      return next.makeBatch(range);
    },
    async read(subjects, range, call) {
      const kind = makeKind(range);
      const parts = subjects.map((subject) => makePart(subject, kind));
      const found = await readQueries(account, makeQueries(parts, range), call);
      return subjects.map(({ applicationId }): Outcome<MinuteSeries> => {
        const rows = found.get(applicationId);
        const error = rows?.failureOf(undefined);
        if (error !== undefined) return { error };
        const window = sharedRange(rows?.window ?? range, range);
        return { value: { window, metrics: rows?.buckets.get(ITSELF) ?? new Map() } };
      });
    },
  };
}
