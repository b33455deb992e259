import type { QueryKind } from './batching.ts';
import { selectorOf } from './metricData.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { createRowsRead } from './nextCall.ts';
import { ITSELF } from './rows.ts';
import { PLANNED_FACETS } from '../../nrql/facets.ts';
import type { Timeslice } from '../types.ts';
import { sharedRange, type BatchRead, type MetricDataSubject, type MinuteSeries } from '../upstreamReader.ts';
import { MINUTE_MS, MINUTE_S } from '../../formulas/units.ts';

/** Reads minutes for counters. Accepts a response for a part of the range, and makes no call for the rest. */
export function createCounterRead(account: NerdGraphAccount): BatchRead<MetricDataSubject, MinuteSeries> {
  return createRowsRead(
    account,
    ({ from, to }) => {
      const kind: QueryKind = {
        read: 'counters',
        groupBy: 'application',
        columns: 'sums',
        // Parsing a response with more rows would block the event loop for too long.
        maxRows: Math.floor(PLANNED_FACETS / ((to - from) / MINUTE_S)),
        bucketMinutes: 1,
        keepsUnreadable: true,
        // Each read covers the last ten minutes again, so leaving out the subject loses no minute.
        maxOmissionMs: 10 * MINUTE_MS,
      };
      return ({ applicationId: id, metrics }) => [{ id, selector: selectorOf(metrics, 'names'), kind }];
    },
    (_, rows, range) => ({
      window: sharedRange(rows?.window ?? range, range),
      metrics: rows?.buckets.get(ITSELF) ?? new Map<string, Timeslice[]>(),
    }),
  );
}
