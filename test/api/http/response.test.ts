import { describe, expect, it } from 'vitest';
import { BOUNDS, parseResponse, readRefusal, readTitle } from '../../../src/api/http/response.ts';

const KEY = 'NRAK-TESTKEY0123456789';
const POLICY = { bounds: BOUNDS.list, retries: 'none' } as const;

function responseOf(status: number, text = '') {
  const address = { origin: 'https://a.example', path: '/' };
  const body = Buffer.from(text);
  return { status, headers: {}, body, address, receivedAt: 0 };
}

/** The message of a refusal with this body. */
async function wordsOf(body: unknown): Promise<string> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return (await readRefusal(responseOf(400, text), POLICY, undefined)).message;
}

describe('the message of a refusal', () => {
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
  ])('has the words of the body: %j', async (body, expected) => {
    expect(await wordsOf(body)).toBe(`status 400: ${expected}`);
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
  ])('has the status alone where the body has no words: %j', async (body) => {
    expect(await wordsOf(body)).toBe('status 400');
  });

  it.each([
    ['as it is', KEY],
    ['with a control character in it', `${KEY.slice(0, 6)}\u0000${KEY.slice(6)}`],
  ])('hides the key %s', async (_, echoed) => {
    const shown = await wordsOf({ error: { title: `Invalid: ${echoed}`, api_key: KEY } });
    expect(shown).toBe('status 400: Invalid: <secret>');
  });
});

describe('the title of an error', () => {
  it('has no control characters and line ends', () => {
    expect(readTitle({ error: { title: 'a\r\nlevel=error\tb\u0000\u001b[31mc\u202ed' } })).toBe(
      'a level=error b[31mcd',
    );
  });

  it.each([
    ['x '.repeat(500), 'x '.repeat(60).trim()],
    ['😀 '.repeat(500), '😀 '.repeat(60).trim()],
    [`${'x'.repeat(100)} abcdefghijklmnopqrstuvwxyz`, 'x'.repeat(100)],
    [`${'x'.repeat(100)} abcdefghijklmnopqrs`, `${'x'.repeat(100)} abcdefghijklmnopqrs`],
    ['x'.repeat(500), undefined],
  ])('is cut to 120 characters between words, because a part of a word may be a key: %s', (said, shown) => {
    expect(readTitle({ error: said })).toBe(shown);
  });

  it.each([
    ['The API key provided (NRAK-TESTK...) is invalid', 'The API key provided (<secret>...) is invalid'],
    ['No access for nrak-0000OLDKEY0000, NRRA-0123456789abcdef', 'No access for <secret>, <secret>'],
  ])('hides parts of the key and other keys: %s', (said, shown) => {
    expect(readTitle({ error: { title: said } })).toBe(shown);
  });
});

describe('a response with a good status', () => {
  const read = (body: unknown) => () => parseResponse(responseOf(200), JSON.stringify(body), POLICY);

  it.each([
    [{ error: {} }],
    [{ error: 'x' }],
    [{ errors: [{}] }],
    [{ errors: {} }],
    [{ error: false, applications: [] }],
  ])('is a failure with an error in its body: %j', (body) => {
    expect(read(body)).toThrow('status 200 with an error in its body');
  });

  it.each([[{}], [{ error: null }], [{ errors: [] }], [{ errors: null }], [{ applications: [] }]])(
    'is a result without one: %j',
    (body) => {
      expect(read(body)().body).toEqual(body);
    },
  );
});

describe('a body with deep nesting', () => {
  const nested = (depth: number): string => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`;

  it.each(Object.entries(BOUNDS))('is not parsed where %s is read, whatever the limit for elements', (_, bounds) => {
    const read = (text: string) => parseResponse(responseOf(200, text), text, { bounds, retries: 'none' });
    // The surrounding object makes these depths 31 and 32.
    for (const depth of [30, 31]) expect(read(nested(depth)).body).toBeDefined();
    for (const depth of [9_000, 70_000, 1_000_000]) {
      expect(() => read(nested(depth))).toThrow(
        expect.objectContaining({ reason: 'too_large', message: 'the response is nested deeper than 32' }) as Error,
      );
    }
  });

  it('is parsed at a depth of 32, but not of 33', () => {
    const read = (text: string) => parseResponse(responseOf(200, text), text, POLICY);
    expect(read(nested(31)).body).toBeDefined();
    expect(() => read(nested(32))).toThrow('nested deeper than 32');
  });

  it('adds nothing to an error status', async () => {
    const error = (depth: number): string => `{"error":{"title":"Bad"},${nested(depth).slice(1)}`;
    expect(await wordsOf(error(31))).toBe('status 400: Bad');
    expect(await wordsOf(error(32))).toBe('status 400');
  });
});
