import { createPrivateKey, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent } from 'undici';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { formatDiagnostic } from '../../../src/config/diagnostic.ts';
import { loadWebConfig, WebConfigStore } from '../../../src/web/webConfig/webConfig.ts';
import { temporaryFolders } from '../../config/folder.ts';
import { authorityForms, toDer } from '../../support/authorityForms.ts';
import { authority, certificate, LOCALHOST, type KeyPair } from '../../support/certificates.ts';
import { serve, testApp } from '../support/app.ts';
import { get } from '../support/http.ts';

const newFolder = temporaryFolders();
const ca = await authority('ours', { keyType: 'rsa' });
const [pair, client] = await Promise.all([certificate('server', LOCALHOST, ca), certificate('client', LOCALHOST, ca)]);
const [cert, key, caCert] = [pair.cert, pair.key, ca.cert].map((pem) => `${pem.trim()}\n`) as [string, string, string];
const privateKey = createPrivateKey(key);
const ec = await certificate('server', LOCALHOST);
const ecKey = createPrivateKey(ec.key).export({ type: 'sec1', format: 'pem' });
/** The name of the curve P-256, as `openssl ecparam -genkey` writes it before the key. */
const EC_PARAMETERS = '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n';

type Files = Readonly<Record<'server.crt' | 'server.key' | 'ca.crt', string | Buffer>>;

const LINES = ['cert_file: server.crt', 'key_file: server.key', 'client_ca_file: ca.crt'];

function write(files: Partial<Files>): string {
  const folder = newFolder();
  const all = { 'server.crt': cert, 'server.key': key, 'ca.crt': caCert, ...files };
  for (const [name, bytes] of Object.entries(all)) writeFileSync(join(folder, name), bytes);
  const lines = [...LINES, 'client_auth_type: RequireAndVerifyClientCert'].map((line) => `  ${line}\n`);
  const path = join(folder, 'web.yaml');
  writeFileSync(path, `tls_server_config:\n${lines.join('')}`);
  return path;
}

/** The faults of `check`, without the folder; none where the files are valid. */
function check(files: Partial<Files>): string[] {
  const result = loadWebConfig(write(files));
  return 'diagnostics' in result
    ? result.diagnostics.map((each) => formatDiagnostic(each).replace(/^.*?web\.yaml:/, ''))
    : [];
}

/** The status that a client with a certificate gets from `serve`. */
async function ask(files: Partial<Files>, identity: KeyPair = client): Promise<number> {
  const servers = await serve(testApp().app, { webConfigFile: write(files) });
  const agent = new Agent({ connect: { ca: [ca.cert, ec.cert], ...identity } });
  try {
    return (await get(`${servers.origin}/-/healthy`, { agent })).status;
  } finally {
    await agent.close();
  }
}

describe('cert_file and key_file', () => {
  it.each<[string, Partial<Files>]>([
    ['the certificate alone', {}],
    ['the certificate, then its chain', { 'server.crt': cert + caCert }],
    ['text around certificate and key', { 'server.crt': `subject=x\n${cert}end\n`, 'server.key': `Bag\n${key}end` }],
    [
      'line ends of Windows',
      { 'server.crt': cert.replaceAll('\n', '\r\n'), 'server.key': key.replaceAll('\n', '\r\n') },
    ],
    [
      'byte order marks before certificate and key',
      { 'server.crt': `\u{feff}${cert}`, 'server.key': `\u{feff}${key}` },
    ],
    ['certificate and key in one file', { 'server.crt': key + cert, 'server.key': cert + key }],
    ['a key of PKCS#1', { 'server.key': privateKey.export({ type: 'pkcs1', format: 'pem' }) }],
    ['a key of PKCS#8', { 'server.key': privateKey.export({ type: 'pkcs8', format: 'pem' }) }],
    ['an EC key', { 'server.crt': ec.cert, 'server.key': ecKey }],
    ['an EC key after its curve', { 'server.crt': ec.cert, 'server.key': EC_PARAMETERS + String(ecKey) }],
    ['the key, then another key', { 'server.key': key + ca.key }],
  ])('pass check and serve requests: %s', async (_, files) => {
    expect(check(files)).toEqual([]);
    expect(await ask(files)).toBe(200);
  });

  const CERT = '2:14: tls_server_config.cert_file';
  const KEY = '3:13: tls_server_config.key_file';
  const encrypted = { cipher: 'aes-256-cbc', passphrase: 'secret', format: 'pem' } as const;
  const JOINED = 'has an END and a BEGIN on one line: put a line break between them';
  const ENCRYPTED = `${KEY}: is encrypted: store it without a password (openssl pkey)`;
  it.each<[string, Partial<Files>, string]>([
    [
      'the chain before the certificate',
      { 'server.crt': caCert + cert },
      `${CERT}: begins with another certificate than that of the key: put the one of the key first`,
    ],
    [
      'two certificates without a line break between them',
      { 'server.crt': cert.trim() + caCert },
      `${CERT}: ${JOINED}`,
    ],
    ['a certificate in DER form', { 'server.crt': toDer(pair) }, `${CERT}: is no PEM text in UTF-8: convert it`],
    [
      'a certificate in UTF-16',
      { 'server.crt': Buffer.from(cert, 'utf16le') },
      `${CERT}: is no PEM text in UTF-8: convert it`,
    ],
    ['an empty certificate', { 'server.crt': '' }, `${CERT}: is empty`],
    ['a key in place of the certificate', { 'server.crt': key }, `${CERT}: holds no certificate in PEM form`],
    [
      'a broken certificate',
      { 'server.crt': cert.replace(/\n.{20}/, '\n!!!!') },
      `${CERT}: holds a certificate that cannot be read`,
    ],
    [
      'a broken chain',
      { 'server.crt': cert + caCert.replace(/\n.{20}/, '\n!!!!') },
      `${CERT}: holds a certificate that cannot be read`,
    ],
    ['an encrypted key', { 'server.key': privateKey.export({ type: 'pkcs8', ...encrypted }) }, ENCRYPTED],
    ['an encrypted key of PKCS#1', { 'server.key': privateKey.export({ type: 'pkcs1', ...encrypted }) }, ENCRYPTED],
    [
      'a key in DER form',
      { 'server.key': privateKey.export({ type: 'pkcs8', format: 'der' }) },
      `${KEY}: is no PEM text in UTF-8: convert it`,
    ],
    ['an empty key', { 'server.key': '\n' }, `${KEY}: is empty`],
    ['a certificate in place of the key', { 'server.key': cert }, `${KEY}: holds no private key in PEM form`],
    [
      'a broken key',
      { 'server.key': key.replace(/\n.{20}/, '\n!!!!') },
      `${KEY}: holds a private key that cannot be read`,
    ],
    ['a key cut off', { 'server.key': key.slice(0, -60) }, `${KEY}: holds a private key that cannot be read`],
    ["another certificate's key", { 'server.key': ca.key }, `${KEY}: is not the key of the certificate`],
    ['a key of another kind', { 'server.key': ecKey }, `${KEY}: is not the key of the certificate`],
  ])('are refused by check and serve with the reason: %s', async (_, files, fault) => {
    expect(check(files)).toEqual([fault]);
    await expect(ask(files)).rejects.toThrow('The web configuration is invalid.');
  });
});

