import type { Account } from './account.ts';
import { all, equals, isLike } from './nrql.ts';
import type { Condition } from './nrql.ts';
import type { Transport } from './transport.ts';
import { readUniqueNames } from './uniqueNames.ts';
import type { CallOptions, MetricNameList, MetricNameQuery } from '../reader.ts';

const DAY = 86_400;

/**
 * The metric names that an application, or one of its hosts, reported within a day, sorted; the interface gives no value
 * names. It has no pages, so all of them are read.
 *
 * @param now Unix milliseconds
 */
export async function listMetricNames(
  transport: Transport,
  account: Account,
  query: MetricNameQuery,
  now: number,
  call: CallOptions,
): Promise<MetricNameList> {
  const { applicationId, hostKey, name, onPage, to = Math.floor(now / 60_000) * 60 } = query;
  const conditions: Condition[] = [];
  if (hostKey !== undefined) conditions.push(equals('host', hostKey));
  if (name !== undefined && name !== '') conditions.push(isLike('metricTimesliceName', `%${name}%`));
  const where = all([equals('appId', applicationId), ...conditions]);
  const range = { from: to - DAY, to };
  const names = await readUniqueNames(
    transport,
    account,
    {
      group: 'metric_names',
      where,
      range,
      ...(onPage === undefined ? {} : { onQuery: onPage }),
    },
    call,
  );
  const wanted = name?.toLowerCase() ?? '';
  const matching = names.filter((each) => each.toLowerCase().includes(wanted));
  return { names: matching.map((each) => ({ name: each, values: undefined })), complete: true };
}
