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

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array).toString('latin1'));
const method = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT') },
  { weight: 2, arbitrary: fc.constantFrom('DELETE', 'OPTIONS', 'TRACE', 'CONNECT', 'PROPFIND', 'get', 'G T', '') },
  { weight: 1, arbitrary: fc.string({ maxLength: 8 }) },
);
const path = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...PATHS) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('*', '//', '/..//..', '/%00', '/%zz', 'http://[::1/', 'http://x/metrics', '/\\', ''),
  },
  { weight: 1, arbitrary: fc.webPath() },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }).map((text) => `/${text}`) },
);
const query = fc.oneof(
  { weight: 2, arbitrary: fc.constant('') },
  {
    weight: 3,
    arbitrary: fc.array(fc.constantFrom(...QUERY_PARTS), { maxLength: 6 }).map((parts) => `?${parts.join('&')}`),
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 60 }).map((text) => `?${text}`) },
);
const wellMeant = fc
  .record({
    method,
    path,
    query,
    version: fc.oneof(
      { weight: 8, arbitrary: fc.constant('HTTP/1.1') },
      { weight: 1, arbitrary: fc.constantFrom('HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', '') },
    ),
    host: fc.oneof(
      { weight: 8, arbitrary: fc.constant('Host: exporter.example:9126\r\n') },
      { weight: 1, arbitrary: fc.constant('') },
    ),
    headers: fc.oneof(
      { weight: 4, arbitrary: fc.constant<string[]>([]) },
      { weight: 3, arbitrary: fc.constantFrom(...HARMLESS).map((header) => [header]) },
      { weight: 2, arbitrary: fc.array(fc.constantFrom(...HARMLESS, ...MALFORMED), { maxLength: 4 }) },
      { weight: 1, arbitrary: fc.array(fc.string({ maxLength: 30 }), { maxLength: 2 }) },
    ),
    body: fc.oneof(
      { weight: 4, arbitrary: fc.constant('') },
      { weight: 1, arbitrary: fc.constantFrom('5\r\nhello\r\n0\r\n\r\n', 'zz\r\n', 'hello') },
      { weight: 1, arbitrary: bytes },
    ),
  })
  .map(({ headers, body, ...line }) => {
    const lines = headers.map((header) => `${header}\r\n`).join('');
    return `${line.method} ${line.path}${line.query} ${line.version}\r\n${line.host}Connection: close\r\n${lines}\r\n${body}`;
  });
const input = fc.oneof({ weight: 9, arbitrary: wellMeant }, { weight: 1, arbitrary: bytes });

test('no input crashes, hangs, or gets a 500 or a stack', async () => {
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
