import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Path } from './fault.ts';
import { fileProblem } from './fileProblem.ts';
import { mayBeSecret } from './hidden.ts';
import type { Issue } from './issues.ts';
import { keyFileProblem } from './keyFile.ts';
import { accountsOf, issue, mappingOf } from './schema/rules.ts';

/**
 * The files that the accounts of a configuration name and that cannot be used. It reads the values as they stand in
 * the file, valid or not, so that these faults are told together with all others. A file whose name may be a key is
 * not named: `api_key_file: NRAK-...` is a common slip.
 */
export function accountFileIssues(file: unknown, folder: string): Issue[] {
  return accountsOf(file).flatMap((account, index) => {
    const path = ['accounts', index];
    return [
      ...problemOf([...path, 'api_key_file'], account?.['api_key_file'], folder, 'the key file', keyFileProblem),
      ...problemOf(
        [...path, 'tls', 'ca_file'],
        mappingOf(account?.['tls'])?.['ca_file'],
        folder,
        'the file',
        certificateProblem,
      ),
    ];
  });
}

function problemOf(
  path: Path,
  name: unknown,
  folder: string,
  what: string,
  check: (path: string) => string | undefined,
): Issue[] {
  if (typeof name !== 'string' || name === '') return [];
  const location = resolve(folder, name);
  const problem = check(location);
  if (problem === undefined) return [];
  return [issue(path, mayBeSecret(name) ? `${what} ${problem}` : `${what} ${location} ${problem}`)];
}

function certificateProblem(path: string): string | undefined {
  let pem: string;
  try {
    pem = readFileSync(path, 'latin1');
  } catch (error) {
    return fileProblem(error);
  }
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) return 'holds no certificate in PEM form';
  try {
    for (const block of blocks) new X509Certificate(block);
    return undefined;
  } catch {
    return 'holds a certificate that cannot be read';
  }
}
