/** Loads renewed certificates without a restart. */
import { X509Certificate } from 'node:crypto';
import { isKeyPair } from '../config/certificate.ts';
import type { Config } from '../config/config.ts';
import type { Certificate } from '../http/tls.ts';
import { watchFiles } from './watch-files.ts';

export interface CertificateRenewalOptions {
  readonly signal: AbortSignal;
  /** Throws if the certificate cannot be used. */
  readonly use: (certificate: Certificate) => void;
  readonly onRenewed: (validTo: string) => void;
  /** Called if the new certificate cannot be used. The previous one stays in use. */
  readonly onError: (error: unknown) => void;
}

/** Calls `use` with the certificate whenever its files change, until the signal is aborted. */
export async function runCertificateRenewal(
  { cert, key, files }: NonNullable<Config['tls']>,
  { signal, use, onRenewed, onError }: CertificateRenewalOptions,
): Promise<void> {
  if (!files) return;
  await watchFiles([files.cert, files.key], {
    signal,
    seen: [cert, key],
    use(newCert = '', newKey = '') {
      const renewed = { cert: newCert, key: newKey };
      if (!isKeyPair(renewed)) throw new Error('The files hold no certificate with its key');
      use(renewed);
      onRenewed(new X509Certificate(newCert).validTo);
    },
    onError,
  });
}
