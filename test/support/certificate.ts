import { generate } from 'selfsigned';

/** A self-signed certificate for localhost and 127.0.0.1, and its key, in PEM. */
export async function createCertificate(): Promise<{ cert: string; key: string }> {
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    curve: 'P-256',
    extensions: [
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  });
  return { cert, key };
}
