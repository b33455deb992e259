import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { FailureReason } from '../../../src/api/upstreamError.ts';
import type { RateLimiter } from '../../../src/api/upstreamReader.ts';
import { application, failureOf, listHosts, KEY, serve, startReading } from '../support/reading.ts';
import { json } from '../support/testServer.ts';
import { eventually } from '../../support/eventually.ts';

const NONE = { applications: [] };

describe('a call', () => {
  it('sends the headers that New Relic requires', async () => {
    const { server, reader, call } = await serve((response) => json(response, NONE));
    await reader.listApplications({}, call);
    expect(server.asked[0]?.path).toBe('/v2/applications.json');
    expect(server.asked[0]?.headers).toMatchObject({
      accept: 'application/json',
      'accept-encoding': 'gzip',
      'user-agent': 'newrelic-apm-exporter/0.0.0 (+https://exporter.example)',
      'x-api-key': KEY,
    });
  });

  it('reads the key again each time, and sends it under the configured name', async () => {
    const keys = ['NRAK-first', 'NRAK-second'];
    const options = { keyHeader: 'Api-Key', key: () => keys.shift() ?? '' };
    const { server, reader, call } = await serve((response) => json(response, NONE), options);
    await reader.listApplications({}, call);
    await reader.listApplications({}, call);
    expect(server.asked.map(({ headers }) => headers['api-key'])).toEqual(['NRAK-first', 'NRAK-second']);
    expect(server.asked[0]?.headers['x-api-key']).toBeUndefined();
  });

  it.each(['', 'with space', 'line\nbreak', 'schlüssel', undefined])(
    'is not made with an invalid or unreadable key: %j',
    async (configured) => {
      const key = (): string => {
        if (configured === undefined) throw new Error('gone');
        return configured;
      };
      const { server, reader, call, notes } = await serve((response) => json(response, NONE), { key });
      const { failure, message } = await failureOf(reader.listApplications({}, call));
      expect(failure.reason).toBe('auth');
      const why = configured === undefined ? 'cannot be read' : 'is empty or holds characters that no key has';
      expect(message).toBe(`GET /applications.json: the API key ${why} (reason auth)`);
      expect(server.asked).toHaveLength(0);
      await expect.poll(() => notes.places).toBe(0);
    },
  );

  it('reuses its connection for later calls', async () => {
    const { server, reader, call } = await serve((response) => json(response, NONE));
    for (let count = 0; count < 10; count += 1) await reader.listApplications({}, call);
    expect(server.asked).toHaveLength(10);
    // A connection may still be on its way back to the pool when the next call starts.
    expect(server.connections()).toBeLessThanOrEqual(2);
  });

  it('opens at most a quarter more connections than calls at once', async () => {
    const { server, reader, call } = await serve((response) => json(response, NONE), { maxConcurrent: 4 });
    await Promise.all(Array.from({ length: 20 }, () => reader.listApplications({}, call)));
    expect(server.asked).toHaveLength(20);
    expect(server.connections()).toBe(5);
  });

  it('is sent without waiting for the connection of the last call', async () => {
    // The second answer comes with the first. undici frees their connections only after both are read.
    const late: (() => void)[] = [];
    const { server, reader, call } = await serve(
      (response) => {
        late.push(() => json(response, NONE));
      },
      { maxConcurrent: 2, limiter: gateOf(2) },
    );
    const calls = Array.from({ length: 3 }, () => reader.listApplications({}, call));
    await eventually(() => expect(late.length).toBe(2));
    for (const answer of late.splice(0)) answer();
    await eventually(() => expect(late.length).toBe(1));
    expect(server.connections()).toBe(3);
    late[0]?.();
    await Promise.all(calls);
  });

  it('reads a compressed response', async () => {
    const body = gzipSync(JSON.stringify({ applications: [application(1)] }));
    const { reader, call } = await serve((response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(body);
    });
    expect((await reader.listApplications({}, call)).map(({ id }) => id)).toEqual([1]);
  });

  it('enters the limiter before it starts, and leaves it after its end', async () => {
    const order: string[] = [];
    const limiter = {
      acquire: () => {
        order.push(`enter with ${notes.started.length} started`);
        return Promise.resolve(() => {
          order.push(`leave with ${notes.ended.length} ended`);
        });
      },
    };
    const { reader, call, notes } = await serve((response) => json(response, NONE), { limiter });
    await reader.listApplications({}, call);
    expect(order).toEqual(['enter with 0 started', 'leave with 1 ended']);
  });

  it.each([
    ['well', 200, {}, undefined, [true, undefined]],
    ['with a failure', 404, {}, true, [false, undefined]],
    ['with an overload', 429, { 'retry-after': '30' }, undefined, [false, { waitMs: 30_000 }]],
  ])('tells the limiter that it ended %s, and whether it is a retry', async (_, status, headers, isRepeat, end) => {
    const told: unknown[] = [];
    const limiter: RateLimiter = {
      acquire: (_signal, repeat) => {
        told.push(repeat);
        return Promise.resolve((isGood, overload) => void told.push(isGood, overload));
      },
    };
    const { reader, call } = await serve((response) => json(response, NONE, headers, status), { limiter });
    await reader
      .listApplications({}, { ...call, ...(isRepeat === undefined ? {} : { isRepeat }) })
      .catch(() => undefined);
    expect(told).toEqual([isRepeat, ...end]);
  });

  it('gives its observer the path template, the status and the seconds', async () => {
    let time = 0;
    const now = (): number => (time += 250);
    const { reader, call, notes } = await serve((response) => json(response, { application: application(5) }), { now });
    await reader.readApplication!(5, call);
    expect(notes.started).toEqual(['/applications/{id}.json']);
    expect(notes.ended).toEqual([
      { endpoint: '/applications/{id}.json', code: 200, seconds: expect.any(Number) as number },
    ]);
    expect(notes.ended[0]?.seconds).toBeGreaterThan(0);
    expect(notes.failures).toEqual([]);
  });

  it('does not spend its timeout waiting at the limiter', async () => {
    const limiter = {
      acquire: async () => {
        await new Promise((resolve) => setTimeout(resolve, 2_100));
        return () => undefined;
      },
    };
    const { reader, call } = await serve((response) => json(response, NONE), { requestTimeoutMs: 2_000, limiter });
    expect(await reader.listApplications({}, call)).toEqual([]);
  });

  it('rejects with the reason of its signal, and closes the connection', async () => {
    const abort = new AbortController();
    const { server, reader, call, notes } = await serve((response) => {
      response.on('close', hungUp);
      abort.abort(new Error('enough'));
    });
    let hungUp = (): void => undefined;
    const closed = new Promise<void>((resolve) => {
      hungUp = resolve;
    });
    await expect(reader.listApplications({}, { ...call, signal: abort.signal })).rejects.toThrow('enough');
    await closed;
    expect(server.asked).toHaveLength(1);
    expect(notes.places).toBe(0);
    expect(notes.failures).toEqual([]);
    expect(notes.ended.map(({ code }) => code)).toEqual(['error']);
  });

  it('is never sent after it was aborted while it waited for a connection', async () => {
    const answers: (() => void)[] = [];
    let arrived = (): void => undefined;
    const asked = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const { server, reader, call } = await serve(
      (response, _, index) => {
        if (index > 0) {
          json(response, { application: application(9) });
          return;
        }
        answers.push(() => json(response, NONE));
        arrived();
      },
      { maxConcurrent: 1 },
    );
    const first = reader.listApplications({}, call);
    await asked;
    const abort = new AbortController();
    const second = reader.readApplication!(2, { ...call, signal: abort.signal });
    // After one turn the call has passed the limiter and waits for the connection.
    await new Promise((resolve) => setImmediate(resolve));
    abort.abort(new Error('enough'));
    await expect(second).rejects.toThrow('enough');
    answers[0]?.();
    await first;
    await reader.readApplication!(9, call);
    expect(server.asked.map(({ path }) => path)).toEqual(['/v2/applications.json', '/v2/applications/9.json']);
  });

  it('is aborted by closing the reader', async () => {
    let arrived = (): void => undefined;
    const asked = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const { reader, call, notes } = await serve(() => arrived());
    const failed = failureOf(reader.listApplications({}, call));
    await asked;
    await reader.close();
    expect((await failed).failure.reason).toBe('network');
    expect(notes.places).toBe(0);
    expect((await failureOf(reader.listApplications({}, call))).failure.reason).toBe('network');
  });
});

