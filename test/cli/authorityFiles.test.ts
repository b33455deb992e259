import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AccountLimiter } from '../../src/collect/schedule/limiter.ts';
import { systemClock } from '../../src/eventLoop/clock.ts';
import { openReader } from '../../src/cli/createReader.ts';
import { formatDiagnostic } from '../../src/config/diagnostic.ts';
import { readFrom, type ConfigResult } from '../../src/config/load.ts';
import { Secrets } from '../../src/log/secrets.ts';
import { authority, forLocalhost } from '../support/certificates.ts';
import { authorityForms, toDer, type AuthorityForm } from '../support/authorityForms.ts';
import { startReading } from '../api/support/reading.ts';
import { json, startServer } from '../api/support/testServer.ts';
import { temporaryFolders } from '../config/folder.ts';

const newFolder = temporaryFolders();
const ca = await authority();
const signed = await forLocalhost(ca);
const expired = await authority('expired', { expired: true });

/** Reads a configuration with a `ca_file` of this content, like `check`, `serve` and a reload. */
async function read(bytes: string | Buffer, origin: string): Promise<{ folder: string; result: ConfigResult }> {
  const folder = newFolder();
  writeFileSync(join(folder, 'ca.pem'), bytes);
  const lines = ['accounts:', '  - api: rest', '    api_key: abcd', `    base_url: ${origin}/v2`, '    tls:'];
  const path = join(folder, 'config.yaml');
  writeFileSync(path, [...lines, '      ca_file: ca.pem', ''].join('\n'));
  return { folder, result: await readFrom(path, {}, false) };
}

/** Calls a server whose certificate is signed by `ca`, like `serve`. */
async function call(bytes: string | Buffer): Promise<unknown> {
  const server = await startServer((response) => json(response, { applications: [] }), signed);
  onTestFinished(() => server.close());
  const { result } = await read(bytes, server.origin);
  if ('diagnostics' in result) return result.diagnostics.map(formatDiagnostic);
  const [account] = result.config.accounts;
  if (account === undefined) throw new Error('there is no account');
  const surroundings = {
    secrets: new Secrets(),
    environment: {},
    observer: () => SILENT,
    keyProblem: () => undefined,
  };
  const limiter = new AccountLimiter(account.limits, systemClock);
  const { reader } = openReader(account, result.config, surroundings, limiter);
  onTestFinished(() => reader.close());
  const { call: options } = startReading(`${server.origin}/v2`);
  return reader.listApplications({}, options).catch((error: unknown) => String(error));
}

const ignore = (): void => undefined;
const SILENT = {
  started: ignore,
  ended: ignore,
  failed: ignore,
  retried: ignore,
  split: ignore,
  leftOut: ignore,
  serviceMessage: ignore,
};

const FORMS: readonly AuthorityForm[] = [
  ...(await authorityForms(ca)),
  ['in DER form', toDer(ca), undefined],
  ['in UTF-16', Buffer.from(`\u{feff}${ca.cert}`, 'utf16le'), 'is UTF-16 text: save it as UTF-8'],
];

describe('a ca_file', () => {
  it.each(FORMS.filter(([, , problem]) => problem === undefined))(
    'is valid, and the exporter trusts it, %s',
    async (_, bytes) => {
      expect(await call(bytes)).toEqual([]);
    },
  );

  it.each(FORMS.filter(([, , problem]) => problem !== undefined))(
    'is refused with place and reason, %s',
    async (_, bytes, problem) => {
      const { folder, result } = await read(bytes, 'https://api.example');
      expect('diagnostics' in result && result.diagnostics.map(formatDiagnostic)).toEqual([
        `${folder}/config.yaml:6:16: accounts[0].tls.ca_file: the file ${folder}/ca.pem ${problem}`,
      ]);
    },
  );

  it('must not be a directory', async () => {
    const { folder } = await read('', 'https://api.example');
    mkdirSync(join(folder, 'folder'));
    const text = 'accounts: [{api_key: abcd, tls: {ca_file: folder}}]';
    writeFileSync(join(folder, 'config.yaml'), text);
    const result = await readFrom(join(folder, 'config.yaml'), {}, false);
    const faults = 'diagnostics' in result ? result.diagnostics.map(formatDiagnostic) : [];
    expect(faults).toEqual([
      expect.stringMatching(/config\.yaml:1:\d+: .*ca_file: .*folder is a directory, not a file$/),
    ]);
  });

  it.each([
    ['expired', expired.cert, true],
    ['expired beside a valid one', `${expired.cert}\n${ca.cert}`, false],
  ])('has a warning when it can verify nothing: %s', async (_, bytes, warns) => {
    const { result } = await read(bytes, 'https://api.example');
    const warnings = 'warnings' in result ? result.warnings.map(formatDiagnostic) : ['a fault'];
    expect(warnings).toEqual(
      warns ? [expect.stringMatching(/:6:16: .*ca_file: names authorities that expired on 2/)] : [],
    );
  });
});
