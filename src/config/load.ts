import { X509Certificate } from 'node:crypto';
import { resolve, dirname, isAbsolute, join } from 'node:path';
import type { Config, AccountConfig } from './config.ts';
import { type Path, issue, type Issue, mayBeSecret, type Diagnostic } from './diagnostic.ts';
import { brokenRules, accountsOf, mappingOf } from './schema/rules.ts';
import { readQueries } from './queries.ts';
import { fileSchema, keysAt, parseWritten } from './schema/file.ts';
import { readFile, readText, readTextOrPipe } from './files.ts';
import { keyFileProblem, keyWarning } from './keys.ts';
import { formatDuration } from './duration.ts';
import type { Environment } from './yaml/placeholders.ts';
import { readYaml } from './yaml/readYaml.ts';

/**
 * Checks the values of a file against the schema and the rules; reports every problem. `textAt` gives the original text of a
 * value that came from a placeholder, for keys that expect text where the value was read as another type.
 */
export function validate(
  file: unknown,
  textAt: (path: Path) => string | undefined,
): { readonly config: Config } | { readonly issues: readonly Issue[] } {
  const result = parseWritten(fileSchema, file, keysAt, textAt);
  const broken = brokenRules(file);
  if ('issues' in result) return { issues: [...result.issues, ...broken] };
  return broken.length > 0 ? { issues: broken } : { config: result.value };
}

/**
 * Issues for unusable files that the accounts of a configuration name. The values are read as they stand in the file, valid or
 * not, so that these diagnostics appear together with all others. A file name that may be a key is not shown, because
 * `api_key_file: NRAK-...` is a common slip.
 */
export function accountFileIssues(file: unknown, folder: string): Issue[] {
  const check = (path: Path, name: unknown, what: string, problemOf: (path: string) => string | undefined): Issue[] => {
    if (typeof name !== 'string' || name === '') return [];
    const location = resolve(folder, name);
    const problem = problemOf(location);
    if (problem === undefined) return [];
    return [issue(path, mayBeSecret(name) ? `${what} ${problem}` : `${what} ${location} ${problem}`)];
  };
  return accountsOf(file).flatMap((account, index) => {
    const path = ['accounts', index];
    const certificates = mappingOf(account?.['tls'])?.['ca_file'];
    return [
      ...check([...path, 'api_key_file'], account?.['api_key_file'], 'the key file', keyFileProblem),
      ...check([...path, 'tls', 'ca_file'], certificates, 'the file', certificateProblem),
    ];
  });
}

const BEGIN_CERTIFICATE = '-----BEGIN CERTIFICATE-----';
const END_CERTIFICATE = '-----END CERTIFICATE-----';

function certificateProblem(path: string): string | undefined {
  const read = readFile(path);
  if ('problem' in read) return read.problem;
  const blocks = read.bytes
    .toString('latin1')
    .split(END_CERTIFICATE)
    .slice(0, -1)
    .flatMap((text) => (text.includes(BEGIN_CERTIFICATE) ? text.slice(text.lastIndexOf(BEGIN_CERTIFICATE)) : []));
  if (blocks.length === 0) return 'holds no certificate in PEM form';
  try {
    for (const block of blocks) new X509Certificate(`${block}${END_CERTIFICATE}`);
    return undefined;
  } catch {
    return 'holds a certificate that cannot be read';
  }
}

/**
 * Queries over NerdGraph get the call's timeout less a second, and at least 5 seconds, so a timeout below 7 seconds leaves
 * little for the network.
 */
const LEAST_NERDGRAPH_TIMEOUT = 7_000;

/**
 * Calls that New Relic allows per account and minute; checked only at its own addresses, because a proxy at a `base_url` may
 * allow more.
 */
const ALLOWED_PER_MINUTE = { rest: 1_000, nerdgraph: 3_000 };

