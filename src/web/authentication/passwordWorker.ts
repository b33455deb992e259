import { parentPort } from 'node:worker_threads';
import bcrypt from 'bcryptjs';
import type { Compare } from './passwords.ts';

parentPort?.on('message', ([password, hash]: Parameters<Compare>) => {
  parentPort?.postMessage(bcrypt.compareSync(password, hash));
});
