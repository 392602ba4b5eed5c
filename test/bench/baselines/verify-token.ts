/** The checks of Usher's auth tokens with `node:crypto` alone. */
import { createPublicKey, type JsonWebKey, type KeyObject, verify } from 'node:crypto';
import { ServiceError } from '../../../src/domain/errors.ts';
import { TOKEN_LIFETIME_SECONDS, TOKEN_TYPE, toSeconds } from '../../../src/domain/login/verify-token.ts';
import { UUID } from '../../../src/domain/validation.ts';

export interface TokenKeys {
  readonly issuer: string;
  /** Ed25519, by key ID. */
  readonly keys: ReadonlyMap<string, KeyObject>;
}

export function createTokenKeys(issuer: string, jwks: readonly { kid?: string }[]): TokenKeys {
  const keys = jwks.map((jwk): [string, KeyObject] => [
    jwk.kid ?? '',
    createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' }),
  ]);
  return { issuer, keys: new Map(keys) };
}

/** Returns the user ID. @throws ServiceError `Invalid or expired token` */
export function verifyToken({ issuer, keys }: TokenKeys, token: string, clientId: string, now: Date): string {
  const parts = token.split('.');
  const [header = '', payload = '', signature = ''] = parts;
  const decoded = { header: decode(header), payload: decode(payload), signature: decode(signature) };
  requireThat(parts.length === 3);

  const { alg, typ, kid, ...others } = parseObject(decoded.header);
  const key = typeof kid === 'string' ? keys.get(kid) : undefined;
  requireThat(alg === 'EdDSA' && typ === TOKEN_TYPE && Object.keys(others).length === 0);
  requireThat(key !== undefined && verify(null, Buffer.from(`${header}.${payload}`), key, decoded.signature));

  const { iss, aud, sub, jti, iat, exp } = parseObject(decoded.payload);
  const seconds = toSeconds(now);
  requireThat(iss === issuer && aud === clientId && typeof sub === 'string' && UUID.test(sub));
  requireThat(typeof jti === 'string' && UUID.test(jti));
  requireThat(typeof iat === 'number' && Number.isSafeInteger(iat) && iat <= seconds);
  requireThat(exp === Number(iat) + TOKEN_LIFETIME_SECONDS && exp > seconds);
  return String(sub).toLowerCase();
}

function requireThat(holds: boolean): asserts holds {
  if (!holds) throw new ServiceError('INVALID_TOKEN');
}

/** Decodes canonical base64url only. */
function decode(part: string): Buffer {
  const bytes = Buffer.from(part, 'base64url');
  requireThat(bytes.toString('base64url') === part);
  return bytes;
}

function parseObject(bytes: Buffer): Record<string, unknown> {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new ServiceError('INVALID_TOKEN');
  }
}