/** Warnings for settings of a valid configuration that are likely mistakes, each with its position. */
export function warningsOf(config: Config, diagnosticAt: (path: Path, message: string) => Diagnostic): Diagnostic[] {
  return config.accounts.flatMap((account, index) => {
    const { api, api_key_header, limits, region } = account;
    const warnings: Diagnostic[] = [];
    const path = ['accounts', index];
    const ofKey = keyWarning(account);
    if (ofKey !== undefined) {
      warnings.push(diagnosticAt([...path, account.api_key === undefined ? 'api_key_file' : 'api_key'], ofKey));
    }
    const allowed = ALLOWED_PER_MINUTE[api];
    if (region !== undefined && limits.requests_per_minute > allowed) {
      const message = `is more than New Relic allows an account, so it will refuse calls: set at most ${allowed}, less where others use the account`;
      warnings.push(diagnosticAt([...path, 'limits', 'requests_per_minute'], message));
    }
    if (api !== 'nerdgraph') return warnings;
    if (api_key_header === 'X-Api-Key') {
      const message = 'NerdGraph takes its key in the header Api-Key: remove this key, or set it to Api-Key';
      warnings.push(diagnosticAt([...path, 'api_key_header'], message));
    }
    if (limits.request_timeout < LEAST_NERDGRAPH_TIMEOUT) {
      const message = `is short for NerdGraph, whose queries take longer: set at least ${formatDuration(LEAST_NERDGRAPH_TIMEOUT)}`;
      warnings.push(diagnosticAt([...path, 'limits', 'request_timeout'], message));
    }
    return warnings;
  });
}

/** A valid configuration with its warnings, or everything that is wrong with it, in file order. */
export type ConfigResult =
  | { readonly config: Config; readonly warnings: readonly Diagnostic[] }
  | { readonly diagnostics: readonly Diagnostic[] };

/**
 * Reads and validates a configuration file, with the key files and certificate files that it names. A missing, unreadable or
 * empty one gives a diagnostic at the key that names it. All diagnostics are given at once.
 *
 * @param once the file may be a pipe, because it is not read again
 */
export async function readConfig(path: string, env: Environment, once: boolean): Promise<ConfigResult> {
  const read = once ? await readTextOrPipe(path) : readText(path);
  if ('problem' in read) {
    const message = `the configuration file ${read.problem}`;
    return { diagnostics: [{ file: path, line: undefined, column: undefined, path: '', message }] };
  }
  return loadConfig({ path, text: read.text }, env, accountFileIssues);
}

/**
 * Reads the text of a configuration file: YAML 1.2, with placeholders replaced from the environment, validated, with defaults
 * filled in. Relative file names in it are relative to its folder; `fileIssues` checks the files. Never throws, for any text.
 * No diagnostic repeats a value of the file.
 */
export function loadConfig(
  source: { readonly path: string; readonly text: string },
  env: Environment,
  fileIssues: (file: unknown, folder: string) => readonly Issue[] = () => [],
): ConfigResult {
  const file = readYaml(source, env);
  if (file.value === undefined) return { diagnostics: file.diagnosticsWith([]) };
  const result = validate(file.value, (path) => file.textAt(path));
  const ofSchema = 'issues' in result ? result.issues : [];
  const folder = dirname(source.path);
  const queries = readQueries(file.value, folder, env);
  const ownDiagnostics = file.diagnosticsWith([...ofSchema, ...fileIssues(file.value, folder), ...queries.issues]);
  const diagnostics = [...ownDiagnostics, ...queries.diagnostics];
  if ('issues' in result || diagnostics.length > 0) return { diagnostics };
  const accounts = result.config.accounts.map((account, index) => ({
    ...resolveFiles(source.path, account),
    queries: [...account.queries, ...(queries.further[index] ?? [])],
    query_files: [],
    query_packs: [],
  }));
  const config = { ...result.config, accounts };
  const diagnosticAt = (path: Path, message: string): Diagnostic => file.diagnostic(path, message, 'value');
  const unmatched = queries.unmatched.map((path) => diagnosticAt(path, 'no file matches: it gives no query'));
  return { config, warnings: [...warningsOf(config, diagnosticAt), ...unmatched] };
}

/** The account with its file names resolved against the folder of the configuration file. */
function resolveFiles(file: string, account: AccountConfig): AccountConfig {
  const locate = (path: string | undefined): string | undefined =>
    path === undefined || isAbsolute(path) ? path : join(dirname(file), path);
  const { api_key_file, tls } = account;
  return { ...account, api_key_file: locate(api_key_file), tls: { ...tls, ca_file: locate(tls.ca_file) } };
}
