import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Secrets } from '../log/secrets.ts';
import { LABEL_NAME, PROMETHEUS_LABEL_NAMES } from '../metrics/family.ts';
import { PERCENTILE_LABEL } from '../nrql/queryRows.ts';
import { defaultLabel, readStatement } from '../nrql/statement.ts';
import { nerdgraphValuesOf, parseTemplate } from '../metrics/customMetrics.ts';
import type { FamilyScope } from '../metrics/family.ts';
import { prepareQueries, type QueryDefinition } from '../metrics/queryFamilies.ts';
import { globMatches } from './match.ts';
import { formatPath, issue, type Issue, mayBeSecret, type Path } from './diagnostic.ts';
import { counted, suggest } from '../text/wording.ts';
import { readText } from './files.ts';
import { checkTexts } from './keyTexts.ts';
import { parseWritten } from './schemaIssues.ts';
import { customMetric } from './schema/customMetric.ts';
import { PACKS, query, queryFile } from './schema/query.ts';
import { accountsOf, apiOf, labelsOf, listOf, mappingOf, suggestRest, type Mapping } from './schema/rules.ts';
import { readYaml, type YamlFile } from './yaml/readYaml.ts';

/** The folder of the packs: next to the built program, or in a checkout next to `src`. */
const PACK_FOLDERS = ['./packs/', '../../packs/'].map((folder) => fileURLToPath(new URL(folder, import.meta.url)));

const NOT_REPLACED = 'has a ${...}, which stays as it is: placeholders are not replaced in query files';

/** The queries of an account in one file: the configuration, a query file or a pack. */
interface QueryList {
  /** The query file or pack; undefined for the configuration. */
  readonly yaml?: YamlFile;
  /** The place of the list in messages. */
  readonly file: string;
  readonly path: Path;
  readonly queries: readonly unknown[];
  /** The prefix of the query names. */
  readonly prefix: string;
  readonly issues: Issue[];
  readonly warnings: Issue[];
  /** Empty if any query of the file has a problem, and for the configuration itself. */
  readonly valid: readonly QueryDefinition[];
}

/**
 * Reads the query files and packs of a configuration. Checks all queries and custom metrics: each alone, and the
 * rules between them. Takes the values as written, also invalid ones, so that the user sees all diagnostics at once.
 * Returns issues and warnings of the configuration, diagnostics of the files, and the queries of each account's files.
 */
export function readQueries(configuration: unknown, folder: string, keys: Secrets) {
  const accounts = accountsOf(configuration);
  const families: Families = new Map();
  const issues = checkCustomMetrics(accounts, families);
  const warnings: Issue[] = [];
  const listsByAccount = accounts.map((account, index) => {
    const accountPath = ['accounts', index];
    const queries = listOf(account?.['queries']);
    const path = [...accountPath, 'queries'];
    const lists: QueryList[] = [{ file: '', path, queries, prefix: '', issues, warnings, valid: [] }];
    const read = new Set<string>();
    const take = (file: string, prefix: string, keyPath: Path, what: string): void => {
      if (read.has(prefix + file)) return;
      read.add(prefix + file);
      const found = readText(file);
      if ('problem' in found) {
        issues.push(issue(keyPath, `${what} ${found.problem}`));
        return;
      }
      if (found.text.includes('${')) warnings.push(issue(keyPath, NOT_REPLACED));
      lists.push(readList(file, found.text, prefix, keys));
    };
    for (const [position, name] of listOf(account?.['query_files']).entries()) {
      if (typeof name !== 'string' || name === '') continue;
      const keyPath = [...accountPath, 'query_files', position];
      if (dirname(name).includes('*')) {
        issues.push(issue(keyPath, 'has a * in the name of a folder: name the folder, * is for files'));
        continue;
      }
      const files = findFiles(resolve(folder, name));
      if (files.length === 0) warnings.push(issue(keyPath, 'no file matches: it gives no query'));
      for (const file of files)
        take(file, '', keyPath, mayBeSecret(name) ? 'the query file' : `the query file ${file}`);
    }
    for (const [position, name] of listOf(account?.['query_packs']).entries()) {
      const pack = PACKS.find((known) => known === name);
      const file = join(PACK_FOLDERS.find((each) => existsSync(each)) ?? '', `${pack}.yaml`);
      if (pack !== undefined)
        take(file, `${pack}/`, [...accountPath, 'query_packs', position], 'the file of this pack');
    }
    const needsNumber = apiOf(account) === 'rest' && account?.['account_id'] === undefined;
    if (needsNumber && lists.some((list) => list.queries.length > 0)) {
      const message = 'is required for queries, which are read through NerdGraph: give the number of the account';
      issues.push(issue([...accountPath, 'account_id'], message));
    }
    checkQueries(lists, labelsOf(account), families);
    return lists;
  });
  const lists = listsByAccount.flat();
  return {
    issues,
    diagnostics: lists.flatMap((list) => list.yaml?.listDiagnostics(list.issues) ?? []),
    warnings,
    fileWarnings: lists.flatMap((list) => list.yaml?.listWarnings(list.warnings) ?? []),
    further: listsByAccount.map((each) => each.flatMap(({ valid }) => valid)),
  };
}

