import { expect, test } from 'vitest';
import { value, type ParsedFamily } from '../support/exposition.ts';
import { simulatorForTest } from '../support/simulator.ts';
import { nerdGraphAccount } from './support/config.ts';
import { clockForTest, exporterForTest } from './support/forTest.ts';
import { scrapeUntil } from './support/states.ts';

test('counters continue for an application that shifts between two pages of the list', async () => {
  const clock = clockForTest({ standsStill: true });
  const simulator = await simulatorForTest({ applications: 205, hostsPerApplication: 1, now: clock.now });
  const settings = { hosts: false, key_transactions: false, counters: true };
  const exporter = await exporterForTest({
    ...clock.program,
    config: { accounts: [nerdGraphAccount(simulator, 'default', settings)] },
  });
  // The 201st of the list reports all the time.
  const app = { app_id: '1000201' };
  const traffic = { requests_per_minute: 60, response_milliseconds: 100, errors_per_minute: 0 };
  simulator.change(1_000_201, { traffic: { ...traffic, background_per_minute: 0 } });
  const counted = (families: readonly ParsedFamily[]): number | undefined =>
    value(families, 'newrelic_application_transactions_total', { ...app, kind: 'web' });
  const scrapeMinute = (count: number): Promise<ParsedFamily[]> =>
    scrapeUntil(exporter, `${count} transactions`, (families) => (counted(families) ?? 0) >= count);
  await scrapeUntil(exporter, 'the first counters', (families) => counted(families) === 0);
  clock.minutesLater(1);
  await scrapeMinute(60);

  const deleted = simulator.world.applications().find(({ name }, index, all) => {
    return all.findIndex((each) => each.name === name) === index && all.filter((each) => each.name === name).length < 2;
  })!;
  // It is deleted once the first page was answered.
  simulator.faults.add({ effect: 'omit', entity: deleted.name, on: 'graphql_applications', skip: 1 });
  simulator.faults.add({ effect: 'omit', entity: deleted.name, on: 'graphql_entities' });
  const isListed = (families: readonly ParsedFamily[], id: number): boolean =>
    value(families, 'newrelic_application_info', { app_id: String(id) }) !== undefined;
  clock.minutesLater(1);
  expect(isListed(await scrapeMinute(120), 1_000_201)).toBe(true);
  expect(simulator.requests.byKind['graphql_entities']).toBe(1);
  clock.minutesLater(1);
  const families = await scrapeMinute(180);
  expect(counted(families)).toBe(180);
  expect([isListed(families, deleted.id), isListed(families, 1_000_201)]).toEqual([false, true]);
});
