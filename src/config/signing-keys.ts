/** The JWK Sets with the private keys that sign auth tokens, and the ID tokens of OpenID Connect. */
import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import type { JWK } from 'jose';

/** RFC 7518, section 3.3. */
const MIN_RSA_BITS = 2_048;

/** Reads Ed25519 and P-256 keys, each with its `alg`. @throws Error whose message continues the name of the setting */
export function parseAuthSigningKeys(text: string): readonly JWK[] {
  return parsePrivateKeys(text).map(({ jwk }) => {
    const alg = jwk.crv === 'Ed25519' ? 'EdDSA' : jwk.crv === 'P-256' ? 'ES256' : undefined;
    if (!alg || (jwk.alg !== undefined && jwk.alg !== alg)) {
      throw new Error('must hold Ed25519 (EdDSA) or P-256 (ES256) keys');
    }
    return { ...jwk, alg };
  });
}

/** Reads RSA keys, each with its `alg`. @throws Error whose message continues the name of the setting */
export function parseOidcSigningKeys(text: string): readonly JWK[] {
  return parsePrivateKeys(text).map(({ jwk, key }) => {
    const { modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
    const isRsa = jwk.kty === 'RSA' && modulusLength >= MIN_RSA_BITS;
    if (!isRsa || (jwk.alg !== undefined && jwk.alg !== 'RS256')) {
      throw new Error(`must hold RSA keys (RS256) of ${MIN_RSA_BITS} bits or more`);
    }
    return { ...jwk, alg: 'RS256' };
  });
}

export function generateAuthSigningKeys(): string {
  return toJwkSet(generateKeyPairSync('ed25519').privateKey, 'EdDSA');
}

/** The minimum of bits, because each signature would take several times as long with more. */
export function generateOidcSigningKeys(): string {
  return toJwkSet(generateKeyPairSync('rsa', { modulusLength: MIN_RSA_BITS }).privateKey, 'RS256');
}

function toJwkSet(key: KeyObject, alg: string): string {
  const kid = randomBytes(8).toString('hex');
  return JSON.stringify({ keys: [{ ...key.export({ format: 'jwk' }), alg, use: 'sig', kid }] }, null, 2);
}

function parsePrivateKeys(text: string): { jwk: JWK; key: KeyObject }[] {
  const jwks = parseJwkSet(text)?.keys;
  if (!Array.isArray(jwks) || jwks.length === 0) throw new Error('must hold a JWK Set with at least one key');
  const ids = jwks.map((jwk: JWK | null) => jwk?.kid);
  if (ids.some((id) => typeof id !== 'string' || id === '') || new Set(ids).size < ids.length) {
    throw new Error('must give each key a different kid');
  }
  return jwks.map((jwk) => {
    try {
      return { jwk, key: createPrivateKey({ key: { ...jwk }, format: 'jwk' }) };
    } catch {
      throw new Error('must hold private keys only, each a valid JWK');
    }
  });
}

function parseJwkSet(text: string): { keys?: JWK[] } | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
