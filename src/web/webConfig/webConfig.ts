import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Fault, explain, firstFaults, flatten, formatFault } from '../../config/fault.ts';
import { readText } from '../../config/files.ts';
import { readYaml, type YamlFile } from '../../config/yaml/readYaml.ts';
import { readTlsSettings, type TlsSettings } from './tlsSettings.ts';
import { knownKeys, webConfigSchema, type WebConfigFile } from './webConfigFile.ts';

/** `rate_limit`: one token every `intervalMs`, at most `burst` saved up. */
export interface RateLimitSettings {
  readonly intervalMs: number;
  readonly burst: number;
}

/** A web configuration in the exporter-toolkit format, its files read in. */
interface WebConfig {
  /** Undefined: plain HTTP. */
  readonly tls: TlsSettings | undefined;
  /** Headers put on every answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** User name to bcrypt hash; empty: no authentication. */
  readonly users: ReadonlyMap<string, string>;
  readonly rateLimit: RateLimitSettings | undefined;
}

type WebConfigResult = { readonly config: WebConfig } | { readonly faults: readonly Fault[] };

/** No file given: plain HTTP for everybody. */
const OPEN_WEB_CONFIG: WebConfig = { tls: undefined, headers: {}, users: new Map(), rateLimit: undefined };

/**
 * Reads and checks a file in the exporter-toolkit format: unknown keys are faults, all faults are
 * told with their place. Certificates and keys are read too; their paths are relative to the file's folder.
 */
export function loadWebConfig(path: string): WebConfigResult {
  return readWebConfig(path).result;
}

/** What the file opens on purpose, by a key that a file which is cut off does not have. */
interface OpenOnPurpose {
  /** `basic_auth_users: {}` */
  readonly noUsers: boolean;
  /** `client_auth_type: NoClientCert` */
  readonly noClientCertificates: boolean;
}

interface WebConfigReading {
  readonly result: WebConfigResult;
  /** Every file that the outcome depends on. */
  readonly files: readonly string[];
  readonly onPurpose: OpenOnPurpose;
}

const NOTHING_OPEN: OpenOnPurpose = { noUsers: false, noClientCertificates: false };

/** The same, with what a change while the exporter runs is judged by. */
function readWebConfig(path: string): WebConfigReading {
  const file = readText(path);
  if ('problem' in file) {
    const message = `the web configuration ${file.problem}`;
    const fault = { file: path, line: undefined, column: undefined, path: '', message };
    return { result: { faults: [fault] }, files: [path], onPurpose: NOTHING_OPEN };
  }
  if (setsNothing(file.text)) return { result: { config: OPEN_WEB_CONFIG }, files: [path], onPurpose: NOTHING_OPEN };
  const tree = readYaml({ path, text: file.text }, {});
  const unreadable = tree.faultsWith([]);
  if (unreadable.length > 0) return { result: { faults: unreadable }, files: [path], onPurpose: NOTHING_OPEN };
  const parsed = webConfigSchema.safeParse(tree.value, { error: explain });
  if (!parsed.success) {
    const faults = tree.faultsWith(flatten(parsed.error.issues, knownKeys));
    return { result: { faults }, files: [path], onPurpose: NOTHING_OPEN };
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
    return { result: { faults: firstFaults(faults) }, files, onPurpose };
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

/**
 * The web configuration in force. It looks at the files' change times whenever it is asked, and reads them again when
 * one has changed, so that certificates, users and headers need no restart. Synchronous, because a TLS handshake cannot
 * wait for a new certificate. A file that takes protection away, but not on purpose, is not used: the one before stays.
 */
export class WebConfigStore {
  readonly #path: string | undefined;
  readonly #warn: (message: string) => void;
  #files: readonly string[] = [];
  #stamp = '';
  #result: WebConfigResult = { config: OPEN_WEB_CONFIG };
  /** The last one that was valid. */
  #valid: WebConfig | undefined;

  /** `path` undefined: no web configuration; `warn` is told why a changed file is not used. */
  constructor(path: string | undefined, warn: (message: string) => void) {
    this.#path = path;
    this.#warn = warn;
    if (path !== undefined) this.#read(path);
  }

  /** The same object as long as nothing has changed. */
  current(): WebConfigResult {
    if (this.#path !== undefined && stampOf(this.#files) !== this.#stamp) this.#read(this.#path);
    return this.#result;
  }

  /** The TLS settings in force: of the last file that was valid. */
  tls(): TlsSettings | undefined {
    this.current();
    return this.#valid?.tls;
  }

  #read(path: string): void {
    let files = this.#files.length > 0 ? this.#files : [path];
    let stamp = stampOf(files);
    let reading = readWebConfig(path);
    if (!sameFiles(files, reading.files)) {
      // The stamp is taken before reading, so that a change in between is seen the next time; a file that turns out to
      // name other files is read once more, now that they are known.
      files = reading.files;
      stamp = stampOf(files);
      reading = readWebConfig(path);
    }
    this.#files = reading.files;
    this.#stamp = stamp;
    const { result, onPurpose } = reading;
    if ('faults' in result) {
      this.#result = result;
      if (this.#valid === undefined) return;
      const faults = result.faults.map(formatFault).join('; ');
      this.#warn(`The web configuration became invalid, requests are refused until it is corrected: ${faults}`);
      return;
    }
    const lost = this.#valid === undefined ? [] : lostProtection(this.#valid, result.config, onPurpose);
    if (this.#valid !== undefined && lost.length > 0) {
      this.#result = { config: this.#valid };
      this.#warn(`The web configuration is not used, the one before stays: ${path}: ${lost.join('; ')}`);
      return;
    }
    if (this.#valid !== undefined && this.#valid.tls === undefined && result.config.tls !== undefined) {
      this.#warn('tls_server_config was added to the web configuration: restart to put it into force.');
    }
    if (onPurpose.noUsers && this.#valid?.users.size !== 0) {
      this.#warn('basic_auth_users is empty in the web configuration: everybody is let in without a password.');
    }
    this.#valid = result.config;
    this.#result = result;
  }
}

function sameFiles(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((file, index) => file === b[index]);
}

function stampOf(files: readonly string[]): string {
  return files.map(stampOfFile).join(' ');
}

function stampOfFile(file: string): string {
  try {
    const { ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
    return [ino, size, mtimeNs, ctimeNs].join(':');
  } catch {
    return 'not there';
  }
}

/**
 * What a changed file would open to everybody, but not on purpose, each with what to write instead; empty where it opens
 * nothing. A file that is being written, or was cut off, looks like one from which users were removed.
 */
function lostProtection(before: WebConfig, after: WebConfig, onPurpose: OpenOnPurpose): string[] {
  const lost: string[] = [];
  if (before.tls !== undefined && after.tls === undefined) {
    lost.push('tls_server_config has gone: restart the exporter to serve plain HTTP');
  }
  if (before.users.size > 0 && after.users.size === 0 && !onPurpose.noUsers) {
    lost.push('basic_auth_users has gone: write "basic_auth_users: {}" to let everybody in without a password');
  }
  const asked = (before.tls?.clientAuth ?? 'NoClientCert') !== 'NoClientCert';
  if (asked && after.tls?.clientAuth === 'NoClientCert' && !onPurpose.noClientCertificates) {
    lost.push(
      'client_auth_type has gone: write "client_auth_type: NoClientCert" to let everybody in without a certificate',
    );
  }
  return lost;
}
