import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AlertCondition, AlertTerm } from '../../../src/api/alerts.ts';
import { fileTexts } from '../../../src/tools/alertRules/files.ts';
import { BOTH_LINES, describeReal } from '../../real/support/realPrograms.ts';
import { testRules } from '../../real/support/rules.ts';
import { inFolder } from '../../support/folder.ts';
import { CONDITION, converted, entriesOf, TERM } from './conditions.ts';

const CRITICAL = { ...TERM };
const once = (term: Partial<AlertTerm> = {}) => ({
  terms: [{ ...TERM, thresholdOccurrences: 'AT_LEAST_ONCE', ...term }],
});
const all = (term: Partial<AlertTerm>) => ({ terms: [{ ...TERM, ...term }] });
const filled = (fillOption: string, fillValue?: number) => ({ signal: { ...CONDITION.signal, fillOption, fillValue } });
const LOST = {
  terms: [],
  expiration: { ...CONDITION.expiration, expirationDuration: 180, openViolationOnExpiration: true },
};
const FACETED = 'SELECT average(depth) FROM JobQueue FACET queue';

interface Case {
  readonly that: string;
  readonly condition: Partial<AlertCondition>;
  /** The signal minute by minute; `-`: the query has no value. */
  readonly signal: string;
  /** How many alerts fire in each minute; `?`: the two lines of Prometheus differ about the edge of a range. */
  readonly fires: string;
  /** Whether the exporter can read the query, in each minute; always by default. */
  readonly success?: string;
  /** A second series, and the labels in which the two differ. */
  readonly second?: { readonly signal: string; readonly labels: readonly [string, string] };
}

const gap = (minutes: number): string => '- '.repeat(minutes);

