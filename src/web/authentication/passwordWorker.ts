import { parentPort } from 'node:worker_threads';
import bcrypt from 'bcryptjs';
import type { Compare } from './passwords.ts';

parentPort?.on('message', ([password, hash, cost]: Parameters<Compare>) => {
  const matches = bcrypt.compareSync(password, hash);
  if (!matches) prolong(password, hash, cost);
  parentPort?.postMessage(matches);
});

/** Makes a refusal as slow as at `cost`. A step doubles the time, so a comparison at each cost below `cost` adds the rest. */
function prolong(password: string, hash: string, cost: number): void {
  const [, version = '', own = '', rest = ''] = hash.split('$');
  for (let each = Number(own); each < cost; each += 1) {
    bcrypt.compareSync(password, `$${version}$${String(each).padStart(2, '0')}$${rest}`);
  }
}