describe('an error status', () => {
  const REASONS: Partial<Record<FailureReason, readonly number[]>> = {
    ...{ redirect: [300, 301, 304], other: [400, 402, 414, 422], auth: [401], forbidden: [403], not_found: [404] },
    ...{ rate_limited: [429], server: [500, 501, 502, 503, 504, 599] },
  };
  const cases = Object.entries(REASONS).flatMap(([reason, list]) =>
    list.map((status) => [status, reason, reason === 'server' && status !== 501 ? 3 : 1] as const),
  );

  it.each(cases)(
    '%i has the reason %s, counts under its own code, and is tried %i times',
    async (status, reason, attempts) => {
      const title = { error: { title: 'No such thing' } };
      const { reader, call, notes } = await serve((response) => json(response, title, {}, status), { maxRetries: 2 });
      const { failure, message } = await failureOf(listHosts(reader, 5, call));
      expect(failure).toMatchObject({ reason, status });
      expect(message).toMatch(/^GET \/applications\/{id}\/hosts\.json: status \d+/);
      if (reason !== 'redirect') expect(message).toContain(`status ${status}: No such thing`);
      expect(notes.ended.map(({ code }) => code)).toEqual(Array(attempts).fill(status));
      expect(notes.failures).toEqual(Array(attempts).fill({ reason, message }));
      const delays = [250, 500].slice(0, attempts - 1);
      expect(notes.waits).toEqual(delays.map((ms) => ({ ms, places: 0 })));
      expect(notes.retries).toEqual(delays.map((delay) => ({ reason, delay })));
      expect([notes.entered, notes.overloads.length]).toEqual([attempts, [402, 429].includes(status) ? 1 : 0]);
    },
  );

  it('has the message of a compressed body too', async () => {
    const { reader, call } = await serve((response) => {
      response.writeHead(401, { 'content-encoding': 'gzip' });
      response.end(gzipSync(JSON.stringify({ error: { title: 'No API key specified' } })));
    });
    expect((await failureOf(listHosts(reader, 5, call))).message).toContain('status 401: No API key specified');
  });

  it('does not need a readable body', async () => {
    const { reader, call } = await serve((response) => json(response, '<html><h1>Forbidden</h1></html>', {}, 403));
    const { message } = await failureOf(listHosts(reader, 5, call));
    expect(message).toBe('GET /applications/{id}/hosts.json: status 403 (reason forbidden)');
  });

  it.each<[number, FailureReason]>([
    [429, 'rate_limited'],
    [503, 'server'],
  ])('%i with Retry-After is an overload, which the limiter learns, without a retry', async (status, reason) => {
    const { reader, call, notes } = await serve((response) => json(response, '{}', { 'retry-after': '30' }, status), {
      maxRetries: 3,
    });
    expect((await failureOf(reader.listApplications({}, call))).failure.reason).toBe(reason);
    expect([notes.overloads, notes.entered]).toEqual([[{ waitMs: 30_000 }], 1]);
  });

  it.each([
    ['429', 429],
    ['503 with Retry-After', 503],
  ])('retries %s for a patient caller, once the limiter lets it in', async (_, status) => {
    let refusals = 2;
    const { reader, call, notes } = await serve(
      (response) => {
        refusals -= 1;
        if (refusals >= 0) json(response, '{}', { 'retry-after': '30' }, status);
        else json(response, { applications: [] });
      },
      { maxRetries: 0 },
    );
    expect(await reader.listApplications({}, { ...call, patient: true })).toEqual([]);
    expect(notes.overloads.map(({ waitMs }) => waitMs)).toEqual([30_000, 30_000]);
    expect(notes.waits.map(({ ms }) => ms)).toEqual([0, 0]);
    expect(notes.entered).toBe(3);
  });

  it.each([
    ['retries after a timeout for a patient caller', true, 2],
    ['leaves the retry after a timeout to the scheduler otherwise', false, 1],
  ])('%s', async (_, patient, attempts) => {
    const { reader, call, notes } = await serve(() => undefined, { maxRetries: 1, requestTimeoutMs: 100 });
    const { failure } = await failureOf(reader.listApplications({}, { ...call, patient }));
    expect(failure.reason).toBe('timeout');
    expect(notes.entered).toBe(attempts);
  });

  it.each([true, false])(
    '402 pauses for a time without a header, and no caller waits for its end: patient %s',
    async (patient) => {
      const { reader, call, notes } = await serve((response) => json(response, '{}', { 'retry-after': '30' }, 402), {
        maxRetries: 3,
      });
      const { failure, message } = await failureOf(reader.listApplications({}, { ...call, patient }));
      expect(failure.reason).toBe('other');
      expect(message).toMatch(/status 402: the account's plan, or a compute limit of the key's user, refuses the call/);
      expect([notes.overloads, notes.entered]).toEqual([[{ waitMs: undefined }], 1]);
    },
  );

  it('is not retried forever for a patient caller', async () => {
    const { reader, call, notes } = await serve((response) => json(response, '{}', {}, 429), { maxRetries: 0 });
    const { failure } = await failureOf(reader.listApplications({}, { ...call, patient: true }));
    expect(failure.reason).toBe('rate_limited');
    expect(notes.entered).toBe(21);
  });

  it.each([
    ['a long body', (write: (text: string) => void) => write('x'.repeat(100_000))],
    ['a body that does not end', (write: (text: string) => void) => write('{"error":')],
  ])('is recognized with %s', async (_, send) => {
    const { reader, call } = await serve((response) => {
      response.writeHead(404);
      send((text) => response.write(text));
    });
    expect((await failureOf(listHosts(reader, 5, call))).failure.reason).toBe('not_found');
  });

  it('never shows a key that New Relic echoes', async () => {
    const { reader, call, notes } = await serve((response) =>
      json(response, { error: { title: `Invalid API Key ${KEY} ${encodeURIComponent(KEY)}`, api_key: KEY } }, {}, 401),
    );
    const error = await failureOf(reader.listApplications({}, call));
    expect(error.message).toBe('GET /applications.json: status 401: Invalid API Key <secret> <secret> (reason auth)');
    expect(`${String(error.stack)} ${JSON.stringify(notes)} ${JSON.stringify(error.failure)}`).not.toContain(
      '0123456789',
    );
    expect(error.cause).toBeUndefined();
  });
});

