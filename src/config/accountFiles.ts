import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { AccountConfig } from './config.ts';
import type { Fault, Path } from './fault.ts';
import { fileProblem } from './fileProblem.ts';
import { readKey } from './keyFile.ts';

/** The files that accounts name and that cannot be used. */
export function accountFileFaults(
  accounts: readonly AccountConfig[],
  faultAt: (path: Path, message: string) => Fault,
): Fault[] {
  return accounts.flatMap((account, index) => {
    const faults: Fault[] = [];
    const key = readKey(account);
    if ('problem' in key) faults.push(faultAt(['accounts', index, 'api_key_file'], key.problem));
    const problem = account.tls.ca_file === undefined ? undefined : certificateProblem(account.tls.ca_file);
    if (problem !== undefined) faults.push(faultAt(['accounts', index, 'tls', 'ca_file'], problem));
    return faults;
  });
}

function certificateProblem(path: string): string | undefined {
  let pem: string;
  try {
    pem = readFileSync(path, 'latin1');
  } catch (error) {
    return `the file ${path} ${fileProblem(error)}`;
  }
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) return `the file ${path} holds no certificate in PEM form`;
  try {
    for (const block of blocks) new X509Certificate(block);
    return undefined;
  } catch {
    return `the file ${path} holds a certificate that cannot be read`;
  }
}