function checkQueries(lists: readonly QueryList[], staticLabels: readonly string[], families: Families): void {
  const names = new Set<string>();
  for (const { file, path: listPath, queries, prefix, issues, warnings } of lists) {
    for (const [position, written] of queries.entries()) {
      const queryPath = [...listPath, position];
      const report: Report = (path, message) => void issues.push(issue([...queryPath, ...path], message));
      const warn: Report = (path, message) => void warnings.push(issue([...queryPath, ...path], message));
      const name = mappingOf(written)?.['name'];
      if (typeof name === 'string') {
        if (names.has(prefix + name)) report(['name'], 'is the name of another query of the account: choose another');
        names.add(prefix + name);
      }
      checkText(mappingOf(written) ?? {}, staticLabels, report, warn);
      checkQueryFamilies(written, `${file}${formatPath(queryPath)}`, families, report);
    }
  }
}

type Report = (path: Path, message: string) => void;

/** The functions by whose value a LIMIT orders the facets ("NRQL reference", FACET). */
const RANKING = ['min', 'max', 'percentile', 'average', 'count'];
const NOT_RANKING =
  'with "limit" New Relic keeps the facets that occur most often, because it orders by min, max, percentile, average and ' +
  'count only: begin with one of these, or add ORDER BY after FACET';

/** Reports what the exporter refuses in a query, beyond the checks of the schema. */
function checkText(written: Mapping, staticLabels: readonly string[], report: Report, warn: Report): void {
  const text = written['nrql'];
  if (typeof text !== 'string' || text === '') return;
  const { problems, columns, facets, firstCall, isOrdered } = readStatement(text);
  const reportCharacter = (offset: number, message: string): void =>
    report(['nrql'], `character ${offset + 1}: ${message}`);
  for (const { offset, message } of problems) reportCharacter(offset, message);
  const isLimited = written['limit'] !== undefined && facets.length > 0 && problems.length === 0;
  if (isLimited && !isOrdered && firstCall !== undefined && !RANKING.includes(firstCall.name)) {
    warn(['nrql'], `character ${firstCall.offset + 1}: ${NOT_RANKING}`);
  }
  const labels = written['labels'];
  const taken = new Set<string>();
  const labelProblem = (name: string): string | undefined => {
    const problem = taken.has(name) ? 'is a label of this query already' : findLabelProblem(name, staticLabels);
    taken.add(name);
    return problem;
  };
  if (Array.isArray(labels)) {
    if (labels.length !== facets.length && problems.length === 0) {
      const names = counted(labels.length, 'name');
      report(['labels'], `has ${names}, but the query has ${counted(facets.length, 'facet')}: give one for each`);
    }
    for (const [position, name] of labels.entries()) {
      const problem = typeof name === 'string' ? labelProblem(name) : undefined;
      if (problem !== undefined) report(['labels', position], `${problem}: choose another name`);
    }
  } else {
    for (const { offset, name } of facets) {
      const problem = name === undefined ? 'is no attribute and has no alias' : labelProblem(defaultLabel(name));
      if (problem !== undefined) reportCharacter(offset, `${problem}: name its label in "labels"`);
    }
  }
  const isOpen = columns.some(({ hasAlias }) => !hasAlias);
  const known = [...columns.map(({ key }) => key), ...facets.map(({ name }) => name)];
  const checkColumn = (value: unknown, path: Path): void => {
    if (typeof value !== 'string' || problems.length > 0 || isOpen || known.includes(value)) return;
    const names = columns.map(({ key }) => key).join(', ');
    warn(path, `is no column of the query, which has ${names}: only some functions, such as getField, add others`);
  };
  checkColumn(mappingOf(written['fail_at'])?.['value'], ['fail_at', 'value']);
  const seen = new Set<unknown>();
  for (const [position, metric] of listOf(written['metrics']).entries()) {
    const { name, value } = mappingOf(metric) ?? {};
    if (columns.length > 1 && value === undefined && mappingOf(metric) !== undefined) {
      report(['metrics', position, 'value'], 'is required: the query has several columns');
    }
    checkColumn(value, ['metrics', position, 'value']);
    if (seen.has(name)) report(['metrics', position, 'name'], 'is a metric of this query already: choose another name');
    if (name !== undefined) seen.add(name);
  }
}

/** Returns why a query cannot have a label of this name; undefined for a valid name. */
export function findLabelProblem(name: string, staticLabels: readonly string[]): string | undefined {
  if (!LABEL_NAME.test(name)) return 'is not a label name: use letters, digits and _, no digit first';
  if (name.startsWith('__')) return 'names that begin with __ belong to Prometheus';
  if (name === 'account' || name === PERCENTILE_LABEL) return 'is a label that the exporter writes itself';
  if (PROMETHEUS_LABEL_NAMES.some((reserved) => reserved === name)) return 'is a label of Prometheus itself';
  return staticLabels.includes(name) ? 'is a static label of the account' : undefined;
}

