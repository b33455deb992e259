import { X509Certificate } from 'node:crypto';
import { readFile, type FileProblem } from './files.ts';

export interface Authorities {
  readonly pem: string;
  /** When the last root expires, in Unix milliseconds. After that no certificate can be verified. */
  readonly expires: number;
}

const BEGIN = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----/g;
const BLOCK = /-----BEGIN ((?:TRUSTED |X509 )?CERTIFICATE)-----([^-]*)-----END \1-----/g;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const DER_SEQUENCE = 0x30;

export function readAuthorities(path: string): Authorities | FileProblem {
  const read = readFile(path);
  return 'problem' in read ? read : parseAuthorities(read.bytes);
}

/**
 * Parses certificates in PEM form, or one certificate in DER form. PEM may have any layout, and other text between the
 * certificates. Returns the parsed certificates as PEM, never the bytes of the file: OpenSSL silently stops at the
 * first block that it cannot read.
 */
export function parseAuthorities(bytes: Buffer): Authorities | FileProblem {
  const found = bytes[0] === DER_SEQUENCE ? [bytes] : extractBlocks(bytes);
  if ('problem' in found) return found;
  try {
    const certificates = found.map((der) => new X509Certificate(der));
    // Node.js trusts a chain only up to a self-signed certificate.
    const roots = certificates.filter((each) => each.subject === each.issuer && each.verify(each.publicKey));
    if (roots.length === 0) {
      return { problem: 'holds no root (self-signed) certificate: add the root certificate of the authority' };
    }
    return {
      pem: certificates.map(String).join(''),
      expires: Math.max(...roots.map(({ validTo }) => Date.parse(validTo))),
    };
  } catch {
    return { problem: 'holds a certificate that cannot be read' };
  }
}

function extractBlocks(bytes: Buffer): readonly Buffer[] | FileProblem {
  const text = bytes.toString('latin1');
  // Older Windows programs save UTF-16, which begins with a byte order mark.
  if (/^(?:\xff\xfe|\xfe\xff)/.test(text)) return { problem: 'is UTF-16 text: save it as UTF-8' };
  const blocks = [...text.matchAll(BLOCK)].map(([, , body = '']) => body.replaceAll(/\s/g, ''));
  const begun = text.match(BEGIN)?.length ?? 0;
  if (begun === 0) return { problem: 'holds no certificate in PEM form' };
  if (blocks.length < begun) return { problem: 'holds a certificate that is cut off' };
  if (!blocks.every((body) => BASE64.test(body))) return { problem: 'holds a certificate that cannot be read' };
  return blocks.map((body) => Buffer.from(body, 'base64'));
}
