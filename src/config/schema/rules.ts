import { MONITORED_LABEL_NAMES, tagLabel } from '../../metrics/family.ts';
import type { Api } from '../../api/upstreamReader.ts';
import { isRecord } from '../../nrql/queryRows.ts';
import { normaliseBaseUrl } from '../interfaces.ts';
import { type Path, issue, type Issue } from '../diagnostic.ts';

export type Mapping = Readonly<Record<string, unknown>>;

/**
 * Checks the rules between the keys of each account, and between accounts. Takes the values as written, valid or not:
 * then the user sees them together with the diagnostics of the schema.
 */
export function checkRules(file: unknown): Issue[] {
  const accounts = accountsOf(file);
  const earlier = findEarlierEqual(
    accounts.map((account, index) =>
      account?.['account_ids'] === undefined ? account?.['name'] : (account['name'] ?? entryName(index)),
    ),
  );
  return accounts.flatMap((account, index) => {
    if (account === undefined) return [];
    const issues = findAccountIssues(account, ['accounts', index]);
    const path = ['accounts', index, 'name'];
    const first = earlier[index];
    const needsName = account['account_ids'] === undefined && accounts.length > 1;
    if (account['name'] === undefined && needsName) {
      issues.push(issue(path, 'is required when there is more than one account'));
    } else if (first !== undefined) {
      issues.push(issue(path, `is the name of accounts[${first}] already: choose another`));
    }
    return issues;
  });
}

export function entryName(index: number): string {
  return `entry-${index + 1}`;
}

/** Returns the index of the first equal value before each value; undefined if there is none, or no value. */
function findEarlierEqual(values: readonly unknown[]): readonly (number | undefined)[] {
  const first = new Map<unknown, number>([[undefined, NaN]]);
  return values.map((value, index) => {
    const earlier = first.get(value);
    if (earlier === undefined) first.set(value, index);
    return Number.isNaN(earlier) ? undefined : earlier;
  });
}

function findAccountIssues(account: Mapping, path: Path): Issue[] {
  const has = (key: string): boolean => account[key] !== undefined;
  const issues: Issue[] = [];
  const report = (key: string, message: string, position?: Issue['at']): void =>
    void issues.push(issue([...path, key], message, position));
  if (has('region') && has('base_url')) report('base_url', 'cannot be combined with region: remove one', 'key');
  if (has('api_key') && has('api_key_file'))
    report('api_key_file', 'cannot be combined with api_key: remove one', 'key');
  if (!has('api_key') && !has('api_key_file')) {
    report('api_key', 'is required, or api_key_file: without a key nothing can be read');
  }
  const address = account['base_url'];
  const checked = typeof address === 'string' ? normaliseBaseUrl(address, apiOf(account)) : undefined;
  if (checked !== undefined && 'problem' in checked)
    report('base_url', checked.problem + (checked.isOther === true ? suggestRest(account) : ''));
  if (apiOf(account) === 'nerdgraph' && account['instances'] === true) {
    const message = 'cannot be true with NerdGraph, which has no instances: set it to false or remove it';
    report('instances', message + suggestRest(account));
  }
  return [
    ...issues,
    ...checkAccountList(account, path),
    ...checkTags(account, [...path, 'applications']),
    ...checkEntities(account, path),
  ];
}

const LIST_KEYS = ['include_accounts', 'exclude_accounts', 'max_accounts'] as const;

function checkAccountList(account: Mapping, path: Path): Issue[] {
  const ids = account['account_ids'];
  const idsPath = [...path, 'account_ids'];
  if (ids === undefined) {
    const message = 'goes with account_ids: write "account_ids: all", or remove this key';
    return LIST_KEYS.filter((key) => account[key] !== undefined).map((key) => issue([...path, key], message, 'key'));
  }
  const issues: Issue[] = [];
  if (apiOf(account) === 'rest') {
    const message =
      'needs NerdGraph: remove "api: rest", whose interface cannot list accounts, or give each account an entry';
    issues.push(issue(idsPath, message, 'key'));
  }
  if (account['account_id'] !== undefined) {
    issues.push(issue(idsPath, 'cannot be combined with account_id: remove one', 'key'));
  }
  for (const [index, first] of findEarlierEqual(listOf(ids)).entries()) {
    if (first !== undefined) issues.push(issue([...idsPath, index], `is account_ids[${first}] already: remove one`));
  }
  return issues;
}

