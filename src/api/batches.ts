import type { Batch, BatchRead, TimeRange } from './reader.ts';

/**
 * Fills calls with subjects, in their order, each call with as many as it carries.
 *
 * @param filled told of every call once no more goes in: it carries the subjects from `start` up to, without, `end`
 */
export function fillCalls<S, A, R extends TimeRange>(
  read: BatchRead<S, A, R>,
  subjects: readonly S[],
  range: R,
  filled: (call: Batch<S>, start: number, end: number) => void,
): void {
  let call: Batch<S> | undefined;
  let start = 0;
  let end = 0;
  for (const subject of subjects) {
    if (call === undefined || call.full || !call.add(subject)) {
      if (call !== undefined) filled(call, start, end);
      call = read.open(range);
      call.add(subject);
      start = end;
    }
    end += 1;
  }
  if (call !== undefined) filled(call, start, end);
}
