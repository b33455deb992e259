import type { QueryKind } from './batching.ts';
import { MetricSelector } from './metricSelector.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { NextCall, makeQueries, readQueries } from './nextCall.ts';
import type { ApplicationSubject, BatchRead, Outcome, TimeRange } from '../upstreamReader.ts';
import { METRIC } from '../../formulas/metricInputs.ts';
import { HOUR_S } from '../../formulas/units.ts';
import { SIGN_OF_LIFE } from '../../formulas/valueFormulas.ts';
import type { Host } from '../types.ts';

const KIND: QueryKind = { read: 'hosts', groupBy: 'host', columns: 'names', seconds: HOUR_S };

/** Reads the hosts that reported in the hour before the end of the range. NerdGraph has no list of hosts. */
export function createHostsRead(account: NerdGraphAccount): BatchRead<ApplicationSubject, readonly Host[]> {
  const { memory } = account;
  const selector = new MetricSelector([SIGN_OF_LIFE, METRIC.web]);
  return {
    take<T extends ApplicationSubject>(subjects: Iterable<T>, range: TimeRange) {
      const next = new NextCall<T>(memory);
      for (const subject of subjects) {
        if (!next.add(subject, [{ id: subject.applicationId, selector, kind: KIND }])) break;
      }
      return next.makeBatch(range);
    },
    async read(subjects, range, call) {
      const parts = subjects.map(({ applicationId: id }) => ({ id, selector, kind: KIND }));
      const found = await readQueries(account, makeQueries(parts, range), call);
      return subjects.map(({ applicationId }): Outcome<readonly Host[]> => {
        const rows = found.get(applicationId);
        const error = rows?.failureOf(undefined);
        if (error !== undefined) return { error };
        const language = memory.applications.get(applicationId)?.language;
        // A host has no id in NerdGraph, so the name identifies it.
        return { value: [...(rows?.rows.keys() ?? [])].sort().map((host) => ({ key: host, host, language })) };
      });
    },
  };
}
