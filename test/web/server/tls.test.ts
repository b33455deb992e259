import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type PeerCertificate } from 'node:tls';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Agent } from 'undici';
import { temporaryFolders } from '../../config/folder.ts';
import { serve, testApp, type RunningServers } from '../support/app.ts';
import { authority, certificate, LOCALHOST, type KeyPair } from '../../support/certificates.ts';
import { get } from '../support/http.ts';
import { sendRaw } from '../support/raw.ts';

let ca: KeyPair;
let otherCa: KeyPair;
let server: KeyPair;
let newServer: KeyPair;
let client: KeyPair;
let stranger: KeyPair;
const newFolder = temporaryFolders();
let folder: string;
let file: string;

beforeAll(async () => {
  [ca, otherCa] = await Promise.all([authority('ours'), authority('theirs')]);
  [server, newServer, client, stranger] = await Promise.all([
    certificate('server', LOCALHOST, ca),
    certificate('renewed', LOCALHOST, ca),
    certificate('prometheus', [{ type: 2, value: 'prometheus.example' }], ca),
    certificate('stranger', [{ type: 2, value: 'prometheus.example' }], otherCa),
  ]);
});

beforeEach(() => {
  folder = newFolder();
  file = join(folder, 'web.yaml');
  writeFileSync(join(folder, 'server.crt'), server.cert);
  writeFileSync(join(folder, 'server.key'), server.key);
  writeFileSync(join(folder, 'ca.crt'), ca.cert);
});

const SERVER = 'tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n';
const MUTUAL = `${SERVER}  client_ca_file: ca.crt\n  client_auth_type: RequireAndVerifyClientCert\n`;
const block = (pem: string) => `|\n${pem.trim().replaceAll(/^/gm, '    ')}\n`;

async function start(config: string): Promise<RunningServers> {
  writeFileSync(file, config);
  return await serve(testApp().app, { webConfigFile: file });
}

/** The status of a request over a new connection, or `refused` where there is none. */
async function ask(servers: RunningServers, pair?: KeyPair, path = '/-/healthy'): Promise<number | 'refused'> {
  const agent = new Agent({ connect: { ca: ca.cert, ...pair } });
  try {
    return (await get(`${servers.origin}${path}`, { agent })).status;
  } catch {
    return 'refused';
  } finally {
    await agent.close();
  }
}

/** What a handshake ends in: the protocol, the cipher and the name of the server's certificate. */
async function handshake(
  { port }: RunningServers,
  options: object = {},
): Promise<{ protocol: string | null; cipher: string; name: string } | 'refused'> {
  return await new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, ca: ca.cert, ...options }, () => {
      const peer: PeerCertificate = socket.getPeerCertificate();
      resolve({ protocol: socket.getProtocol(), cipher: socket.getCipher().name, name: String(peer.subject.CN) });
      socket.end();
    });
    socket.on('error', () => resolve('refused'));
  });
}

