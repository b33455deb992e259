import bcrypt from 'bcryptjs';
import { describe, expect, test } from 'vitest';
import { BasicAuthenticator, readBasicCredentials, type Asker } from '../../../src/web/authentication/passwords.ts';

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
const HASHES = new Map([['alice', bcrypt.hashSync('wonderland', 4)]]);
const ASKER: Asker = { address: '192.0.2.1', gone: new AbortController().signal };

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
    ['no header', undefined, 'wrong'],
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

  test('an unknown user costs one comparison with a fixed hash of cost 10', async () => {
    const hashes: string[] = [];
    const authenticator = new BasicAuthenticator((_password, hash) => {
      hashes.push(hash);
      return Promise.resolve(true);
    });
    expect(await authenticator.judge(HASHES, basic('bob:x'), ASKER)).toBe('wrong');
    expect(await authenticator.judge(HASHES, basic('carol:x'), ASKER)).toBe('wrong');
    expect(hashes).toHaveLength(2);
    expect(new Set(hashes).size).toBe(1);
    expect(hashes[0]).toMatch(/^\$2b\$10\$/);
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

  test('are compared one at a time, and the same credentials once', async () => {
    const { judge, compared, most } = counting();
    const given = ['alice:1', 'alice:2', 'alice:3', 'alice:wonderland', 'alice:wonderland', 'bob:1'];
    const verdicts = await Promise.all(given.map((text) => judge(text)));
    expect(verdicts).toEqual(['wrong', 'wrong', 'wrong', 'right', 'right', 'wrong']);
    expect(compared).toHaveLength(5);
    expect(most()).toBe(1);
  });

  test('a right one among 600 wrong ones of the same address is next, and the oldest beyond 64 are turned away', async () => {
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const { judge, compared } = counting(gate);
    const flood = Array.from({ length: 600 }, (_, index) => judge(`alice:wrong ${index}`));
    const right = judge('alice:wonderland');
    open();
    expect(await right).toBe('right');
    expect(compared.slice(0, 2)).toEqual(['wrong 0', 'wonderland']);
    const verdicts = await Promise.all(flood);
    expect(verdicts.filter((verdict) => verdict === 'busy')).toHaveLength(600 - 64);
    expect(verdicts.at(-1)).toBe('wrong');
  });

  test('each address gets its turn', async () => {
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const { judge, compared } = counting(gate);
    const first = Array.from({ length: 100 }, (_, index) => judge(`alice:a${index}`));
    const other = judge('alice:b', { address: '192.0.2.2' });
    const third = [judge('alice:c1', { address: '192.0.2.3' }), judge('alice:c2', { address: '192.0.2.3' })];
    open();
    expect(await other).toBe('wrong');
    expect(await Promise.all(third)).toEqual(['wrong', 'wrong']);
    expect(compared.indexOf('b')).toBeLessThan(4);
    expect(compared.indexOf('c2')).toBeLessThan(5);
    await Promise.all(first);
  });

  test('are not compared for a client that has gone', async () => {
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const { judge, compared } = counting(gate);
    const stays = judge('alice:stays');
    const leaving = new AbortController();
    const left = Array.from({ length: 50 }, (_, index) => judge(`alice:${index}`, { gone: leaving.signal }));
    await settle();
    leaving.abort();
    expect(new Set(await Promise.all(left))).toEqual(new Set(['busy']));
    expect(await judge('alice:late', { gone: leaving.signal })).toBe('busy');
    open();
    await stays;
    expect(compared).toEqual(['stays']);
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
