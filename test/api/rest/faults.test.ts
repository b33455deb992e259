import { createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { UpstreamError } from '../../../src/api/upstreamError.ts';
import type { CallOptions, UpstreamReader } from '../../../src/api/upstreamReader.ts';
import { failureOf, serve, startReading, readMetricData } from '../support/reading.ts';
import { json, listen, type Responder } from '../support/testServer.ts';

const MIB = 1024 * 1024;
const good = '{"applications":[],"metric_data":{"metrics":[]},"key_transactions":[],"metrics":[]}';

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
  let left = 50;
  const more = (): void => {
    let room = true;
    for (; room && left > 0 && !response.destroyed; left -= 1) room = response.write(chunk);
    if (left === 0) response.end();
  };
  response.on('drain', more);
  more();
};

const TIMEOUT_MS = 500;

const FAULTS: Record<string, { answer: Responder; reason: string; words: RegExp; attempts?: number }> = {
  'a reset connection': {
    answer: (response) => response.socket?.resetAndDestroy(),
    reason: 'network',
    words: /connection/,
    attempts: 2,
  },
  'a closed connection': {
    answer: (response) => response.destroy(),
    reason: 'network',
    words: /connection closed before/,
    attempts: 2,
  },
  'a body cut short': {
    answer: (response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write(good, () => response.destroy());
    },
    reason: 'network',
    words: /connection/,
    attempts: 2,
  },
  'a chunked body cut short': {
    answer: (response) => {
      response.writeHead(200);
      response.write(good, () => response.destroy());
    },
    reason: 'network',
    words: /connection/,
    attempts: 2,
  },
  'no response': {
    answer: () => void vi.advanceTimersByTime(TIMEOUT_MS),
    reason: 'timeout',
    words: /no response within 0\.5 s/,
  },
  'a slow drip': {
    answer: (response) => {
      response.writeHead(200);
      const timer = setInterval(() => {
        response.write(' ');
        vi.advanceTimersByTime(TIMEOUT_MS / 10);
      }, 20);
      response.on('close', () => clearInterval(timer));
    },
    reason: 'timeout',
    words: /no whole response within 0\.5 s/,
  },
  'malformed JSON': {
    answer: send('{"applications":['),
    reason: 'invalid_response',
    words: /the response is not JSON/,
  },
  'an empty body': { answer: send(''), reason: 'invalid_response', words: /empty/ },
  'a 204': { answer: (response) => response.writeHead(204).end(), reason: 'invalid_response', words: /empty/ },
  'a web page': {
    answer: send('<!doctype html><html></html>', { 'content-type': 'text/html' }),
    reason: 'invalid_response',
    words: /web page/,
  },
  'a list for an object': { answer: send('[]'), reason: 'invalid_response', words: /no JSON object/ },
  null: { answer: send('null'), reason: 'invalid_response', words: /no JSON object/ },
  'another envelope': { answer: send('{"widgets":[]}'), reason: 'invalid_response', words: /has no/ },
  'an envelope of the wrong type': {
    answer: send('{"applications":{},"metric_data":[],"key_transactions":"","metrics":7}'),
    reason: 'invalid_response',
    words: /has no/,
  },
  'a 200 with an error': {
    answer: send('{"error":{"title":"Sorry"},"applications":[]}'),
    reason: 'invalid_response',
    words: /error in its body: Sorry/,
  },
  'a body that is not packed as it says': {
    answer: send(good, { 'content-encoding': 'gzip' }),
    reason: 'invalid_response',
    words: /unpacked/,
  },
  'an encoding nobody asked for': {
    answer: send(good, { 'content-encoding': 'br' }),
    reason: 'invalid_response',
    words: /not asked for/,
  },
  'a body of 50 MB': { answer: flood, reason: 'too_large', words: /larger than (8388608|4194304) bytes/ },
  'a body of 25 MB, packed into 25 kB': {
    answer: (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(PACKED_SMALL),
    reason: 'too_large',
    words: /larger than (8388608|4194304) bytes/,
  },
  'a body of 50 MB, packed': {
    answer: (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(PACKED),
    reason: 'too_large',
    words: /larger than (8388608|4194304) bytes/,
  },
  'a body that says it has 50 MB': {
    answer: (response) => {
      response.writeHead(200, { 'content-length': '50000000' });
      response.flushHeaders();
    },
    reason: 'too_large',
    words: /larger/,
  },
  'long headers': { answer: send(good, { 'x-long': 'x'.repeat(20_000) }), reason: 'too_large', words: /headers/ },
};

const CALLS: Record<string, (reader: UpstreamReader, call: CallOptions) => Promise<unknown>> = {
  applications: (reader, call) => reader.listApplications({}, call),
  'key transactions': (reader, call) => reader.listKeyTransactions({}, call),
  'metric data': (reader, call) => readMetricData(reader, { names: ['Apdex'] }, call, { from: 0, to: 60 }),
};

/** Each call checks its own envelope, and has bounds of its own; all else strikes one of them. */
const OF_EACH = ['another envelope', 'an envelope of the wrong type', 'a body of 50 MB'];

const cases = Object.entries(FAULTS).flatMap(([fault, what]) =>
  Object.entries(CALLS)
    .filter(([name]) => name === 'applications' || OF_EACH.includes(fault))
    .map(([name, make]) => ({ fault, name, make, ...what })),
);

describe('a fault of upstream', () => {
  it.each(cases)('$fault fails a call for $name, and the next good answer heals it', async (each) => {
    // The timers of the reader go on only where a fault moves them, so that no good answer can be too late.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { server, reader, call, notes } = await serve(each.answer, { requestTimeoutMs: TIMEOUT_MS, maxRetries: 1 });
    const error: UpstreamError = await failureOf(each.make(reader, call));
    expect(error.failure.reason).toBe(each.reason);
    expect(error.message).toMatch(each.words);
    expect(notes.entered).toBe(each.attempts ?? 1);
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
  it('to a port nobody listens on is refused, and tried again', async () => {
    const { port, close } = await listen(createServer());
    await close();
    const { reader, call, notes } = startReading(`http://127.0.0.1:${port}/v2`, { maxRetries: 1 });
    const { failure, message } = await failureOf(reader.listApplications({}, call));
    expect(failure.reason).toBe('network');
    expect(message).toBe(`GET /applications.json: connection refused by 127.0.0.1:${port} (reason network)`);
    expect(notes.ended.map(({ code }) => code)).toEqual(['error', 'error']);
  });

  it('to a name that does not exist is not found', async () => {
    const { reader, call } = startReading('https://no-such-host.invalid/v2');
    const { failure, message } = await failureOf(reader.listApplications({}, call));
    expect(failure.reason).toBe('network');
    expect(message).toMatch(/host name (not found|could not be looked up): no-such-host\.invalid \(reason network\)$/);
  });

  it('to something that does not speak HTTP gives no answer', async () => {
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

  it('to something that takes connections and says nothing ends in time', async () => {
    const { port, close } = await listen(createServer());
    onTestFinished(close);
    const { reader, call } = startReading(`https://127.0.0.1:${port}/v2`, { requestTimeoutMs: 300 });
    expect((await failureOf(reader.listApplications({}, call))).failure.reason).toBe('timeout');
  });
});
