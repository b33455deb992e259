import { UpstreamError } from '../api/errors.ts';
import type { UpstreamReader } from '../api/oldReader.ts';
import type { CallOptions } from '../api/reader.ts';
import type { MetricData } from '../api/types.ts';
import { batches, CAUTIOUS_NAMES, MOST_NAMES } from '../api/rest/nameBatches.ts';
import type { Subject } from './unit.ts';
import type { Window } from './window.ts';

/** Answers that may mean "too many names": the next try asks for fewer at a time (contract 4, point 5). */
const REFUSALS = new Set([400, 414, 422]);

/** How many names an account's calls carry; lowered for good once upstream has refused a longer list. */
export class BatchSize {
  names = MOST_NAMES;
}

/** An answer put together from all calls, and how many calls the names take when none is refused. */
export interface WindowData {
  readonly data: MetricData;
  readonly calls: number;
}

/**
 * Reads one summarized timeslice of each name over one window, in as few calls as possible; all of them send the same
 * pair of times. Rejects when any of the calls fails: half of the inputs would give wrong calculations.
 */
export async function readWindow(
  reader: UpstreamReader,
  subject: Required<Pick<Subject, 'applicationId'>> & Subject,
  names: readonly string[],
  window: Window,
  size: BatchSize,
  call: CallOptions,
): Promise<WindowData> {
  let data: MetricData | undefined;
  let cautious = false;
  let remaining = batches(names, size.names);
  while (remaining.length > 0) {
    const [batch = [], ...rest] = remaining;
    try {
      const answer = await reader.readMetricData({ ...subject, names: batch, ...window, summarize: true }, call);
      data = data === undefined ? answer : new Map([...data, ...answer]);
      // Only now it is known that the number of names was what upstream refused.
      if (cautious) size.names = CAUTIOUS_NAMES;
      remaining = rest;
    } catch (error) {
      if (batch.length <= CAUTIOUS_NAMES || !isRefusal(error)) throw error;
      cautious = true;
      remaining = batches(remaining.flat(), CAUTIOUS_NAMES);
    }
  }
  return { data: data ?? new Map(), calls: batches(names, size.names).length };
}

function isRefusal(error: unknown): boolean {
  return error instanceof UpstreamError && REFUSALS.has(error.failure.status ?? 0);
}
