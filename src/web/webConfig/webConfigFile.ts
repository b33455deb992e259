import * as z from 'zod';
import { validateHeaderValue } from 'node:http';
import { parseDuration } from '../../config/duration.ts';

/** OpenSSL's names of the cipher suites before TLS 1.3, by Go's names, which the file has. */
export const CIPHER_SUITES: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: 'ECDHE-ECDSA-AES128-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: 'ECDHE-RSA-AES128-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: 'ECDHE-ECDSA-AES256-SHA',
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: 'ECDHE-RSA-AES256-SHA',
  TLS_RSA_WITH_AES_128_GCM_SHA256: 'AES128-GCM-SHA256',
  TLS_RSA_WITH_AES_256_GCM_SHA384: 'AES256-GCM-SHA384',
  TLS_RSA_WITH_AES_128_CBC_SHA: 'AES128-SHA',
  TLS_RSA_WITH_AES_256_CBC_SHA: 'AES256-SHA',
};

/** Accepted among `cipher_suites` because Go lists them, but always on. */
export const TLS13_CIPHER_SUITES = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
] as const;

export const CURVES: Readonly<Record<string, string>> = {
  CurveP256: 'P-256',
  CurveP384: 'P-384',
  CurveP521: 'P-521',
  X25519: 'X25519',
};

/** Node's names of the TLS versions, by the names of the file, whose alphabetical order is that of age. */
export const TLS_VERSIONS = { TLS10: 'TLSv1', TLS11: 'TLSv1.1', TLS12: 'TLSv1.2', TLS13: 'TLSv1.3' } as const;

const CLIENT_AUTH_TYPES = [
  'NoClientCert',
  'RequestClientCert',
  'RequireClientCert',
  'RequireAnyClientCert',
  'VerifyClientCertIfGiven',
  'RequireAndVerifyClientCert',
] as const;

const BCRYPT_HASH = /^\$2[aby]\$(?:0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/;

const cipherSuite = z.enum([...Object.keys(CIPHER_SUITES), ...TLS13_CIPHER_SUITES]);
const tlsVersion = z.enum(['TLS10', 'TLS11', 'TLS12', 'TLS13']);
const curve = z.enum(Object.keys(CURVES));
const text = z.string().min(1, { error: 'must not be empty' });

const header = z.string().refine(isHeaderValue, { error: 'has a character that an HTTP header cannot carry' });

/** A header with one of these values; an empty value means that it is not set. */
const headerOf = (...allowed: string[]) =>
  header.refine((value) => value === '' || allowed.includes(value), { error: `must be ${allowed.join(' or ')}` });

function isHeaderValue(value: string): boolean {
  try {
    validateHeaderValue('x', value);
    return true;
  } catch {
    return false;
  }
}

const duration = z
  .unknown()
  .transform((value) => (typeof value === 'string' ? parseDuration(value) : value === 0 ? 0 : undefined))
  .refine((value) => value !== undefined, { error: 'must be a duration such as 1s or 500ms' });

const tlsSection = z.strictObject({
  cert: text.optional(),
  key: text.optional(),
  client_ca: text.optional(),
  cert_file: text.optional(),
  key_file: text.optional(),
  client_ca_file: text.optional(),
  client_auth_type: z.enum(CLIENT_AUTH_TYPES).optional(),
  client_allowed_sans: z.array(text).optional(),
  min_version: tlsVersion.default('TLS12'),
  max_version: tlsVersion.default('TLS13'),
  cipher_suites: z.array(cipherSuite).default([]),
  curve_preferences: z.array(curve).default([]),
  prefer_server_cipher_suites: z.boolean().default(true),
});

const headersSection = z.strictObject({
  'Strict-Transport-Security': header.optional(),
  'X-Content-Type-Options': headerOf('nosniff').optional(),
  'X-Frame-Options': headerOf('deny', 'sameorigin').optional(),
  'X-XSS-Protection': header.optional(),
  'Content-Security-Policy': header.optional(),
});

const httpSection = z.strictObject({
  http2: z.boolean().default(true),
  headers: headersSection.nullish(),
});

const userName = z.string().regex(/^[^:]+$/, { error: 'a user name is not empty and has no colon' });
const passwordHash = z.string().regex(BCRYPT_HASH, { error: 'must be a bcrypt hash such as `htpasswd -nB` prints' });

const rateLimitSection = z.strictObject({
  interval: duration.default(0),
  burst: z.int().min(0).default(0),
});

/** The keys of the file, exactly those of the exporter toolkit. An unknown one is an error. */
export const webConfigSchema = z.strictObject({
  tls_server_config: tlsSection.nullish(),
  http_server_config: httpSection.nullish(),
  basic_auth_users: z.record(userName, passwordHash).nullish(),
  rate_limit: rateLimitSection
    .refine(({ interval, burst }) => interval === 0 || burst > 0, {
      error: 'must be at least 1 where an interval is set, else every request would be refused',
      path: ['burst'],
    })
    .nullish(),
});

export type TlsSection = z.infer<typeof tlsSection>;

/** The TLS section of a file, without unknown keys; undefined if it is missing, or wrong in another way. */
export function tlsSectionOf(file: unknown): TlsSection | undefined {
  return z.object({ tls_server_config: tlsSection.strip() }).safeParse(file).data?.tls_server_config;
}
