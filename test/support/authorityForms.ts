import { X509Certificate } from 'node:crypto';
import { authority, type KeyPair } from './certificates.ts';

/** A file of authorities, and why it is refused; undefined where it is valid, and certificates of `ca` are then trusted. */
export type AuthorityForm = readonly [form: string, bytes: string | Buffer, problem: string | undefined];

const NONE = 'holds no certificate in PEM form';
const UNREADABLE = 'holds a certificate that cannot be read';
const CUT = 'holds a certificate that is cut off';
const ROOTLESS = 'holds no root (self-signed) certificate: add the root certificate of the authority';

/** The forms in which people have the certificate of an authority. */
export async function authorityForms(ca: KeyPair): Promise<readonly AuthorityForm[]> {
  const [other, below] = await Promise.all([authority('another'), authority('below', { above: ca })]);
  const pem = `${ca.cert.trim()}\n`;
  const second = `${other.cert.trim()}\n`;
  const broken = pem.replace(/\n.{20}/, '\n!!!!');
  return [
    ['alone', pem, undefined],
    ['first of two', pem + second, undefined],
    ['second of two', second + pem, undefined],
    ['after another without a line break', second.trim() + pem, undefined],
    ['after a certificate that it has signed', `${below.cert.trim()}\n${pem}`, undefined],
    ['twice', pem + pem, undefined],
    ['with text around and between', `# corp\n${second}Issuer: CN=x\n${pem}end`, undefined],
    ['with line ends of Windows', pem.replaceAll('\n', '\r\n'), undefined],
    ['with line ends of old Macs', pem.replaceAll('\n', '\r'), undefined],
    ['after a byte order mark', `\u{feff}${pem}`, undefined],
    ['after a byte order mark and another', `\u{feff}${second}${pem}`, undefined],
    ['indented', pem.replace(/^/gm, '    '), undefined],
    ['indented after another', second + pem.replace(/^/gm, '\t'), undefined],
    ['with spaces at line ends', pem.replaceAll('\n', '  \n'), undefined],
    ['with empty lines', pem.replaceAll('\n', '\n\n'), undefined],
    ['on one line', pem.replaceAll('\n', ''), undefined],
    ['without a last line end', pem.trim(), undefined],
    ['as a TRUSTED CERTIFICATE of OpenSSL', pem.replaceAll(' CERT', ' TRUSTED CERT'), undefined],
    ['as an X509 CERTIFICATE of old programs', pem.replaceAll(' CERT', ' X509 CERT'), undefined],
    ['beside a private key', `${ca.key.trim()}\n${pem}`, undefined],
    ['in Latin-1 text', Buffer.from(`Autorité\n${pem}`, 'latin1'), undefined],
    ['empty', '', NONE],
    ['white space', '\n \n', NONE],
    ['a private key alone', ca.key, NONE],
    ['with four dashes', pem.replaceAll('-----', '----'), NONE],
    ['truncated', pem.slice(0, -40), CUT],
    ['truncated after another', second + pem.slice(0, -40), CUT],
    ['broken before another', broken + second, UNREADABLE],
    ['broken after another', pem + broken, UNREADABLE],
    ['with \\n in place of line ends', pem.replaceAll('\n', '\\n'), UNREADABLE],
    ['an intermediate alone', below.cert, ROOTLESS],
  ];
}

/** The certificate in DER form. */
export function toDer({ cert }: KeyPair): Buffer {
  return new X509Certificate(cert).raw;
}
