import { constants } from 'node:crypto';
import type { SecureContextOptions } from 'node:tls';

/** A certificate and its private key, both in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** All of them have authenticated encryption and forward secrecy. */
const CIPHERS = [
  ...['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
  ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
  ...['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
  ...['ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
];

/** A browser that gets this header uses only HTTPS for the host, for a year (RFC 6797). */
export const STRICT_TRANSPORT_SECURITY = 'max-age=31536000';

/** Returns the options of TLS connections, with the versions and ciphers that Usher supports. */
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