describe('tls_server_config', () => {
  test('finds certificate files relative to the configuration’s folder', async () => {
    const servers = await start(SERVER);
    expect(servers.scheme).toBe('https');
    expect(await ask(servers)).toBe(200);
    expect(await handshake(servers)).toMatchObject({ protocol: 'TLSv1.3', name: 'server' });
  });

  test('accepts certificate, key and authority of clients written in the file', async () => {
    const pems = `  cert: ${block(server.cert)}  key: ${block(server.key)}  client_ca: ${block(ca.cert)}`;
    const servers = await start(`tls_server_config:\n${pems}  client_auth_type: RequireAndVerifyClientCert\n`);
    expect([await ask(servers), await ask(servers, client)]).toEqual(['refused', 200]);
  });

  const OLD = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' };
  const TLS12 = { maxVersion: 'TLSv1.2' };
  const [AES128, AES256] = ['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-AES256-GCM-SHA384'];
  const ONE = 'cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]';
  const TWO = 'cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]';
  const WISH = { ...TLS12, ciphers: `${AES128}:${AES256}` };

  test.each<[rule: string, lines: string, options: object, result: object | 'refused']>([
    ['offers TLS 1.2', '', TLS12, { protocol: 'TLSv1.2' }],
    ['offers nothing older than TLS 1.2', '', OLD, 'refused'],
    ['refuses protocols below min_version', 'min_version: TLS13', TLS12, 'refused'],
    ['refuses protocols above max_version', 'max_version: TLS12', {}, { protocol: 'TLSv1.2' }],
    ['uses the cipher_suites of the file for TLS 1.2', ONE, TLS12, { cipher: AES256 }],
    ['refuses ciphers of TLS 1.2 outside cipher_suites', ONE, { ...TLS12, ciphers: AES128 }, 'refused'],
    ['offers TLS 1.3 also with cipher_suites', ONE, {}, { protocol: 'TLSv1.3' }],
    ['accepts a curve of curve_preferences', 'curve_preferences: [CurveP384]', { ecdhCurve: 'P-384' }, {}],
    ['refuses a curve outside curve_preferences', 'curve_preferences: [CurveP384]', { ecdhCurve: 'P-256' }, 'refused'],
    ['prefers the order of cipher_suites', TWO, WISH, { cipher: AES256 }],
    [
      'prefers the order of the client without prefer_server_cipher_suites',
      `${TWO}\n  prefer_server_cipher_suites: false`,
      WISH,
      { cipher: AES128 },
    ],
  ])('%s', async (_, lines, options, result) => {
    const ended = await handshake(await start(`${SERVER}  ${lines}\n`), options);
    expect(ended).toEqual(result === 'refused' ? result : expect.objectContaining(result));
  });

  test('makes service discovery name https to a scraper over TLS', async () => {
    const servers = await start(SERVER);
    const agent = new Agent({ connect: { ca: ca.cert } });
    const got = await get(`${servers.origin}/sd`, { agent });
    await agent.close();
    expect(JSON.parse(got.text)).toMatchObject([{ labels: { __scheme__: 'https' } }]);
  });
});

describe('client_auth_type', () => {
  const withCa = (type: string, more = '') => `${SERVER}  client_ca_file: ca.crt\n  client_auth_type: ${type}\n${more}`;

  test.each([
    ['RequestClientCert', 200, 200, 200],
    ['RequireAnyClientCert', 'refused', 200, 200],
    ['RequireClientCert', 'refused', 200, 200],
    ['VerifyClientCertIfGiven', 200, 'refused', 200],
    ['RequireAndVerifyClientCert', 'refused', 'refused', 200],
  ])('%s: without a certificate %s, with a stranger’s %s, with ours %s', async (type, none, strange, ours) => {
    const servers = await start(withCa(type));
    expect([await ask(servers), await ask(servers, stranger), await ask(servers, client)]).toEqual([
      none,
      strange,
      ours,
    ]);
  });

  test('logs one line for many refusals of a client', async () => {
    const servers = await start(MUTUAL);
    for (let round = 0; round < 5; round += 1) expect(await ask(servers, stranger)).toBe('refused');
    expect(servers.warnings).toEqual([
      expect.stringMatching(/^Refused a client at 127\.0\.0\.1: its certificate cannot be verified/),
    ]);
  });

  test('warns of verification without a client_ca_file', async () => {
    const servers = await start(`${SERVER}  client_auth_type: RequireAndVerifyClientCert\n`);
    expect(servers.warnings).toEqual([expect.stringContaining('client_ca_file is missing')]);
  });

  test.each([
    ['RequireAndVerifyClientCert', '[other.example, prometheus.example]', 200],
    ['RequireAndVerifyClientCert', '[example, PROMETHEUS.example]', 'refused'],
    ['RequireAnyClientCert', '[prometheus.example]', 200],
    ['RequireClientCert', '[prometheus.example]', 200],
  ])('%s accepts only names in client_allowed_sans: with %s ours gets %s', async (type, sans, ours) => {
    const servers = await start(withCa(type, `  client_allowed_sans: ${sans}\n`));
    expect([await ask(servers), await ask(servers, client)]).toEqual(['refused', ours]);
  });
});

