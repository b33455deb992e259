import { createPrivateKey } from 'node:crypto';
import { generate } from 'selfsigned';

export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

const DAY_MS = 86_400_000;

/** EC by default, because an RSA key takes twelve times as long to make. */
type KeyType = 'ec' | 'rsa';

/** Returns the key type of the authority, because `selfsigned` cannot sign a key of another type. */
const keyTypeFor = (ca: KeyPair | undefined): KeyType =>
  ca !== undefined && createPrivateKey(ca.key).asymmetricKeyType === 'rsa' ? 'rsa' : 'ec';

type AltName = { readonly type: 1 | 2 | 6 | 7; readonly value?: string; readonly ip?: string };

/** A certificate authority of its own, or one below another; `expired` a day ago, or valid from tomorrow (`early`). */
export async function authority(
  name = 'test authority',
  {
    above,
    expired = false,
    early = false,
    keyType = keyTypeFor(above),
  }: {
    readonly above?: KeyPair;
    readonly expired?: boolean;
    readonly early?: boolean;
    readonly keyType?: KeyType;
  } = {},
): Promise<KeyPair> {
  const pair = await generate([{ name: 'commonName', value: name }], {
    keyType,
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, digitalSignature: true, critical: true },
    ],
    ...(above === undefined ? {} : { ca: above }),
    ...(expired
      ? { notBeforeDate: new Date(Date.now() - 2 * DAY_MS), notAfterDate: new Date(Date.now() - DAY_MS) }
      : {}),
    ...(early ? { notBeforeDate: new Date(Date.now() + DAY_MS), notAfterDate: new Date(Date.now() + 2 * DAY_MS) } : {}),
  });
  return { cert: pair.cert, key: pair.private };
}

/** A certificate for servers and clients, signed by an authority, with a key of the same type, or by itself. */
export async function certificate(name: string, altNames: AltName[], ca?: KeyPair): Promise<KeyPair> {
  const pair = await generate([{ name: 'commonName', value: name }], {
    keyType: keyTypeFor(ca),
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'keyUsage', digitalSignature: true, keyEncipherment: true },
      { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
      { name: 'subjectAltName', altNames },
    ],
    ...(ca === undefined ? {} : { ca }),
  });
  return { cert: pair.cert, key: pair.private };
}

/** A certificate for `localhost`, or another name, and no address. */
export const forLocalhost = (ca?: KeyPair, name = 'localhost'): Promise<KeyPair> =>
  certificate(name, [{ type: 2, value: name }], ca);

export const LOCALHOST: AltName[] = [
  { type: 2, value: 'localhost' },
  { type: 7, ip: '127.0.0.1' },
];
