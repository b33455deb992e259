import { promisify } from 'node:util';
import { gunzip, gunzipSync } from 'node:zlib';
import { CallFailure } from './callFailure.ts';
import type { RawAnswer } from './exchange.ts';
import { firstHeader } from './headers.ts';

/** Up to here unpacking at once costs less than handing it to another thread. */
const SMALL_BYTES = 32 * 1024;

const unzip = promisify(gunzip);

/**
 * The text of an answer. Unpacking stops at `maxBytes`, so that a small body cannot fill the memory. Rejects with a
 * CallFailure: `too_large`, or `invalid_response` for what cannot be unpacked.
 */
export async function decodeText({ status, headers, body }: RawAnswer, maxBytes: number): Promise<string> {
  const encoding = (firstHeader(headers, 'content-encoding') ?? '').toLowerCase();
  if (encoding === '' || encoding === 'identity') return body.toString('utf8');
  if (encoding !== 'gzip' && encoding !== 'x-gzip') {
    throw new CallFailure('invalid_response', 'the answer has an encoding that was not asked for', { status });
  }
  try {
    const limit = { maxOutputLength: maxBytes };
    const plain = body.length <= SMALL_BYTES ? gunzipSync(body, limit) : await unzip(body, limit);
    return plain.toString('utf8');
  } catch (error) {
    throw error instanceof RangeError
      ? new CallFailure('too_large', `the answer is larger than ${maxBytes} bytes`, { status })
      : new CallFailure('invalid_response', 'the answer cannot be unpacked', { status });
  }
}
