import { createPrivateKey, X509Certificate } from 'node:crypto';

/** A certificate and its private key. Each is a PEM text, or in `files` of the config the path of one. */
export interface CertificateTexts {
  readonly cert: string;
  readonly key: string;
}

export function isKeyPair({ cert, key }: CertificateTexts): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}
