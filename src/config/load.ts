import { resolve, dirname, isAbsolute, join } from 'node:path';
import { readProxySettings, type ProxyRemark } from '../api/http/proxySettings.ts';
import type { Config, AccountConfig } from './config.ts';
import { type Path, formatPath, issue, type Issue, mayBeSecret, type Diagnostic } from './diagnostic.ts';
import { checkRules, accountsOf, entryName, mappingOf } from './schema/rules.ts';
import { readQueries } from './queries.ts';
import { fileSchema } from './schema/file.ts';
import { parseWritten } from './schemaIssues.ts';
import { checkAccountTexts, collectKeys } from './keyTexts.ts';
import { readAuthorities } from './certificates.ts';
import { readText, readTextOrPipe } from './files.ts';
import { readKeyFile, warnOfKey } from './keys.ts';
import { formatDuration } from './duration.ts';
import { ALLOWED_PER_MINUTE } from './interfaces.ts';
import type { Environment } from './yaml/placeholders.ts';
import { findInvisible, isQuoted } from '../text/invisible.ts';
import { readYaml } from './yaml/readYaml.ts';

/**
 * Returns issues for unusable files of the accounts, whose values may be invalid. Hides a file name that may be a
 * key: `api_key_file: NRAK-...` is a common slip.
 */
export function checkAccountFiles(file: unknown, folder: string): Issue[] {
  const check = (path: Path, name: unknown, what: string, read: (path: string) => object): Issue[] => {
    if (typeof name !== 'string' || name === '') return [];
    const location = resolve(folder, name);
    const found = read(location);
    if (!('problem' in found)) return [];
    return [issue(path, `${what}${mayBeSecret(name) ? '' : ` ${location}`} ${String(found.problem)}`)];
  };
  return accountsOf(file).flatMap((account, index) => {
    const path = ['accounts', index];
    const certificates = mappingOf(account?.['tls'])?.['ca_file'];
    return [
      ...check([...path, 'api_key_file'], account?.['api_key_file'], 'the key file', readKeyFile),
      ...check([...path, 'tls', 'ca_file'], certificates, 'the file', readAuthorities),
    ];
  });
}

/** Milliseconds. A query gets a second less, at least 5 seconds: below 7 seconds the network has too little time. */
const MIN_NERDGRAPH_TIMEOUT = 7_000;

function findWarnings({ accounts }: Config): Issue[] {
  return accounts.flatMap((account, index) => {
    const { api, api_key, api_key_header, limits, region, tls } = account;
    const warnings: Issue[] = [];
    const report = (path: Path, message: string): void =>
      void warnings.push(issue(['accounts', index, ...path], message));
    const keyWarning = warnOfKey(account);
    if (keyWarning !== undefined) report([api_key === undefined ? 'api_key_file' : 'api_key'], keyWarning);
    const authorities = tls.ca_file === undefined ? undefined : readAuthorities(tls.ca_file);
    if (authorities !== undefined && 'expires' in authorities && authorities.expires < Date.now()) {
      const day = new Date(authorities.expires).toISOString().slice(0, 10);
      const message = `names authorities that expired on ${day}, so that no call can succeed: renew the file`;
      report(['tls', 'ca_file'], message);
    }
    const allowed = ALLOWED_PER_MINUTE[api];
    if (region !== undefined && limits.requests_per_minute > allowed) {
      const message = `is more than New Relic allows an account, so it will refuse calls: set at most ${allowed}, less where others use the account`;
      report(['limits', 'requests_per_minute'], message);
    }
    if (api !== 'nerdgraph') return warnings;
    if (api_key_header === 'X-Api-Key') {
      const message = 'NerdGraph takes its key in the header Api-Key: remove this key, or set it to Api-Key';
      report(['api_key_header'], message);
    }
    if (limits.request_timeout < MIN_NERDGRAPH_TIMEOUT) {
      const shortest = formatDuration(MIN_NERDGRAPH_TIMEOUT);
      const message = `is short for NerdGraph, whose queries take longer: set at least ${shortest}`;
      report(['limits', 'request_timeout'], message);
    }
    return warnings;
  });
}

export type ConfigResult =
  | { readonly config: Config; readonly warnings: readonly Diagnostic[] }
  | { readonly diagnostics: readonly Diagnostic[] };

