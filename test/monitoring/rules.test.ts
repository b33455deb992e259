import { readFileSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { HOME } from '../../src/cli/version.ts';
import { unknownNames } from './names.ts';
import { REST_ONLY } from '../real/incidents/fleet.ts';
import { ROOT, ruleTestsOf, rulesOf } from './ruleFiles.ts';

const recording = rulesOf('recording.yaml');
const alerts = rulesOf('alerts.yaml');
const packs = rulesOf('packs.yaml');
const slo = rulesOf('slo.yaml');
const oldNames = [...rulesOf('migration/mrf.yaml'), ...rulesOf('migration/contaazul.yaml')];
const shadow = rulesOf('migration/shadow.yaml');
/** Gauges of what is monitored; the counters tell how late an account's data are. */
const OF_SERVICES = /newrelic_(application|host|key_transaction)_(?!transactions_total)/;
const shadowNames = new Set(shadow.map(({ record }) => record ?? ''));
const recordedSlo = new Set(slo.flatMap(({ record }) => record ?? []));
const sloAlerts = slo.filter(({ alert }) => alert !== undefined);
const recorded = new Set(recording.map(({ record }) => record ?? ''));

test.each([...recording, ...alerts, ...packs, ...slo, ...oldNames, ...shadow])(
  '$record$alert names only families that exist',
  ({ expr }) => {
    expect(unknownNames(expr, new Set([...recorded, ...recordedSlo, ...shadowNames]))).toEqual([]);
  },
);

test('rules/*.yaml loads nothing but the recording rules and the alerts, those of packs and service levels too: what is for a time only lies deeper', () => {
  expect(readdirSync(resolve(ROOT, 'monitoring/rules')).filter((name) => name.endsWith('.yaml'))).toEqual([
    'alerts.yaml',
    'packs.yaml',
    'recording.yaml',
    'slo.yaml',
  ]);
});

test.each([...recording, ...alerts, ...slo])(
  '$record$alert needs nothing that one interface lacks',
  ({ alert, expr }) => {
    const lacking = [...REST_ONLY].filter((name) => new RegExp(`\\b${name}\\b`).test(expr));
    // It is about the end of the interface that has the family.
    const own = alert === 'NewRelicRestApiEndsSoon' ? ['newrelic_exporter_api_end_of_life_timestamp_seconds'] : [];
    expect(lacking).toEqual(own);
  },
);

describe('recording rules', () => {
  test.each(recording)('$record is named level:metric:operations', ({ record }) => {
    expect(record).toMatch(/^[a-z_]+:newrelic_[a-z_]+:[a-z0-9_]+$/);
  });

  test('nothing is averaged over applications or hosts: avg only folds copies together', () => {
    const folds = recording.flatMap(({ expr }) => expr.match(/(?<!:)\bavg\b[^(]*\([^)]*\)/g) ?? []);
    expect(new Set(folds)).toEqual(new Set(['avg without (instance, pod)']));
  });

  test('every rule has a case with a value', () => {
    const cases = ruleTestsOf('recording.yaml').flatMap(({ promql_expr_test }) => promql_expr_test);
    const proven = cases.filter(({ exp_samples }) => exp_samples.length > 0).map(({ expr }) => expr.split('{')[0]);
    expect(new Set(proven)).toEqual(recorded);
  });

  test('every rule of service levels has a case with a value', () => {
    const cases = ruleTestsOf('slo-long.yaml').flatMap(({ promql_expr_test }) => promql_expr_test);
    const proven = cases.filter(({ exp_samples }) => exp_samples.length > 0);
    const names = proven.flatMap(({ expr }) => expr.match(/account_app_slo:\w+:\w+/g) ?? []);
    expect(new Set(names)).toEqual(recordedSlo);
  });

  test.each(slo.filter(({ record }) => record !== undefined))(
    '$record is named level:metric:operations',
    ({ record }) => {
      expect(record).toMatch(/^account_app_slo:newrelic_slo_[a-z_]+:[a-z0-9_]+$/);
    },
  );
});

describe('alerts', () => {
  const cases = [
    ...['service-alerts.yaml', 'long-alerts.yaml', 'weekly-alerts.yaml', 'exporter-alerts.yaml', 'packs.yaml'],
    ...['slo.yaml', 'slo-long.yaml'],
  ]
    .flatMap(ruleTestsOf)
    .flatMap(({ alert_rule_test }) => alert_rule_test);
  const runbook = readFileSync(resolve(ROOT, 'docs/alerts.md'), 'utf8');

  test('no two have one name and one severity', () => {
    const names = alerts.map(({ alert, labels }) => `${alert} ${labels['severity']}`);
    expect(new Set(names).size).toBe(alerts.length);
  });

  test.each([...alerts, ...packs, ...sloAlerts])(
    '$alert says how bad it is, what it is, and what to do',
    ({ alert, labels, annotations }) => {
      expect(Object.keys(labels)).toEqual(['severity']);
      expect(labels['severity']).toMatch(/^(critical|warning)$/);
      expect(annotations['summary']).toMatch(/\.$/);
      expect(annotations['description']).toMatch(/\.$/);
      expect(annotations['runbook_url']).toBe(`${HOME}/blob/main/docs/alerts.md#${(alert ?? '').toLowerCase()}`);
      expect(runbook).toContain(`\n### ${alert}\n`);
    },
  );

  test.each(alerts.filter(({ alert }) => alert !== 'NewRelicExporterAbsent'))(
    '$alert names in its summary what it is about: application and account, account, or exporter',
    ({ alert, annotations }) => {
      const labels = /^NewRelic(Application(?!Vanished)|Host|KeyTransaction)/.test(alert ?? '')
        ? ['app', 'account']
        : [/^NewRelic(Exporter|Config|Series)/.test(alert ?? '') ? 'instance' : 'account'];
      for (const label of labels) expect(annotations['summary']).toContain(`{{ $labels.${label} }}`);
    },
  );

  test.each(alerts.filter(({ expr }) => OF_SERVICES.test(expr)))(
    '$alert leaves out the applications that users exempt from it, or from all',
    ({ alert, expr }) => {
      expect(expr).toMatch(
        new RegExp(
          `unless on \\(account, app\\)\\nlast_over_time\\(newrelic_alert_exempt\\{alertname=~"\\|${alert}"\\}\\[5m\\]\\)\\n$`,
        ),
      );
    },
  );

  test.each([...alerts, ...packs, ...sloAlerts])(
    '$alert has cases in which it fires and in which it does not',
    ({ alert }) => {
      const own = cases.filter(({ alertname }) => alertname === alert);
      expect(own.some(({ exp_alerts }) => exp_alerts.length > 0)).toBe(true);
      expect(own.findLastIndex(({ exp_alerts }) => exp_alerts.length === 0)).toBeGreaterThan(
        own.findIndex(({ exp_alerts }) => exp_alerts.length > 0),
      );
      expect(own[0]?.exp_alerts).toEqual([]);
    },
  );

  test('the runbook has no section for an alert that does not exist', () => {
    const sections = [...runbook.matchAll(/^### (NewRelic\w+)$/gm)].map(([, name]) => name);
    expect(sections).toEqual([...new Set([...alerts, ...packs, ...sloAlerts].map(({ alert }) => alert))]);
  });

  test.each(alerts.filter(({ expr }) => OF_SERVICES.test(expr) && !expr.includes('newrelic_key_transaction_')))(
    '$alert waits longer than the rolling window of 3 to 4 minutes and the window of 5',
    ({ for: duration }) => expect(minutes(duration)).toBeGreaterThan(5),
  );

  test.each(alerts.filter(({ expr }) => expr.includes('newrelic_key_transaction_')))(
    '$alert waits longer than the rolling window of 10 minutes',
    ({ for: duration }) => expect(minutes(duration)).toBeGreaterThan(10),
  );

  test.each(alerts.filter(({ expr }) => OF_SERVICES.test(expr)))(
    '$alert goes on under the same labels when the exporter comes back under another address',
    ({ expr }) => {
      const folded = expr.match(/\b(?:max|min) without \(instance, pod\)/g) ?? [];
      // Limits that users set have no instance.
      const own = expr.replace(/max by \(account, app\) \(last_over_time\(newrelic_alert_threshold/g, '');
      const others = own.match(/\b(?:sum|avg|count|topk|by) \(/g) ?? [];
      expect(folded.length).toBeGreaterThan(0);
      expect(others).toEqual([]);
    },
  );

  test.each([...alerts, ...packs])(
    '$alert reads no gauge at one instant: a lost scrape must not reset it',
    ({ expr }) => {
      const instant = (expr.match(/\bnewrelic_\w+(?:\{[^}]*\})?(?!\w|\{|\[)/g) ?? []).filter(
        (name) => !name.includes('['),
      );
      expect(instant).toEqual([]);
    },
  );
});

describe('the rules for a time of transition', () => {
  const cases = (file: string) => ruleTestsOf(file).flatMap(({ promql_expr_test }) => promql_expr_test);

  test('every old name has a case with a value', () => {
    const proven = new Set(
      cases('migration.yaml').flatMap(({ expr, exp_samples }) => (exp_samples.length > 0 ? [expr] : [])),
    );
    const missing = oldNames
      .map(({ record, labels }) => [record, labels['component']] as const)
      .filter(([record]) => ![...proven].some((expr) => expr.split('{')[0] === record));
    expect(missing).toEqual([]);
    for (const { record, labels } of oldNames) {
      if (labels['component'] !== undefined) {
        expect([...proven]).toContain(`${record}{component="${labels['component']}"}`);
      }
    }
  });

  test('every alert of the shadow phase has a case in which it fires and one in which it does not', () => {
    const judged = cases('shadow.yaml').filter(({ expr }) => expr.includes('ALERTS'));
    const fired = judged.flatMap(({ exp_samples }) => JSON.stringify(exp_samples).match(/NewRelicShadow\w+/g) ?? []);
    expect(new Set(fired)).toEqual(new Set(shadow.flatMap(({ alert }) => alert ?? [])));
    expect(judged.some(({ exp_samples }) => exp_samples.length === 0)).toBe(true);
  });

  test('no rule takes a name of ours', () => {
    const names = [...oldNames, ...shadow].flatMap(({ record }) => record ?? []);
    expect(names.filter((name) => unknownNames(name).length === 0)).toEqual([]);
  });

  test('docs/migrating.md has every old name', () => {
    const page = readFileSync(resolve(ROOT, 'docs/migrating.md'), 'utf8');
    expect(oldNames.filter(({ record }) => !page.includes(`\`${record}`))).toEqual([]);
  });
});

function minutes(duration: string | undefined): number {
  const match = /^(\d+)m$/.exec(duration ?? '');
  return Number(match?.[1]);
}
