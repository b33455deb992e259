import { X509Certificate } from 'node:crypto';

const BEGIN = '-----BEGIN CERTIFICATE-----';
const END = '-----END CERTIFICATE-----';

/** The reason why a text cannot name certificate authorities, as the end of a sentence; undefined when it can. */
export function certificateProblem(pem: string): string | undefined {
  const blocks = pem
    .split(END)
    .slice(0, -1)
    .flatMap((text) => (text.includes(BEGIN) ? text.slice(text.lastIndexOf(BEGIN)) : []));
  if (blocks.length === 0) return 'holds no certificate in PEM form';
  try {
    for (const block of blocks) new X509Certificate(`${block}${END}`);
    return undefined;
  } catch {
    return 'holds a certificate that cannot be read';
  }
}