describe('certificates outside their time', async () => {
  const expired = await authority('expired', { expired: true });
  const early = await authority('early', { early: true });
  const end = (pem: string) => new X509Certificate(pem).validTo;
  const serverFiles = ({ cert, key }: KeyPair): Partial<Files> => ({ 'server.crt': cert, 'server.key': key });

  it.each<[string, Partial<Files>, RegExp | undefined]>([
    ['a valid certificate', {}, undefined],
    [
      'an expired certificate',
      serverFiles(expired),
      /cert_file: expired on \d{4}-\d\d-\d\d, so that clients refuse it/,
    ],
    ['a certificate of tomorrow', serverFiles(early), /cert_file: is valid from \d{4}-\d\d-\d\d only/],
    [
      'an expired client_ca_file',
      { 'ca.crt': expired.cert },
      /client_ca_file: expired on .* so that no client is let in/,
    ],
  ])('%s is valid; check and the log warn of what clients will refuse', (_, files, warning) => {
    const path = write(files);
    const result = loadWebConfig(path);
    const warnings = 'warnings' in result ? result.warnings.map(formatDiagnostic) : undefined;
    const logged: string[] = [];
    new WebConfigStore(path, (message) => logged.push(message)).current();
    for (const texts of [warnings, logged]) {
      if (warning === undefined) expect(texts).toEqual([]);
      else expect(texts).toEqual([expect.stringMatching(warning)]);
    }
  });

  it.each<[string, RegExp, number]>([
    ['cert_file', /cert_file: expired on \d{4}-\d\d-\d\d, so that clients refuse it/, Date.parse(end(cert)) + 1],
    ['client_ca_file', /client_ca_file: expired on .* so that no client is let in/, Date.parse(end(caCert)) + 1],
  ])('the log warns once of a %s that expires while the exporter runs', (_, warning, expired) => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const logged: string[] = [];
    const store = new WebConfigStore(write({}), (message) => logged.push(message));
    store.current();
    expect(logged).toEqual([]);
    vi.setSystemTime(expired);
    store.current();
    const told = [...logged];
    store.current();
    expect(told).toContainEqual(expect.stringMatching(warning));
    expect(logged).toEqual(told);
  });
});

describe('a client_ca_file', async () => {
  const forms = await authorityForms(ca);
  it.each(forms.filter(([, , problem]) => problem === undefined))(
    'passes check and lets its clients in: %s',
    async (_, bytes) => {
      expect(check({ 'ca.crt': bytes })).toEqual([]);
      expect(await ask({ 'ca.crt': bytes })).toBe(200);
    },
  );

  it.each(forms.filter(([, , problem]) => problem !== undefined))(
    'is refused by check and serve with the reason: %s',
    async (_, bytes, problem) => {
      expect(check({ 'ca.crt': bytes })).toEqual([`4:19: tls_server_config.client_ca_file: ${problem}`]);
      await expect(ask({ 'ca.crt': bytes })).rejects.toThrow('The web configuration is invalid.');
    },
  );
});