export const DEFAULT_CONFIG_FILE = 'config.yaml';

/** Returns `flag` (`--config.file`), else config.yaml if it exists; undefined for the environment. */
export function chooseConfigPath(flag: string | undefined, exists: (path: string) => boolean): string | undefined {
  return flag ?? (exists(DEFAULT_CONFIG_FILE) ? DEFAULT_CONFIG_FILE : undefined);
}

const NO_CONFIGURATION =
  'there is no such file, and neither NEW_RELIC_API_KEY nor NEW_RELIC_API_KEY_FILE is set: write the file ' +
  '(the command init writes one of what a key sees, config.example.yaml shows every key), name another with --config.file, ' +
  'or set one of the two; the command demo needs none of them';

/**
 * Reads the configuration from a file or the environment, and checks the proxy variables. A file that is read only
 * `once`, without reloads, may be a pipe.
 */
export async function readFrom(path: string | undefined, env: Environment, once: boolean): Promise<ConfigResult> {
  const read = await readAccounts(path, env, once);
  const { fault, warnings } = readProxySettings(env);
  const faults = fault === undefined ? [] : [describeRemark(fault)];
  if ('diagnostics' in read) return { diagnostics: [...read.diagnostics, ...faults] };
  if (faults.length > 0) return { diagnostics: faults };
  return { config: read.config, warnings: [...read.warnings, ...warnings.map(describeRemark)] };
}

function describeRemark({ variable, message }: ProxyRemark): Diagnostic {
  return { file: 'environment', path: variable, message };
}

async function readAccounts(path: string | undefined, env: Environment, once: boolean): Promise<ConfigResult> {
  if (path === undefined) return configFromEnvironment(env);
  const read = once ? await readTextOrPipe(path) : readText(path);
  if ('problem' in read) {
    const message = `the configuration file ${read.problem}`;
    return { diagnostics: [{ file: path, path: '', message }] };
  }
  return loadConfig({ path, text: read.text }, env, checkAccountFiles);
}

export function describeOrigin(path: string | undefined): string {
  return path === undefined
    ? 'no configuration file: one account named "default" from the environment variables, all else by default'
    : `configuration from ${path}`;
}

const VARIABLES: Readonly<Record<string, string>> = {
  region: 'NEW_RELIC_REGION',
  api: 'NEW_RELIC_API',
  account_id: 'NEW_RELIC_ACCOUNT_ID',
  api_key: 'NEW_RELIC_API_KEY',
  api_key_file: 'NEW_RELIC_API_KEY_FILE',
};

/** Returns the configuration without a file: one account named `default`, and all defaults. */
export function configFromEnvironment(env: Environment): ConfigResult {
  const account = Object.fromEntries(
    Object.entries(VARIABLES).map(([key, name]) => [key, env[name]?.trim() || undefined]),
  );
  const { api_key: key, api_key_file: keyFile, account_id: id = '' } = account;
  if (key === undefined && keyFile === undefined) {
    return { diagnostics: [{ file: DEFAULT_CONFIG_FILE, path: '', message: NO_CONFIGURATION }] };
  }
  if (key !== undefined && keyFile !== undefined) {
    const both = issue(['accounts', 0, 'api_key_file'], 'NEW_RELIC_API_KEY is set too: unset one of the two');
    return { diagnostics: [toDiagnostic(both)] };
  }
  const number = DECIMAL.test(id) ? { account_id: Number(id) } : {};
  const file = { accounts: [{ name: 'default', ...account, ...number }] };
  const variableIssues = Object.entries(account).flatMap(([name, text = '']) => {
    const problem = findVariableProblem(name, text);
    return problem === undefined ? [] : [issue(['accounts', 0, name], problem)];
  });
  const { config, issues: further, warnings } = checkConfig(file, '', checkAccountFiles);
  const isNew = ({ path }: Issue): boolean => !variableIssues.some((each) => each.path[2] === path[2]);
  const issues = [...variableIssues, ...further.filter(isNew)];
  if (config === undefined || issues.length > 0) return { diagnostics: issues.map(toDiagnostic) };
  return { config, warnings: warnings.map(toDiagnostic) };
}

