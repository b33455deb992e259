import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AccountHealth } from '../../../src/api/accountHealth.ts';
import { RestMemory } from '../../../src/api/rest/restMemory.ts';
import { formatTime } from '../../../src/api/rest/restClient.ts';
import { readOne, startReading } from '../support/reading.ts';
import { json, startServer } from '../support/testServer.ts';

const HOUR = 3_600_000;
const RANGE = { from: 0, to: 60 };
const TIMES = { from: formatTime(RANGE.from), to: formatTime(RANGE.to) };
const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `metric/${index}`);
const subjectOf = (asked: readonly string[], applicationId = 1, hostKey?: string) => ({
  applicationId,
  hostKey,
  metrics: { names: asked },
});

/** An account whose upstream answers a list of names, or refuses it. */
async function account(isRefused: (asked: readonly string[]) => boolean, status = 422) {
  const clock = { now: 0 };
  const silence = { isSilent: false };
  const calls: (readonly string[])[] = [];
  const server = await startServer((response, { url }) => {
    const asked = url.searchParams.getAll('names[]');
    calls.push(asked);
    // A refusal without a title does not come from New Relic.
    const refusal = silence.isSilent ? {} : { error: { title: 'refused' } };
    if (isRefused(asked)) json(response, refusal, {}, status);
    else {
      const metrics = asked.map((name) => ({ name, timeslices: [{ ...TIMES, values: { call_count: 1 } }] }));
      json(response, { metric_data: { ...TIMES, metrics_found: asked, metrics } });
    }
  });
  onTestFinished(() => server.close());
  const health = new AccountHealth();
  const options = { health, refusedNamesMs: 6 * HOUR };
  const { reader, call, notes } = startReading(`${server.origin}/v2`, options, new RestMemory(() => clock.now));
  const callsFor = (asked: readonly string[]): number => reader.metricData.take([subjectOf(asked)], RANGE).calls;
  const unknown: string[] = [];
  const read = async (asked: readonly string[], applicationId = 1, hostKey?: string): Promise<string[]> => {
    for (let reads = 0; silence.isSilent && reads < 3; reads += 1) health.recordUnansweredRead();
    const { metrics } = await readOne(reader.metricData, subjectOf(asked, applicationId, hostKey), call, RANGE);
    const isUnknown = (name: string): boolean => Object.keys(metrics.get(name) ?? {}).length === 0;
    const found = [...metrics.keys()].sort();
    unknown.splice(0, Infinity, ...found.filter(isUnknown));
    return found.filter((name) => !isUnknown(name));
  };
  /** The names that were reported as refused. */
  const leftOut = (): readonly string[] =>
    notes.failures.flatMap(({ message }) => /refuses the metric name "([^"]*)"/.exec(message)?.[1] ?? []);
  return { clock, silence, callsFor, calls, leftOut, unknown, read };
}

describe('a refused list of metric names', () => {
  it('is never requested again unchanged', async () => {
    for (const bad of [['metric/0'], ['metric/16'], ['metric/0', 'metric/16'], names(17), ['metric/3', 'metric/4']]) {
      const { read, calls } = await account((asked) => asked.some((name) => bad.includes(name)));
      await read(names(17)).catch(() => undefined);
      expect(new Set(calls.map((call) => call.join())).size).toBe(calls.length);
    }
    const single = await account(() => true);
    await expect(single.read(['Custom/bad'])).rejects.toThrow('refused');
    expect(single.calls).toHaveLength(1);
  });

  it('takes one call while all calls of the account are refused', async () => {
    const { read, calls, silence } = await account(() => true);
    silence.isSilent = true;
    await expect(read(names(17))).rejects.toThrow('status 422');
    expect(calls).toHaveLength(1);
  });
});

describe('left out names', () => {
  it('are known in a read that requested one of them again to check for any answer', async () => {
    let bad = ['metric/0'];
    const { read, unknown } = await account((asked) => asked.some((name) => bad.includes(name)));
    expect([await read(names(3)), unknown]).toEqual([['metric/1', 'metric/2'], ['metric/0']]);
    bad = ['metric/1', 'metric/2'];
    expect([await read(names(3)), unknown]).toEqual([['metric/0'], ['metric/1', 'metric/2']]);
  });
});

