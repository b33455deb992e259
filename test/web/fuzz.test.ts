import fc from 'fast-check';
import { expect, test } from 'vitest';
import { serve, testApp } from './support/app.ts';
import { get } from './support/http.ts';
import { READ_PATHS } from './support/paths.ts';
import { sendRaw } from './support/raw.ts';

const INPUTS = 1_200;
const AT_ONCE = 32;
const NO_RESPONSE_AFTER_MS = 120_000;

const PATHS = [...READ_PATHS.map((path) => path.replace(/\?.*/, '')), '/-/reload', '/nothing'];
const QUERY_PARTS = [
  ...'collect[]=applications collect[]=exporter collect%5B%5D=%00 collect[0][a]=b account=production'.split(' '),
  ...'account=%ff%fe app_id=7 app_id=-1 app_id=9999999999999999999999 app_id=__proto__ debug=true'.split(' '),
  ...'q=%3Cscript%3E q=% page=99999999999 __proto__[x]=1 constructor=1 &&&==='.split(' '),
];
const HARMLESS = [
  'X-Prometheus-Scrape-Timeout-Seconds: 1e309',
  'X-Prometheus-Scrape-Timeout-Seconds: -0',
  'Accept: application/openmetrics-text; version="1.0.0";;q=2,,*/*',
  'Accept-Encoding: gzip;q=x, *;q=0, , br',
  'Authorization: Basic ====',
  'Connection: upgrade\r\nUpgrade: h2c',
  'Connection: Upgrade\r\nUpgrade: websocket',
  'X-Forwarded-Host: evil.example',
  'Range: bytes=0-0',
  'If-None-Match: *',
];
const MALFORMED = [
  'Content-Length: 5',
  'Content-Length: -1',
  'Content-Length: 5\r\nContent-Length: 6',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip, chunked\r\nContent-Length: 3',
  'Expect: 100-continue',
  'Expect: nonsense',
  'Host: other.example:99999',
  'Host: [::1',
  'X: \u0000',
  ': empty',
  'no colon',
];

/** One of these, each as often as its number says. */
const oneOf = <T>(...parts: readonly (readonly [weight: number, arbitrary: fc.Arbitrary<T>])[]) =>
  fc.oneof(...parts.map(([weight, arbitrary]) => ({ weight, arbitrary })));

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array).toString('latin1'));
const method = oneOf(
  [6, fc.constantFrom('GET', 'HEAD', 'POST', 'PUT')],
  [2, fc.constantFrom('DELETE', 'OPTIONS', 'TRACE', 'CONNECT', 'PROPFIND', 'get', 'G T', '')],
  [1, fc.string({ maxLength: 8 })],
);
const path = oneOf(
  [5, fc.constantFrom(...PATHS)],
  [1, fc.constantFrom('*', '//', '/..//..', '/%00', '/%zz', 'http://[::1/', 'http://x/metrics', '/\\', '')],
  [1, fc.webPath()],
  [1, fc.string({ unit: 'binary', maxLength: 40 }).map((text) => `/${text}`)],
);
const query = oneOf(
  [2, fc.constant('')],
  [3, fc.array(fc.constantFrom(...QUERY_PARTS), { maxLength: 6 }).map((parts) => `?${parts.join('&')}`)],
  [1, fc.string({ maxLength: 60 }).map((text) => `?${text}`)],
);
const wellMeant = fc
  .record({
    method,
    path,
    query,
    version: oneOf([8, fc.constant('HTTP/1.1')], [1, fc.constantFrom('HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', '')]),
    host: oneOf([8, fc.constant('Host: exporter.example:9126\r\n')], [1, fc.constant('')]),
    headers: oneOf(
      [4, fc.constant<string[]>([])],
      [3, fc.constantFrom(...HARMLESS).map((header) => [header])],
      [2, fc.array(fc.constantFrom(...HARMLESS, ...MALFORMED), { maxLength: 4 })],
      [1, fc.array(fc.string({ maxLength: 30 }), { maxLength: 2 })],
    ),
    body: oneOf([4, fc.constant('')], [1, fc.constantFrom('5\r\nhello\r\n0\r\n\r\n', 'zz\r\n', 'hello')], [1, bytes]),
  })
  .map(({ headers, body, ...line }) => {
    const lines = headers.map((header) => `${header}\r\n`).join('');
    return `${line.method} ${line.path}${line.query} ${line.version}\r\n${line.host}Connection: close\r\n${lines}\r\n${body}`;
  });
const input = oneOf([9, wellMeant], [1, bytes]);

test('no input crashes or hangs the server, or gets a 500 or a stack trace', async () => {
  const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
  process.stderr.write(`HTTP fuzz: ${INPUTS} inputs, FUZZ_SEED=${seed}\n`);
  const app = testApp({ reload: () => Promise.resolve([]) });
  const { port, origin, warnings } = await serve(app.app);
  const inputs = fc.sample(input, { seed, numRuns: INPUTS });
  const statuses = new Map<string, number>();
  const next = inputs.entries();
  const worker = async () => {
    for (const [index, text] of next) {
      const { text: response, timedOut } = await sendRaw(port, Buffer.from(text, 'latin1'), NO_RESPONSE_AFTER_MS, true);
      const told = `input ${index} of FUZZ_SEED=${seed}: ${JSON.stringify(text)} got ${JSON.stringify(response.slice(0, 400))}`;
      expect(timedOut, told).toBe(false);
      expect(response, told).not.toMatch(/^HTTP\/1\.1 500|\n\s+at .+:\d+:\d+|node:internal|\/src\/web\//);
      const status = /^HTTP\/1\.1 (\d{3})/.exec(response)?.[1] ?? 'closed';
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  process.stderr.write(`HTTP fuzz: ${JSON.stringify(Object.fromEntries([...statuses].toSorted()))}\n`);
  expect(app.failures).toEqual([]);
  expect(warnings).toEqual([]);
  for (const status of ['200', '400', '404', '405']) expect(statuses.get(status)).toBeGreaterThan(20);
  expect((await get(`${origin}/-/healthy`)).status).toBe(200);
});
