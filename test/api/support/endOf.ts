import { UpstreamError } from '../../../src/api/upstreamError.ts';

/** The outcome of a read: `good`, or the reason and the message. */
export async function endOf(read: Promise<unknown>): Promise<string> {
  try {
    await read;
    return 'good';
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    return `${error.failure.reason}: ${error.message}`;
  }
}
