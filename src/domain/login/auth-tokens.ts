/** Auth tokens: JWTs that say who signed in to which application. */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { type CryptoKey, exportJWK, importJWK, type JWK, SignJWT } from 'jose';
import type { ExternalIssuer } from './external-issuer.ts';
import {
  type Algorithm,
  claimedIssuer,
  type Issuer,
  isAlgorithm,
  type LoginClaims,
  TOKEN_LIFETIME_SECONDS,
  TOKEN_TYPE,
  toSeconds,
  verifyToken,
} from './verify-token.ts';

interface SigningKey {
  readonly kid: string;
  readonly alg: Algorithm;
  readonly privateKey: CryptoKey;
  readonly publicKey: KeyObject;
  readonly publicJwk: JWK;
}

export class AuthTokens implements Issuer {
  readonly issuer: string;
  readonly #signer: SigningKey;
  readonly #keys: ReadonlyMap<string, SigningKey>;
  readonly #external: ExternalIssuer | undefined;

  private constructor(issuer: string, signer: SigningKey, keys: readonly SigningKey[], external?: ExternalIssuer) {
    this.issuer = issuer;
    this.#signer = signer;
    this.#keys = new Map(keys.map((key) => [key.kid, key]));
    this.#external = external;
  }

  /** From private JWKs: the first signs, all verify. Tokens of the external issuer are accepted as well. */
  static async create(issuer: string, jwks: readonly JWK[], external?: ExternalIssuer): Promise<AuthTokens> {
    const keys = await Promise.all(jwks.map(importSigningKey));
    const [signer] = keys;
    if (!signer) throw new Error('There is no key to sign auth tokens with');
    if (new Set(keys.map(({ kid }) => kid)).size < keys.length) throw new Error('Two signing keys have the same kid');
    return new AuthTokens(issuer, signer, keys, external);
  }

  /** The public halves of the keys, as a JWK Set (RFC 7517). */
  get publicJwks(): { keys: JWK[] } {
    return { keys: [...this.#keys.values()].map((key) => key.publicJwk) };
  }

  /** A JWT for the user, issued at `now` in whole seconds; it lives 15 minutes. */
  async mint({ userId, loginIntentId, clientId }: LoginClaims, now: Date): Promise<string> {
    const issuedAt = toSeconds(now);
    return new SignJWT()
      .setProtectedHeader({ alg: this.#signer.alg, typ: TOKEN_TYPE, kid: this.#signer.kid })
      .setIssuer(this.issuer)
      .setAudience(clientId)
      .setSubject(userId)
      .setJti(loginIntentId)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + TOKEN_LIFETIME_SECONDS)
      .sign(this.#signer.privateKey);
  }

  /**
   * Throws a ServiceError `Invalid or expired token`, whatever is wrong with the token, and
   * IssuerUnavailableError where the keys of the external issuer cannot be had.
   */
  async verify(token: string, clientId: string, now: Date): Promise<LoginClaims> {
    const issuer = this.#external && claimedIssuer(token) === this.#external.issuer ? this.#external : this;
    return verifyToken(token, issuer, { clientId, now });
  }

  findKey(kid: string, alg: Algorithm): KeyObject | undefined {
    const key = this.#keys.get(kid);
    return key?.alg === alg ? key.publicKey : undefined;
  }
}

async function importSigningKey(jwk: JWK): Promise<SigningKey> {
  const { kid, alg } = jwk;
  if (!kid || !isAlgorithm(alg)) {
    throw new Error('An auth token signing key must have a kid and an alg: EdDSA or ES256');
  }
  const { d: _, key_ops: __, ...publicHalf } = jwk;
  const privateKey = await importJWK(jwk, alg);
  if (privateKey instanceof Uint8Array) throw new Error('An auth token signing key must be asymmetric');
  const publicKey = createPublicKey({ key: publicHalf, format: 'jwk' });
  return { kid, alg, privateKey, publicKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}
