import { generate } from 'selfsigned';

export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

const DAY_MS = 86_400_000;

type AltName = { readonly type: 1 | 2 | 6 | 7; readonly value?: string; readonly ip?: string };

/** A certificate authority of its own, or one below another; `expired` a day ago, or valid from tomorrow (`early`). */
export async function authority(
  name = 'test authority',
  {
    above,
    expired = false,
    early = false,
  }: { readonly above?: KeyPair; readonly expired?: boolean; readonly early?: boolean } = {},
): Promise<KeyPair> {
  const pair = await generate([{ name: 'commonName', value: name }], {
    keyType: 'rsa',
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

/** A certificate for servers and clients, signed by an authority, or by itself. */
export async function certificate(
  name: string,
  altNames: AltName[],
  ca?: KeyPair,
  keyType: 'rsa' | 'ec' = 'rsa',
): Promise<KeyPair> {
  const pair = await generate([{ name: 'commonName', value: name }], {
    keyType,
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
