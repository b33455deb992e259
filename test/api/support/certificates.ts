import { generate } from 'selfsigned';

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** A certificate authority of its own. */
export async function authority(): Promise<Certificate> {
  const made = await generate([{ name: 'commonName', value: 'test authority' }], {
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, digitalSignature: true, critical: true },
    ],
  });
  return { cert: made.cert, key: made.private };
}

/** A certificate for `localhost`, or another name, signed by an authority, or by itself. */
export async function forLocalhost(ca?: Certificate, name = 'localhost'): Promise<Certificate> {
  const made = await generate([{ name: 'commonName', value: name }], {
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'subjectAltName', altNames: [{ type: 2, value: name }] },
    ],
    ...(ca === undefined ? {} : { ca }),
  });
  return { cert: made.cert, key: made.private };
}
