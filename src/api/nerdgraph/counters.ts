import type { QueryKind } from './batching.ts';
import { selectorOf } from './metricData.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { createRowsRead } from './nextCall.ts';
import { ITSELF } from './rows.ts';
import { PLANNED_FACETS } from '../../nrql/facets.ts';
import type { Timeslice } from '../types.ts';
import {
  sharedRange,
  type BatchRead,
  type MetricDataSubject,
  type MinuteSeries,
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

/** Reads minutes for counters. Accepts a response for a part of the range, and makes no call for the rest. */
export function createCounterRead(account: NerdGraphAccount): BatchRead<MetricDataSubject, MinuteSeries> {
  return createRowsRead(
    account,
    (range) => {
      const kind = makeKind(range);
      return ({ applicationId: id, metrics }) => [{ id, selector: selectorOf(metrics, 'names'), kind }];
    },
    (_, rows, range) => ({
      window: sharedRange(rows?.window ?? range, range),
      metrics: rows?.buckets.get(ITSELF) ?? new Map<string, Timeslice[]>(),
    }),
  );
}
