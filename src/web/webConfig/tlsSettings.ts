import { X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { issue, mayBeSecret, type Issue } from '../../config/diagnostic.ts';
import { parseAuthorities } from '../../config/certificates.ts';
import { readFile } from '../../config/files.ts';
import { findPairProblem } from './keyPair.ts';
import { CIPHER_SUITES, CURVES, TLS13_CIPHER_SUITES, TLS_VERSIONS, type TlsSection } from './webConfigFile.ts';

/** Settings of a TLS server. A running server can change its `context`. */
export interface TlsSettings {
  readonly context: SecureContextOptions;
  /** Undefined without the key: clients need no certificate. A reload that removes the key is ignored. */
  readonly clientAuth: TlsSection['client_auth_type'];
  /** Empty: any subject alternative name is accepted. */
  readonly allowedSans: readonly string[];
}

export function asksForCertificate({ clientAuth }: TlsSettings): boolean {
  return clientAuth !== undefined && clientAuth !== 'NoClientCert';
}

const SECTION = 'tls_server_config';

type PemName = 'cert' | 'key' | 'client_ca';

/** Creates an issue of a text or of its file, whichever the section has. */
function createIssue(section: TlsSection, name: PemName, message: string): Issue {
  return issue([SECTION, section[name] === undefined ? `${name}_file` : name], message);
}

const toDay = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** Reads the files of `tls_server_config`, relative to `folder`, and checks that keys and files fit together. */
export function readTlsSettings(section: TlsSection, folder: string) {
  const issues = findContradictions(section);
  const files: string[] = [];
  const warnings: Issue[] = [];
  const result = { settings: undefined, issues, warnings, files, nextExpiry: Infinity };
  if (!usesTls(section)) return result;
  const read = (name: PemName): string | undefined => {
    const file = section[`${name}_file`];
    if (file === undefined) return section[name];
    if (section[name] !== undefined) issues.push(createIssue(section, name, `give ${name} or ${name}_file, not both`));
    const path = resolve(folder, file);
    files.push(path);
    const pem = readFile(path);
    if ('bytes' in pem) return pem.bytes.toString('utf8');
    // Hides a file name that may be a secret in the wrong place.
    issues.push(issue([SECTION, `${name}_file`], `${mayBeSecret(file) ? 'the file' : path} ${pem.problem}`));
    return undefined;
  };
  const [cert = '', key = '', authorities] = [read('cert'), read('key'), read('client_ca')];
  if (issues.length > 0) return result;
  const ca = authorities === undefined ? undefined : parseAuthorities(Buffer.from(authorities));
  const unusable = findPairProblem(cert, key);
  if (unusable !== undefined) issues.push(createIssue(section, unusable.name, unusable.message));
  if (ca !== undefined && 'problem' in ca) {
    issues.push(createIssue(section, 'client_ca', ca.problem));
    return result;
  }
  if (unusable !== undefined) return result;
  const context = createContextOptions(section, cert, key, ca?.pem);
  try {
    createSecureContext(context);
  } catch (error) {
    const message = `certificate and key cannot be used (${readErrorCode(error)})`;
    issues.push(createIssue(section, 'cert', message));
    return result;
  }
  const { validFrom, validTo } = new X509Certificate(cert);
  const [now, begin, end, caEnd] = [Date.now(), Date.parse(validFrom), Date.parse(validTo), ca?.expires ?? Infinity];
  const warn = (name: PemName, message: string): void => void warnings.push(createIssue(section, name, message));
  if (end < now) warn('cert', `expired on ${toDay(end)}, so that clients refuse it: renew the certificate`);
  if (begin > now) warn('cert', `is valid from ${toDay(begin)} only, so that clients refuse it until then`);
  if (caEnd < now) {
    warn('client_ca', `expired on ${toDay(caEnd)}, so that no client is let in: renew the authorities`);
  }
  const settings = { context, clientAuth: section.client_auth_type, allowedSans: section.client_allowed_sans };
  return { ...result, settings, nextExpiry: Math.min(...[end, caEnd].filter((time) => time >= now)) };
}

/** Without any of these keys, the exporter toolkit serves plain HTTP. */
const KEYS = ['cert', 'key', 'client_ca', 'cert_file', 'key_file', 'client_ca_file', 'client_auth_type'] as const;

function usesTls(section: TlsSection): boolean {
  return KEYS.some((key) => section[key] !== undefined);
}

const REQUIRING = ['RequireAndVerifyClientCert', 'RequireAnyClientCert', 'RequireClientCert'];

/** Finds contradictions within the section, without reading files. */
function findContradictions(section: TlsSection): Issue[] {
  const issues: Issue[] = [];
  const { client_auth_type: auth = 'NoClientCert', min_version: min, max_version: max } = section;
  for (const name of ['cert', 'key'] as const) {
    if (usesTls(section) && section[name] === undefined && section[`${name}_file`] === undefined) {
      issues.push(issue([SECTION], `needs ${name} or ${name}_file`, 'key'));
    }
  }
  if ((section.client_ca ?? section.client_ca_file) !== undefined && auth === 'NoClientCert') {
    const message = 'has no effect while client_auth_type is NoClientCert: set it to RequireAndVerifyClientCert';
    issues.push(createIssue(section, 'client_ca', message));
  }
  if (section.client_allowed_sans.length > 0 && !REQUIRING.includes(auth)) {
    const message =
      'needs client_auth_type RequireAndVerifyClientCert (or RequireAnyClientCert): without a certificate there is no name to match';
    issues.push(issue([SECTION, 'client_allowed_sans'], message));
  }
  if (min > max) issues.push(issue([SECTION, 'min_version'], `is above max_version (${max})`));
  return issues;
}

function createContextOptions(section: TlsSection, cert: string, key: string, ca: string | undefined) {
  const suites = section.cipher_suites.map((name) => CIPHER_SUITES[name]).filter((name) => name !== undefined);
  const curves = section.curve_preferences.map((name) => CURVES[name]).filter((name) => name !== undefined);
  return {
    ...{ cert, key, ca },
    minVersion: TLS_VERSIONS[section.min_version],
    maxVersion: TLS_VERSIONS[section.max_version],
    honorCipherOrder: section.prefer_server_cipher_suites,
    // Node disables TLS 1.3 if the list has only suites of TLS 1.2.
    ...(suites.length > 0 ? { ciphers: [...TLS13_CIPHER_SUITES, ...suites].join(':') } : {}),
    ...(curves.length > 0 ? { ecdhCurve: curves.join(':') } : {}),
  };
}

/** Returns a code such as ERR_OSSL_... OpenSSL's messages do not help an operator, and may quote a key. */
function readErrorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'not readable';
}
