import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { findApplications, isId } from '../../../src/tools/upstream/readForCommand.ts';
import { AccountLimiter } from '../../../src/collect/schedule/limiter.ts';
import type { LiveAccount } from '../../../src/tools/upstream/session.ts';
import { accountConfig } from '../../collect/support/config.ts';
import { FakeReader } from '../../collect/support/fakeReader.ts';
import { VirtualClock } from '../../collect/support/virtualClock.ts';
import { REST } from '../../collect/support/world.ts';
import { FREE_CALL } from './support.ts';

/** An account that cannot be read, and rejects after this number of turns. */
function broken(name: string, turns: number): LiveAccount {
  const fail = async (): Promise<never> => {
    for (let remaining = turns; remaining > 0; remaining -= 1) await turn();
    throw new Error('down');
  };
  const reader = Object.assign(new FakeReader(new VirtualClock(), REST), {
    readApplication: fail,
    listApplications: fail,
  });
  const config = accountConfig({ name });
  const limiter = new AccountLimiter(config.limits, new VirtualClock());
  return { config, reader, limiter, call: FREE_CALL };
}

describe('an application that may be in several unreadable accounts', () => {
  it('is reported with the first account of the configuration', async () => {
    const accounts = [broken('first', 3), broken('second', 0)];
    await expect(findApplications(accounts, ['1000001'])).rejects.toThrow('account first');
  });
});

describe('a text that selects an application or a host', () => {
  it.each(['1', '9007199254740991'])('is an id: %s', (text) => {
    expect(isId(text)).toBe(true);
  });

  it.each(['0123', '0', '9007199254740992', '12345678901234567', '1e3', '-1', ''])('is a name: "%s"', (text) => {
    expect(isId(text)).toBe(false);
  });
});