describe('without a restart', () => {
  test('the next connection gets a new certificate', async () => {
    const servers = await start(SERVER);
    expect(await handshake(servers)).toMatchObject({ name: 'server' });
    writeFileSync(join(folder, 'server.crt'), newServer.cert);
    writeFileSync(join(folder, 'server.key'), newServer.key);
    expect(await handshake(servers)).toMatchObject({ name: 'renewed' });
  });

  test('the next connection is verified by a new client authority', async () => {
    const servers = await start(MUTUAL);
    expect([await ask(servers, client), await ask(servers, stranger)]).toEqual([200, 'refused']);
    writeFileSync(join(folder, 'ca.crt'), otherCa.cert);
    expect([await ask(servers, client), await ask(servers, stranger)]).toEqual(['refused', 200]);
  });

  test('new connections get only health and readiness while the file is invalid', async () => {
    const servers = await start(SERVER);
    writeFileSync(file, `${SERVER}nonsense: true\n`);
    const agent = new Agent({ connect: { ca: ca.cert } });
    expect((await get(`${servers.origin}/metrics`, { agent })).status).toBe(500);
    expect((await get(`${servers.origin}/-/healthy`, { agent })).status).toBe(200);
    expect(servers.warnings.join()).toContain('nonsense');
    writeFileSync(file, SERVER);
    expect((await get(`${servers.origin}/metrics`, { agent })).status).toBe(200);
    await agent.close();
  });

  test('a required client certificate stays required while the file is invalid', async () => {
    const servers = await start(MUTUAL);
    writeFileSync(file, `${MUTUAL}nonsense: true\n`);
    expect([await ask(servers), await ask(servers, client)]).toEqual(['refused', 200]);
  });

  test('plain HTTP gets a sentence and a closed connection', async () => {
    const servers = await start(SERVER);
    const { text, timedOut } = await sendRaw(servers.port, 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(timedOut).toBe(false);
    expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n[^]*\r\n\r\nThis port speaks HTTPS: use https:/);
    expect((await sendRaw(servers.port, Buffer.from('16030100ff010000fb0303', 'hex'), 200)).text).toBe('');
  });

  test.each(['', 'basic_auth_users:\n'])('TLS that disappears from the file stays in force: %j', async (text) => {
    const servers = await start(SERVER);
    writeFileSync(file, text);
    expect(await ask(servers)).toBe(200);
    expect(servers.warnings).toEqual([expect.stringContaining('tls_server_config is missing')]);
  });

  test('a client authority that disappears from the file stays in force, unless the file switches it off', async () => {
    const servers = await start(MUTUAL);
    writeFileSync(file, SERVER);
    expect([await ask(servers), await ask(servers, client)]).toEqual(['refused', 200]);
    expect(servers.warnings[0]).toContain('write "client_auth_type: NoClientCert"');
    writeFileSync(file, `${SERVER}  client_auth_type: NoClientCert\n`);
    expect(await ask(servers)).toBe(200);
  });

  test('TLS that is added later needs a restart, with a line in the log', async () => {
    const servers = await start('basic_auth_users: {}\n');
    writeFileSync(file, SERVER);
    expect((await get(`${servers.origin}/-/healthy`)).status).toBe(200);
    expect(servers.warnings.at(-1)).toContain('restart');
  });

  test('asking for client certificates only later needs a restart, and lets nobody in until then', async () => {
    const servers = await start(SERVER);
    writeFileSync(file, MUTUAL);
    expect(await ask(servers, client)).toBe('refused');
    expect(servers.warnings.join()).toContain('restart');
  });
});
