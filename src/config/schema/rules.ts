import { nerdgraphValuesOf } from '../../metrics/nerdgraphValues.ts';
import { parseTemplate } from '../../metrics/template.ts';
import { normaliseBaseUrl } from '../addresses.ts';
import type { Api } from '../config.ts';
import type { Path } from '../fault.ts';
import { formatPath } from '../fault.ts';
import type { Issue } from '../issues.ts';
import { customMetric } from './customMetric.ts';

type Mapping = Readonly<Record<string, unknown>>;

/**
 * What must hold between the keys of the file. It reads the values as they stand in the file, valid
 * or not, so that these faults are told together with those of the schema.
 */
export function brokenRules(file: unknown): Issue[] {
  const accounts = accountsOf(file);
  return [...accountNames(accounts), ...accounts.flatMap(withinAccount), ...families(accounts)];
}

function accountNames(accounts: readonly (Mapping | undefined)[]): Issue[] {
  const first = new Map<unknown, number>();
  return accounts.flatMap((account, index): Issue[] => {
    if (account === undefined) return [];
    const path = ['accounts', index, 'name'];
    const name = account['name'];
    if (name === undefined) {
      return accounts.length > 1 ? [issue(path, 'is required when there is more than one account')] : [];
    }
    const earlier = first.get(name);
    if (earlier !== undefined)
      return [issue(path, `is the name of accounts[${String(earlier)}] already: choose another`)];
    first.set(name, index);
    return [];
  });
}

function withinAccount(account: Mapping | undefined, index: number): Issue[] {
  if (account === undefined) return [];
  const path = ['accounts', index];
  const has = (key: string): boolean => account[key] !== undefined;
  const issues: Issue[] = [];
  if (has('region') && has('base_url')) {
    issues.push(issue([...path, 'base_url'], 'stands beside region: keep one of the two', 'key'));
  }
  if (has('api_key') && has('api_key_file')) {
    issues.push(issue([...path, 'api_key_file'], 'stands beside api_key: keep one of the two', 'key'));
  }
  if (!has('api_key') && !has('api_key_file')) {
    issues.push(issue([...path, 'api_key'], 'is required, or api_key_file: without a key nothing can be read'));
  }
  const address = account['base_url'];
  const checked = typeof address === 'string' ? normaliseBaseUrl(address, apiOf(account)) : undefined;
  if (checked !== undefined && 'problem' in checked) issues.push(issue([...path, 'base_url'], checked.problem));
  if (apiOf(account) === 'nerdgraph' && account['instances'] === true) {
    const message = 'cannot be true with "api: nerdgraph", which has no instances: set it to false or remove it';
    issues.push(issue([...path, 'instances'], message));
  }
  return issues;
}

function apiOf(account: Mapping | undefined): Api {
  return account?.['api'] === 'nerdgraph' ? 'nerdgraph' : 'rest';
}

/** One family has one HELP, one scope and one set of captured labels in all accounts. A capture is no static label. */
function families(accounts: readonly (Mapping | undefined)[]): Issue[] {
  const first = new Map<
    string,
    { readonly at: Path; readonly scope: string; readonly help: string; readonly labels: string }
  >();
  return accounts.flatMap((account, accountIndex) =>
    listOf(account?.['custom_metrics']).flatMap((value, index): Issue[] => {
      // What the schema refuses has its own fault, and cannot be compared.
      const metric = customMetric.safeParse(value).data;
      if (metric === undefined) return [];
      const at = ['accounts', accountIndex, 'custom_metrics', index];
      const template = parseTemplate(metric.match);
      const { labelNames } = template;
      const fixed = labelNames
        .filter((label) => Object.hasOwn(mappingOf(account?.['labels']) ?? {}, label))
        .map(() => issue([...at, 'match'], 'captures a static label of the account: choose another name'));
      const values = nerdgraphValuesOf(template);
      if (apiOf(account) === 'nerdgraph' && !values.includes(metric.value)) {
        const message = `is no value that NerdGraph has for these metrics: use one of ${values.join(', ')}`;
        fixed.push(issue([...at, 'value'], message));
      }
      const labels = labelNames.toSorted().join(', ');
      const earlier = first.get(metric.name);
      if (earlier === undefined) {
        first.set(metric.name, { at, scope: metric.scope, help: metric.help, labels });
        return fixed;
      }
      const same = `as in ${formatPath(earlier.at)}, which feeds the same family`;
      if (earlier.scope !== metric.scope) fixed.push(issue([...at, 'scope'], `must be ${earlier.scope}, ${same}`));
      if (earlier.help !== metric.help) fixed.push(issue([...at, 'help'], `must be the same text ${same}`));
      if (earlier.labels !== labels) {
        fixed.push(issue([...at, 'match'], `must capture the same labels ${same}`));
      }
      return fixed;
    }),
  );
}

/** The accounts as they stand in the file; undefined for what is not even a mapping. */
export function accountsOf(file: unknown): readonly (Mapping | undefined)[] {
  return listOf(mappingOf(file)?.['accounts']).map(mappingOf);
}

export function issue(path: Path, message: string, at: Issue['at'] = 'value'): Issue {
  return { path, at, message, wantsText: false };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function mappingOf(value: unknown): Mapping | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Mapping) : undefined;
}
