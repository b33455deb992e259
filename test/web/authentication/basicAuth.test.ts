import bcrypt from 'bcryptjs';
import { describe, expect, test } from 'vitest';
import { BasicAuthenticator, readBasicCredentials } from '../../../src/web/authentication/passwords.ts';
import { deferred } from '../support/deferred.ts';

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
const HASHES = new Map([['alice', bcrypt.hashSync('wonderland', 4)]]);
const ADDRESS = '192.0.2.1';

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
  const judge = (text: string, address = ADDRESS) => authenticator.judge(HASHES, basic(text), address);
  return { authenticator, judge, compared, most: () => most };
}

describe('basic authentication', () => {
  test.each([
    ['a user with the right password is right', basic('alice:wonderland'), 'right'],
    ['another password is wrong', basic('alice:Wonderland'), 'wrong'],
    ['an empty password is wrong', basic('alice:'), 'wrong'],
    ['an unknown user is wrong', basic('bob:wonderland'), 'wrong'],
    ['no header means no login', undefined, 'none'],
    ['another scheme is wrong', 'Bearer abc', 'wrong'],
    ['text that is not base64 is wrong', 'Basic ???', 'wrong'],
    ['a login without a colon is wrong', basic('alice'), 'wrong'],
    ['the case of the scheme does not count', basic('alice:wonderland').replace('Basic', 'bAsIc'), 'right'],
  ])('%s', async (_, header, verdict) => {
    expect(await counting().authenticator.judge(HASHES, header, ADDRESS)).toBe(verdict);
  });

  test.each(['$2a$', '$2b$', '$2y$'])('accepts hashes that begin with %s', async (start) => {
    const users = new Map([['alice', (HASHES.get('alice') ?? '').replace(/^\$2.\$/, start)]]);
    expect(await counting().authenticator.judge(users, basic('alice:wonderland'), ADDRESS)).toBe('right');
  });

  test('a password may have colons and any character', () => {
    expect(readBasicCredentials(basic('alice:a:b:ü'))).toEqual({ user: 'alice', password: 'a:b:ü' });
  });

  test('compares a password for an unknown user too, and still refuses the user', async () => {
    const asked: string[] = [];
    const authenticator = new BasicAuthenticator((_password, hash) => {
      asked.push(hash);
      return Promise.resolve(true);
    });
    expect(await authenticator.judge(HASHES, basic('carol:x'), ADDRESS)).toBe('wrong');
    expect(asked).toEqual([expect.stringMatching(/^\$2b\$10\$.{53}$/)]);
  });

  test('remembers a right password until the hash changes, and remembers no wrong password', async () => {
    const { authenticator, judge, compared } = counting();
    for (let round = 0; round < 3; round += 1) {
      expect(await judge('alice:wonderland')).toBe('right');
      expect(await judge('alice:wrong')).toBe('wrong');
    }
    expect(compared).toEqual(['wonderland', 'wrong', 'wrong', 'wrong']);
    const changed = new Map([['alice', bcrypt.hashSync('looking-glass', 4)]]);
    expect(await authenticator.judge(changed, basic('alice:wonderland'), ADDRESS)).toBe('wrong');
  });

  test('remembers the hundred right passwords used most recently', async () => {
    const compared: string[] = [];
    const authenticator = new BasicAuthenticator((password) => {
      compared.push(password);
      return Promise.resolve(true);
    });
    const judge = (password: string) => authenticator.judge(HASHES, basic(`alice:${password}`), ADDRESS);
    for (let index = 0; index < 100; index += 1) await judge(String(index));
    for (const password of ['0', 'one more', '0', '1']) expect(await judge(password)).toBe('right');
    expect(compared.slice(100)).toEqual(['one more', '1']);
  });
});

describe('passwords that wait for their comparison', () => {
  test('are compared one at a time, and equal passwords once, whatever their addresses', async () => {
    const { judge, compared, most } = counting();
    const sent = ['alice:1', 'alice:wonderland', 'alice:1', 'alice:wonderland', 'bob:1', 'alice:wonderland'];
    const verdicts = await Promise.all(sent.map((text, index) => judge(text, `192.0.2.${index}`)));
    expect(verdicts).toEqual(['wrong', 'right', 'wrong', 'right', 'wrong', 'right']);
    expect(compared).toEqual(['1', 'wonderland', '1']);
    expect(most()).toBe(1);
  });

  test('are limited to one for each address and user; all unknown users count as one', async () => {
    const { promise: gate, resolve: open } = deferred();
    const { judge, compared } = counting(gate);
    const sent = ['alice:0', 'alice:1', 'alice:2', 'bob:1', 'carol:1', 'alice:1'];
    const verdicts = sent.map((text) => judge(text));
    const other = judge('alice:wonderland', '198.51.100.1');
    open();
    expect(await Promise.all(verdicts)).toEqual(['wrong', 'wrong', 'busy', 'wrong', 'busy', 'wrong']);
    expect(await other).toBe('right');
    expect(compared).toEqual(['0', '1', '1', 'wonderland']);
    expect(await judge('alice:2')).toBe('wrong');
  });

  test('are at most sixteen, and a remembered password does not wait', async () => {
    const { promise: gate, resolve: open } = deferred();
    const authenticator = new BasicAuthenticator(async (password) => {
      if (password !== 'wonderland') await gate;
      return true;
    });
    const judge = (text: string, host: number) => authenticator.judge(HASHES, basic(text), `192.0.2.${host}`);
    expect(await judge('alice:wonderland', 1)).toBe('right');
    const waiting = Array.from({ length: 17 }, (_, host) => judge(`alice:${host}`, host));
    expect(await judge('alice:one more', 99)).toBe('busy');
    expect(await judge('alice:wonderland', 99)).toBe('right');
    open();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['right']));
  });

  test('are compared although the comparison before failed', async () => {
    let calls = 0;
    const authenticator = new BasicAuthenticator(() => {
      calls += 1;
      return calls === 1 ? Promise.reject(new Error('broken')) : Promise.resolve(true);
    });
    await expect(authenticator.judge(HASHES, basic('alice:1'), ADDRESS)).rejects.toThrow('broken');
    expect(await authenticator.judge(HASHES, basic('alice:2'), ADDRESS)).toBe('right');
  });
});
