import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';

const JOINED = /-----[^\S\n]*-----BEGIN /;
const CERTIFICATE = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[^-]*-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g;

/** Returns why PEM certificates and a key do not fit together, as the end of a sentence that never quotes them. */
export function findPairProblem(cert: string, key: string): { name: 'cert' | 'key'; message: string } | undefined {
  for (const [name, text] of Object.entries({ cert, key }) as ['cert' | 'key', string][]) {
    if (text.trim() === '') return { name, message: 'is empty' };
    if (text.includes('\0')) return { name, message: 'is no PEM text in UTF-8: convert it' };
    if (JOINED.test(text))
      return { name, message: 'has an END and a BEGIN on one line: put a line break between them' };
  }
  const [first, ...others] = cert.match(CERTIFICATE) ?? [];
  if (first === undefined) return { name: 'cert', message: 'holds no certificate in PEM form' };
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(key)) {
    return { name: 'key', message: 'holds no private key in PEM form' };
  }
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type:.*ENCRYPTED/m.test(key)) {
    return { name: 'key', message: 'is encrypted: store it without a password (openssl pkey)' };
  }
  const privateKey = parse(() => createPrivateKey(key));
  if (privateKey === undefined) return { name: 'key', message: 'holds a private key that cannot be read' };
  if (![first, ...others].every((pem) => parse(() => new X509Certificate(pem)) !== undefined)) {
    return { name: 'cert', message: 'holds a certificate that cannot be read' };
  }
  if (isPair(first, privateKey)) return undefined;
  return others.some((pem) => isPair(pem, privateKey))
    ? { name: 'cert', message: 'begins with another certificate than that of the key: put the one of the key first' }
    : { name: 'key', message: 'is not the key of the certificate' };
}

function isPair(pem: string, key: KeyObject): boolean {
  return new X509Certificate(pem).checkPrivateKey(key);
}

function parse<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
