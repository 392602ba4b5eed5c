/** Loads renewed certificates without a restart. */
import { X509Certificate } from 'node:crypto';
import { isKeyPair } from '../config/certificate.ts';
import type { Config } from '../config/config.ts';
import type { Certificate } from '../http/tls.ts';
import { watchFiles } from './watch-files.ts';

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
  await watchFiles([files.cert, files.key], {
    signal,
    seen: [cert, key],
    use(...[newCert = '', newKey = '']) {
      const renewed = { cert: newCert, key: newKey };
      if (!isKeyPair(renewed)) throw new Error('The files hold no certificate with its key');
      use(renewed);
      onRenewed(new X509Certificate(newCert).validTo);
    },
    onError,
  });
}
