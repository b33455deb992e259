import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Secrets } from '../../src/log/secrets.ts';

function hiding(...values: string[]): Secrets {
  const secrets = new Secrets();
  for (const value of values) secrets.add(value);
  return secrets;
}

describe('a secret', () => {
  it('is hidden wherever it stands, as often as it does', () => {
    expect(hiding('NRAK-1').mask('key=NRAK-1 "NRAK-1"xNRAK-1')).toBe('key=<secret> "<secret>"x<secret>');
  });

  it('is hidden as it is spelt in an address and in JSON', () => {
    const value = 'a/b c"d\\e+ü';
    const mask = (text: string) => hiding(value).mask(text);
    expect(mask(`?k=${encodeURIComponent(value)}&`)).toBe('?k=<secret>&');
    expect(mask(`?${new URLSearchParams({ k: value }).toString()}&`)).toBe('?k=<secret>&');
    expect(mask(JSON.stringify({ k: value }))).toBe('{"k":"<secret>"}');
  });

  it('is hidden whole when another is its beginning', () => {
    expect(hiding('abcd', 'abcdefgh').mask('abcdefgh abcd')).toBe('<secret> <secret>');
  });

  it('of no more than three characters is left alone, and so is a text without secrets', () => {
    expect(hiding('', 'abc').mask('abc')).toBe('abc');
    expect(new Secrets().mask('abc')).toBe('abc');
  });

  const KEY = 'NRAK-ABCDEFGHJKLMNPQRSTUVWXYZ234';
  const encoded = (write: (code: number) => string) => Array.from(KEY, (one) => write(one.charCodeAt(0))).join('');
  const mask = (text: string): string => hiding(KEY, 'lic-0123456789abcdef').mask(text);

  it.each([
    ['its first half', KEY.slice(0, 16)],
    ['its second half', KEY.slice(16)],
    ['twelve characters from its middle', KEY.slice(7, 19)],
    ['it with a space in it', `${KEY.slice(0, 9)} ${KEY.slice(9)}`],
    ['it with a space behind every character', Array.from(KEY).join(' ')],
    ['it over two lines', `${KEY.slice(0, 20)}\r\n  ${KEY.slice(20)}`],
    ['it over two lines of JSON', JSON.stringify(`${KEY.slice(0, 20)}\n${KEY.slice(20)}`).slice(1, -1)],
    ['it in lower case', KEY.toLowerCase()],
    ['base64 of it', Buffer.from(KEY).toString('base64').replace(/=+$/, '')],
    ['percent signs for every character', encoded((code) => `%${code.toString(16)}`)],
    ['percent signs twice', encoded((code) => `%25${code.toString(16)}`)],
    ['JSON escapes', encoded((code) => `\\u00${code.toString(16)}`)],
    ['HTML escapes', encoded((code) => `&#${code};`)],
  ])('is hidden as %s', (_, form) => {
    expect(mask(`before ${form}, after`)).toBe('before <secret>, after');
  });

  it('leaves no run of 12 characters of the base64 that it is part of', () => {
    for (const before of ['', 'u:', 'me:', 'user:']) {
      const encoded = Buffer.from(`${before}${KEY}:x`).toString('base64');
      const shown = mask(`Basic ${encoded}`);
      for (let start = 8; start + 12 <= encoded.length - 4; start += 1) {
        expect(shown).not.toContain(encoded.slice(start, start + 12));
      }
    }
  });

  it('shows eleven of its characters, and other texts, as they are', () => {
    const text = `${KEY.slice(3, 14)} %41 \\u0041 &#65; \\n C:\\new 100 %`;
    expect(mask(text)).toBe(text);
  });

  it('with twelve equal characters in it leaves numbers with as many alone', () => {
    const secrets = hiding('NRAK-SIMULATOR0000000000000000');
    const body = '{"t":3.0400000000000014}';
    expect([secrets.mask(body), secrets.holdsRun(body)]).toEqual([body, false]);
    expect(secrets.mask('TOR0000000000000000')).not.toContain('TOR');
  });

  it('is hidden in any text without a run of 12 of its characters being left, and nothing else is', () => {
    const part = fc
      .tuple(fc.nat(KEY.length - 12), fc.nat(20))
      .map(([start, more]) => KEY.slice(start, start + 12 + more));
    const other = fc.string({ maxLength: 20 }).filter((text) => !/[A-Z0-9-]/i.test(text));
    fc.assert(
      fc.property(fc.array(fc.oneof(part, other)), (parts) => {
        const masked = mask(parts.join('|'));
        for (let start = 0; start + 12 <= KEY.length; start += 1) {
          expect(masked).not.toContain(KEY.slice(start, start + 12));
        }
        expect(masked).toBe(parts.map((one) => (one.length >= 12 && KEY.includes(one) ? '<secret>' : one)).join('|'));
      }),
    );
  });

  it('of any characters is hidden, whatever stands around it', () => {
    const text = fc.string({ unit: 'binary', minLength: 4 });
    fc.assert(
      fc.property(text, fc.string(), (secret, around) => {
        expect(hiding(secret).mask(`${around}${secret}${around}`)).toContain('<secret>');
        expect(hiding(secret).mask(`\n${secret}\n`)).toBe('\n<secret>\n');
      }),
    );
  });
});

describe('what a command prints', () => {
  it('is without whole keys, whosever they are', () => {
    const printed = new Secrets().maskPrinted(`NRAK-${'A1B'.repeat(9)}, ${'0123456789ab'.repeat(3)}NRAL; mine`);
    expect(printed).toBe('<secret>, <secret>; mine');
    expect(hiding('mine').maskPrinted('mine')).toBe('<secret>');
  });

  it('has the names of the service as they are, also where they are like the beginning of a key', () => {
    const names = 'conrad-shop enrol-service nrpc-gateway NREL-API2 NRAK-1';
    expect(new Secrets().maskPrinted(names)).toBe(names);
  });
});
