import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Secrets } from '../../src/log/secrets.ts';

function hiding(...values: string[]): Secrets {
  const secrets = new Secrets();
  for (const value of values) secrets.add(value);
  return secrets;
}

describe('a secret', () => {
  it('is hidden everywhere in a text', () => {
    expect(hiding('NRAK-1').mask('key=NRAK-1 "NRAK-1"xNRAK-1')).toBe('key=<secret> "<secret>"x<secret>');
  });

  it('is hidden as encoded in an address and in JSON', () => {
    const value = 'a/b c"d\\e+ü';
    const mask = (text: string) => hiding(value).mask(text);
    expect(mask(`?k=${encodeURIComponent(value)}&`)).toBe('?k=<secret>&');
    expect(mask(`?${new URLSearchParams({ k: value }).toString()}&`)).toBe('?k=<secret>&');
    expect(mask(JSON.stringify({ k: value }))).toBe('{"k":"<secret>"}');
  });

  it('is hidden whole where another secret is its beginning', () => {
    expect(hiding('abcd', 'abcdefgh').mask('abcdefgh abcd')).toBe('<secret> <secret>');
  });

  it('of at most three characters is not hidden, and a text without secrets stays the same', () => {
    expect(hiding('', 'abc').mask('abc')).toBe('abc');
    expect(new Secrets().mask('abc')).toBe('abc');
  });

  it('is hidden as escaped in HTML, and in JSON within HTML', () => {
    const mask = (text: string) => hiding(`a<b>&"c'd`).mask(text);
    expect(mask('<p>a&lt;b&gt;&amp;&quot;c&#39;d</p>')).toBe('<p><secret></p>');
    expect(mask('<p>a&lt;b&gt;&amp;\\&quot;c&#39;d</p>')).toBe('<p><secret></p>');
  });

  it('is not hidden where only a part of it appears', () => {
    const key = 'NRAK-ABCDEFGHJKLMNPQRSTUVWXYZ234';
    expect(hiding(key).mask(key.slice(0, 20))).toBe(key.slice(0, 20));
  });

  it('of any characters is hidden in any surroundings', () => {
    const text = fc.string({ unit: 'binary', minLength: 4 });
    fc.assert(
      fc.property(text, fc.string(), (secret, around) => {
        expect(hiding(secret).mask(`${around}${secret}${around}`)).toContain('<secret>');
        expect(hiding(secret).mask(`\n${secret}\n`)).toBe('\n<secret>\n');
      }),
    );
  });
});

describe('the output of a command', () => {
  it('hides every whole key, also unknown keys', () => {
    const printed = new Secrets().mask(`NRAK-${'A1B'.repeat(9)}, ${'0123456789ab'.repeat(3)}NRAL; mine`);
    expect(printed).toBe('<secret>, <secret>; mine');
    expect(hiding('mine').mask('mine')).toBe('<secret>');
  });

  it('shows names of the service, also if they resemble the beginning of a key', () => {
    const names = 'conrad-shop enrol-service nrpc-gateway NREL-API2 NRAK-1';
    expect(new Secrets().mask(names)).toBe(names);
  });
});
