import { setMaxListeners } from 'node:events';
import bcrypt from 'bcryptjs';
import { describe, expect, test } from 'vitest';
import { BasicAuthenticator, readBasicCredentials } from '../../../src/web/authentication/passwords.ts';
import { deferred } from '../support/deferred.ts';

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
const HASHES = new Map([['alice', bcrypt.hashSync('wonderland', 4)]]);
const STAYS = new AbortController().signal;
setMaxListeners(0, STAYS);
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
  const judge = (text: string, gone = STAYS, address = ADDRESS) =>
    authenticator.judge(HASHES, basic(text), gone, address);
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
    expect(await counting().authenticator.judge(HASHES, header, STAYS, ADDRESS)).toBe(verdict);
  });

  test.each(['$2a$', '$2b$', '$2y$'])('takes hashes that begin with %s', async (start) => {
    const users = new Map([['alice', (HASHES.get('alice') ?? '').replace(/^\$2.\$/, start)]]);
    expect(await counting().authenticator.judge(users, basic('alice:wonderland'), STAYS, ADDRESS)).toBe('right');
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
      expect(await authenticator.judge(users, basic(`${user}:x`), STAYS, ADDRESS)).toBe('wrong');
    }
    expect(asked.map(({ cost }) => cost)).toEqual([6, 6, 6]);
    expect(asked.map(({ hash }) => hash.slice(0, 7))).toEqual(['$2b$04$', '$2b$06$', '$2b$06$']);
    const matching = new BasicAuthenticator(() => Promise.resolve(true));
    expect(await matching.judge(users, basic('carol:x'), STAYS, ADDRESS)).toBe('wrong');
  });

  test('remembers a verdict, good or bad, until the hash changes', async () => {
    const { authenticator, judge, compared } = counting();
    for (let round = 0; round < 3; round += 1) {
      expect(await judge('alice:wonderland')).toBe('right');
      expect(await judge('alice:wrong')).toBe('wrong');
    }
    expect(compared).toHaveLength(2);
    const changed = new Map([['alice', bcrypt.hashSync('looking-glass', 4)]]);
    expect(await authenticator.judge(changed, basic('alice:wonderland'), STAYS, ADDRESS)).toBe('wrong');
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
  test('are compared two at a time, of one address one, and the same credentials once', async () => {
    const { judge, compared, most } = counting();
    const given = ['alice:wonderland', 'alice:1', 'alice:wonderland', 'alice:2', 'alice:wonderland', 'bob:1'];
    const verdicts = await Promise.all(given.map((text) => judge(text)));
    expect(verdicts).toEqual(['right', 'wrong', 'right', 'wrong', 'right', 'wrong']);
    expect(compared).toEqual(['wonderland', '1', '2', '1']);
    expect(most()).toBe(1);
    await Promise.all(['3', '4', '5', '6'].map((text) => judge(`alice:${text}`, STAYS, `192.0.2.${text}`)));
    expect(most()).toBe(2);
  });

  test('of one address hold up one of another by none of theirs, in whatever number they come', async () => {
    const { compared, judge } = counting();
    const wrong = Array.from({ length: 50 }, (_, index) => judge(`alice:wrong ${index}`));
    expect(await judge('alice:wonderland', STAYS, '198.51.100.1')).toBe('right');
    expect(compared.slice(0, 3)).toContain('wonderland');
    expect(new Set(await Promise.all(wrong))).toEqual(new Set(['wrong']));
  });

  test('are not compared for a client that has gone', async () => {
    const { promise: gate, resolve: open } = deferred();
    const { judge, compared } = counting(gate);
    const stays = judge('alice:stays');
    const leaving = new AbortController();
    setMaxListeners(0, leaving.signal);
    const left = Array.from({ length: 50 }, (_, index) => judge(`alice:${index}`, leaving.signal));
    leaving.abort();
    open();
    expect(new Set(await Promise.all(left))).toEqual(new Set(['none']));
    expect(await judge('alice:late', leaving.signal)).toBe('none');
    expect([await stays, compared]).toEqual(['wrong', ['stays']]);
  });

  test('are compared though the one before failed', async () => {
    let calls = 0;
    const authenticator = new BasicAuthenticator(() => {
      calls += 1;
      return calls === 1 ? Promise.reject(new Error('broken')) : Promise.resolve(true);
    });
    await expect(authenticator.judge(HASHES, basic('alice:1'), STAYS, ADDRESS)).rejects.toThrow('broken');
    expect(await authenticator.judge(HASHES, basic('alice:2'), STAYS, ADDRESS)).toBe('right');
  });
});
