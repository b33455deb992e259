import { createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { FailureReason, UpstreamError } from '../../../src/api/upstreamError.ts';
import type { CallOptions, UpstreamReader } from '../../../src/api/upstreamReader.ts';
import { readNerdGraph } from '../nerdgraph/nerdGraphReading.ts';
import { failureOf, serve, startReading, readMetricData } from '../support/reading.ts';
import { json, listen, type Responder } from '../support/testServer.ts';

const MIB = 1024 * 1024;
const graph = '"data":{"actor":{"entitySearch":{"count":0,"results":{"nextCursor":null,"entities":[]}}}}';
const good = `{"applications":[],"metric_data":{"metrics":[]},"key_transactions":[],${graph}}`;

const send =
  (text: string, headers: Record<string, string> = {}): Responder =>
  (response) =>
    json(response, text, headers);

const PACKED_SMALL = gzipSync(Buffer.alloc(25_000_000, 32));
const PACKED = gzipSync(Buffer.alloc(50_000_000, 32));

/** Sends 50 MB as fast as the client takes them. */
const flood: Responder = (response) => {
  const chunk = Buffer.alloc(MIB, 32);
  response.writeHead(200);
  let megabytes = 50;
  const more = (): void => {
    let room = true;
    for (; room && megabytes > 0 && !response.destroyed; megabytes -= 1) room = response.write(chunk);
    if (megabytes === 0) response.end();
  };
  response.on('drain', more);
  more();
};

const packed =
  (body: Buffer): Responder =>
  (response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(body);

/** A good response that ends after its first bytes. */
const cutShort =
  (headers: Record<string, string>): Responder =>
  (response) => {
    response.writeHead(200, headers);
    response.write(good, () => response.destroy());
  };

const drip: Responder = (response) => {
  response.writeHead(200);
  const timer = setInterval(() => {
    response.write(' ');
    vi.advanceTimersByTime(TIMEOUT_MS / 10);
  }, 20);
  response.on('close', () => clearInterval(timer));
};

const TIMEOUT_MS = 500;
const WRONG_TYPES = '{"applications":{},"metric_data":[],"key_transactions":"","data":7}';
const LARGER = /larger than (8388608|4194304) bytes/;

const FAULTS: readonly (readonly [fault: string, answer: Responder, reason: FailureReason, words: RegExp])[] = [
  ['a reset connection', (response) => response.socket?.resetAndDestroy(), 'network', /connection/],
  ['a closed connection', (response) => response.destroy(), 'network', /connection closed before/],
  ['a body cut short', cutShort({ 'content-length': '1000' }), 'network', /connection/],
  ['a chunked body cut short', cutShort({}), 'network', /connection/],
  ['no response', () => void vi.advanceTimersByTime(TIMEOUT_MS), 'timeout', /no response within 0\.5 s/],
  ['a slow drip', drip, 'timeout', /no complete response within 0\.5 s/],
  [
    'malformed JSON',
    send('{"applications":['),
    'invalid_response',
    /the response is not JSON: check what answers instead of New Relic/,
  ],
  ['an empty body', send(''), 'invalid_response', /empty/],
  ['a 204', (response) => response.writeHead(204).end(), 'invalid_response', /empty/],
  ['a web page', send('<!doctype html><html></html>'), 'invalid_response', /web page/],
  ['a list for an object', send('[]'), 'invalid_response', /not a JSON object/],
  ['null', send('null'), 'invalid_response', /not a JSON object/],
  ['another envelope', send('{"widgets":[]}'), 'invalid_response', /has no/],
  ['an envelope of the wrong type', send(WRONG_TYPES), 'invalid_response', /has no/],
  ['a 200 with an error', send(`{"error":{"title":"Sorry"},"applications":[],${graph}}`), 'invalid_response', /Sorry/],
  [
    'a body that is not packed as it says',
    send(good, { 'content-encoding': 'gzip' }),
    'invalid_response',
    /decompressed/,
  ],
  ['an encoding nobody asked for', send(good, { 'content-encoding': 'br' }), 'invalid_response', /not requested/],
  ['a body of 50 MB', flood, 'too_large', LARGER],
  ['a body of 25 MB, packed into 25 kB', packed(PACKED_SMALL), 'too_large', LARGER],
  ['a body of 50 MB, packed', packed(PACKED), 'too_large', LARGER],
  [
    'a body that says it has 50 MB',
    (response) => response.writeHead(200, { 'content-length': '50000000' }).flushHeaders(),
    'too_large',
    /larger/,
  ],
  ['long headers', send(good, { 'x-long': 'x'.repeat(20_000) }), 'too_large', /headers/],
];

const NERDGRAPH = 'key transactions over NerdGraph';
const CALLS: Record<string, (reader: UpstreamReader, call: CallOptions) => Promise<unknown>> = {
  applications: (reader, call) => reader.listApplications({}, call),
  'key transactions': (reader, call) => reader.listKeyTransactions({}, call),
  'metric data': (reader, call) => readMetricData(reader, { names: ['Apdex'] }, call, { from: 0, to: 60 }),
  [NERDGRAPH]: (reader, call) => reader.listKeyTransactions({}, call),
};

/** Each call checks its own envelope and bounds. The other faults strike one call of each interface. */
const OF_EACH = ['another envelope', 'an envelope of the wrong type', 'a body of 50 MB'];

const cases = FAULTS.flatMap(([fault, answer, reason, words]) =>
  Object.entries(CALLS)
    .filter(([name]) => name === 'applications' || name === NERDGRAPH || OF_EACH.includes(fault))
    .map(([name, make]) => ({ fault, answer, reason, words, name, make })),
);

describe('a fault of upstream', () => {
  it.each(cases)('$fault makes a call for $name fail, and the next good response ends the failure', async (each) => {
    // The timers of the reader go on only where a fault moves them, so that no good response can be too late.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const options = { requestTimeoutMs: TIMEOUT_MS, maxRetries: 1 };
    const { server, ...rest } = await serve(each.answer, options);
    const isNerdGraph = each.name === NERDGRAPH;
    const { reader, call, notes } = isNerdGraph ? readNerdGraph(`${server.origin}/graphql`, options) : rest;
    const error: UpstreamError = await failureOf(each.make(reader, call));
    expect(error.failure.reason).toBe(each.reason);
    expect(error.message).toMatch(each.words);
    expect(notes.entered).toBe(each.reason === 'network' || (each.reason === 'timeout' && isNerdGraph) ? 2 : 1);
    expect(notes.places).toBe(0);
    expect(notes.started).toHaveLength(notes.ended.length);
    server.answer = send(good);
    await each.make(reader, call);
    expect(notes.places).toBe(0);
  });

  it('of 50 MB is not read to its end', async () => {
    let written = 0;
    const { reader, call } = await serve((response) => {
      const chunk = Buffer.alloc(64 * 1024, 32);
      response.writeHead(200);
      const more = (): void => {
        let room = true;
        while (room && !response.destroyed && written < 50_000_000) {
          written += chunk.length;
          room = response.write(chunk);
        }
      };
      response.on('drain', more);
      more();
    });
    expect((await failureOf(reader.listApplications({}, call))).failure.reason).toBe('too_large');
    expect(written).toBeLessThan(25_000_000);
  });
});

describe('a connection that cannot be made', () => {
  it('to a closed port is refused, and retried', async () => {
    const { port, close } = await listen(createServer());
    await close();
    const { reader, call, notes } = startReading(`http://127.0.0.1:${port}/v2`, { maxRetries: 1 });
    const { failure, message } = await failureOf(reader.listApplications({}, call));
    expect(failure.reason).toBe('network');
    expect(message).toBe(`GET /applications.json: connection refused by 127.0.0.1:${port} (reason network)`);
    expect(notes.ended.map(({ code }) => code)).toEqual(['error', 'error']);
  });

  it('to an unknown host name is reported as not found', async () => {
    const { reader, call } = startReading('https://no-such-host.invalid/v2');
    const { failure, message } = await failureOf(reader.listApplications({}, call));
    expect(failure.reason).toBe('network');
    expect(message).toMatch(/host name (not found|lookup failed): no-such-host\.invalid \(reason network\)$/);
  });

  it('to a server that does not speak HTTP gets no response', async () => {
    const { port, close } = await listen(
      createServer((socket) => {
        socket.on('data', () => socket.end('220 mail.example ESMTP\r\n'));
      }),
    );
    onTestFinished(close);
    const { reader, call } = startReading(`http://127.0.0.1:${port}/v2`);
    const { failure, message } = await failureOf(reader.listApplications({}, call));
    expect(failure.reason).toBe('invalid_response');
    expect(message).toContain('not HTTP');
  });

  it('to a server that never answers ends in time', async () => {
    const { port, close } = await listen(createServer());
    onTestFinished(close);
    const { reader, call } = startReading(`https://127.0.0.1:${port}/v2`, { requestTimeoutMs: 300 });
    expect((await failureOf(reader.listApplications({}, call))).failure.reason).toBe('timeout');
  });
});
