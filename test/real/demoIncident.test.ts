import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { createWorld } from '../../simulator/world/world.ts';
import { BOTH_LINES, describeReal } from './support/realPrograms.ts';
import { testRules } from './support/rules.ts';

const RULES = resolve(import.meta.dirname, '../../monitoring/rules/alerts.yaml');
const ID = 1_000_002;
const AGE = 5;
/** The exporter reads this many minutes, which end this many minutes before now. */
const [WINDOW, DELAY] = [5, 2];

/** What a scrape of the demo says of the application in each of this many minutes from its start. */
function scrapes(start: number, minutes: number) {
  const world = createWorld({ hourlyIncident: { application: 1, fromMinute: start - AGE } });
  const where = world.scope({ application: ID })!;
  const metrics = ['Errors/all', 'HttpDispatcher'].map((name) => world.metric(where, name)!);
  return Array.from({ length: minutes }, (_, minute) => {
    const end = start + minute - DELAY;
    const [errors = 0, requests = 0] = world.sum(where, metrics, end - WINDOW, end).map(({ count }) => count);
    return { ratio: errors / requests, perSecond: errors / (WINDOW * 60) };
  });
}

/** Starts at hours of different traffic; in minutes since 1970. */
const STARTS = [
  ['on a Wednesday afternoon', Date.UTC(2026, 4, 20, 14, 7)],
  ['on a Sunday night', Date.UTC(2026, 4, 24, 3, 40)],
  ['in the last minute of a year', Date.UTC(2026, 11, 31, 23, 59)],
] as const;

test.each(STARTS)('the demo shows errors at once, %s', (_, start) => {
  const [first] = scrapes(start / 60_000, 1);
  expect(first?.ratio).toBeGreaterThan(0.05);
});

await describeReal('the incident of the demo', {
  tools: ['promtool'],
  lines: BOTH_LINES,
  define: (program) => {
    test.each(STARTS)(
      'the demo makes the shipped rule fire within 20 minutes, end and fire again, %s',
      async (_, start) => {
        const points = scrapes(start / 60_000, 90);
        const labels = '{account="demo", app="Checkout API", app_id="1000002"}';
        const firing = 'ALERTS{alertname="NewRelicApplicationErrorRatioCritical", alertstate="firing"}';
        const file = {
          rule_files: [RULES],
          evaluation_interval: '1m',
          tests: [
            {
              interval: '1m',
              input_series: [
                {
                  series: `newrelic_application_error_ratio${labels}`,
                  values: points.map(({ ratio }) => ratio).join(' '),
                },
                {
                  series: `newrelic_application_errors_per_second${labels}`,
                  values: points.map(({ perSecond }) => perSecond).join(' '),
                },
              ],
              // A minute of the start, of each incident, and of the calm between them.
              promql_expr_test: [5, 20, 45, 80].map((minute) => ({
                expr: `count(${firing})`,
                eval_time: `${minute}m`,
                exp_samples: minute === 20 || minute === 80 ? [{ labels: '{}', value: 1 }] : [],
              })),
            },
          ],
        };
        const { status, stdout, stderr } = await testRules(program('promtool'), [file]);
        expect(status, stdout + stderr).toBe(0);
      },
    );
  },
});
