import { afterEach, describe, expect, it } from 'vitest';
import { UpstreamError } from '../../../src/api/upstreamError.ts';
import type { RateLimiter } from '../../../src/api/upstreamReader.ts';
import { parseFault } from '../../../simulator/faults/faultRules.ts';
import { accountConfig, config } from '../../collect/support/config.ts';
import { simulatorForFile } from '../../support/simulator.ts';
import { readDocument } from './readDocument.ts';
import { NOW, openSession, runOn } from './support.ts';

const simulator = await simulatorForFile({ now: () => NOW, applications: 3, hostsPerApplication: 2 });
afterEach(() => simulator.faults.clear());

const open = (options: Parameters<typeof openSession>[1] = {}) => openSession(simulator, options);
const WISH = { from: '4h', window: 60_000, app: ['Storefront'] };
let undisturbed: Promise<{ readonly document: string }> | undefined;

describe('a run with failing calls', () => {
  it.each([
    ['429 on the list of applications', 'status=429,on=applications,times=3'],
    ['429 on metric names', 'status=429,on=metric_names,times=3'],
    ['429 on metric data', 'status=429,on=metric_data,times=5'],
    ['a server that is down for some calls', 'status=503,on=metric_data,times=3'],
    ['closed connections', 'reset,on=metric_data,times=3'],
  ])('continues after %s, and writes the same document', async (_, fault) => {
    const { document } = await (undisturbed ??= runOn(open(), WISH));
    simulator.faults.add(parseFault(fault));
    expect((await runOn(open(), WISH)).document).toBe(document);
  });

  it('repeats only the failed subjects of a call', async () => {
    const session = open({ config: config(accountConfig({ api: 'nerdgraph', api_key_header: 'Api-Key' })) });
    const wish = { ...WISH, from: '12m', hosts: true };
    const { document } = await runOn(session, wish);
    const [account] = session.accounts as [(typeof session.accounts)[0]];
    const { metricSeries } = account.reader;
    const sizes: number[] = [];
    const read: typeof metricSeries.read = async (subjects, chunk, call) => {
      sizes.push(subjects.length);
      const isFirst = sizes.length === 2;
      const outcomes = await metricSeries.read(subjects, chunk, call);
      const error = new UpstreamError('the first host cannot be read', { reason: 'server' });
      return isFirst ? [{ error }, ...outcomes.slice(1)] : outcomes;
    };
    const accounts = [{ ...account, reader: { ...account.reader, metricSeries: { ...metricSeries, read } } }];
    expect((await runOn({ ...session, accounts }, wish)).document).toBe(document);
    // The application, its two hosts, and the one that failed.
    expect(sizes).toEqual([1, 2, 1]);
  });

  it('writes one series of hosts whose names are equal once keys are hidden, the first', async () => {
    const session = open({ config: config(accountConfig({ api: 'nerdgraph', api_key_header: 'Api-Key' })) });
    const wish = { ...WISH, from: '12m', hosts: true };
    const hide = (text: string): string => text.replace(/storefront-1-\d\d/g, '<secret>');
    const series = readDocument((await runOn(session, wish, [], hide)).document);
    const plain = readDocument((await runOn(session, wish)).document);
    const firsts = new Map([...plain].map(([key, points]) => [hide(key), points] as const).reverse());
    expect(series.size).toBeLessThan(plain.size);
    expect(new Map([...series].sort())).toEqual(new Map([...firsts].sort()));
  });

  it('begins no more calls after a permanent failure, and ends when the calls in flight have ended', async () => {
    const [, { id }] = simulator.world.applications() as [unknown, { readonly id: number }];
    simulator.faults.add(parseFault(`status=404,on=metric_data,app=${id}`));
    const calls = { begun: 0, running: 0 };
    const limiter: RateLimiter = {
      acquire: () => {
        calls.begun += 1;
        calls.running += 1;
        return Promise.resolve(() => void (calls.running -= 1));
      },
    };
    await expect(runOn(open({ limiter }), { from: '20h', window: 60_000 })).rejects.toThrow(`(${id})`);
    expect(calls.running).toBe(0);
    // The list; the names and 7 chunks of each of three applications. Only 4 of the failing chunks are requested at once.
    expect(calls.begun).toBeLessThanOrEqual(1 + 3 * (1 + 7) - 3);
  });

  it('says that there are no host series where the configuration disables hosts', async () => {
    const sentence = 'The configuration switches the hosts of these applications off: there are no host series.';
    const wish = { ...WISH, from: '12m', hosts: true };
    const off = await runOn(open({ config: config(accountConfig({ hosts: false })) }), wish);
    expect([off.notes.includes(sentence), off.document.includes('host_id=')]).toEqual([true, false]);
    const on = await runOn(open(), wish);
    expect([on.notes.includes(sentence), on.document.includes('host_id=')]).toEqual([false, true]);
  });

  it('continues one account while another waits for its budget', async () => {
    let release: (() => void) | undefined;
    const othersAreRead = new Promise<void>((resolve) => (release = resolve));
    let calls = 0;
    const slow: RateLimiter = { acquire: () => othersAreRead.then(() => () => undefined) };
    const fast: RateLimiter = {
      acquire: () => {
        calls += 1;
        // The names, then two chunks of each of the three applications after the list.
        if (calls === 1 + 3 * (1 + 2)) release?.();
        return Promise.resolve(() => undefined);
      },
    };
    const free: RateLimiter = { acquire: () => Promise.resolve(() => undefined) };
    const accounts = [accountConfig({ name: 'slow' }), accountConfig({ name: 'fast' })];
    let lists = 0;
    const listFirst: RateLimiter = { acquire: (signal) => ((lists += 1) === 1 ? free : slow).acquire(signal) };
    const session = open({ config: { ...config(), accounts }, gates: [listFirst, fast] });
    const { document } = await runOn(session, { from: '4h', window: 60_000 });
    for (const account of ['slow', 'fast']) expect(document).toContain(`account="${account}"`);
  });
});
