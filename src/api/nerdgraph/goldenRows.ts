import type { Batch } from './batching.ts';
import { Facets, nearWindow, rowsOf } from './nrql.ts';
import { withoutPadding, type FoundRows } from './rows.ts';
import { inSlices } from '../../eventLoop/turns.ts';
import { recordId, type GoldenSource } from '../../nrql/goldenMetric.ts';
import { CallFailure } from '../http/callFailure.ts';
import { isObject, type Discarded, type Json } from '../http/readRecords.ts';
import type { TimeRange } from '../upstreamReader.ts';
import type { UpstreamError } from '../types.ts';

const DAY = 86_400;

/** A query of golden metrics. */
interface GoldenQuery {
  readonly source: GoldenSource;
  /** The selections named `m0`, `m1`, ... */
  readonly columns: readonly string[];
  readonly range: TimeRange;
}

/**
 * Stores the rows of one response under their entities, with only the columns that each entity has; false where rows are missing.
 * Throws a CallFailure, and stores nothing, where the rows cannot be read.
 *
 * @param fail makes the failure of one entity
 */
export async function takeGoldenRows(
  result: Json,
  batch: Batch,
  { source, columns, range }: GoldenQuery,
  found: FoundRows,
  discarded: Discarded,
  fail: (words: string) => UpstreamError,
): Promise<boolean> {
  const attributes = [source.attribute];
  const response = rowsOf(result, attributes, false);
  if (response === undefined) return false;
  const window = nearWindow(response, range, range.to - range.from >= DAY ? 600 : 300);
  const facets = new Facets(response.facets, attributes);
  const parts = new Map<string, Batch>();
  for (const part of batch) {
    const id = withoutPadding(recordId(String(part.id), source.eventObjectId) ?? '');
    parts.set(id, [...(parts.get(id) ?? []), part]);
  }
  const taken = new Set<string>();
  await inSlices(response.rows, (row) => {
    const about = isObject(row) ? facets.of(row) : undefined;
    if (!isObject(row) || about === undefined) {
      throw new CallFailure('invalid_response', 'a row does not say which entity it is about');
    }
    const id = withoutPadding(about[0] ?? '');
    const [part, other] = parts.get(id) ?? [];
    const rows = part === undefined ? undefined : found.get(part.id);
    if (part === undefined || other !== undefined || rows === undefined) {
      discarded.record('results.facet');
      return;
    }
    // Two rows for one entity: neither can be trusted.
    if (taken.has(id)) rows.failure ??= fail(`two rows are about one entity (${part.called ?? part.id})`);
    taken.add(id);
    rows.window = window;
    for (const [index, column] of columns.entries()) {
      if (part.selector.names.includes(column)) rows.columns.set(column, row[`m${index}`] ?? null);
    }
  });
  for (const { id } of batch) {
    const rows = found.get(id);
    if (rows !== undefined) rows.window ??= window;
  }
  return true;
}