/** Returns what is wrong with the text of a variable, before the schema checks it. */
function findVariableProblem(key: string, text: string): string | undefined {
  if (isQuoted(text)) {
    return 'has quotes around its value, which became a part of it: remove them (`docker run --env-file` keeps quotes)';
  }
  const invisible = findInvisible(text);
  if (invisible !== undefined) return `holds the invisible character ${invisible}: remove it`;
  if (key !== 'account_id' || text === '' || DECIMAL.test(text)) return undefined;
  if (!/^[0-9.]+e\+?[0-9]+$/i.test(text)) return 'is not an account number, which has digits alone';
  return 'has an exponent, as YAML and Helm write large numbers: put the account number in quotes where it is set';
}

const DECIMAL = /^-?[0-9]+(?:\.[0-9]+)?$/;

function toDiagnostic({ path, message }: Pick<Issue, 'path' | 'message'>): Diagnostic {
  const place = formatPath(path);
  return { file: 'environment', path: VARIABLES[place.replace('accounts[0].', '')] ?? place, message };
}

/**
 * Reads and validates the text of a configuration file. File names in it are relative to its folder; `fileIssues`
 * checks those files. Never throws. Diagnostics never repeat a value of the file.
 */
export function loadConfig(
  source: { readonly path: string; readonly text: string },
  env: Environment,
  fileIssues: typeof checkAccountFiles = () => [],
): ConfigResult {
  const file = readYaml(source, env);
  if (file.value === undefined) return { diagnostics: file.listDiagnostics([]) };
  const checked = checkConfig(file.value, source.path, fileIssues, (path) => file.textAt(path));
  const diagnostics = [...file.listDiagnostics(checked.issues), ...checked.diagnostics];
  if (checked.config === undefined || diagnostics.length > 0) return { diagnostics };
  return { config: checked.config, warnings: [...file.listWarnings(checked.warnings), ...checked.fileWarnings] };
}

/** Maximum number of accounts in a file. Checking 200,000 entries would take too long. */
const MAX_ACCOUNTS = 10_000;

/**
 * Checks the values of a file: the schema, the rules between keys, and the named files, relative to `source`. Rules
 * are checked also of invalid values: then all issues appear together. `textAt` is as for parseWritten.
 */
export function checkConfig(
  values: unknown,
  source: string,
  fileIssues: typeof checkAccountFiles,
  textAt?: (path: Path) => string | undefined,
) {
  const written = accountsOf(values);
  if (written.length > MAX_ACCOUNTS) {
    const words = `has ${written.length} entries, and at most ${MAX_ACCOUNTS} are read: remove some`;
    const issues = [issue(['accounts'], words)];
    return { issues, diagnostics: [], warnings: [], fileWarnings: [] };
  }
  const folder = dirname(source);
  const parsed = parseWritten(fileSchema, values, textAt);
  const keys = collectKeys(values, folder);
  const queries = readQueries(values, folder, keys);
  const issues = [
    ...('issues' in parsed ? parsed.issues : []),
    ...checkRules(values),
    ...fileIssues(values, folder),
    ...queries.issues,
    ...checkAccountTexts(values, keys),
  ];
  const { diagnostics, fileWarnings } = queries;
  if ('issues' in parsed || issues.length > 0) return { issues, diagnostics, warnings: [], fileWarnings };
  const accounts = parsed.value.accounts.map((account, index) => ({
    ...resolveFiles(folder, account),
    ...(account.account_ids !== undefined && written[index]?.['name'] === undefined ? { name: entryName(index) } : {}),
    queries: [...account.queries, ...(queries.further[index] ?? [])],
    query_files: [],
    query_packs: [],
  }));
  const config: Config = { ...parsed.value, accounts };
  return { issues, diagnostics, warnings: [...findWarnings(config), ...queries.warnings], fileWarnings, config };
}

function resolveFiles(folder: string, account: AccountConfig): AccountConfig {
  const resolvePath = (path: string | undefined): string | undefined =>
    path === undefined || isAbsolute(path) ? path : join(folder, path);
  const { api_key_file, tls } = account;
  return { ...account, api_key_file: resolvePath(api_key_file), tls: { ...tls, ca_file: resolvePath(tls.ca_file) } };
}
