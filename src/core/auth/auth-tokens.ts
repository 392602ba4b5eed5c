/**
 * Auth tokens: JWTs that say who signed in to which application. Verified strictly, since a JWT
 * library accepts more than we mint: other headers, several audiences, several spellings.
 */
import {
  type CryptoKey,
  decodeProtectedHeader,
  errors,
  exportJWK,
  importJWK,
  type JWK,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from 'jose';
import { ServiceError } from '../errors.ts';
import { UUID } from '../validation.ts';

/** Interface, "Limits": an auth token lives 15 minutes. */
const LIFETIME_SECONDS = 15 * 60;
const TYPE = 'login+jwt';
const ALGORITHMS = ['EdDSA', 'ES256'];

/** What a token says: this user completed this login intent of the application with this client ID. */
export interface LoginClaims {
  readonly userId: string;
  readonly loginIntentId: string;
  readonly clientId: string;
}

interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  readonly publicJwk: JWK;
}

export class AuthTokens {
  readonly issuer: string;
  readonly #signer: SigningKey;
  readonly #keys: ReadonlyMap<string, SigningKey>;

  private constructor(issuer: string, signer: SigningKey, keys: readonly SigningKey[]) {
    this.issuer = issuer;
    this.#signer = signer;
    this.#keys = new Map(keys.map((key) => [key.kid, key]));
  }

  /** From private JWKs, each with `kid` and `alg`: the first signs, all verify. */
  static async create(issuer: string, jwks: readonly JWK[]): Promise<AuthTokens> {
    const keys = await Promise.all(jwks.map(importSigningKey));
    const [signer] = keys;
    if (!signer) throw new Error('There is no key to sign auth tokens with');
    return new AuthTokens(issuer, signer, keys);
  }

  /** The public halves of the keys, as a JWK Set (RFC 7517). */
  get publicJwks(): { keys: JWK[] } {
    return { keys: [...this.#keys.values()].map((key) => key.publicJwk) };
  }

  async mint({ userId, loginIntentId, clientId }: LoginClaims, now: Date): Promise<string> {
    const issuedAt = toSeconds(now);
    return new SignJWT()
      .setProtectedHeader({ alg: this.#signer.alg, typ: TYPE, kid: this.#signer.kid })
      .setIssuer(this.issuer)
      .setAudience(clientId)
      .setSubject(userId)
      .setJti(loginIntentId)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + LIFETIME_SECONDS)
      .sign(this.#signer.privateKey);
  }

  /** Throws a ServiceError `Invalid or expired token`, whatever is wrong with the token. */
  async verify(token: string, clientId: string, now: Date): Promise<LoginClaims> {
    try {
      requireCanonicalSpelling(token);
      const { payload } = await jwtVerify(token, this.#keyFor(token), {
        algorithms: ALGORITHMS,
        typ: TYPE,
        issuer: this.issuer,
        audience: clientId,
        currentDate: now,
        maxTokenAge: LIFETIME_SECONDS,
      });
      return requireClaims(payload, clientId, now);
    } catch (error) {
      if (error instanceof errors.JOSEError || error instanceof InvalidTokenError || error instanceof TypeError) {
        throw new ServiceError('unauthenticated', 'Invalid or expired token');
      }
      throw error;
    }
  }

  /** The key that the token's header names; a header with anything more in it is refused. */
  #keyFor(token: string): CryptoKey {
    const { alg, typ, kid, ...others } = decodeProtectedHeader(token);
    const key = typeof kid === 'string' ? this.#keys.get(kid) : undefined;
    if (!key || alg !== key.alg || typ !== TYPE || Object.keys(others).length > 0) throw new InvalidTokenError();
    return key.publicKey;
  }
}

class InvalidTokenError extends Error {}

/** Base64url has several spellings of some bytes (padding, spare bits); only the canonical one passes. */
function requireCanonicalSpelling(token: string): void {
  const parts = token.split('.');
  if (parts.length !== 3 || parts.some((part) => Buffer.from(part, 'base64url').toString('base64url') !== part)) {
    throw new InvalidTokenError();
  }
}

/** Every claim with its type, and the lifetime exactly ours, without leeway. */
function requireClaims({ aud, sub, jti, iat, exp }: JWTPayload, clientId: string, now: Date): LoginClaims {
  const isComplete =
    aud === clientId &&
    typeof sub === 'string' &&
    UUID.test(sub) &&
    typeof jti === 'string' &&
    UUID.test(jti) &&
    Number.isSafeInteger(iat) &&
    iat !== undefined &&
    exp === iat + LIFETIME_SECONDS &&
    iat <= toSeconds(now);
  if (!isComplete) throw new InvalidTokenError();
  return { userId: sub.toLowerCase(), loginIntentId: jti, clientId };
}

async function importSigningKey(jwk: JWK): Promise<SigningKey> {
  const { kid, alg } = jwk;
  if (!kid || !alg || !ALGORITHMS.includes(alg) || !jwk.d) {
    throw new Error(`An auth token signing key must be a private JWK with kid and alg (${ALGORITHMS.join(' or ')})`);
  }
  const { d: _, key_ops: __, ...publicHalf } = jwk;
  const [privateKey, publicKey] = await Promise.all([
    importJWK(jwk, alg),
    importJWK(publicHalf, alg, { extractable: true }),
  ]);
  if (privateKey instanceof Uint8Array || publicKey instanceof Uint8Array) {
    throw new Error('An auth token signing key must be asymmetric');
  }
  const publicJwk = { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' };
  return { kid, alg, privateKey, publicKey, publicJwk };
}

function toSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}
