/** What tests of OpenID Connect share. */
import { generateKeyPairSync } from 'node:crypto';
import type { JWK } from 'jose';

/** Returns a private key for `oidcSigningKeys`. */
export function createRsaJwk(kid = 'rsa'): JWK {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...privateKey.export({ format: 'jwk' }), alg: 'RS256', kid };
}
