import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Secrets } from '../../../src/log/secrets.ts';
import { KeyMask } from '../../../src/api/http/keyMask.ts';

const KEY = 'NRAK-a/b+c"d.0123456789';
const mask = new KeyMask(KEY);

describe('KeyMask', () => {
  it.each([
    ['plain', KEY],
    ['percent-encoded', encodeURIComponent(KEY)],
    ['percent-encoded in small letters', encodeURIComponent(KEY).toLowerCase()],
    ['escaped as in JSON', JSON.stringify(KEY).slice(1, -1)],
    ['escaped as in some JSON', KEY.replace('/', '\\/')],
    ['escaped by code', KEY.replace(/[a-z]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`)],
    ['escaped as in HTML', KEY.replace('"', '&#34;').replace('/', '&#x2F;')],
    ['in small letters, as in a host name', KEY.toLowerCase()],
  ])('hides the key %s', (_, spelling) => {
    expect(mask.hide(`before ${spelling} after ${spelling}`)).toBe('before <secret> after <secret>');
  });

  it('takes the dot of a key for a dot', () => {
    expect(new KeyMask('ab.cd').hide('abxcd')).toBe('abxcd');
  });

  it('leaves keys alone that are too short to be told from words', () => {
    expect(new KeyMask('a').hide('banana')).toBe('banana');
    expect(new KeyMask('test').hideInBody('{"name":"test"}')).toBe('{"name":"test"}');
  });

  it('hides a part of a key of 12 characters in messages and bodies, and its base64', () => {
    const key = 'NRAK-0123456789ABCDEF';
    for (const part of [key.slice(3, 15), key.slice(9), Buffer.from(key).toString('base64')]) {
      expect(new KeyMask(key).hide(`no key ${part}!`)).toBe('no key <secret>!');
      expect(new KeyMask(key).hideInBody(`{"name":"${part}"}`)).toMatch(/^\{"name":"<secret>(?:=*)"\}$/);
    }
  });

  it('hides a long key in a body, where it would become a label', () => {
    expect(new KeyMask('NRAK-0123456789ABCDEF').hideInBody('{"name":"NRAK-0123456789ABCDEF"}')).toBe(
      '{"name":"<secret>"}',
    );
    expect(new KeyMask('NRAK-0123456789ABCDEF').hideInBody('{"name":"\\u004eRAK-0123456789ABCDEF"}')).toBe(
      '{"name":"<secret>"}',
    );
  });

  it.each([
    ['holds the key', 'NRAK-ABABABABABA0123456789'],
    ['is made of pieces that overlap as in the key', 'AB'],
    ['escapes a letter of the key', String.raw`\u0041`],
  ])('refuses a large body that %s, which would take a second to search', (_, piece) => {
    const large = `{"name":"${piece.repeat((2 * 1024 * 1024) / piece.length)}"}`;
    expect(() => new KeyMask('NRAK-ABABABABABA0123456789').hideInBody(large)).toThrow('parts of an API key');
  });

  it('hides the keys of other accounts too, also those that become known later', () => {
    const secrets = new Secrets();
    const own = new KeyMask('NRAK-0123456789ABCDEF', secrets);
    secrets.add('NRAK-OTHERKEYOFANACCOUNT');
    expect(own.hideInBody('{"name":"of NRAK-OTHERKEYOFANACCOUNT"}')).toBe('{"name":"of <secret>"}');
    expect(own.hide('no NRAK-OTHERKEYOFANACCOUNT')).toBe('no <secret>');
  });

  it('with a hundred keys of accounts leaves a large body alone that has none of them', () => {
    const secrets = new Secrets();
    const keyOf = (index: number): string =>
      `NRAK-${createHash('sha256').update(String(index)).digest('hex').slice(0, 27).toUpperCase()}`;
    for (let index = 0; index < 100; index += 1) secrets.add(keyOf(index));
    const body = JSON.stringify({
      rows: Array.from({ length: 60_000 }, (_, id) => ({ id, name: `service-${id * 7919}`, total: id / 7 })),
    });
    expect(body.length).toBeGreaterThan(2 * 1024 * 1024);
    expect(new KeyMask(keyOf(0), secrets).hideInBody(body)).toBe(body);
  });

  it('leaves the escapes of a large body alone that stand for no letter of the key', () => {
    const body = `{"name":"${String.raw`\u0026 \u003c `.repeat(200_000)}"}`;
    expect(new KeyMask('NRAK-0123456789ABCDEF').hideInBody(body)).toBe(body);
  });
});