describe('a list of metric names', () => {
  it('is read in one call up to 30 names', async () => {
    const { read, calls, callsFor } = await account(() => false);
    expect(await read(names(30))).toHaveLength(30);
    expect(calls).toHaveLength(1);
    expect(callsFor(names(30))).toBe(1);
    expect(callsFor(names(31))).toBe(2);
  });

  it('that was refused for its length is requested in tens from then on', async () => {
    const { read, calls, callsFor, leftOut } = await account((asked) => asked.length > 10);
    expect(await read(names(25))).toHaveLength(25);
    expect(calls.map(({ length }) => length)).toEqual([25, 10, 10, 5]);
    await read(names(25));
    expect(calls.slice(4).map(({ length }) => length)).toEqual([10, 10, 5]);
    expect(callsFor(names(25))).toBe(3);
    expect(leftOut()).toEqual([]);
  });

  it('of several calls continues in tens as soon as its first call was refused for its length', async () => {
    const { read, calls } = await account((asked) => asked.length > 10);
    expect(await read(names(45))).toHaveLength(45);
    expect(calls.map(({ length }) => length)).toEqual([30, 10, 10, 10, 10, 5]);
  });

  it('with one refused name loses only this name, and the next read takes one call again', async () => {
    const bad = 'metric/17';
    const { read, calls, callsFor, leftOut } = await account((asked) => asked.includes(bad));
    const wanted = names(20);
    expect(await read(wanted)).toEqual(wanted.filter((name) => name !== bad).sort());
    expect(leftOut()).toEqual([bad]);
    const before = calls.length;
    expect(await read(wanted)).toHaveLength(19);
    expect(calls.length - before).toBe(1);
    expect(callsFor(wanted)).toBe(1);
  });

  it('of another application is not affected by a name that is refused for one', async () => {
    const bad = 'metric/3';
    const { read, calls } = await account((asked) => asked.includes(bad) && asked.length > 0);
    await read(names(20));
    const before = calls.length;
    await read(
      names(20).filter((name) => name !== bad),
      2,
    );
    expect(calls.length - before).toBe(1);
  });

  it('of an application is not affected by a name refused for its hosts, which share refused names', async () => {
    let bad = 'metric/3';
    const { read, calls } = await account((asked) => asked.includes(bad));
    expect(await read(names(20), 1, 'host-1')).toHaveLength(19);
    calls.length = 0;
    expect(await read(names(20), 1, 'host-2')).toHaveLength(19);
    expect(calls).toHaveLength(1);
    bad = 'metric/5';
    expect(await read(names(20))).toContain('metric/3');
    calls.length = 0;
    expect(await read(names(20), 1, 'host-2')).toHaveLength(18);
    expect(calls).toHaveLength(1);
  });

  it('includes a refused name again after the interval', async () => {
    const down = new Set(['metric/3']);
    const { read, clock } = await account((asked) => asked.some((name) => down.has(name)));
    expect(await read(names(12))).toHaveLength(11);
    down.clear();
    clock.now = 6 * HOUR - 1;
    expect(await read(names(12))).toHaveLength(11);
    clock.now = 6 * HOUR;
    expect(await read(names(12))).toHaveLength(12);
  });

  it.each([400, 414, 422])(
    'that is refused with any content fails after a few calls with status %i',
    async (status) => {
      const { read, calls, leftOut } = await account(() => true, status);
      await expect(read(names(30))).rejects.toMatchObject({ failure: { status } });
      expect(calls.length).toBeLessThanOrEqual(4);
      expect(leftOut()).toEqual([]);
    },
  );

  it('fails as a whole for any other failure', async () => {
    const { read, calls } = await account((asked) => asked.includes('metric/15'), 500);
    await expect(read(names(30))).rejects.toMatchObject({ failure: { status: 500 } });
    expect(calls).toHaveLength(1);
  });

  it('loses exactly the refused names, unless its first and its last name are refused', async () => {
    const bad = fc.uniqueArray(fc.integer({ min: 0, max: 24 }), { maxLength: 6 }).filter((list) => {
      return !(list.includes(0) && list.includes(24));
    });
    await fc.assert(
      fc.asyncProperty(bad, async (indexes) => {
        const refused = new Set(indexes.map((index) => `metric/${index}`));
        const { read, leftOut } = await account((asked) => asked.some((name) => refused.has(name)));
        const wanted = names(25);
        expect(await read(wanted)).toEqual(wanted.filter((name) => !refused.has(name)).sort());
        expect([...leftOut()].sort()).toEqual([...refused].sort());
      }),
      { numRuns: 30 },
    );
  });
});
