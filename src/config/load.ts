import { X509Certificate } from 'node:crypto';
import { readFileSync, createReadStream } from 'node:fs';
import { resolve, dirname, isAbsolute, join } from 'node:path';
import { TextDecoder } from 'node:util';
import type { Config, AccountConfig } from './config.ts';
import { type Path, explain, flatten, type Issue, mayBeSecret, type Fault, sortFaults } from './fault.ts';
import { brokenRules, accountsOf, issue, mappingOf } from './schema/rules.ts';
import { fileSchema, keysAt } from './schema/file.ts';
import { fileProblem } from './files.ts';
import { keyFileProblem } from './keys.ts';
import { formatDuration } from './duration.ts';
import type { Environment } from './yaml/preparedDocument.ts';
import { readYaml } from './yaml/readYaml.ts';

/**
 * Checks the values of a file against the schema and the rules; all that is wrong is told. `textAt` gives the text of
 * a value that came from a placeholder, for places where text is wanted and the value was typed as something else.
 */
export function validate(
  file: unknown,
  textAt: (path: Path) => string | undefined,
): { readonly config: Config } | { readonly issues: readonly Issue[] } {
  let result = parse(file);
  if ('issues' in result) {
    const mistyped = result.issues.filter(({ path, wantsText }) => wantsText && textAt(path) !== undefined);
    for (const { path } of mistyped) replaceAt(file, path, textAt(path));
    if (mistyped.length > 0) result = parse(file);
  }
  const broken = brokenRules(file);
  if ('issues' in result) return { issues: [...result.issues, ...broken] };
  return broken.length > 0 ? { issues: broken } : result;
}

function parse(file: unknown): { readonly config: Config } | { readonly issues: readonly Issue[] } {
  const { data, error } = fileSchema.safeParse(file, { error: explain });
  return data === undefined ? { issues: flatten(error.issues, keysAt) } : { config: data };
}

function replaceAt(file: unknown, path: Path, value: unknown): void {
  const holder = path
    .slice(0, -1)
    .reduce<unknown>((node, step) => (node as Record<string | number, unknown>)[step], file);
  const last = path.at(-1);
  if (last !== undefined) (holder as Record<string | number, unknown>)[last] = value;
}

/**
 * The files that the accounts of a configuration name and that cannot be used. It reads the values as they stand in
 * the file, valid or not, so that these faults are told together with all others. A file whose name may be a key is
 * not named: `api_key_file: NRAK-...` is a common slip.
 */
export function accountFileIssues(file: unknown, folder: string): Issue[] {
  return accountsOf(file).flatMap((account, index) => {
    const path = ['accounts', index];
    return [
      ...problemOf([...path, 'api_key_file'], account?.['api_key_file'], folder, 'the key file', keyFileProblem),
      ...problemOf(
        [...path, 'tls', 'ca_file'],
        mappingOf(account?.['tls'])?.['ca_file'],
        folder,
        'the file',
        certificateProblem,
      ),
    ];
  });
}

function problemOf(
  path: Path,
  name: unknown,
  folder: string,
  what: string,
  check: (path: string) => string | undefined,
): Issue[] {
  if (typeof name !== 'string' || name === '') return [];
  const location = resolve(folder, name);
  const problem = check(location);
  if (problem === undefined) return [];
  return [issue(path, mayBeSecret(name) ? `${what} ${problem}` : `${what} ${location} ${problem}`)];
}

function certificateProblem(path: string): string | undefined {
  let pem: string;
  try {
    pem = readFileSync(path, 'latin1');
  } catch (error) {
    return fileProblem(error);
  }
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) return 'holds no certificate in PEM form';
  try {
    for (const block of blocks) new X509Certificate(block);
    return undefined;
  } catch {
    return 'holds a certificate that cannot be read';
  }
}

/** NerdGraph gets the call's timeout less a second, and at least 5 seconds: below 7 seconds little is left for the network. */
const LEAST_NERDGRAPH_TIMEOUT = 7_000;

/** What the service allows per account and minute; only at its own addresses, for behind a `base_url` it may be more. */
const ALLOWED_PER_MINUTE = { rest: 1_000, nerdgraph: 3_000 };

