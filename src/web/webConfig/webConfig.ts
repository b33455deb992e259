import { dirname, resolve } from 'node:path';
import { type Diagnostic, formatDiagnostic } from '../../config/diagnostic.ts';
import { parseWritten } from '../../config/schemaIssues.ts';
import { readIdentity, readText } from '../../config/files.ts';
import { readYaml } from '../../config/yaml/readYaml.ts';
import { GO_YAML } from './goYaml.ts';
import { asksForCertificate, readTlsSettings, type TlsSettings } from './tlsSettings.ts';
import { parseTlsSection, webConfigSchema } from './webConfigFile.ts';

/** A web configuration in the exporter-toolkit format, with the contents of its files. */
interface WebConfig {
  /** Undefined: plain HTTP. */
  readonly tls: TlsSettings | undefined;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Bcrypt hashes by user name. No authentication if empty, or undefined: the file has no such key. */
  readonly users: ReadonlyMap<string, string> | undefined;
  /** One request every `intervalMs`, and up to `burst` at once. */
  readonly rateLimit: { readonly intervalMs: number; readonly burst: number } | undefined;
}

/** A web configuration or its faults, and every file that the result depends on. */
type WebConfigResult = (
  | { readonly config: WebConfig; readonly warnings?: readonly Diagnostic[] }
  | { readonly diagnostics: readonly Diagnostic[] }
) & {
  readonly files: readonly string[];
  /** When the next certificate expires, in Unix milliseconds. */
  readonly nextExpiry?: number;
};

/** Used without a file: plain HTTP without passwords. */
const OPEN_WEB_CONFIG: WebConfig = { tls: undefined, headers: {}, users: undefined, rateLimit: undefined };

/** Reads and checks a file in the exporter-toolkit format. Reads its certificates and keys relative to its folder. */
export function loadWebConfig(path: string): WebConfigResult {
  const files = [path];
  const file = readText(path);
  if ('problem' in file) {
    const message = `the web configuration ${file.problem}`;
    return { diagnostics: [{ file: path, path: '', message }], files };
  }
  // The exporter toolkit allows a file that has only comments.
  if (file.text.split('\n').every((line) => /^\s*(?:#|$)/.test(line))) return { config: OPEN_WEB_CONFIG, files };
  const tree = readYaml({ path, text: file.text }, undefined, GO_YAML);
  const parsed = parseWritten(webConfigSchema, tree.value, (path) => tree.textAt(path));
  const issues = 'issues' in parsed ? parsed.issues : [];
  // Checks a valid TLS section even if another section is invalid, to report all problems at once.
  const section = parseTlsSection(tree.value);
  const tls = section === undefined ? undefined : readTlsSettings(section, dirname(resolve(path)));
  files.push(...(tls?.files ?? []));
  const diagnostics = tree.listDiagnostics([...issues, ...(tls?.issues ?? [])]);
  if ('issues' in parsed || diagnostics.length > 0) return { diagnostics, files };
  const { basic_auth_users: users, http_server_config: http, rate_limit: limit } = parsed.value ?? {};
  const { interval = 0, burst = 0 } = limit ?? {};
  const config = {
    tls: tls?.settings,
    headers: http?.headers ?? {},
    users: users ? new Map(Object.entries(users)) : undefined,
    rateLimit: interval > 0 ? { intervalMs: interval, burst } : undefined,
  };
  const { warnings = [], nextExpiry = Infinity } = tls ?? {};
  return { config, warnings: tree.listWarnings(warnings), nextExpiry, files };
}

/**
 * Keeps the web configuration in force. Each access rereads the files if one changed; it is synchronous, because a TLS
 * handshake cannot wait. Ignores a file that removes protection by accident.
 */
export class WebConfigStore {
  readonly #path: string | undefined;
  readonly #warn: (message: string) => void;
  #stamp = '';
  #result: WebConfigResult;
  #valid: WebConfig | undefined;

  /** @param path undefined: no web configuration */
  constructor(path: string | undefined, warn: (message: string) => void) {
    this.#path = path;
    this.#result = { config: OPEN_WEB_CONFIG, files: path === undefined ? [] : [path] };
    this.#warn = warn;
  }

  /** Returns the result for the current files; the same object until a file changes or a certificate expires. */
  current(): WebConfigResult {
    const { files, nextExpiry = Infinity } = this.#result;
    if (this.#path !== undefined && (stampOf(files) !== this.#stamp || Date.now() > nextExpiry)) {
      this.#apply(this.#path, this.#read(this.#path));
    }
    return this.#result;
  }

  /** Returns the TLS settings of the last valid file. */
  tls(): TlsSettings | undefined {
    this.current();
    return this.#valid?.tls;
  }

  /** Reads the file. Reads it again if it names other files than before, so that their stamps are known. */
  #read(path: string): WebConfigResult {
    let { files } = this.#result;
    for (;;) {
      // Taken before the read, so that the next access sees a change during the read.
      this.#stamp = stampOf(files);
      const result = loadWebConfig(path);
      if (result.files.join() === files.join()) return result;
      files = result.files;
    }
  }

  #apply(path: string, result: WebConfigResult): void {
    const before = this.#valid;
    this.#result = result;
    if ('diagnostics' in result) {
      const faults = result.diagnostics.map(formatDiagnostic).join('; ');
      const effect = 'so the exporter refuses requests until it is correct';
      if (before !== undefined) this.#warn(`The web configuration is invalid, ${effect}: ${faults}`);
      return;
    }
    const { config } = result;
    const lost = before === undefined ? '' : findLostProtection(before, config).join('; ');
    if (before !== undefined && lost !== '') {
      this.#result = { config: before, files: result.files };
      this.#warn(`Ignoring the changed web configuration, the previous one stays in force: ${path}: ${lost}`);
      return;
    }
    if (before !== undefined && before.tls === undefined && config.tls !== undefined) {
      this.#warn('tls_server_config was added to the web configuration: restart the exporter to apply it.');
    }
    if (config.users?.size === 0 && (before === undefined || before.users?.size)) {
      this.#warn(
        'basic_auth_users is empty in the web configuration: the exporter accepts all requests without a password.',
      );
    }
    for (const warning of result.warnings ?? []) this.#warn(`The web configuration: ${formatDiagnostic(warning)}`);
    this.#valid = config;
  }
}

function stampOf(files: readonly string[]): string {
  return files.map((file) => readIdentity(file) ?? 'not there').join(', ');
}

/** Finds the protections that a file lacks, perhaps because it is still being written, and how to remove each. */
function findLostProtection(before: WebConfig, after: WebConfig): string[] {
  const lost: string[] = [];
  if (before.tls !== undefined && after.tls === undefined) {
    lost.push('tls_server_config is missing: restart the exporter to serve plain HTTP');
  }
  if (before.users?.size && after.users === undefined) {
    lost.push('basic_auth_users is missing: write "basic_auth_users: {}" to accept all requests without a password');
  }
  const asked = before.tls !== undefined && asksForCertificate(before.tls);
  if (asked && after.tls !== undefined && after.tls.clientAuth === undefined) {
    lost.push(
      'client_auth_type is missing: write "client_auth_type: NoClientCert" to accept clients without a certificate',
    );
  }
  return lost;
}
