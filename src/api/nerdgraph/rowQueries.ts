import { columnsOf, conditionOf, type Batch } from './batching.ts';
import { all, nrql, TIMESLICE, type Attribute } from './nrql.ts';
import { takeRows, type RowsRead } from './rows.ts';
import type { NrqlEnd, NrqlRead } from './transport.ts';
import { goldenQuery, isCanonicalInteger, recordId, type GoldenSource } from '../../nrql/goldenMetric.ts';
import { READS } from '../../reads/reads.ts';
import { BOUNDS } from '../http/body.ts';
import { UpstreamError } from '../upstreamError.ts';

/** The count is the first function, because New Relic ranks the returned facets by the first function. */
const COUNT = `count(${TIMESLICE}) AS c`;
const SUMS = `${COUNT}, sum(${TIMESLICE}) AS t, sum(${TIMESLICE}['totalExclusive']) AS x`;
const VALUES = `${SUMS}, min(${TIMESLICE}) AS mn, max(${TIMESLICE}) AS mx`;
const COLUMNS = {
  names: COUNT,
  sums: SUMS,
  values: VALUES,
  squares: `${VALUES}, sum(${TIMESLICE}['sumOfSquares']) AS q`,
};
const KEY_TRANSACTION_COLUMNS =
  'count(apm.key.transaction.duration) AS c, sum(apm.key.transaction.duration) AS t, ' +
  'count(apm.key.transaction.error.count) AS x';

const FACETS: Readonly<Record<'application' | 'host' | 'key_transaction', readonly Attribute[]>> = {
  application: ['appId', 'metricTimesliceName'],
  host: ['appId', 'host', 'metricTimesliceName'],
  key_transaction: ['entity.guid'],
};

/**
 * Runs the query of a batch, and stores its rows; `too_big`: also if rows are missing. Rejects only with the reason of the
 * signal.
 *
 * @param isAlone true: its failure says nothing of how ids may be written
 */
export async function queryBatch(
  read: RowsRead,
  batch: Batch,
  retries: NonNullable<NrqlRead['retries']>,
  isAlone = false,
): Promise<NrqlEnd> {
  const { range, columns = 'values', groupBy, bucketMinutes, golden } = read.query;
  const { group } = READS[read.query.read];
  if (golden !== undefined) return queryGolden(read, batch, golden, retries, isAlone);
  if (groupBy === 'entity') throw new RangeError('a query of golden metrics needs their source');
  const condition = conditionOf(batch, groupBy);
  // Data other than timeslices may have an application's id, too.
  const where = all([condition, columns === 'names' ? `${TIMESLICE} IS NOT NULL` : '']);
  const select = groupBy === 'key_transaction' ? KEY_TRANSACTION_COLUMNS : COLUMNS[columns];
  const facet = FACETS[groupBy];
  const query = nrql({ select, where, facet, range, bucketMinutes });
  // Reads of counters have few rows, so that other work need not wait for a response of the size that backfill may have.
  const bounds = bucketMinutes === undefined || group === 'counters' ? BOUNDS.query : BOUNDS.series;
  return run(read, batch, { group, account: read.accountId, query, retries, bounds }, facet);
}

async function queryGolden(
  read: RowsRead,
  batch: Batch,
  source: GoldenSource,
  retries: NonNullable<NrqlRead['retries']>,
  isAlone: boolean,
): Promise<NrqlEnd> {
  const { range } = read.query;
  const { group } = READS[read.query.read];
  const { memory } = read.account;
  const columns = columnsOf(batch);
  const ids = batch.map(({ id }) => recordId(String(id), source.eventObjectId) ?? '');
  const runIn = (form: 'mixed' | 'separate'): Promise<NrqlEnd> => {
    const query = goldenQuery(source, columns, ids, range, form);
    const post = { group, account: read.accountId, query, retries, bounds: BOUNDS.query, keyHeader: 'Api-Key' };
    return run(read, batch, post, [source.attribute]);
  };
  const hasNumbers = source.eventObjectId === 'DOMAIN_IDS' && ids.some(isCanonicalInteger);
  const end = await runIn(memory.idListForm ?? 'mixed');
  if (!hasNumbers || memory.idListForm !== undefined) return end;
  if (typeof end !== 'string' && !(end instanceof UpstreamError)) memory.idListForm = 'mixed';
  // New Relic may refuse a list with numbers and texts (not documented), so two lists are tried.
  if (isAlone || !(end instanceof UpstreamError) || end.failure.reason !== 'other') return end;
  const again = await runIn('separate');
  if (!(again instanceof UpstreamError)) memory.idListForm = 'separate';
  return again;
}

/** Runs a query, and reads its response; returns `too_big` where rows are missing. */
async function run(read: RowsRead, batch: Batch, query: NrqlRead, attributes: readonly string[]): Promise<NrqlEnd> {
  const { transport } = read.account;
  const end = await transport.nrql(query, read.call);
  if (typeof end === 'string' || end instanceof UpstreamError) return end;
  try {
    const isWhole = await transport.parseReporting(query.group, (discarded) =>
      takeRows(read, attributes, batch, end, discarded),
    );
    return isWhole ? end : 'too_big';
  } catch (error) {
    if (error instanceof UpstreamError) return error;
    throw error;
  }
}
