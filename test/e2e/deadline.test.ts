import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { parseText, samplesOf, value, type ParsedFamily } from '../support/exposition.ts';
import { account, delayUntilNextWindow } from './support/config.ts';
import { startExporter, type Exporter } from './support/program.ts';
import { entities, scrapeUntil, scrapeUntilFresh } from './support/states.ts';

interface Timed {
  readonly families: ParsedFamily[];
  readonly seconds: number;
}

/** Room for a slow machine between the exporter's deadline and the scraper's. */
const WIDE = { scrape_timeout_offset: '2s' };

/** A scrape by a scraper that gives up after so many seconds. */
async function timedScrape(exporter: Exporter, timeout: number): Promise<Timed> {
  const start = performance.now();
  const body = await exporter.text('/metrics', { 'X-Prometheus-Scrape-Timeout-Seconds': String(timeout) });
  const seconds = (performance.now() - start) / 1000;
  return { families: parseText(body), seconds };
}

test('with one application hanging, a scrape answers before its deadline with everything else', async () => {
  const simulator = await startSimulator({ applications: 3 });
  simulator.faults.add({ effect: 'hang', app: 1_000_001, on: 'metric_data' });
  const exporter = await startExporter({ config: { accounts: [account(simulator)], collection: WIDE } });
  try {
    const { families, seconds } = await timedScrape(exporter, 4);
    expect(seconds).toBeLessThan(4);
    const withMemory = samplesOf(families, 'newrelic_application_memory_used_bytes').map(
      ({ labels }) => labels['app_id'],
    );
    expect(withMemory.toSorted()).toEqual(['1000002', '1000003']);
    expect(value(families, 'newrelic_up')).toBe(1);
    expect(entities(families, 'missing', { group: 'application_metrics' })).toBe(1);
    const after = await exporter.scrape('/metrics?collect[]=exporter');
    expect(value(after, 'newrelic_exporter_scrapes_total', { result: 'partial' })).toBeGreaterThanOrEqual(1);
  } finally {
    await exporter.stop();
    await simulator.close();
  }
});

test('with everything hanging, every scrape still answers in time, and healing takes no restart', async () => {
  const simulator = await startSimulator({ applications: 2 });
  simulator.faults.add({ effect: 'hang' });
  const limits = { request_timeout: '6s', max_retries: 0 };
  const exporter = await startExporter({
    config: { accounts: [account(simulator, 'default', { limits })], collection: WIDE },
  });
  try {
    const both = await Promise.all([timedScrape(exporter, 4), timedScrape(exporter, 5)]);
    expect(both[0].seconds).toBeLessThan(4);
    expect(both[1].seconds).toBeLessThan(5);
    for (const { families } of both) expect(value(families, 'newrelic_up')).toBe(0);
    simulator.faults.clear();
    const healed = await scrapeUntilFresh(exporter);
    expect(value(healed, 'newrelic_up')).toBe(1);
    const timeouts = { endpoint: '/applications.json', reason: 'timeout' };
    expect(value(healed, 'newrelic_exporter_api_failures_total', timeouts)).toBeGreaterThan(0);
  } finally {
    await exporter.stop();
    await simulator.close();
  }
});

test('a fleet that the budget cannot carry at once: scrapes do not wait in vain, and no minute has more calls', async () => {
  const simulator = await startSimulator({ applications: 40, hostsPerApplication: 1 });
  const limits = { requests_per_minute: 30 };
  const exporter = await startExporter({
    config: {
      accounts: [account(simulator, 'default', { limits })],
      collection: { window: '5m', delay: delayUntilNextWindow(59) },
    },
  });
  try {
    await timedScrape(exporter, 10);
    // The lists are there and the budget is spent: waiting for the deadline would bring nothing.
    const { families, seconds } = await timedScrape(exporter, 10);
    expect(seconds).toBeLessThan(5);
    expect(entities(families, 'missing')).toBeGreaterThan(0);
    expect(samplesOf(families, 'newrelic_application_info')).toHaveLength(40);
    const slowed = value(families, 'newrelic_exporter_effective_interval_seconds', { group: 'application_metrics' });
    expect(slowed).toBeGreaterThan(60);
    for (let scrape = 0; scrape < 10; scrape += 1) {
      await timedScrape(exporter, 2);
      await sleep(200);
    }
    expect(simulator.requests.count()).toBe(30);
    expect(simulator.requests.busiest()).toBeLessThanOrEqual(30);
  } finally {
    await exporter.stop();
    await simulator.close();
  }
});

test('an account that is told to slow down pauses, and others do not', async () => {
  const [tired, lively] = [await startSimulator({ applications: 2 }), await startSimulator({ applications: 2 })];
  tired.faults.add({ effect: 'rate-limit', header: 'retry-after', seconds: 120, times: 1, on: 'metric_names' });
  const exporter = await startExporter({
    config: {
      accounts: [account(tired, 'tired'), account(lively, 'lively')],
      collection: { delay: delayUntilNextWindow(58) },
    },
  });
  try {
    const families = await scrapeUntil(
      exporter,
      'the lively account to be whole',
      (answer) =>
        entities(answer, 'fresh', { account: 'lively' }) > 0 &&
        entities(answer, 'missing', { account: 'lively' }) === 0,
    );
    const until = value(families, 'newrelic_exporter_api_paused_until_timestamp_seconds', { account: 'tired' });
    expect(until).toBeGreaterThan(Date.now() / 1000 + 60);
    expect(samplesOf(families, 'newrelic_exporter_api_paused_until_timestamp_seconds', { account: 'lively' })).toEqual(
      [],
    );
    expect(value(families, 'newrelic_exporter_api_budget_requests_per_minute', { account: 'tired' })).toBeLessThan(600);
    expect(value(families, 'newrelic_exporter_api_budget_requests_per_minute', { account: 'lively' })).toBe(600);
    const before = tired.requests.count();
    await exporter.scrape();
    expect(tired.requests.count()).toBe(before);
    expect((await exporter.get('/-/healthy')).status).toBe(200);
  } finally {
    await exporter.stop();
    await tired.close();
    await lively.close();
  }
});
