import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { sortFaults, type Fault } from '../../config/fault.ts';
import { explain, flatten } from '../../config/issues.ts';
import { readYaml, type YamlFile } from '../../config/yaml/readYaml.ts';
import { readTlsSettings, type TlsSettings } from './tlsSettings.ts';
import { knownKeys, webConfigSchema, type WebConfigFile } from './schema.ts';

/** `rate_limit`: one token every `intervalMs`, at most `burst` saved up. */
export interface RateLimitSettings {
  readonly intervalMs: number;
  readonly burst: number;
}

/** A web configuration in the exporter-toolkit format, its files read in. */
export interface WebConfig {
  /** Undefined: plain HTTP. */
  readonly tls: TlsSettings | undefined;
  /** Headers put on every answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** User name to bcrypt hash; empty: no authentication. */
  readonly users: ReadonlyMap<string, string>;
  readonly rateLimit: RateLimitSettings | undefined;
}

export type WebConfigResult = { readonly config: WebConfig } | { readonly faults: readonly Fault[] };

/** No file given: plain HTTP for everybody. */
export const OPEN_WEB_CONFIG: WebConfig = { tls: undefined, headers: {}, users: new Map(), rateLimit: undefined };

/**
 * Reads and checks a file in the exporter-toolkit format: unknown keys are faults, all faults are
 * told with their place. Certificates and keys are read too; their paths are relative to the file's folder.
 */
export function loadWebConfig(path: string): WebConfigResult {
  return readWebConfig(path).result;
}

/** What the file opens on purpose, by a key that a file which is cut off does not have. */
export interface OpenOnPurpose {
  /** `basic_auth_users: {}` */
  readonly noUsers: boolean;
  /** `client_auth_type: NoClientCert` */
  readonly noClientCertificates: boolean;
}

export interface WebConfigReading {
  readonly result: WebConfigResult;
  /** Every file that the outcome depends on. */
  readonly files: readonly string[];
  readonly onPurpose: OpenOnPurpose;
}

const NOTHING_OPEN: OpenOnPurpose = { noUsers: false, noClientCertificates: false };

/** The same, with what a change while the exporter runs is judged by. */
export function readWebConfig(path: string): WebConfigReading {
  const file = readText(path);
  if ('fault' in file) return { result: { faults: [file.fault] }, files: [path], onPurpose: NOTHING_OPEN };
  if (setsNothing(file.text)) return { result: { config: OPEN_WEB_CONFIG }, files: [path], onPurpose: NOTHING_OPEN };
  const tree = readYaml({ path, text: file.text }, {});
  if (tree.faults.length > 0)
    return { result: { faults: sortFaults(tree.faults) }, files: [path], onPurpose: NOTHING_OPEN };
  const parsed = webConfigSchema.safeParse(tree.value, { error: explain });
  if (!parsed.success) {
    const issues = flatten(parsed.error.issues, knownKeys);
    const faults = issues.map((issue) => tree.fault(issue.path, issue.message, issue.at));
    return { result: { faults: sortFaults(faults) }, files: [path], onPurpose: NOTHING_OPEN };
  }
  return assemble(parsed.data, path, tree);
}

function assemble(data: WebConfigFile, path: string, tree: YamlFile): WebConfigReading {
  const users = data.basic_auth_users ?? undefined;
  const onPurpose = {
    noUsers: users !== undefined && Object.keys(users).length === 0,
    noClientCertificates: data.tls_server_config?.client_auth_type === 'NoClientCert',
  };
  const section = data.tls_server_config ?? undefined;
  const tls = section === undefined ? undefined : readTlsSettings(section, dirname(resolve(path)));
  const files = [path, ...(tls?.files ?? [])];
  if (tls !== undefined && tls.problems.length > 0) {
    const faults = tls.problems.map(({ key, message }) =>
      tree.fault(
        key === undefined ? ['tls_server_config'] : ['tls_server_config', key],
        message,
        key === undefined ? 'key' : 'value',
      ),
    );
    return { result: { faults: sortFaults(faults) }, files, onPurpose };
  }
  const { interval = 0, burst = 0 } = data.rate_limit ?? {};
  const headers = Object.entries(data.http_server_config?.headers ?? {}).filter(isSet);
  return {
    result: {
      config: {
        tls: tls?.settings,
        headers: Object.fromEntries(headers),
        users: new Map(Object.entries(users ?? {})),
        rateLimit: interval > 0 ? { intervalMs: interval, burst } : undefined,
      },
    },
    files,
    onPurpose,
  };
}

/** A blank header is one that is not set. */
function isSet(entry: readonly [string, string | undefined]): entry is [string, string] {
  return entry[1] !== undefined && entry[1] !== '';
}

/** A file of comments alone is allowed, as in the exporter toolkit. */
function setsNothing(text: string): boolean {
  return text.split('\n').every((line) => /^\s*(?:#|$)/.test(line));
}

function readText(path: string): { readonly text: string } | { readonly fault: Fault } {
  try {
    if (statSync(path).isFile()) return { text: readFileSync(path, 'utf8') };
    return { fault: { file: path, line: undefined, column: undefined, path: '', message: 'is not a file' } };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    const message = `cannot be read (${code}): check the path given with --web.config.file and its permissions`;
    return { fault: { file: path, line: undefined, column: undefined, path: '', message } };
  }
}
