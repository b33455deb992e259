import { parentPort } from 'node:worker_threads';
import bcrypt from 'bcryptjs';

/** A question of the main thread. */
export interface Question {
  readonly id: number;
  readonly password: string;
  readonly hash: string;
}

/** What the worker found. */
export interface Finding {
  readonly id: number;
  readonly matches: boolean;
}

parentPort?.on('message', ({ id, password, hash }: Question) => {
  const finding: Finding = { id, matches: bcrypt.compareSync(password, hash) };
  parentPort?.postMessage(finding);
});
