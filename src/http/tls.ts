import { constants } from 'node:crypto';
import type { SecureContextOptions } from 'node:tls';

/** PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Authenticated encryption with forward secrecy, and nothing else. */
const CIPHERS = [
  ...['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
  ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
  ...['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
  ...['ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
];

/** A browser that has seen it sends nothing in cleartext for a year. */
export const STRICT_TRANSPORT_SECURITY = 'max-age=31536000';

/** Returns the certificate with the versions and ciphers that Usher speaks. @throws if it is malformed */
export function toSecureContext({ cert, key }: Certificate): SecureContextOptions {
  return {
    cert,
    key,
    minVersion: 'TLSv1.2',
    ciphers: CIPHERS.join(':'),
    honorCipherOrder: true,
    // Whoever gets the key of the tickets can read all sessions that were resumed with them.
    secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
  };
}
