import { createPrivateKey, X509Certificate } from 'node:crypto';

/** Of a certificate and its key: the PEM, or the paths of the files. */
export interface CertificateTexts {
  readonly cert: string;
  readonly key: string;
}

/** Returns whether the key is that of the certificate. */
export function isKeyPair({ cert, key }: CertificateTexts): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}
