import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { describe, expect, it } from 'vitest';
import { formatDiagnostic } from '../../src/config/diagnostic.ts';
import { readFrom } from '../../src/config/load.ts';
import { temporaryFolders } from './folder.ts';

const newFolder = temporaryFolders();

/** The faults of a configuration file of this content, with its path as `FILE` and its folder as `DIR`. */
async function faultsOf(content: string | Buffer, prepare?: (folder: string) => void): Promise<string[]> {
  const folder = newFolder();
  const file = join(folder, 'config.yaml');
  writeFileSync(file, content);
  prepare?.(folder);
  const result = await readFrom(file, {}, false);
  const faults = 'diagnostics' in result ? result.diagnostics.map(formatDiagnostic) : [];
  return faults.map((fault) => fault.replaceAll(file, 'FILE').replaceAll(folder, 'DIR'));
}

const KEY_FILE = 'accounts:\n  - api_key_file: key\n';
const CA_FILE = 'accounts:\n  - api_key: abcd\n    tls:\n      ca_file: ca.pem\n';
const notes = (name: string, text: string) => (folder: string) => {
  writeFileSync(join(folder, name), text);
};

describe('a configuration file', () => {
  it('is read with the environment', async () => {
    const file = join(newFolder(), 'config.yaml');
    writeFileSync(file, 'accounts: [{api_key: "${KEY}"}]\n');
    const config = { accounts: [{ api_key: 'abcd' }] };
    expect(await readFrom(file, { KEY: 'abcd' }, false)).toMatchObject({ config });
  });

  it('must exist, and be a file', async () => {
    const folder = newFolder();
    for (const [file, problem] of [
      [join(folder, 'none'), 'does not exist'],
      [folder, 'is a directory, not a file'],
    ] as const) {
      const place = { file, path: '' };
      const message = `the configuration file ${problem}`;
      expect(await readFrom(file, {}, false)).toEqual({ diagnostics: [{ ...place, message }] });
    }
  });

  it('must be UTF-8, with or without a byte order mark', async () => {
    const text = '\uFEFFaccounts: [{api_key: abcd, labels: {team: é}}]\n';
    expect(await faultsOf(text)).toEqual([]);
    const told = ['FILE: the configuration file is not UTF-8 text: save it as UTF-8'];
    expect(await faultsOf(Buffer.from(text.slice(1), 'latin1'))).toEqual(told);
    expect(await faultsOf(Buffer.from(text, 'utf16le'))).toEqual(told);
  });

  it.each<[string, ((folder: string) => void) | undefined, string]>([
    ['a missing key file', undefined, 'does not exist'],
    ['an empty key file', notes('key', ' \n'), 'is empty'],
    [
      'a key file with two lines',
      notes('key', 'S3CR3T\nS3CR3T\n'),
      'has a character that a key cannot have (a space, a line break or one beyond ASCII): check how it was copied',
    ],
    ['a key file that cannot be a key', notes('key', 'x'.repeat(16_385)), 'is larger than a key can be'],
  ])('is refused with %s', async (_what, prepare, problem) => {
    const fault = `FILE:2:19: accounts[0].api_key_file: the key file DIR/key ${problem}`;
    expect(await faultsOf(KEY_FILE, prepare)).toEqual([fault]);
    expect(await faultsOf(KEY_FILE, notes('key', ' abcd\n'))).toEqual([]);
  });

  it.each<[string, ((folder: string) => void) | undefined, string]>([
    ['a missing certificate', undefined, 'does not exist'],
    ['a certificate file without one', notes('ca.pem', 'hello'), 'holds no certificate in PEM form'],
    [
      'a broken certificate',
      notes('ca.pem', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'),
      'holds a certificate that cannot be read',
    ],
  ])('is refused with %s', async (_what, prepare, problem) => {
    const fault = `FILE:4:16: accounts[0].tls.ca_file: the file DIR/ca.pem ${problem}`;
    expect(await faultsOf(CA_FILE, prepare)).toEqual([fault]);
  });

  it('accepts only a readable certificate in the file of authorities', async () => {
    const { cert } = await generate([{ name: 'commonName', value: 'ca' }]);
    expect(await faultsOf(CA_FILE, notes('ca.pem', `a comment\n${cert}\n${cert}`))).toEqual([]);
    const broken = cert.replace(/^(.*\n.*\n).*\n/, '$1');
    expect(await faultsOf(CA_FILE, notes('ca.pem', `${cert}\n${broken}`))).toEqual([
      expect.stringMatching(/ca\.pem holds a certificate that cannot be read$/),
    ]);
  });
});
