import { setMaxListeners } from 'node:events';
import bcrypt from 'bcryptjs';
import { describe, expect, test } from 'vitest';
import { BasicAuthenticator, readBasicCredentials, type Asker } from '../../../src/web/authentication/passwords.ts';

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
const HASHES = new Map([['alice', bcrypt.hashSync('wonderland', 4)]]);
const gone = new AbortController();
setMaxListeners(0, gone.signal);
const ASKER: Asker = { address: '192.0.2.1', gone: gone.signal, connection: {} };

/** An authenticator that notes every comparison, and how many run at once; each waits for `gate`. */
function counting(gate: Promise<void> = Promise.resolve()) {
  const compared: string[] = [];
  let running = 0;
  let most = 0;
  const authenticator = new BasicAuthenticator(async (password, hash) => {
    compared.push(password);
    running += 1;
    most = Math.max(most, running);
    await gate;
    const result = await bcrypt.compare(password, hash);
    running -= 1;
    return result;
  });
  const judge = (text: string, over: Partial<Asker> = {}) =>
    authenticator.judge(HASHES, basic(text), { ...ASKER, ...over });
  return { authenticator, judge, compared, most: () => most };
}

describe('basic authentication', () => {
  test.each([
    ['alice with her password', basic('alice:wonderland'), 'right'],
    ['another password', basic('alice:Wonderland'), 'wrong'],
    ['no password', basic('alice:'), 'wrong'],
    ['an unknown user', basic('bob:wonderland'), 'wrong'],
    ['no header', undefined, 'none'],
    ['another scheme', 'Bearer abc', 'wrong'],
    ['no base64', 'Basic ???', 'wrong'],
    ['no colon', basic('alice'), 'wrong'],
    ['the scheme in another case', basic('alice:wonderland').replace('Basic', 'bAsIc'), 'right'],
  ])('%s', async (_, header, verdict) => {
    expect(await counting().authenticator.judge(HASHES, header, ASKER)).toBe(verdict);
  });

  test.each(['$2a$', '$2b$', '$2y$'])('takes hashes that begin with %s', async (start) => {
    const hash = bcrypt.hashSync('wonderland', 4).replace(/^\$2.\$/, start);
    const users = new Map([['alice', hash]]);
    expect(await counting().authenticator.judge(users, basic('alice:wonderland'), ASKER)).toBe('right');
  });

  test('a password may have colons and any character', () => {
    expect(readBasicCredentials(basic('alice:a:b:ü'))).toEqual({ user: 'alice', password: 'a:b:ü' });
  });

  test('an unknown user, and one of a lower cost, is refused at the highest cost in the file', async () => {
    const users = new Map([
      ['alice', bcrypt.hashSync('wonderland', 4)],
      ['bob', bcrypt.hashSync('builder', 6)],
    ]);
    const asked: { readonly hash: string; readonly cost: number }[] = [];
    const authenticator = new BasicAuthenticator((_password, hash, cost) => {
      asked.push({ hash, cost });
      return Promise.resolve(false);
    });
    for (const user of ['alice', 'bob', 'carol']) {
      expect(await authenticator.judge(users, basic(`${user}:x`), ASKER)).toBe('wrong');
    }
    expect(asked.map(({ cost }) => cost)).toEqual([6, 6, 6]);
    expect(asked.map(({ hash }) => hash.slice(0, 7))).toEqual(['$2b$04$', '$2b$06$', '$2b$06$']);
    const matching = new BasicAuthenticator(() => Promise.resolve(true));
    expect(await matching.judge(users, basic('carol:x'), ASKER)).toBe('wrong');
  });

  test('remembers a verdict, good or bad, until the hash changes', async () => {
    const { authenticator, judge, compared } = counting();
    for (let round = 0; round < 3; round += 1) {
      expect(await judge('alice:wonderland')).toBe('right');
      expect(await judge('alice:wrong')).toBe('wrong');
    }
    expect(compared).toHaveLength(2);
    const changed = new Map([['alice', bcrypt.hashSync('looking-glass', 4)]]);
    expect(await authenticator.judge(changed, basic('alice:wonderland'), ASKER)).toBe('wrong');
    expect(compared).toHaveLength(3);
  });

  test('remembers the last hundred wrong passwords, and a right one whatever their number', async () => {
    const { judge, compared } = counting();
    await judge('alice:wonderland');
    for (let index = 0; index < 150; index += 1) await judge(`alice:wrong ${index}`);
    expect(compared).toHaveLength(151);
    expect(await judge('alice:wonderland')).toBe('right');
    expect(await judge('alice:wrong 149')).toBe('wrong');
    expect(compared).toHaveLength(151);
    expect(await judge('alice:wrong 0')).toBe('wrong');
    expect(compared).toHaveLength(152);
  });
});

