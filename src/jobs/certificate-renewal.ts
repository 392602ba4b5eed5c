/** Loads renewed certificates without a restart. */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type CertificateTexts, isKeyPair } from '../config/certificate.ts';
import type { Config } from '../config/config.ts';
import { pause } from '../domain/pause.ts';
import type { Certificate } from '../http/tls.ts';

/** Polls, because Kubernetes renews a mounted secret by replacing a symbolic link, which no watcher reports. */
const INTERVAL_MS = 2_000;

export interface CertificateRenewalOptions {
  readonly signal: AbortSignal;
  /** May throw for a certificate that cannot be used. */
  readonly use: (certificate: Certificate) => void;
  readonly onRenewed: (validTo: string) => void;
  /** The previous certificate stays in use. */
  readonly onError: (error: unknown) => void;
}

/** Uses the certificate of the files whenever it changes, until the signal is aborted. */
export async function runCertificateRenewal(
  { cert, key, files }: NonNullable<Config['tls']>,
  { signal, use, onRenewed, onError }: CertificateRenewalOptions,
): Promise<void> {
  if (!files) return;
  let seen = cert + key;
  while (!signal.aborted) {
    await pause(INTERVAL_MS, signal);
    const found = await readCertificate(files).catch((error: Error) => error);
    const state = found instanceof Error ? found.message : found.cert + found.key;
    if (state === seen) continue;
    seen = state;
    try {
      if (found instanceof Error) throw found;
      if (!isKeyPair(found)) throw new Error('The files hold no certificate with its key');
      use(found);
      onRenewed(new X509Certificate(found.cert).validTo);
    } catch (error) {
      onError(error);
    }
  }
}

async function readCertificate(files: CertificateTexts): Promise<Certificate> {
  const [cert, key] = await Promise.all([readFile(files.cert, 'utf8'), readFile(files.key, 'utf8')]);
  return { cert, key };
}
