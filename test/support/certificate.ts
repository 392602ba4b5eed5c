import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A self-signed certificate for localhost and 127.0.0.1, and its key, in PEM. */
export async function createCertificate(): Promise<{ cert: string; key: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'usher-tls-'));
  try {
    const [certFile, keyFile] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
    await promisify(execFile)('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'],
      ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'],
      ...['-keyout', keyFile, '-out', certFile],
    ]);
    return { cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
