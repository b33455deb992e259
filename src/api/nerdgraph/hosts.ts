import type { QueryKind } from './batching.ts';
import { MetricSelector } from './metricSelector.ts';
import type { NerdGraphAccount } from './nerdGraphAccount.ts';
import { createRowsRead } from './nextCall.ts';
import type { ApplicationSubject, BatchRead } from '../upstreamReader.ts';
import { METRIC } from '../../formulas/metricInputs.ts';
import { HOUR_S } from '../../formulas/units.ts';
import { SIGN_OF_LIFE } from '../../formulas/valueFormulas.ts';
import type { Host } from '../types.ts';

const KIND: QueryKind = { read: 'hosts', groupBy: 'host', columns: 'names', seconds: HOUR_S };

/** Reads the hosts that reported in the hour before the end of the range. NerdGraph has no list of hosts. */
export function createHostsRead(account: NerdGraphAccount): BatchRead<ApplicationSubject, readonly Host[]> {
  const selector = new MetricSelector([SIGN_OF_LIFE, METRIC.web]);
  const makeParts = ({ applicationId: id }: ApplicationSubject) => [{ id, selector, kind: KIND }];
  return createRowsRead(
    account,
    () => makeParts,
    ({ applicationId }, rows) => {
      const language = account.memory.applications.get(applicationId)?.language;
      // A host has no id in NerdGraph, so the name identifies it.
      return [...(rows?.rows.keys() ?? [])].sort().map((host) => ({ key: host, host, language }));
    },
  );
}
