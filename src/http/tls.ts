import { constants } from 'node:crypto';
import type { SecureContextOptions } from 'node:tls';

/** Both in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Only authenticated encryption with forward secrecy. */
const CIPHERS = [
  ...['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
  ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
  ...['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
  ...['ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
];

/** A browser that has seen it uses only HTTPS for a year (RFC 6797). */
export const STRICT_TRANSPORT_SECURITY = 'max-age=31536000';

/** Adds the TLS versions and ciphers that Usher supports. @throws if the certificate is malformed */
export function toSecureContext({ cert, key }: Certificate): SecureContextOptions {
  return {
    cert,
    key,
    minVersion: 'TLSv1.2',
    ciphers: CIPHERS.join(':'),
    honorCipherOrder: true,
    // With the key of session tickets, an attacker could decrypt recorded traffic.
    secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
  };
}
