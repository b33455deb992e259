import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readAlternativeNames } from '../../src/web/server/handshakes.ts';
import { isHostHeader } from '../../src/web/routes/discovery.ts';
import { computeWaitMs } from '../../src/web/routes/scrape.ts';
import { throttle } from '../../src/web/server/servers.ts';

describe('the time allowed for a response', () => {
  const COLLECTION = { default_scrape_timeout: 10_000, scrape_timeout_offset: 500 };
  const timeTo = (header: string, lastWrite = 0) =>
    computeWaitMs({ headers: { 'x-prometheus-scrape-timeout-seconds': header } }, COLLECTION, lastWrite);

  test.each<readonly [string, number]>([
    ['15', 14_500],
    ['1e1', 9_500],
    [' 8 ', 7_500],
    ['.5', 250],
    ['8s', 9_500],
    ...['', 'NaN', '0x10', '1e400', 'soon', '-5', '0', 'Infinity'].map((text) => [text, 9_500] as const),
    ['2.5', 2_000],
    ['0.6', 300],
    ['99999999', 119_500],
    ['120.1', 119_500],
  ])('header %j gives %d ms', (header, milliseconds) => {
    expect(timeTo(header)).toBe(milliseconds);
  });

  test('leaves out the time that the last response took to write, but stays at half the timeout', () => {
    expect(timeTo('10', 2_000)).toBe(7_500);
    expect(timeTo('10', 60_000)).toBe(5_000);
  });
});

test('a Host header that could be more than an address is rejected', () => {
  // Of signs that stand in addresses, and of signs that end them: of random ones hardly a text would be taken.
  const unit = fc.constantFrom(...Array.from('aZ09._-[]:aZ09._-[]:/@?#%\\<>"\' \t\r\n\0é'));
  let taken = 0;
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 6 }), (text) => {
      if (!isHostHeader(text)) return;
      taken += 1;
      expect(text).toMatch(/^[A-Za-z0-9_.[\]:-]+$/);
    }),
    { numRuns: 2_000 },
  );
  expect(taken).toBeGreaterThan(50);
});

describe('reading the names of a client certificate', () => {
  test.each([
    ['DNS:a.example, DNS:b.example', ['a.example', 'b.example']],
    ['IP Address:10.0.0.1, IP Address:0:0:0:0:0:0:0:1', ['10.0.0.1', '::1']],
    ['email:me@x.example, URI:spiffe://x/y', ['me@x.example', 'spiffe://x/y']],
    ['DNS:"a, DNS:evil.example", DNS:b', ['a, DNS:evil.example', 'b']],
    ['URI:"a\\u0022b"', ['a"b']],
    ['Registered ID:1.2.3, DNS:a', ['a']],
    [undefined, []],
  ])('%s', (subjectAltName, names) => {
    expect(readAlternativeNames({ subjectAltName })).toEqual(names);
  });
});

test('a frequent message is logged at once, then once a minute with the number of suppressed messages', () => {
  let now = 0;
  const lines: string[] = [];
  const tell = throttle(
    (line) => void lines.push(line),
    () => now,
  );
  const wait = (milliseconds: number) => void (now += milliseconds);
  for (let client = 0; client < 50; client += 1) tell(`refused ${client}`);
  wait(59_999);
  tell('refused');
  expect(lines).toEqual(['refused 0']);
  wait(1);
  tell('refused');
  tell('refused');
  wait(60_000);
  tell('refused');
  wait(60_000);
  tell('refused');
  expect(lines.slice(1)).toEqual([
    'refused (50 similar messages suppressed)',
    'refused (1 similar message suppressed)',
    'refused',
  ]);
});