/** Reads a file of queries, without an environment: authors of queries need not see it. */
function readList(file: string, text: string, prefix: string, keys: Secrets): QueryList {
  const yaml = readYaml({ path: file, text }, undefined);
  const queries = listOf(mappingOf(yaml.value)?.['queries']);
  const parsed = yaml.value === undefined ? { issues: [] } : parseWritten(queryFile, yaml.value);
  const valid = 'issues' in parsed ? [] : parsed.value.queries.map((each) => ({ ...each, name: prefix + each.name }));
  const issues = [...checkTexts(queries, ['queries'], keys), ...('issues' in parsed ? parsed.issues : [])];
  return { yaml, file: `${file}: `, path: ['queries'], queries, prefix, issues, warnings: [], valid };
}

/** Returns the matching paths, sorted. A `*` in the file name is any run of characters, but not a leading dot. */
function findFiles(path: string): readonly string[] {
  const [folder, pattern] = [dirname(path), basename(path)];
  if (!pattern.includes('*')) return [path];
  return listNames(folder)
    .filter((name) => globMatches(pattern, name))
    .filter((name) => pattern.startsWith('.') || !name.startsWith('.'))
    .map((name) => join(folder, name))
    .toSorted();
}

function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The first custom metric or query that feeds a family. All others must agree with it. */
interface FirstMetric {
  readonly where: string;
  readonly help: string;
  /** Undefined for a query. */
  readonly scope?: FamilyScope;
  /** Captured labels, or the labels of the query. */
  readonly labels: readonly string[];
}

type Families = Map<string, FirstMetric>;

const ENTITY_LABELS = { application: ['app', 'app_id'], host: ['app', 'app_id', 'host', 'host_id'] };

function areSame(a: readonly string[], b: readonly string[]): boolean {
  return a.toSorted().join() === b.toSorted().join();
}

/** Checks every custom metric alone, and against the first that feeds the same family; adds new families. */
function checkCustomMetrics(accounts: readonly (Mapping | undefined)[], families: Families): Issue[] {
  const issues: Issue[] = [];
  for (const [accountIndex, account] of accounts.entries()) {
    for (const [index, written] of listOf(account?.['custom_metrics']).entries()) {
      // The schema reports the diagnostics of an invalid metric. There is nothing to compare.
      const metric = customMetric.safeParse(written).data;
      if (metric === undefined) continue;
      const { name, match, scope, help, value } = metric;
      const metricPath = ['accounts', accountIndex, 'custom_metrics', index];
      const report = (key: string, message: string): void => void issues.push(issue([...metricPath, key], message));
      const labels = parseTemplate(match).labelNames;
      if (labels.some((label) => labelsOf(account).includes(label))) {
        report('match', 'captures a static label of the account: choose another name');
      }
      const values = nerdgraphValuesOf(match);
      if (apiOf(account) === 'nerdgraph' && !values.all.includes(value)) {
        const choice = `: use one of ${values.usual.join(', ')} (docs/metrics.md has them all)`;
        report(
          'value',
          `is no value that NerdGraph has for these metrics${suggest(value, values.all) || choice}${suggestRest(account)}`,
        );
      }
      const first = families.get(name) ?? { where: formatPath(metricPath), scope, help, labels };
      families.set(name, first);
      const same = `as in ${first.where}, which feeds the same family`;
      if (first.scope !== scope) report('scope', `must be ${first.scope}, ${same}`);
      if (first.help !== help) report('help', `must be the same text ${same}`);
      if (!areSame(first.labels, labels)) report('match', `must capture the same labels ${same}`);
    }
  }
  return issues;
}

/** Checks the metrics of a query at `where` against the first that feeds the same family; adds new families. */
function checkQueryFamilies(written: unknown, where: string, families: Families, report: Report): void {
  const valid = query.safeParse(written).data;
  if (valid === undefined) return;
  const [prepared] = prepareQueries([valid]);
  for (const [position, { name, help }] of valid.metrics.entries()) {
    const labels = prepared?.families[position]?.labelNames ?? [];
    const first = families.get(name) ?? { where: `${where}.metrics[${String(position)}]`, help, labels };
    families.set(name, first);
    const same = `as in ${first.where}, which feeds the same family`;
    if (first.help !== help) report(['metrics', position, 'help'], `must be the same text ${same}`);
    const entityLabels = first.scope === undefined ? [] : ENTITY_LABELS[first.scope];
    if (!areSame([...entityLabels, ...first.labels], labels)) {
      report(['metrics', position, 'name'], `must have the same labels ${same}: choose another name`);
    }
  }
}
