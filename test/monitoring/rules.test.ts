import { readFileSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { dashboards } from '../../monitoring/dashboards/src/dashboards.ts';
import { HOME } from '../../src/cli/version.ts';
import { REST_ONLY } from '../real/incidents/fleet.ts';
import { unknownNames } from './names.ts';
import { ROOT, ruleTestsOf, rulesOf, strictYaml, type Rule } from './ruleFiles.ts';

const recording = rulesOf('recording.yaml');
const packs = rulesOf('packs.yaml');
const slo = rulesOf('slo.yaml');
const shadow = rulesOf('migration/shadow.yaml');
const all = [...recording, ...rulesOf('alerts.yaml'), ...packs, ...slo, ...shadow];
/** An alert, whose name is there. */
const alertsAmong = (rules: readonly Rule[]) =>
  rules.flatMap((rule) => (rule.alert ? { ...rule, alert: rule.alert } : []));
const alerts = alertsAmong(rulesOf('alerts.yaml'));
const shipped = [...alerts, ...alertsAmong(packs), ...alertsAmong(slo)];
/** Gauges of what is monitored; the counters tell how late an account's data are. */
const ofServices = alerts.filter(({ expr }) =>
  /newrelic_(application|host|key_transaction)_(?!transactions_total)/.test(expr),
);
const runbook = readFileSync(resolve(ROOT, 'docs/alerts.md'), 'utf8');

const dashboardFile = z.object({
  uid: z.string(),
  templating: z.object({ list: z.array(z.object({ name: z.string() })) }),
});

const namesOf = (rules: readonly Rule[]): string[] => rules.flatMap(({ record }) => record ?? []);
/** The names of the rules that do not hold. */
const offenders = <R extends Rule>(rules: readonly R[], holds: (rule: R) => boolean): string[] =>
  rules.filter((rule) => !holds(rule)).map(({ record, alert }) => record ?? alert ?? '');

test('every rule names only families that exist', () => {
  const recorded = new Set(namesOf([...recording, ...slo, ...shadow]));
  expect(all.flatMap(({ expr }) => unknownNames(expr, recorded))).toEqual([]);
});

test('rules/*.yaml matches only permanent rules; temporary rules are in subfolders', () => {
  expect(readdirSync(resolve(ROOT, 'monitoring/rules')).filter((name) => name.endsWith('.yaml'))).toEqual(
    ['alerts', 'packs', 'recording', 'slo'].map((name) => `${name}.yaml`),
  );
});

test('no rule needs families that one interface lacks, except the alert about the end of REST', () => {
  const lacking = (expr: string): boolean => [...REST_ONLY].some((name) => new RegExp(`\\b${name}\\b`).test(expr));
  const needing = offenders([...recording, ...alerts, ...slo], ({ expr }) => !lacking(expr));
  expect(new Set(needing)).toEqual(new Set(['NewRelicRestApiEndsSoon']));
});

describe('recording rules', () => {
  test('are named level:metric:operations', () => {
    const wrong = namesOf([...recording, ...slo]).filter((name) => !/^[a-z_]+:newrelic_[a-z_]+:[a-z0-9_]+$/.test(name));
    expect(wrong).toEqual([]);
  });

  test('average nothing over applications or hosts; avg only merges copies', () => {
    const folds = recording.flatMap(({ expr }) => expr.match(/(?<!:)\bavg\b[^(]*\([^)]*\)/g) ?? []);
    expect(new Set(folds)).toEqual(new Set(['avg without (instance, pod)']));
  });

  test.each([
    ['recording.yaml', ['recording.yaml']],
    ['slo.yaml', ['slo-long.yaml', 'slo-days.yaml']],
  ])('of %s each have a test case with a value', (rules, cases) => {
    const proven = cases
      .flatMap(ruleTestsOf)
      .flatMap(({ promql_expr_test }) => promql_expr_test)
      .filter(({ exp_samples }) => exp_samples.length > 0);
    const names = proven.flatMap(({ expr }) => expr.match(/\w+:newrelic_\w+:\w+/g) ?? []);
    expect(new Set(names)).toEqual(new Set(namesOf(rulesOf(rules))));
  });
});

describe('alerts', () => {
  test('have unique pairs of name and severity', () => {
    const names = alerts.map(({ alert, labels }) => `${alert} ${labels['severity']}`);
    expect(new Set(names).size).toBe(alerts.length);
  });

  test('have a severity, a description and a runbook', () => {
    const wrong = offenders(shipped, ({ alert, labels, annotations }) => {
      const { summary = '', description = '', dashboard_url, runbook_url, ...others } = annotations;
      const page = `${HOME}/blob/main/docs/alerts.md#${alert.toLowerCase()}`;
      const isGraded =
        Object.keys(labels).join() === 'severity' && /^(critical|warning)$/.test(labels['severity'] ?? '');
      const isTold = /[^.]$/.test(summary) && /[.?]$/.test(description) && Object.keys(others).length === 0;
      return isGraded && isTold && dashboard_url !== undefined && runbook_url === page;
    });
    expect(wrong).toEqual([]);
    const sections = [...runbook.matchAll(/^### (NewRelic\w+)$/gm)].map(([, name]) => name);
    expect(sections).toEqual([...new Set(shipped.map(({ alert }) => alert))]);
  });

  test('name their subject in the summary: application, account and id, or account, or exporter', () => {
    const wrong = offenders([...alerts, ...alertsAmong(slo)], ({ alert, annotations: { summary = '' } }) => {
      if (alert === 'NewRelicExporterAbsent') return true;
      const labels = /^NewRelic(Application(?!Vanished)|Host|KeyTransaction|ErrorBudget)/.test(alert)
        ? ['app', 'account', 'app_id']
        : /^NewRelicAccountList/.test(alert)
          ? ['entry']
          : [/^NewRelic(Exporter|Config|Series)/.test(alert) ? 'instance' : 'account'];
      return labels.every((label) => summary.includes(`{{ $labels.${label} }}`));
    });
    expect(wrong).toEqual([]);
  });

  test('have their value in the summary, unless it is only yes or no', () => {
    const silent = offenders(shipped, ({ annotations: { summary = '' } }) => summary.includes('$value'));
    const isYesOrNo = ({ expr }: Rule): boolean =>
      /\)+ == 0\n|^up\{.* == 0$|^absent|paused_until_timestamp_seconds/m.test(expr.split('unless')[0] ?? '');
    expect(silent).toEqual(shipped.filter(isYesOrNo).map(({ alert }) => alert));
  });

  test('link to an existing dashboard with their subject selected', () => {
    const known = new Map(
      dashboards().map(({ content }) => {
        const { uid, templating } = dashboardFile.parse(JSON.parse(content));
        return [uid, templating.list.map(({ name }) => name)];
      }),
    );
    const wrong = offenders(shipped, ({ expr, annotations: { dashboard_url = '' } }) => {
      const [path = '', query = ''] = dashboard_url.split('?');
      const variables = known.get(path.replace('/d/', ''));
      const chosen = query === '' ? [] : query.split('&').map((each) => each.split('=')[0]?.replace('var-', '') ?? '');
      const isEscaped = !/\$labels\.(?:account|instance|host_id) \}\}/.test(dashboard_url);
      return (
        isEscaped &&
        (chosen.length > 0 || expr.startsWith('absent')) &&
        chosen.every((each) => variables?.includes(each))
      );
    });
    expect(wrong).toEqual([]);
  });

  test('state the time that they wait plus the range that they look back', () => {
    // The service itself takes ten minutes to call an application silent.
    const before: Readonly<Record<string, number>> = {
      NewRelicApplicationNotReporting: 10,
      NewRelicExporterAbsent: 10,
      NewRelicCollectionFailing: 10,
    };
    const wrong = offenders(shipped, ({ alert, for: duration = '', annotations: { summary, description } }) => {
      const claimed = [...`${summary} ${description}`.matchAll(/(\d+) minutes or longer/g)].map(([, time]) =>
        Number(time),
      );
      const waited = Number(/^(\d+)m$/.exec(duration)?.[1]) + (before[alert] ?? 0);
      return claimed.every((time) => time === waited);
    });
    expect(wrong).toEqual([]);
  });

  test('of severity warning are inhibited by Alertmanager while the critical alert of the same quantity fires', () => {
    const names = shipped.map(({ alert }) => alert);
    const pairs = names.flatMap((page) => {
      const stem = /^(\w+)Critical$/.exec(page)?.[1];
      return names.filter((each) => each === `${stem}High` || each === `${stem}Low`).map((ticket) => [page, ticket]);
    });
    expect(pairs).toHaveLength(3);
    const inhibited = pairs.map(([page, ticket]): unknown =>
      expect.objectContaining({ source_matchers: [`alertname="${page}"`], target_matchers: [`alertname="${ticket}"`] }),
    );
    expect(strictYaml('deploy/alertmanager/alertmanager.yaml')).toMatchObject({
      inhibit_rules: expect.arrayContaining(inhibited) as unknown,
    });
  });

  test('have test cases in which they fire, and do not fire before and after', () => {
    const alertFiles = ['service', 'long', 'weekly', 'exporter'].map((name) => `${name}-alerts`);
    const files = [...alertFiles, 'packs', 'slo', 'slo-long', 'slo-days'];
    const tests = files.flatMap((file) => ruleTestsOf(`${file}.yaml`));
    const cases = tests.flatMap(({ alert_rule_test }) => alert_rule_test);
    const wrong = offenders(shipped, ({ alert }) => {
      const fires = cases.filter(({ alertname }) => alertname === alert).map(({ exp_alerts }) => exp_alerts.length > 0);
      return fires[0] === false && fires.includes(true) && fires.lastIndexOf(false) > fires.indexOf(true);
    });
    expect(wrong).toEqual([]);
  });

  test('on services leave out applications that users exempt from one alert or from all', () => {
    const ending = (alert: string): string =>
      `unless on (account, app)\nlast_over_time(newrelic_alert_exempt{alertname=~"|${alert}"}[5m])\n`;
    expect(offenders(ofServices, ({ alert, expr }) => expr.endsWith(ending(alert)))).toEqual([]);
  });

  test('on services wait longer than the window of 5 minutes, and on key transactions than 10 minutes', () => {
    const wrong = offenders(ofServices, ({ expr, for: duration = '' }) => {
      const minutes = Number(/^(\d+)m$/.exec(duration)?.[1]);
      return minutes > (expr.includes('newrelic_key_transaction_') ? 10 : 5);
    });
    expect(wrong).toEqual([]);
  });

  test('on services keep the same labels when the exporter returns at another address', () => {
    const wrong = offenders(ofServices, ({ expr }) => {
      // Limits that users set have no instance.
      const expression = expr.replace(/max by \(account, app\) \(last_over_time\(newrelic_alert_threshold/g, '');
      return /\b(?:max|min) without \(instance, pod\)/.test(expr) && !/\b(?:sum|avg|count|topk|by) \(/.test(expression);
    });
    expect(wrong).toEqual([]);
  });

  test('read gauges over a range, so that a lost scrape does not reset them', () => {
    const instant = (expr: string): string[] =>
      (expr.match(/\bnewrelic_\w+(?:\{[^}]*\})?(?!\w|\{|\[)/g) ?? []).filter((name) => !name.includes('['));
    expect(offenders([...alerts, ...packs], ({ expr }) => instant(expr).length === 0)).toEqual([]);
  });
});

describe('the rules of the shadow phase', () => {
  test('have for every alert a test case in which it fires, and a case without alerts', () => {
    const cases = ruleTestsOf('shadow.yaml').flatMap(({ promql_expr_test }) => promql_expr_test);
    const judged = cases.filter(({ expr }) => expr.includes('ALERTS'));
    const fired = judged.flatMap(({ exp_samples }) => JSON.stringify(exp_samples).match(/NewRelicShadow\w+/g) ?? []);
    expect(new Set(fired)).toEqual(new Set(alertsAmong(shadow).map(({ alert }) => alert)));
    expect(judged.some(({ exp_samples }) => exp_samples.length === 0)).toBe(true);
  });

  test('use no name of the permanent rules', () => {
    expect(namesOf(shadow).filter((name) => unknownNames(name).length === 0)).toEqual([]);
  });
});