// Terms hold for three minutes unless they say otherwise; an event stays open for as long without a violation.
const CASES: readonly Case[] = [
  {
    that: 'ALL fires once every window of the duration violates it, and stays for the duration',
    condition: {},
    signal: '1 9 9 9 1 1 1 1 1',
    fires: ' 0 0 0 1 1 1 1 0 0',
  },
  {
    that: 'ALL does not fire where one window of the duration is sound',
    condition: {},
    signal: '9 9 1 9 9 1 9 9',
    fires: ' 0 0 0 0 0 0 0 0',
  },
  {
    that: 'ALL waits less where the first window is longer: it has been filling',
    condition: { ...all({ thresholdDuration: 300 }), signal: { ...CONDITION.signal, aggregationWindow: 180 } },
    signal: '1 9 9 9 9',
    fires: ' 0 0 0 1 1',
  },
  {
    that: 'ALL does not wait where the window is longer than the duration',
    condition: { signal: { ...CONDITION.signal, aggregationWindow: 600 } },
    signal: '1 9 1',
    fires: ' 0 1 1',
  },
  { that: 'ABOVE leaves the threshold out', condition: {}, signal: '5 5 5 5', fires: '0 0 0 0' },
  {
    that: 'ABOVE_OR_EQUALS takes it in',
    condition: all({ operator: 'ABOVE_OR_EQUALS' }),
    signal: '5 5 5 4 4 4 4',
    fires: ' 0 0 1 1 1 1 0',
  },
  {
    that: 'BELOW leaves it out',
    condition: all({ operator: 'BELOW' }),
    signal: '5 5 5 4 4 4',
    fires: ' 0 0 0 0 0 1',
  },
  {
    that: 'BELOW_OR_EQUALS takes it in',
    condition: all({ operator: 'BELOW_OR_EQUALS' }),
    signal: '6 5 5 5',
    fires: ' 0 0 0 1',
  },
  { that: 'EQUALS', condition: all({ operator: 'EQUALS' }), signal: '5 5 5 6', fires: '0 0 1 1' },
  { that: 'NOT_EQUALS', condition: all({ operator: 'NOT_EQUALS' }), signal: '6 4 6 5', fires: '0 0 1 1' },
  {
    that: 'a threshold below zero and a fraction are compared as they are',
    condition: all({ operator: 'BELOW', threshold: -0.5, thresholdDuration: 60 }),
    signal: '-0.5 -0.6 0',
    fires: ' 0 1 1',
  },
  {
    that: 'AT_LEAST_ONCE fires at the first violation, not before',
    condition: once(),
    signal: '1 5 9 1 1',
    fires: ' 0 0 1 1 1',
  },
  {
    that: 'AT_LEAST_ONCE of BELOW looks at the least',
    condition: once({ operator: 'BELOW' }),
    signal: '9 9 4 9',
    fires: ' 0 0 1 1',
  },
  {
    that: 'AT_LEAST_ONCE of EQUALS counts matches',
    condition: once({ operator: 'EQUALS' }),
    signal: '4 6 5 6',
    fires: ' 0 0 1 1',
  },
  {
    that: 'AT_LEAST_ONCE of NOT_EQUALS counts matches',
    condition: once({ operator: 'NOT_EQUALS' }),
    signal: '5 5 6 5',
    fires: ' 0 0 1 1',
  },
  {
    that: 'AT_LEAST_ONCE within a minute looks back two, so that no violation is missed',
    condition: once({ thresholdDuration: 60 }),
    signal: '1 9 1 1 1 1',
    fires: ' 0 1 1 1 ? 0',
  },
  {
    that: 'a gap begins the wait again where nothing is filled in',
    condition: {},
    signal: '9 9 - 9 9 -',
    fires: ' 0 0 0 0 0 0',
  },
  {
    that: 'a filled value counts from the first gap on, and the wait continues over the change',
    condition: { ...all({ operator: 'BELOW' }), ...filled('STATIC', 0) },
    signal: '9 4 - 4 - - 9 9 9 9',
    fires: ' 0 0 0 1 1 1 1 1 1 0',
  },
  {
    that: 'nothing is filled in before the first value',
    condition: { ...all({ operator: 'BELOW' }), ...filled('STATIC', 0) },
    signal: '- - - - - 9',
    fires: ' 0 0 0 0 0 0',
  },
  {
    that: 'nothing is filled in while the query fails',
    condition: { ...all({ operator: 'BELOW' }), ...filled('STATIC', 0) },
    signal: '9 - - - - - - -',
    success: '1 0 0 0 0 1 1 1',
    fires: ' 0 0 0 0 0 0 0 1',
  },
  {
    that: 'filling ends two hours after the last value',
    condition: { ...all({ operator: 'BELOW', thresholdDuration: 60 }), ...filled('STATIC', 0) },
    signal: `9 ${gap(123)}`,
    fires: `0 ${'1 '.repeat(120)} ? 0 0`,
  },
  {
    that: 'AT_LEAST_ONCE sees filled values, too',
    condition: { ...once({ operator: 'EQUALS', threshold: 0 }), ...filled('STATIC', 0) },
    signal: '9 9 - 9',
    fires: ' 0 0 1 1',
  },
  {
    that: 'AT_LEAST_ONCE takes the greatest of values and filled ones',
    condition: { ...once(), ...filled('STATIC', 7) },
    signal: '1 1 - 1',
    fires: ' 0 0 1 1',
  },
  {
    that: 'the last value stays where New Relic fills in that',
    condition: filled('LAST_VALUE'),
    signal: '1 9 - - - 1 1 1 1',
    fires: ' 0 0 0 1 1 1 1 1 0',
  },
  {
    that: 'each facet has an alert of its own',
    condition: { nrql: FACETED },
    signal: '9 9 9 9',
    second: { signal: '1 9 9 9', labels: ['queue="mail"', 'queue="jobs"'] },
    fires: ' 0 0 1 2',
  },
  {
    that: 'two exporters that read the same raise one alert',
    condition: {},
    signal: '9 9 9 9',
    second: { signal: '9 9 9 9', labels: ['instance="a",pod="x"', 'instance="b",pod="y"'] },
    fires: ' 0 0 1 1',
  },
  {
    that: 'critical and warning are alerts of their own',
    condition: { terms: [CRITICAL, { ...TERM, priority: 'WARNING', threshold: 2 }] },
    signal: '3 3 3 9 9 9',
    fires: ' 0 0 1 1 1 2',
  },
  {
    that: 'a lost signal is noticed when it was there, and for an hour',
    condition: LOST,
    signal: `9 9 ${gap(66)}`,
    fires: `0 0 0 0 ? ${'1 '.repeat(59)} ? 0 0 0`,
  },
  {
    that: 'a signal that was never there is not lost',
    condition: LOST,
    signal: gap(6),
    fires: ' 0 0 0 0 0 0',
  },
  {
    that: 'a signal is not lost because the exporter is away, or cannot read the query',
    condition: LOST,
    signal: '9 - - - - - - - -',
    success: '1 - - - - 0 0 1 1',
    fires: ' 0 0 0 0 0 0 0 1 1',
  },
];

/** Values of a series as promtool reads them: where it ends, Prometheus marks it as stale. */
function samples(minutes: string): string {
  const tokens = minutes.trim().split(/\s+/);
  return tokens
    .map((token, index) => (token !== '-' ? token : index > 0 && tokens[index - 1] !== '-' ? 'stale' : '_'))
    .join(' ');
}

const at = (minute: number): string => `${minute}m`;

