import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generate } from 'selfsigned';

/** Returns a self-signed certificate for localhost, 127.0.0.1 and further names, and its key, in PEM. */
export async function createCertificate(
  keyType: 'ec' | 'rsa' = 'ec',
  notAfterDate?: Date,
  names: readonly string[] = [],
): Promise<{ cert: string; key: string }> {
  const { cert, private: key } = await generate([{ name: 'commonName', value: names[0] ?? 'localhost' }], {
    ...(keyType === 'ec' ? { keyType, curve: 'P-256' } : { keyType, keySize: 2048 }),
    ...(notAfterDate && { notAfterDate }),
    extensions: [
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          ...names.map((value) => ({ type: 2, value }) as const),
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  });
  return { cert, key };
}

/** Writes a certificate into the directory and returns the settings that name its files. */
export async function writeCertificate(
  directory: string,
  notAfterDate?: Date,
): Promise<{ TLS_CERT_FILE: string; TLS_KEY_FILE: string }> {
  const { cert, key } = await createCertificate('ec', notAfterDate);
  const files = { TLS_CERT_FILE: join(directory, 'cert.pem'), TLS_KEY_FILE: join(directory, 'key.pem') };
  await Promise.all([writeFile(files.TLS_CERT_FILE, cert), writeFile(files.TLS_KEY_FILE, key)]);
  return files;
}
