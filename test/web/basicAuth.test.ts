import bcrypt from 'bcryptjs';
import { describe, expect, test } from 'vitest';
import { BasicAuthenticator, readBasicCredentials } from '../../src/web/basicAuth.ts';

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
const HASHES = new Map([['alice', bcrypt.hashSync('wonderland', 4)]]);

/** An authenticator that notes every comparison, and how many run at once. */
function counting() {
  const compared: string[] = [];
  let running = 0;
  let most = 0;
  const authenticator = new BasicAuthenticator(async (password, hash) => {
    compared.push(hash);
    running += 1;
    most = Math.max(most, running);
    const result = await bcrypt.compare(password, hash);
    running -= 1;
    return result;
  });
  return { authenticator, compared, most: () => most };
}

describe('basic authentication', () => {
  test.each([
    ['alice with her password', basic('alice:wonderland'), true],
    ['another password', basic('alice:Wonderland'), false],
    ['no password', basic('alice:'), false],
    ['an unknown user', basic('bob:wonderland'), false],
    ['no header', undefined, false],
    ['another scheme', 'Bearer abc', false],
    ['no base64', 'Basic ???', false],
    ['no colon', basic('alice'), false],
    ['the scheme in another case', basic('alice:wonderland').replace('Basic', 'bAsIc'), true],
  ])('%s', async (_, header, allowed) => {
    expect(await new BasicAuthenticator().allows(HASHES, header)).toBe(allowed);
  });

  test.each(['$2a$', '$2b$', '$2y$'])('takes hashes that begin with %s', async (start) => {
    const hash = bcrypt.hashSync('wonderland', 4).replace(/^\$2.\$/, start);
    expect(await new BasicAuthenticator().allows(new Map([['alice', hash]]), basic('alice:wonderland'))).toBe(true);
  });

  test('a password may have colons and any character', () => {
    expect(readBasicCredentials(basic('alice:a:b:ü'))).toEqual({ user: 'alice', password: 'a:b:ü' });
  });

  test('an unknown user costs one comparison with a fixed hash of cost 10', async () => {
    const { authenticator, compared } = counting();
    await authenticator.allows(HASHES, basic('bob:x'));
    await authenticator.allows(HASHES, basic('carol:x'));
    expect(compared).toHaveLength(2);
    expect(new Set(compared).size).toBe(1);
    expect(compared[0]).toMatch(/^\$2b\$10\$/);
  });

  test('remembers a verdict, good or bad, until the hash changes', async () => {
    const { authenticator, compared } = counting();
    for (let round = 0; round < 3; round += 1) {
      expect(await authenticator.allows(HASHES, basic('alice:wonderland'))).toBe(true);
      expect(await authenticator.allows(HASHES, basic('alice:wrong'))).toBe(false);
    }
    expect(compared).toHaveLength(2);
    const changed = new Map([['alice', bcrypt.hashSync('looking-glass', 4)]]);
    expect(await authenticator.allows(changed, basic('alice:wonderland'))).toBe(false);
    expect(compared).toHaveLength(3);
  });

  test('remembers a hundred verdicts, the last ones used', async () => {
    const { authenticator, compared } = counting();
    await authenticator.allows(HASHES, basic('alice:wonderland'));
    for (let index = 0; index < 150; index += 1) {
      await authenticator.allows(HASHES, basic(`alice:wrong ${index}`));
      await authenticator.allows(HASHES, basic('alice:wonderland'));
    }
    expect(compared).toHaveLength(151);
    await authenticator.allows(HASHES, basic('alice:wrong 0'));
    expect(compared).toHaveLength(152);
  });

  test('compares one at a time, and the same credentials once', async () => {
    const { authenticator, compared, most } = counting();
    const headers = ['alice:1', 'alice:2', 'alice:3', 'alice:wonderland', 'alice:wonderland', 'bob:1'].map(basic);
    const verdicts = await Promise.all(headers.map((header) => authenticator.allows(HASHES, header)));
    expect(verdicts).toEqual([false, false, false, true, true, false]);
    expect(compared).toHaveLength(5);
    expect(most()).toBe(1);
  });

  test('a comparison that fails does not block the next', async () => {
    let calls = 0;
    const authenticator = new BasicAuthenticator(() => {
      calls += 1;
      return calls === 1 ? Promise.reject(new Error('broken')) : Promise.resolve(true);
    });
    await expect(authenticator.allows(HASHES, basic('alice:1'))).rejects.toThrow('broken');
    expect(await authenticator.allows(HASHES, basic('alice:2'))).toBe(true);
  });
});
