import { describe, expect, it } from 'vitest';
import { errorTitle, hasError } from '../../../src/api/http/errorTitle.ts';
import { KeyMask } from '../../../src/api/http/keyMask.ts';

const KEY = 'NRAK-TEST/KEY+0123456789';
const title = (body: unknown): string | undefined =>
  errorTitle(typeof body === 'string' ? body : JSON.stringify(body), new KeyMask(KEY));

describe('errorTitle', () => {
  it.each<[unknown, string]>([
    [{ error: { title: 'No API key specified' } }, 'No API key specified'],
    [{ error: { title: 'Bad', messages: ['no from', 'no to'] } }, 'Bad: no from; no to'],
    [{ error: { messages: ['from is missing'] } }, 'from is missing'],
    [{ error: { title: 'Bad', messages: [7] } }, 'Bad'],
    [{ error: 'plain' }, 'plain'],
    [{ error: { message: 'plain' } }, 'plain'],
    [{ errors: [{ title: 'first' }, { title: 'second' }] }, 'first'],
    [{ errors: [{ message: 'first' }] }, 'first'],
    [{ errors: ['first'] }, 'first'],
  ])('reads %j', (body, expected) => {
    expect(title(body)).toBe(expected);
  });

  it.each<[unknown]>([
    ['<html>Oops</html>'],
    [''],
    ['{"error":'],
    ['null'],
    ['[]'],
    [{}],
    [{ error: {} }],
    [{ error: 5 }],
    [{ error: { title: 5 } }],
    [{ error: '\u0007' }],
  ])('finds none in %j', (body) => {
    expect(title(body)).toBeUndefined();
  });

  it('removes control characters and line ends', () => {
    expect(title({ error: { title: 'a\r\nlevel=error\tb\u0000\u001b[31mc\u202ed' } })).toBe('a level=error b[31mcd');
  });

  it('is cut to 120 characters, never through one', () => {
    expect(title({ error: 'x'.repeat(500) })).toBe('x'.repeat(120));
    expect(title({ error: '😀'.repeat(500) })).toBe('😀'.repeat(120));
  });

  it.each([
    ['as it is', KEY],
    ['percent-encoded', encodeURIComponent(KEY)],
    ['with a control character in it', `${KEY.slice(0, 6)}\u0000${KEY.slice(6)}`],
    ['over the cut', 'x'.repeat(110) + KEY],
  ])('never holds the key %s', (_, echoed) => {
    const shown = title({ error: { title: `Invalid: ${echoed}` } });
    expect(shown).not.toContain('NRAK');
    expect(shown).toContain('<');
  });

  it.each([
    ['The API key provided (NRAK-TESTK...) is invalid', 'The API key provided (<secret>...) is invalid'],
    ['No access for nrak-0000OLDKEY0000, NRRA-0123456789abcdef', 'No access for <secret>, <secret>'],
  ])('never holds a part of a key, nor another key: %s', (said, shown) => {
    expect(title({ error: { title: said } })).toBe(shown);
  });

  it('never holds what the body calls an API key, although it is not ours', () => {
    expect(title({ error: { title: 'Invalid API Key OLD-KEY-0000', api_key: 'OLD-KEY-0000' } })).toBe(
      'Invalid API Key <secret>',
    );
  });
});

describe('hasError', () => {
  it.each([
    [true, [{ error: {} }, { error: 'x' }, { errors: [{}] }, { errors: {} }, { error: false, applications: [] }]],
    [false, [{}, { error: null }, { errors: [] }, { errors: null }, { applications: [] }]],
  ])('is %s of %j', (expected, bodies) => {
    expect(bodies.map(hasError)).toEqual(bodies.map(() => expected));
  });
});