/** What is allowed in a valid configuration but is likely a mistake, each at its place. */
export function warningsOf(config: Config, faultAt: (path: Path, message: string) => Fault): Fault[] {
  return config.accounts.flatMap(({ api, api_key_header, limits, region }, index) => {
    const warnings: Fault[] = [];
    const path = ['accounts', index];
    const allowed = ALLOWED_PER_MINUTE[api];
    if (region !== undefined && limits.requests_per_minute > allowed) {
      const message = `is more than the service allows an account, so it will refuse calls: set at most ${allowed}, less where others use the account`;
      warnings.push(faultAt([...path, 'limits', 'requests_per_minute'], message));
    }
    if (api !== 'nerdgraph') return warnings;
    if (api_key_header === 'X-Api-Key') {
      const message = 'NerdGraph takes its key in the header Api-Key: remove this key, or set it to Api-Key';
      warnings.push(faultAt([...path, 'api_key_header'], message));
    }
    if (limits.request_timeout < LEAST_NERDGRAPH_TIMEOUT) {
      const message = `is short for NerdGraph, whose queries take longer: set at least ${formatDuration(LEAST_NERDGRAPH_TIMEOUT)}`;
      warnings.push(faultAt([...path, 'limits', 'request_timeout'], message));
    }
    return warnings;
  });
}

const MAX_BYTES = 1_048_576;

/** A valid configuration with its warnings, or everything that is wrong with it, in file order. */
export type ConfigResult =
  { readonly config: Config; readonly warnings: readonly Fault[] } | { readonly faults: readonly Fault[] };

/**
 * Reads and validates a configuration file, with the key files and certificate files that it names: those that are
 * missing, unreadable or empty are faults at the place where they are named. All faults are told at once.
 */
export async function readConfig(path: string, env: Environment): Promise<ConfigResult> {
  const read = await readText(path);
  if ('problem' in read) {
    return { faults: [{ file: path, line: undefined, column: undefined, path: '', message: read.problem }] };
  }
  return loadConfig({ path, text: read.text }, env, accountFileIssues);
}

/**
 * Reads the text of a configuration file: YAML 1.2, placeholders replaced from the environment, validated, defaults
 * filled in. Relative file names in it are relative to the folder it is in; `fileIssues` looks at the files. Never
 * throws for what a text may hold. No fault repeats a value of the file.
 */
export function loadConfig(
  source: { readonly path: string; readonly text: string },
  env: Environment,
  fileIssues: (file: unknown, folder: string) => readonly Issue[] = () => [],
): ConfigResult {
  const file = readYaml(source, env);
  const { value, faults } = file;
  if (value === undefined) return { faults };
  const result = validate(value, (path) => file.textAt(path));
  const issues = [...('issues' in result ? result.issues : []), ...fileIssues(value, dirname(source.path))].filter(
    ({ path }) => !file.isFaulty(path),
  );
  const all = sortFaults([...faults, ...issues.map(({ path, message, at }) => file.fault(path, message, at))]);
  if ('issues' in result || all.length > 0) return { faults: all };
  const config = {
    ...result.config,
    accounts: result.config.accounts.map((account) => resolveFiles(source.path, account)),
  };
  const faultAt = (path: Path, message: string): Fault => file.fault(path, message, 'value');
  return { config, warnings: warningsOf(config, faultAt) };
}

/** The account with its file names resolved against the folder of the configuration file. */
function resolveFiles(file: string, account: AccountConfig): AccountConfig {
  const locate = (path: string | undefined): string | undefined =>
    path === undefined || isAbsolute(path) ? path : join(dirname(file), path);
  const { api_key_file, tls } = account;
  return { ...account, api_key_file: locate(api_key_file), tls: { ...tls, ca_file: locate(tls.ca_file) } };
}

async function readText(path: string): Promise<{ readonly text: string } | { readonly problem: string }> {
  const chunks: Buffer[] = [];
  try {
    // Reading one byte more than is allowed shows that a file is too large, also for a pipe.
    for await (const chunk of createReadStream(path, { end: MAX_BYTES })) chunks.push(chunk as Buffer);
  } catch (error) {
    return { problem: `the configuration file ${fileProblem(error)}` };
  }
  const bytes = Buffer.concat(chunks);
  if (bytes.length > MAX_BYTES) return { problem: 'the configuration file is larger than 1 MiB' };
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { problem: 'the configuration file is not UTF-8 text: save it as UTF-8' };
  }
}
