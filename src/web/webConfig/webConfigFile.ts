import * as z from 'zod';
import { parseGoDuration } from './goYaml.ts';

/** OpenSSL names of the cipher suites before TLS 1.3, by the Go names in the file. */
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

/** `cipher_suites` may list these, as in Go, but they are always on. */
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

/** Node's TLS versions, by the names in the file. Alphabetical order of the names is order of age. */
export const TLS_VERSIONS = { TLS10: 'TLSv1', TLS11: 'TLSv1.1', TLS12: 'TLSv1.2', TLS13: 'TLSv1.3' } as const;

const CLIENT_AUTH_TYPES = [
  'NoClientCert',
  'RequestClientCert',
  'RequireClientCert',
  'RequireAnyClientCert',
  'VerifyClientCertIfGiven',
  'RequireAndVerifyClientCert',
] as const;

/** A bcrypt hash of any revision, with the line end of a YAML block. Go treats all revisions alike. */
const BCRYPT_HASH = /^\$2[^$]?(\$(?:0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53})\s*$/;
/** Revisions that the bcrypt library supports. */
const KNOWN_REVISION = /^\$2[aby]\$/;

/** A value that null or an empty text leaves unset, as in Go. */
const optional = <T extends z.ZodType>(schema: T) =>
  z.preprocess((value) => (value === null || value === '' ? undefined : value), schema.optional());

/** A value that null leaves at its default, as in Go. */
const withDefault = <T extends z.ZodType>(schema: T, byDefault: z.infer<T>) =>
  schema.nullish().transform((value) => value ?? byDefault);

const cipherSuite = z.enum([...Object.keys(CIPHER_SUITES), ...TLS13_CIPHER_SUITES]);
const tlsVersion = z.enum(['TLS10', 'TLS11', 'TLS12', 'TLS13']);
const curve = z.enum(Object.keys(CURVES));
const text = z.string().min(1, { error: 'must not be empty' });

/** A character that a value of a header cannot have (RFC 9110, 5.5). */
const NO_HEADER = /[^\t\x20-\x7e\x80-\xff]/;

/** Replaces line ends by spaces, and trims the value, as Go does. */
const freeHeader = optional(
  z
    .string()
    .transform((value) => value.replaceAll(/[\r\n]/g, ' ').trim())
    .refine((value) => !NO_HEADER.test(value), { error: 'has a character that an HTTP header cannot carry' }),
);

const duration = z
  .unknown()
  .transform((value) => (typeof value === 'string' ? parseGoDuration(value) : (value ?? 0) === 0 ? 0 : undefined))
  .refine((value) => value !== undefined && value >= 0, { error: 'must be a duration such as 1s or 500ms' });

const tlsSection = z.strictObject({
  cert: optional(text),
  key: optional(text),
  client_ca: optional(text),
  cert_file: optional(text),
  key_file: optional(text),
  client_ca_file: optional(text),
  client_auth_type: optional(z.enum(CLIENT_AUTH_TYPES)),
  client_allowed_sans: withDefault(z.array(text), []),
  min_version: withDefault(tlsVersion, 'TLS12'),
  max_version: withDefault(tlsVersion, 'TLS13'),
  cipher_suites: withDefault(z.array(cipherSuite), []),
  curve_preferences: withDefault(z.array(curve), []),
  prefer_server_cipher_suites: withDefault(z.boolean(), true),
});

const headersSection = z.strictObject({
  'Strict-Transport-Security': freeHeader,
  'X-Content-Type-Options': z.enum(['nosniff']).optional(),
  'X-Frame-Options': z.enum(['deny', 'sameorigin']).optional(),
  'X-XSS-Protection': freeHeader,
  'Content-Security-Policy': freeHeader,
});

const httpSection = z.strictObject({
  http2: withDefault(z.boolean(), true),
  headers: headersSection.nullish(),
});

const userName = z.string().regex(/^[^:]+$/, { error: 'a user name is not empty and has no colon' });
const passwordHash = z
  .string()
  .regex(BCRYPT_HASH, { error: 'must be a bcrypt hash such as `htpasswd -nB` prints' })
  .transform((hash) => (KNOWN_REVISION.test(hash) ? hash.trimEnd() : hash.replace(BCRYPT_HASH, '$$2b$1')));

const rateLimitSection = z.strictObject({
  interval: duration.default(0),
  // Go truncates decimals.
  burst: withDefault(z.number().min(0).max(Number.MAX_SAFE_INTEGER), 0).transform(Math.trunc),
});

/** The keys of the exporter toolkit. An unknown key is an error. */
export const webConfigSchema = z
  .strictObject({
    tls_server_config: tlsSection.nullish(),
    http_server_config: httpSection.nullish(),
    basic_auth_users: z.record(userName, passwordHash).nullish(),
    rate_limit: rateLimitSection
      .refine(({ interval, burst }) => interval === 0 || burst > 0, {
        error: 'must be at least 1 where an interval is set, else every request would be refused',
        path: ['burst'],
      })
      .nullish(),
  })
  .nullable();

export type TlsSection = z.infer<typeof tlsSection>;

/** Parses the TLS section of a file, without unknown keys. Returns undefined if it is missing or invalid. */
export function parseTlsSection(file: unknown): TlsSection | undefined {
  return z.object({ tls_server_config: tlsSection.strip() }).safeParse(file).data?.tls_server_config;
}