/** Checks tags: only NerdGraph has them, and each published tag needs its own label. */
function checkTags(account: Mapping, path: Path): Issue[] {
  const applications = mappingOf(account['applications']);
  if (apiOf(account) === 'rest') {
    const named = ['include', 'exclude', 'settings'].flatMap((key) =>
      listOf(applications?.[key]).flatMap((entry, index) => {
        const match = key === 'settings' ? mappingOf(entry)?.['match'] : entry;
        const tagPath = key === 'settings' ? [key, index, 'match', 'tag'] : [key, index, 'tag'];
        return mappingOf(match)?.['tag'] === undefined ? [] : [tagPath];
      }),
    );
    const published = listOf(applications?.['tags']).length === 0 ? [] : [['tags']];
    const message = 'needs NerdGraph: remove "api: rest", whose interface knows no tags';
    return [...named, ...published].map((keyPath) => issue([...path, ...keyPath], message, 'key'));
  }
  return checkTagLabels(account, applications?.['tags'], [...path, 'tags']);
}

/** Checks that no earlier tag, and no static label of the account, has the label of a published tag. */
function checkTagLabels(account: Mapping, tags: unknown, path: Path): Issue[] {
  const labels = listOf(tags).map((key) => (typeof key === 'string' ? tagLabel(key) : undefined));
  const earlier = findEarlierEqual(labels.map((label) => label?.toLowerCase()));
  return labels.flatMap((label, index): Issue[] => {
    const first = earlier[index];
    const tagPath = [...path, index];
    if (first !== undefined) {
      return [issue(tagPath, `gives the same label as tags[${first}] (case does not count): keep one of them`)];
    }
    const isStatic = label !== undefined && labelsOf(account).includes(label);
    return isStatic ? [issue(tagPath, 'gives the label of a static one of the account: rename that one')] : [];
  });
}

/** Checks entities: they need the account number, each type appears once, and labels are unique. */
function checkEntities(account: Mapping, path: Path): Issue[] {
  const entities = listOf(account['entities']).map(mappingOf);
  if (entities.length === 0) return [];
  const issues: Issue[] = [];
  if (apiOf(account) === 'rest' && account['account_id'] === undefined) {
    const message = 'is required for entities, which are read through NerdGraph: give the number of the account';
    issues.push(issue([...path, 'account_id'], message));
  }
  const taken = labelsOf(account).filter((label) => MONITORED_LABEL_NAMES.some((name) => name === label));
  for (const name of taken) {
    const message = 'is a label of entities, which the account has: choose another name';
    issues.push(issue([...path, 'labels', name], message, 'key'));
  }
  const earlier = findEarlierEqual(entities.map((entity) => entity?.['type']));
  for (const [index, entity] of entities.entries()) {
    const entityPath = [...path, 'entities', index];
    const first = earlier[index];
    if (first !== undefined) {
      issues.push(issue([...entityPath, 'type'], `is the type of entities[${first}] already: keep one of them`));
    }
    issues.push(...checkTagLabels(account, entity?.['tags'], [...entityPath, 'tags']));
  }
  return issues;
}

/** Returns the end of a fault of NerdGraph. A file without `api` may date from before NerdGraph became the default. */
export function suggestRest(account: Mapping | undefined): string {
  return account?.['api'] === undefined ? ', or write "api: rest" for the REST interface' : '';
}

export function apiOf(account: Mapping | undefined): Api {
  const written = account?.['api'];
  return typeof written === 'string' && written.toLowerCase() === 'rest' ? 'rest' : 'nerdgraph';
}

export function labelsOf(account: Mapping | undefined): readonly string[] {
  return Object.keys(mappingOf(account?.['labels']) ?? {});
}

/** Returns the accounts as written; undefined for an entry that is not a mapping. */
export function accountsOf(file: unknown): readonly (Mapping | undefined)[] {
  return listOf(mappingOf(file)?.['accounts']).map(mappingOf);
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function mappingOf(value: unknown): Mapping | undefined {
  return isRecord(value) ? value : undefined;
}
