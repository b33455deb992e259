import type { IncomingHttpHeaders } from 'node:http';
import type { Answer } from './answer.ts';
import { failure } from './answer.ts';

/** The key a call carries, and the header it came in. */
export interface SentKey {
  readonly header: 'X-Api-Key' | 'Api-Key';
  readonly value: string;
}

export function sentKey(headers: IncomingHttpHeaders): SentKey | undefined {
  for (const header of ['X-Api-Key', 'Api-Key'] as const) {
    const value = headers[header.toLowerCase()];
    if (typeof value === 'string' && value !== '') return { header, value };
  }
  return undefined;
}

/** The 401 of a wrong key, which says the key again, as the service does. */
export function invalidKey(key: string): Answer {
  return { status: 401, body: { error: { title: 'Invalid API Key', api_key: key } }, headers: {} };
}

/**
 * Why a call is not let in; undefined when its key is good. A key that nobody knows is seen only in `X-Api-Key`: in `Api-Key`
 * the service looks for keys of users alone, and says that there is none.
 */
export function refusal(key: SentKey | undefined, keys: ReadonlySet<string>): Answer | undefined {
  if (key !== undefined && keys.has(key.value)) return undefined;
  return key?.header === 'X-Api-Key' ? invalidKey(key.value) : failure(401, 'No API key specified');
}
