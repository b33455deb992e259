import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Simulator } from '../../simulator/simulator.ts';
import { listen } from '../api/support/testServer.ts';
import { value, type ParsedFamily } from '../support/exposition.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { accountBy } from './support/config.ts';
import { clockForTest, exporterForTest } from './support/forTest.ts';
import { scrapeUntil } from './support/states.ts';

/** A server before a simulator that can change the members of the application list of either interface. */
async function startBefore({ url }: Simulator): Promise<{ url: string; change: (members: unknown[]) => void }> {
  const server = createServer((request, response) => {
    void buffer(request).then(async (sent) => {
      // Fetch states the length itself: with a second statement it fails, once another test has loaded the package undici.
      const skipped = ['host', 'connection', 'accept-encoding', 'content-length'];
      const headers = Object.entries(request.headers).filter(([name]) => !skipped.includes(name));
      const { method } = request;
      const body = sent.length === 0 ? null : new Uint8Array(sent);
      const good = await fetch(url + request.url!, {
        method: method!,
        headers: Object.fromEntries(headers) as Record<string, string>,
        body,
      });
      const text = await good.text();
      const isList = request.url!.includes('/applications.json') || sent.includes('entitySearch');
      response.writeHead(good.status, { 'content-type': 'application/json' });
      response.end(isList && good.status === 200 ? changed(text) : text);
    });
  });
  const changed = (text: string): string => {
    const parsed = JSON.parse(text) as {
      applications?: unknown[];
      data?: { actor: { entitySearch: { results: { entities: unknown[] } } } };
    };
    before.change(parsed.applications ?? parsed.data?.actor.entitySearch.results.entities ?? []);
    return JSON.stringify(parsed);
  };
  const { port, close } = await listen(server);
  onTestFinished(close);
  const before: Awaited<ReturnType<typeof startBefore>> = {
    url: `http://127.0.0.1:${port}`,
    change: () => undefined,
  };
  return before;
}

describe.each(['rest', 'nerdgraph'] as const)('with api: %s', (api) => {
  it('counters continue for an application that is unreadable in the list, and the log says so once', async () => {
    const clock = clockForTest({ standsStill: true });
    const simulator = await simulatorForTest({ applications: 3, hostsPerApplication: 1, now: clock.now });
    const before = await startBefore(simulator);
    const settings = { hosts: false, key_transactions: false, counters: true };
    const exporter = await exporterForTest({
      ...clock.program,
      config: {
        accounts: [accountBy(api, before, settings)],
        collection: { intervals: { applications: '1m' } },
      },
    });
    const traffic = { requests_per_minute: 60, response_milliseconds: 100, errors_per_minute: 0 };
    simulator.change(1_000_002, { traffic: { ...traffic, background_per_minute: 0 } });
    const counted = (families: readonly ParsedFamily[]): number | undefined =>
      value(families, 'newrelic_application_transactions_total', { app_id: '1000002', kind: 'web' });
    await scrapeUntil(exporter, 'the first counters', (families) => counted(families) === 0);
    before.change = (members) => {
      const hidden = members.findIndex((member) => JSON.stringify(member).includes('1000002'));
      if (hidden !== -1) members[hidden] = null;
    };
    for (const minutes of [1, 2, 3]) {
      clock.minutesLater(1);
      const wanted = 60 * minutes;
      const families = await scrapeUntil(exporter, `${wanted} transactions`, (all) => (counted(all) ?? 0) >= wanted);
      expect(counted(families)).toBe(wanted);
      for (const id of ['1000001', '1000002', '1000003']) {
        expect(value(families, 'newrelic_application_info', { app_id: id }), id).toBe(1);
      }
    }
    const endpoint = api === 'rest' ? '/applications.json' : 'graphql:applications';
    const families = await exporter.scrape('/metrics');
    const labels = { endpoint, reason: 'invalid_response' };
    expect(value(families, 'newrelic_exporter_api_failures_total', labels)).toBeGreaterThan(1);
    expect(exporter.written.stderr.match(/left out 1 bad record/g)).toHaveLength(1);
  });
});
