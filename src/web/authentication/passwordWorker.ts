import { parentPort } from 'node:worker_threads';
import bcrypt from 'bcryptjs';

/** What the main thread asks: whether the password belongs to the bcrypt hash. */
export interface ComparisonRequest {
  readonly id: number;
  readonly password: string;
  readonly hash: string;
}

/** The answer to the request of the same id. */
export interface ComparisonResult {
  readonly id: number;
  readonly matches: boolean;
}

parentPort?.on('message', ({ id, password, hash }: ComparisonRequest) => {
  const result: ComparisonResult = { id, matches: bcrypt.compareSync(password, hash) };
  parentPort?.postMessage(result);
});