await describeReal('rules of conditions', {
  tools: ['promtool'],
  lines: BOTH_LINES,
  define: (program) => {
    test('fire when the condition would open an event, and only then', async () => {
      const conditions = CASES.map(({ condition, that }, index) => ({
        ...condition,
        id: String(index + 1),
        name: that,
      }));
      const conversion = converted(conditions);
      const { queries } = entriesOf(conversion);
      const tests = CASES.map(({ that, signal, fires, success, second }, index) => {
        const id = String(index + 1);
        const query = queries[index];
        const metric = query?.metrics[0]?.name ?? '';
        const labels = second?.labels ?? [''];
        const series = labels.map((extra, place) => ({
          series: `${metric}{account="shop",job="x"${extra === '' ? '' : `,${extra}`}}`,
          values: samples(place === 0 ? signal : (second?.signal ?? '')),
        }));
        const counts = fires.trim().split(/\s+/);
        const succeeded = success ?? '1 '.repeat(counts.length);
        return {
          name: that,
          interval: '1m',
          input_series: [
            ...series,
            {
              series: `newrelic_exporter_query_success{account="shop",query=${JSON.stringify(query?.name)}}`,
              values: samples(succeeded),
            },
          ],
          promql_expr_test: counts.flatMap((count, minute) =>
            count === '?'
              ? []
              : [
                  {
                    expr: `count(ALERTS{alertstate="firing",newrelic_condition_id="${id}",account="shop"})`,
                    eval_time: at(minute),
                    exp_samples: count === '0' ? [] : [{ labels: '{}', value: Number(count) }],
                  },
                ],
          ),
        };
      });
      await inFolder(async (folder) => {
        const path = join(folder, 'rules.yaml');
        writeFileSync(path, fileTexts(conversion, 'shop').get('rules.yaml') ?? '');
        const file = { rule_files: [path], evaluation_interval: '1m', tests };
        const { status, stdout, stderr } = await testRules(program('promtool'), [file]);
        expect(`${stdout}${stderr}`.slice(0, 4000)).toContain('SUCCESS');
        expect(status).toBe(0);
      });
    });

    test('differ from events of New Relic for a quarter of an hour before they say so', async () => {
      const conversion = converted([{ terms: [{ ...TERM, thresholdDuration: 60 }] }]);
      const events = (values: string) => ({
        series:
          'newrelic_alert_events_open{account="shop",policy="Team",condition="Queue",priority="critical",entity="x"}',
        values,
      });
      const signal = (values: string) => ({ series: 'newrelic_condition_team_queue{account="shop"}', values });
      const known = (values: string) => ({
        series: 'newrelic_exporter_query_success{account="shop",query="alert_events/open"}',
        values,
      });
      const cases: readonly [string, readonly object[], string][] = [
        ['only ours', [signal('9x40'), events('0x40'), known('1x40')], 'NewRelicConditionOnlyInPrometheus'],
        [
          'only ours, New Relic never had an event',
          [signal('9x40'), known('1x40')],
          'NewRelicConditionOnlyInPrometheus',
        ],
        ['only theirs', [signal('1x40'), events('1x40'), known('1x40')], 'NewRelicConditionOnlyInNewRelic'],
        ['both', [signal('9x40'), events('1x40'), known('1x40')], ''],
        ['none', [signal('1x40'), events('0x40'), known('1x40')], ''],
        ['events are not read', [signal('9x40'), events('0x40'), known('0x40')], ''],
        ['nothing is known', [signal('9x40')], ''],
      ];
      const tests = cases.map(([name, series, alert]) => ({
        name,
        interval: '1m',
        input_series: series,
        promql_expr_test: [14, 20].map((minute) => ({
          expr: 'ALERTS{alertstate="firing",alertname=~"NewRelicCondition.*"}',
          eval_time: at(minute),
          exp_samples:
            alert === '' || minute === 14
              ? []
              : [
                  {
                    labels: `ALERTS{alertname="${alert}",alertstate="firing",account="shop",policy="Team",condition="Queue",severity="warning"}`,
                    value: 1,
                  },
                ],
        })),
      }));
      await inFolder(async (folder) => {
        const texts = fileTexts(conversion, 'shop');
        const files = (['rules.yaml', 'differences.yaml'] as const).map((name) => {
          const path = join(folder, name);
          writeFileSync(path, texts.get(name) ?? '');
          return path;
        });
        const file = { rule_files: files, evaluation_interval: '1m', tests };
        const { status, stdout, stderr } = await testRules(program('promtool'), [file]);
        expect(`${stdout}${stderr}`.slice(0, 4000)).toContain('SUCCESS');
        expect(status).toBe(0);
      });
    });
  },
});
