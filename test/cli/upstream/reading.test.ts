import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { findApplication } from '../../../src/cli/upstream/reading.ts';
import type { LiveAccount } from '../../../src/cli/upstream/session.ts';

/** An account that cannot be read, and says so after so many turns. */
function broken(name: string, turns: number): LiveAccount {
  const fail = async (): Promise<never> => {
    for (let left = turns; left > 0; left -= 1) await turn();
    throw new Error('down');
  };
  const reader = { readApplication: fail, listApplications: fail };
  return { config: { name }, reader, call: {} } as unknown as LiveAccount;
}

describe('an application that may be in several accounts that cannot be read', () => {
  it.each(['1000001', 'checkout'])('is missed with the first account of the configuration (%s)', async (app) => {
    const accounts = [broken('first', 3), broken('second', 0)];
    await expect(findApplication(accounts, app)).rejects.toThrow('account first');
  });
});
