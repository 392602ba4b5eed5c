/**
 * Verification of auth tokens, ours and others', strictly: a JWT library accepts more than it should
 * for this, such as other headers, several audiences and several spellings of one token.
 */
import { decodeProtectedHeader, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { ServiceError } from '../errors.ts';
import { UUID } from '../validation.ts';

/** Interface, "Limits": an auth token lives 15 minutes. */
export const LIFETIME_SECONDS = 15 * 60;
export const TOKEN_TYPE = 'login+jwt';
export const ALGORITHMS: readonly string[] = ['EdDSA', 'ES256'];

/** What a token says: this user completed this login intent of the application with this client ID. */
export interface LoginClaims {
  readonly userId: string;
  readonly loginIntentId: string;
  readonly clientId: string;
}

/** Throws a ServiceError `Invalid or expired token`, whatever is wrong with it, and what `getKey` throws. */
export async function verifyToken(
  token: string,
  getKey: JWTVerifyGetKey,
  { issuer, clientId, now }: { issuer: string; clientId: string; now: Date },
): Promise<LoginClaims> {
  try {
    requireCanonicalSpelling(token);
    requireKnownHeaders(token);
    const { payload } = await jwtVerify(token, getKey, {
      algorithms: [...ALGORITHMS],
      typ: TOKEN_TYPE,
      issuer,
      audience: clientId,
      currentDate: now,
      maxTokenAge: LIFETIME_SECONDS,
    });
    return requireClaims(payload, clientId, now);
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof InvalidTokenError || isKeyFault(error)) {
      throw new ServiceError('unauthenticated', 'Invalid or expired token');
    }
    throw error;
  }
}

export function toSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}

/** What jose and Web Crypto throw for a key that cannot be used. */
function isKeyFault(error: unknown): boolean {
  return error instanceof TypeError || error instanceof DOMException;
}

class InvalidTokenError extends Error {}

/** Base64url has several spellings of some bytes (padding, spare bits); only the canonical one passes. */
function requireCanonicalSpelling(token: string): void {
  const parts = token.split('.');
  if (parts.length !== 3 || parts.some((part) => Buffer.from(part, 'base64url').toString('base64url') !== part)) {
    throw new InvalidTokenError();
  }
}

/** A header with anything in it but `alg`, `typ` and `kid` asks for something we do not do. */
function requireKnownHeaders(token: string): void {
  const { alg, typ, kid, ...others } = decodeProtectedHeader(token);
  if (typ !== TOKEN_TYPE || typeof kid !== 'string' || Object.keys(others).length > 0) throw new InvalidTokenError();
}

/** Every claim with its type, and the lifetime exactly as it must be, without leeway. */
function requireClaims({ aud, sub, jti, iat, exp }: JWTPayload, clientId: string, now: Date): LoginClaims {
  const isComplete =
    aud === clientId &&
    typeof sub === 'string' &&
    UUID.test(sub) &&
    typeof jti === 'string' &&
    UUID.test(jti) &&
    iat !== undefined &&
    Number.isSafeInteger(iat) &&
    exp === iat + LIFETIME_SECONDS &&
    iat <= toSeconds(now);
  if (!isComplete) throw new InvalidTokenError();
  return { userId: sub.toLowerCase(), loginIntentId: jti, clientId };
}
