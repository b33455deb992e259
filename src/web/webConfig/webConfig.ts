import { dirname, resolve } from 'node:path';
import { type Diagnostic, formatDiagnostic } from '../../config/diagnostic.ts';
import { parseWritten } from '../../config/schemaIssues.ts';
import { identityAt, readText } from '../../config/files.ts';
import { readYaml } from '../../config/yaml/readYaml.ts';
import { GO_YAML } from './goYaml.ts';
import { asksForCertificate, readTlsSettings, type TlsSettings } from './tlsSettings.ts';
import { tlsSectionOf, webConfigSchema } from './webConfigFile.ts';

/** A web configuration in the exporter-toolkit format, its files read in. */
interface WebConfig {
  /** Undefined: plain HTTP. */
  readonly tls: TlsSettings | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** User name to bcrypt hash. Empty or undefined: no authentication; undefined where the file does not mention users. */
  readonly users: ReadonlyMap<string, string> | undefined;
  /** One request every `intervalMs`, and up to `burst` requests that were not made earlier. */
  readonly rateLimit: { readonly intervalMs: number; readonly burst: number } | undefined;
}

/** The result of reading a file, and every file that the result depends on. */
type WebConfigResult = ({ readonly config: WebConfig } | { readonly diagnostics: readonly Diagnostic[] }) & {
  readonly files: readonly string[];
};

/** Without a file: plain HTTP without passwords. */
const OPEN_WEB_CONFIG: WebConfig = { tls: undefined, headers: {}, users: undefined, rateLimit: undefined };

/** Reads and checks a file in the exporter-toolkit format, and the certificates and keys that it names, relative to its folder. */
export function loadWebConfig(path: string): WebConfigResult {
  const files = [path];
  const file = readText(path);
  if ('problem' in file) {
    const message = `the web configuration ${file.problem}`;
    return { diagnostics: [{ file: path, line: undefined, column: undefined, path: '', message }], files };
  }
  // A file of comments alone is allowed, as in the exporter toolkit.
  if (file.text.split('\n').every((line) => /^\s*(?:#|$)/.test(line))) return { config: OPEN_WEB_CONFIG, files };
  const tree = readYaml({ path, text: file.text }, undefined, GO_YAML);
  const parsed = parseWritten(webConfigSchema, tree.value, (at) => tree.textAt(at));
  const issues = 'issues' in parsed ? parsed.issues : [];
  // A valid section is checked even where others are invalid, so that all problems are reported at once.
  const section = tlsSectionOf(tree.value);
  const tls = section === undefined ? undefined : readTlsSettings(section, dirname(resolve(path)));
  files.push(...(tls?.files ?? []));
  const diagnostics = tree.diagnosticsWith([...issues, ...(tls?.issues ?? [])]);
  if ('issues' in parsed || diagnostics.length > 0) return { diagnostics, files };
  const { basic_auth_users: users, http_server_config: http, rate_limit: limit } = parsed.value ?? {};
  const { interval = 0, burst = 0 } = limit ?? {};
  const config = {
    tls: tls?.settings,
    headers: Object.fromEntries(
      Object.entries(http?.headers ?? {}).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    ),
    users: users ? new Map(Object.entries(users)) : undefined,
    rateLimit: interval > 0 ? { intervalMs: interval, burst } : undefined,
  };
  return { config, files };
}

/**
 * The web configuration in force. Each access looks at the files' change times and reads them again when one has changed, so
 * that certificates, users and headers need no restart. Synchronous, because a TLS handshake cannot wait for a new certificate.
 * A file that removes protection by accident is not used: the previous one stays.
 */
export class WebConfigStore {
  readonly #path: string | undefined;
  readonly #warn: (message: string) => void;
  #stamp = '';
  #result: WebConfigResult;
  #valid: WebConfig | undefined;

  /** `path` undefined: no web configuration; `warn` gets the reason why a changed file is not used. */
  constructor(path: string | undefined, warn: (message: string) => void) {
    this.#path = path;
    this.#result = { config: OPEN_WEB_CONFIG, files: path === undefined ? [] : [path] };
    this.#warn = warn;
  }

  /** The result for the present files; the same object until one of them changes. */
  current(): WebConfigResult {
    if (this.#path !== undefined && stampOf(this.#result.files) !== this.#stamp) {
      this.#take(this.#path, this.#read(this.#path));
    }
    return this.#result;
  }

  /** Those of the last valid file. */
  tls(): TlsSettings | undefined {
    this.current();
    return this.#valid?.tls;
  }

  /** Reads the file once more when it names other files than before, so that a change of these is seen, too. */
  #read(path: string): WebConfigResult {
    let { files } = this.#result;
    for (;;) {
      // Taken before reading, so that a change in between is seen the next time.
      this.#stamp = stampOf(files);
      const result = loadWebConfig(path);
      if (result.files.join() === files.join()) return result;
      files = result.files;
    }
  }

  #take(path: string, result: WebConfigResult): void {
    const before = this.#valid;
    this.#result = result;
    if ('diagnostics' in result) {
      if (before === undefined) return;
      const diagnostics = result.diagnostics.map(formatDiagnostic).join('; ');
      this.#warn(`The web configuration became invalid, requests are refused until it is corrected: ${diagnostics}`);
      return;
    }
    const { config } = result;
    const lost = before === undefined ? [] : lostProtection(before, config);
    if (before !== undefined && lost.length > 0) {
      this.#result = { config: before, files: result.files };
      this.#warn(`The web configuration is not used, the one before stays: ${path}: ${lost.join('; ')}`);
      return;
    }
    if (before !== undefined && before.tls === undefined && config.tls !== undefined) {
      this.#warn('tls_server_config was added to the web configuration: restart to put it into force.');
    }
    if (config.users?.size === 0 && (before === undefined || hasUsers(before))) {
      this.#warn('basic_auth_users is empty in the web configuration: everybody is let in without a password.');
    }
    this.#valid = config;
  }
}

function hasUsers({ users }: WebConfig): boolean {
  return users !== undefined && users.size > 0;
}

function stampOf(files: readonly string[]): string {
  return files.map((file) => identityAt(file) ?? 'not there').join(', ');
}

/**
 * The protections that a changed file would remove by accident, each with the text to write on purpose; empty where it removes
 * none. A file that is still being written looks like one without users.
 */
function lostProtection(before: WebConfig, after: WebConfig): string[] {
  const lost: string[] = [];
  if (before.tls !== undefined && after.tls === undefined) {
    lost.push('tls_server_config has gone: restart the exporter to serve plain HTTP');
  }
  if (hasUsers(before) && after.users === undefined) {
    lost.push('basic_auth_users has gone: write "basic_auth_users: {}" to let everybody in without a password');
  }
  const requested = before.tls !== undefined && asksForCertificate(before.tls);
  if (requested && after.tls !== undefined && after.tls.clientAuth === undefined) {
    lost.push(
      'client_auth_type has gone: write "client_auth_type: NoClientCert" to let everybody in without a certificate',
    );
  }
  return lost;
}