describe('passwords that wait to be compared', () => {
  /** Lets everything that can go on go on. */
  const settle = () => new Promise((resolve) => setImmediate(resolve));

  test('are compared two at a time, and the same credentials once', async () => {
    const { judge, compared, most } = counting();
    const given = ['alice:1', 'alice:2', 'alice:3', 'alice:wonderland', 'alice:wonderland', 'bob:1'];
    const verdicts = await Promise.all(given.map((text) => judge(text)));
    expect(verdicts).toEqual(['wrong', 'wrong', 'wrong', 'right', 'right', 'wrong']);
    expect(compared).toHaveLength(5);
    expect(most()).toBe(2);
  });

  /** An authenticator whose comparisons end one after the other, and how many there were. */
  function stepwise() {
    const compared: string[] = [];
    const ends: (() => void)[] = [];
    const authenticator = new BasicAuthenticator(async (password) => {
      compared.push(password);
      await new Promise<void>((resolve) => ends.push(resolve));
      return password === 'wonderland';
    });
    const judge = (password: string, over: Partial<Asker> = {}) =>
      authenticator.judge(HASHES, basic(`alice:${password}`), { ...ASKER, connection: {}, ...over });
    const step = async (): Promise<void> => {
      ends.shift()?.();
      await settle();
    };
    return { compared, judge, step };
  }

  test('a right one that comes after 600 wrong ones of the same address is among the next four', async () => {
    const { judge, step, compared } = stepwise();
    const flood = Array.from({ length: 600 }, (_, index) => judge(`wrong ${index}`));
    const right = judge('wonderland');
    const before = compared.length;
    for (let count = 0; count < 4; count += 1) await step();
    expect(compared.slice(before)).toContain('wonderland');
    for (let count = 0; count < 4; count += 1) await step();
    expect(await right).toBe('right');
    for (let count = 0; count < 600; count += 1) await step();
    const verdicts = await Promise.all(flood);
    expect(verdicts.filter((verdict) => verdict === 'busy').length).toBeGreaterThan(300);
  });

  test('a right one under a steady flood of 150 addresses is among the next four, from an address of its own', async () => {
    const { judge, step, compared } = stepwise();
    // Each address always has one that waits.
    const flood = async (address: string): Promise<void> => {
      for (let count = 0; count < 10; count += 1) await judge(`${address} ${count}`, { address });
    };
    const floods = Array.from({ length: 150 }, (_, index) => flood(`192.0.2.${index}`));
    for (let count = 0; count < 400; count += 1) await step();
    const before = compared.length;
    void judge('wonderland', { address: '198.51.100.1' });
    for (let count = 0; count < 4; count += 1) await step();
    expect(compared.slice(before)).toContain('wonderland');
    for (let count = 0; count < 1_200; count += 1) await step();
    await Promise.all(floods);
  });

  test('a right one on a new connection goes before those of connections on which passwords were refused', async () => {
    const { judge, step, compared } = stepwise();
    const flood = async (connection: object, address: string): Promise<void> => {
      for (let count = 0; count < 10; count += 1) await judge(`${address} ${count}`, { connection, address });
    };
    const floods = Array.from({ length: 150 }, (_, index) => flood({}, `192.0.2.${index}`));
    for (let count = 0; count < 300; count += 1) await step();
    const before = compared.length;
    void judge('wonderland', { address: '192.0.2.7' });
    for (let count = 0; count < 4; count += 1) await step();
    expect(compared.slice(before)).toContain('wonderland');
    for (let count = 0; count < 1_300; count += 1) await step();
    await Promise.all(floods);
  });

  test('a right one that was turned away goes first when it comes again, from the address of the flood too', async () => {
    const { judge, step, compared } = stepwise();
    let number = 0;
    const wave = (size: number) => Array.from({ length: size }, () => judge(`wrong ${(number += 1)}`));
    const flood = wave(10);
    const first = judge('wonderland');
    flood.push(...wave(600));
    for (let count = 0; count < 200; count += 1) {
      flood.push(...wave(10));
      await step();
    }
    expect(await first).toBe('busy');
    const before = compared.length;
    const second = judge('wonderland');
    flood.push(...wave(300));
    for (let count = 0; count < 4; count += 1) await step();
    expect(compared.slice(before)).toContain('wonderland');
    for (let count = 0; count < 400; count += 1) await step();
    expect(await second).toBe('right');
    await Promise.all(flood);
  });

  test('each address gets its turn', async () => {
    const { judge, step, compared } = stepwise();
    const first = Array.from({ length: 100 }, (_, index) => judge(`a${index}`));
    const other = judge('b', { address: '192.0.2.2' });
    const third = [judge('c1', { address: '192.0.2.3' }), judge('c2', { address: '192.0.2.3' })];
    for (let count = 0; count < 10; count += 1) await step();
    expect(await other).toBe('wrong');
    expect(await Promise.all(third)).toEqual(['wrong', 'wrong']);
    expect(compared.indexOf('b')).toBeLessThan(5);
    expect(compared.indexOf('c2')).toBeLessThan(8);
    for (let count = 0; count < 110; count += 1) await step();
    await Promise.all(first);
  });

  test('are not compared for a client that has gone', async () => {
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const { judge, compared } = counting(gate);
    const stays = [judge('alice:stays'), judge('alice:stays too')];
    const leaving = new AbortController();
    setMaxListeners(0, leaving.signal);
    const left = Array.from({ length: 50 }, (_, index) => judge(`alice:${index}`, { gone: leaving.signal }));
    await settle();
    leaving.abort();
    expect(new Set(await Promise.all(left))).toEqual(new Set(['busy']));
    expect(await judge('alice:late', { gone: leaving.signal })).toBe('busy');
    open();
    await Promise.all(stays);
    expect(compared).toEqual(['stays', 'stays too']);
  });

  test('are compared though the one before failed', async () => {
    let calls = 0;
    const authenticator = new BasicAuthenticator(() => {
      calls += 1;
      return calls === 1 ? Promise.reject(new Error('broken')) : Promise.resolve(true);
    });
    await expect(authenticator.judge(HASHES, basic('alice:1'), ASKER)).rejects.toThrow('broken');
    expect(await authenticator.judge(HASHES, basic('alice:2'), ASKER)).toBe('right');
  });
});
