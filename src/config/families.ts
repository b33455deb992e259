import { nerdgraphValuesOf, parseTemplate } from '../metrics/customMetrics.ts';
import type { FamilyScope } from '../metrics/family.ts';
import { prepareQueries } from '../metrics/queryFamilies.ts';
import { formatPath, issue, type Issue, type Path } from './diagnostic.ts';
import { customMetric } from './schema/customMetric.ts';
import { query } from './schema/query.ts';
import { apiOf, labelsOf, listOf, orRest, type Mapping } from './schema/rules.ts';
import { suggest } from './wording.ts';

/** By family: the first custom metric or query that feeds it, with which the others must agree. */
export type Families = Map<
  string,
  {
    readonly where: string;
    readonly help: string;
    /** Undefined for a query. */
    readonly scope?: FamilyScope;
    /** Captured labels, or those of the query. */
    readonly labels: readonly string[];
  }
>;

const ENTITY_LABELS = { application: ['app', 'app_id'], host: ['app', 'app_id', 'host', 'host_id'] };

function areSame(a: readonly string[], b: readonly string[]): boolean {
  return a.toSorted().join() === b.toSorted().join();
}

/**
 * Checks every custom metric alone, and against the first that feeds the same family: one family has one HELP, one scope and
 * one set of captured labels in all accounts. Adds new families to `families`.
 */
export function customMetricIssues(accounts: readonly (Mapping | undefined)[], families: Families): Issue[] {
  const issues: Issue[] = [];
  for (const [accountIndex, account] of accounts.entries()) {
    for (const [index, written] of listOf(account?.['custom_metrics']).entries()) {
      // The schema reports its own diagnostics for an invalid metric, which cannot be compared.
      const metric = customMetric.safeParse(written).data;
      if (metric === undefined) continue;
      const { name, match, scope, help, value } = metric;
      const at = ['accounts', accountIndex, 'custom_metrics', index];
      const report = (key: string, message: string): void => void issues.push(issue([...at, key], message));
      const labels = parseTemplate(match).labelNames;
      if (labels.some((label) => labelsOf(account).includes(label))) {
        report('match', 'captures a static label of the account: choose another name');
      }
      const values = nerdgraphValuesOf(match);
      if (apiOf(account) === 'nerdgraph' && !values.all.includes(value)) {
        const choice = `: use one of ${values.usual.join(', ')} (docs/metrics.md has them all)`;
        report(
          'value',
          `is no value that NerdGraph has for these metrics${suggest(value, values.all) || choice}${orRest(account)}`,
        );
      }
      const first = families.get(name) ?? { where: formatPath(at), scope, help, labels };
      families.set(name, first);
      const same = `as in ${first.where}, which feeds the same family`;
      if (first.scope !== scope) report('scope', `must be ${first.scope}, ${same}`);
      if (first.help !== help) report('help', `must be the same text ${same}`);
      if (!areSame(first.labels, labels)) report('match', `must capture the same labels ${same}`);
    }
  }
  return issues;
}

/** Checks the metrics of a query at `where` against the first that feeds the same family. Adds new families to `families`. */
export function checkQueryFamilies(
  written: unknown,
  where: string,
  families: Families,
  report: (path: Path, message: string) => void,
): void {
  const valid = query.safeParse(written).data;
  if (valid === undefined) return;
  const [prepared] = prepareQueries([valid]);
  for (const [position, { name, help }] of valid.metrics.entries()) {
    const labels = prepared?.families[position]?.labelNames ?? [];
    const first = families.get(name) ?? { where: `${where}.metrics[${String(position)}]`, help, labels };
    families.set(name, first);
    const same = `as in ${first.where}, which feeds the same family`;
    if (first.help !== help) report(['metrics', position, 'help'], `must be the same text ${same}`);
    const ofEntity = first.scope === undefined ? [] : ENTITY_LABELS[first.scope];
    if (!areSame([...ofEntity, ...first.labels], labels)) {
      report(['metrics', position, 'name'], `must have the same labels ${same}: choose another name`);
    }
  }
}