describe('a retry', () => {
  it('ends with the first good response', async () => {
    const { reader, call, notes } = await serve(
      (response, _, index) => (index === 0 ? response.destroy() : json(response, { applications: [application(1)] })),
      { maxRetries: 2 },
    );
    expect(await reader.listApplications({}, call)).toHaveLength(1);
    expect(notes.retries.map(({ reason }) => reason)).toEqual(['network']);
  });

  it('does not happen while the account fails', async () => {
    const { server, reader, health, call } = await serve((response) => json(response, {}, {}, 503), {
      maxRetries: 2,
    });
    await failureOf(reader.listApplications({}, call));
    expect(server.asked).toHaveLength(3);
    for (let read = 0; read < 3; read += 1) health.recordUnansweredRead();
    await failureOf(reader.listApplications({}, call));
    expect(server.asked).toHaveLength(4);
  });

  it('ends at once when it is aborted while it waits', async () => {
    const abort = new AbortController();
    const { reader, call, notes } = await serve((response) => json(response, '', {}, 500), {
      maxRetries: 2,
      sleep: (_, signal) => {
        abort.abort(new Error('enough'));
        return Promise.reject(signal.reason as Error);
      },
    });
    await expect(reader.listApplications({}, { ...call, signal: abort.signal })).rejects.toThrow('enough');
    expect(notes.entered).toBe(1);
  });

  it('does not happen for a connection that TLS refuses', async () => {
    const { notes, ...plain } = await serve((response) => json(response, NONE), { maxRetries: 2 });
    const secure = startReading(`https://127.0.0.1:${plain.server.port}/v2`, { maxRetries: 2 });
    const { failure, message } = await failureOf(secure.reader.listApplications({}, secure.call));
    expect(failure.reason).toBe('network');
    expect(message).toContain('the address may be one for plain HTTP');
    expect(secure.notes.entered).toBe(1);
    expect(notes.entered).toBe(0);
  });
});

/** A limiter that lets this number of calls in at once, and the others in turn. */
function gateOf(places: number): RateLimiter {
  let free = places;
  const waiting: (() => void)[] = [];
  return {
    acquire: () =>
      new Promise((resolve) => {
        const enter = (): void => {
          free -= 1;
          resolve(() => {
            free += 1;
            waiting.shift()?.();
          });
        };
        if (free > 0) enter();
        else waiting.push(enter);
      }),
  };
}
