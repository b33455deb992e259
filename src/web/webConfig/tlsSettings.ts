import { resolve } from 'node:path';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { issue, mayBeSecret, type Issue } from '../../config/diagnostic.ts';
import { parseAuthorities } from '../../config/certificates.ts';
import { readFile } from '../../config/files.ts';
import { findPairProblem, findValidityProblem } from './keyPair.ts';
import { CIPHER_SUITES, CURVES, TLS13_CIPHER_SUITES, TLS_VERSIONS, type TlsSection } from './webConfigFile.ts';

/** Settings of a TLS server. A running server can change its `context`. */
export interface TlsSettings {
  readonly context: SecureContextOptions;
  /**
   * Undefined if the file does not have the key: clients need no certificate. A reload that removes the key is ignored.
   */
  readonly clientAuth: TlsSection['client_auth_type'];
  /** Undefined: any subject alternative name is accepted. */
  readonly allowedSans: readonly string[] | undefined;
}

export function asksForCertificate({ clientAuth }: TlsSettings): boolean {
  return clientAuth !== undefined && clientAuth !== 'NoClientCert';
}

const SECTION = 'tls_server_config';

function createIssue(key: keyof TlsSection, message: string): Issue {
  return issue([SECTION, key], message);
}

/** Reads the files of `tls_server_config`, relative to `folder`, and checks that keys and files fit together. */
export function readTlsSettings(section: TlsSection, folder: string) {
  const issues = findContradictions(section);
  const files: string[] = [];
  const warnings: Issue[] = [];
  if (!usesTls(section)) return { settings: undefined, issues, warnings, files };
  const read = (name: 'cert' | 'key' | 'client_ca'): string | undefined => {
    const file = section[`${name}_file`];
    if (file === undefined) return section[name];
    if (section[name] !== undefined) issues.push(createIssue(name, `give ${name} or ${name}_file, not both`));
    const path = resolve(folder, file);
    files.push(path);
    const pem = readFile(path);
    if ('bytes' in pem) return pem.bytes.toString('utf8');
    // Hides a file name that may be a secret in the wrong place.
    issues.push(createIssue(`${name}_file`, `${mayBeSecret(file) ? 'the file' : path} ${pem.problem}`));
    return undefined;
  };
  const pems = { cert: read('cert'), key: read('key'), ca: read('client_ca') };
  if (issues.length > 0) return { settings: undefined, issues, warnings, files };
  const authorities = pems.ca === undefined ? undefined : parseAuthorities(Buffer.from(pems.ca));
  if (authorities !== undefined && 'problem' in authorities) {
    issues.push(createIssue(keyOf(section, 'client_ca'), authorities.problem));
  }
  const ca = authorities !== undefined && 'pem' in authorities ? authorities.pem : undefined;
  if (authorities !== undefined && 'expires' in authorities && authorities.expires < Date.now()) {
    const day = new Date(authorities.expires).toISOString().slice(0, 10);
    warnings.push(
      createIssue(keyOf(section, 'client_ca'), `expired on ${day}, so that no client is let in: renew the authorities`),
    );
  }
  const { cert = '', key = '' } = pems;
  const unusable = findPairProblem(cert, key);
  if (unusable !== undefined) issues.push(createIssue(keyOf(section, unusable.name), unusable.message));
  const invalid = unusable === undefined ? findValidityProblem(cert, Date.now()) : undefined;
  if (invalid !== undefined) warnings.push(createIssue(keyOf(section, 'cert'), invalid));
  const context = createContextOptions(section, { cert, key, ca });
  try {
    if (unusable === undefined) createSecureContext(context);
  } catch (error) {
    issues.push(createIssue(keyOf(section, 'cert'), `certificate and key cannot be used (${readErrorCode(error)})`));
  }
  const settings = {
    context,
    clientAuth: section.client_auth_type,
    allowedSans: section.client_allowed_sans?.length ? section.client_allowed_sans : undefined,
  };
  return { settings: issues.length > 0 ? undefined : settings, issues, warnings, files };
}

/** False without certificate, key and client settings: the exporter toolkit then serves plain HTTP. */
function usesTls({ cert, key, client_ca, ...section }: TlsSection): boolean {
  const { cert_file, key_file, client_ca_file, client_auth_type } = section;
  return [cert, key, client_ca, cert_file, key_file, client_ca_file, client_auth_type].some(
    (value) => value !== undefined,
  );
}

/** Finds contradictions within the section, without reading files. */
function findContradictions(section: TlsSection): Issue[] {
  const issues: Issue[] = [];
  const auth = section.client_auth_type ?? 'NoClientCert';
  for (const name of ['cert', 'key'] as const) {
    if (usesTls(section) && section[name] === undefined && section[`${name}_file`] === undefined) {
      issues.push(issue([SECTION], `needs ${name} or ${name}_file`, 'key'));
    }
  }
  if ((section.client_ca ?? section.client_ca_file) !== undefined && auth === 'NoClientCert') {
    const message = 'has no effect while client_auth_type is NoClientCert: set it to RequireAndVerifyClientCert';
    issues.push(createIssue(keyOf(section, 'client_ca'), message));
  }
  const required =
    auth === 'RequireAndVerifyClientCert' || auth === 'RequireAnyClientCert' || auth === 'RequireClientCert';
  if ((section.client_allowed_sans ?? []).length > 0 && !required) {
    const message =
      'needs client_auth_type RequireAndVerifyClientCert (or RequireAnyClientCert): without a certificate there is no name to match';
    issues.push(createIssue('client_allowed_sans', message));
  }
  const { min, max } = versionsOf(section);
  if (min > max) {
    issues.push(createIssue('min_version', `is above max_version (${max})`));
  }
  return issues;
}

function versionsOf({ min_version, max_version }: TlsSection) {
  return { min: min_version ?? 'TLS12', max: max_version ?? 'TLS13' } as const;
}

function createContextOptions(
  section: TlsSection,
  pems: { cert: string | undefined; key: string | undefined; ca: string | undefined },
): SecureContextOptions {
  const suites = (section.cipher_suites ?? []).map((name) => CIPHER_SUITES[name]).filter((name) => name !== undefined);
  const curves = (section.curve_preferences ?? []).map((name) => CURVES[name]).filter((name) => name !== undefined);
  return {
    cert: pems.cert,
    key: pems.key,
    ca: pems.ca,
    minVersion: TLS_VERSIONS[versionsOf(section).min],
    maxVersion: TLS_VERSIONS[versionsOf(section).max],
    honorCipherOrder: section.prefer_server_cipher_suites ?? false,
    // Node disables TLS 1.3 if the list has only suites of TLS 1.2.
    ...(suites.length > 0 ? { ciphers: [...TLS13_CIPHER_SUITES, ...suites].join(':') } : {}),
    ...(curves.length > 0 ? { ecdhCurve: curves.join(':') } : {}),
  };
}

function keyOf(section: TlsSection, name: 'cert' | 'key' | 'client_ca'): keyof TlsSection {
  return section[name] === undefined ? `${name}_file` : name;
}

/** Returns a code such as ERR_OSSL_... OpenSSL's messages do not help an operator, and may quote a key. */
function readErrorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'not readable';
}
