import { MONITORED_LABEL_NAMES, tagLabel } from '../../metrics/labelNames.ts';
import { nerdgraphValuesOf, parseTemplate } from '../../metrics/customMetrics.ts';
import type { Api } from '../../api/upstreamReader.ts';
import { normaliseBaseUrl } from '../interfaces.ts';
import { type Path, formatPath, issue, type Issue } from '../diagnostic.ts';
import { customMetric } from './customMetric.ts';

type Mapping = Readonly<Record<string, unknown>>;

/**
 * The rules between the keys of the file. The values are read as they stand in the file, valid or not, so that these
 * diagnostics appear together with those of the schema.
 */
export function brokenRules(file: unknown): Issue[] {
  const accounts = accountsOf(file);
  return [...accountNames(accounts), ...accounts.flatMap(withinAccount), ...customMetrics(accounts)];
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
    issues.push(issue([...path, 'base_url'], 'cannot be combined with region: remove one', 'key'));
  }
  if (has('api_key') && has('api_key_file')) {
    issues.push(issue([...path, 'api_key_file'], 'cannot be combined with api_key: remove one', 'key'));
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
  return [...issues, ...tagRules(account, [...path, 'applications']), ...entityRules(account, path)];
}

/** Tags are available only through NerdGraph, and each published key gives a label of its own. */
function tagRules(account: Mapping, path: Path): Issue[] {
  const applications = mappingOf(account['applications']);
  if (apiOf(account) === 'rest') {
    const matches = [
      ...listOf(applications?.['include']).map((match, index) => ({ match, at: ['include', index] })),
      ...listOf(applications?.['exclude']).map((match, index) => ({ match, at: ['exclude', index] })),
      ...listOf(applications?.['settings']).map((setting, index) => ({
        match: mappingOf(setting)?.['match'],
        at: ['settings', index, 'match'],
      })),
    ];
    const named = matches
      .filter(({ match }) => mappingOf(match)?.['tag'] !== undefined)
      .map(({ at }) => [...at, 'tag']);
    const published = listOf(applications?.['tags']).length === 0 ? [] : [['tags']];
    const message = 'needs "api: nerdgraph": the REST interface knows no tags';
    return [...named, ...published].map((at) => issue([...path, ...at], message, 'key'));
  }
  return tagLabelRules(account, applications?.['tags'], [...path, 'tags']);
}

/** Each published tag gives a label of its own. */
function tagLabelRules(account: Mapping, tags: unknown, path: Path): Issue[] {
  const first = new Map<string, number>();
  return listOf(tags).flatMap((key, index): Issue[] => {
    if (typeof key !== 'string') return [];
    const label = tagLabel(key);
    const at = [...path, index];
    const earlier = first.get(label.toLowerCase());
    if (earlier !== undefined) {
      return [issue(at, `gives the same label as tags[${earlier}] (case does not count): keep one of them`)];
    }
    first.set(label.toLowerCase(), index);
    const isStatic = Object.hasOwn(mappingOf(account['labels']) ?? {}, label);
    return isStatic ? [issue(at, 'gives the label of a static one of the account: rename that one')] : [];
  });
}

/** Reading entities needs the account's number; each type appears once, and its labels are unique. */
function entityRules(account: Mapping, path: Path): Issue[] {
  const entities = listOf(account['entities']);
  if (entities.length === 0) return [];
  const issues: Issue[] = [];
  if (apiOf(account) === 'rest' && account['account_id'] === undefined) {
    const message = 'is required for entities, which are read through NerdGraph: give the number of the account';
    issues.push(issue([...path, 'account_id'], message));
  }
  for (const name of MONITORED_LABEL_NAMES) {
    if (!Object.hasOwn(mappingOf(account['labels']) ?? {}, name)) continue;
    issues.push(
      issue([...path, 'labels', name], 'is a label of entities, which the account has: choose another name', 'key'),
    );
  }
  const first = new Map<unknown, number>();
  for (const [index, entity] of entities.entries()) {
    const written = mappingOf(entity);
    const type = written?.['type'];
    const earlier = first.get(type);
    if (type !== undefined && earlier !== undefined) {
      issues.push(
        issue([...path, 'entities', index, 'type'], `is the type of entities[${earlier}] already: keep one of them`),
      );
    } else first.set(type, index);
    issues.push(...tagLabelRules(account, written?.['tags'], [...path, 'entities', index, 'tags']));
  }
  return issues;
}

function apiOf(account: Mapping | undefined): Api {
  return account?.['api'] === 'nerdgraph' ? 'nerdgraph' : 'rest';
}

/**
 * Checks every custom metric alone, and against the first that feeds the same family: one family has one HELP, one scope and
 * one set of captured labels in all accounts.
 */
function customMetrics(accounts: readonly (Mapping | undefined)[]): Issue[] {
  const issues: Issue[] = [];
  const firstOf = new Map<string, Record<'where' | 'scope' | 'help' | 'labels', string>>();
  for (const [accountIndex, account] of accounts.entries()) {
    for (const [index, written] of listOf(account?.['custom_metrics']).entries()) {
      // The schema reports its own diagnostics for an invalid metric, which cannot be compared.
      const metric = customMetric.safeParse(written).data;
      if (metric === undefined) continue;
      const { name, match, scope, help, value } = metric;
      const at = ['accounts', accountIndex, 'custom_metrics', index];
      const tell = (key: string, message: string): void => void issues.push(issue([...at, key], message));
      const { labelNames } = parseTemplate(match);
      if (labelNames.some((label) => Object.hasOwn(mappingOf(account?.['labels']) ?? {}, label))) {
        tell('match', 'captures a static label of the account: choose another name');
      }
      const values = nerdgraphValuesOf(match);
      if (apiOf(account) === 'nerdgraph' && !values.includes(value)) {
        tell('value', `is no value that NerdGraph has for these metrics: use one of ${values.join(', ')}`);
      }
      const use = { where: formatPath(at), scope, help, labels: labelNames.toSorted().join(', ') };
      const first = firstOf.get(name) ?? use;
      firstOf.set(name, first);
      const same = `as in ${first.where}, which feeds the same family`;
      if (first.scope !== scope) tell('scope', `must be ${first.scope}, ${same}`);
      if (first.help !== help) tell('help', `must be the same text ${same}`);
      if (first.labels !== use.labels) tell('match', `must capture the same labels ${same}`);
    }
  }
  return issues;
}

/** The accounts as they stand in the file; undefined for an entry that is not a mapping. */
export function accountsOf(file: unknown): readonly (Mapping | undefined)[] {
  return listOf(mappingOf(file)?.['accounts']).map(mappingOf);
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function mappingOf(value: unknown): Mapping | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Mapping) : undefined;
}
