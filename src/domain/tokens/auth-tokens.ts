/**
 * Signs and verifies auth tokens: JWTs that say who signed in to which application. OpenID Connect uses codes instead.
 */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { type CryptoKey, importJWK, type JWK, SignJWT } from 'jose';
import { acrOf } from '../core/assurance.ts';
import {
  type Algorithm,
  isAlgorithm,
  type LoginClaims,
  TOKEN_LIFETIME_SECONDS,
  TOKEN_TYPE,
  toSeconds,
  verifyToken,
} from './verify-token.ts';

/** A login that an application has begun. */
export interface AskedLogin {
  /** How a protocol such as OpenID Connect answers it. Empty if GenerateAuthUrl began it: an auth token answers it. */
  readonly responseMode: string;
  readonly redirectUri: string;
  /** Empty if the application has sent none. */
  readonly state: string;
  readonly applicationId: string;
  /** The client that asked, if that is not the application: then the application is the resource of its tokens. */
  readonly forClient: string | null;
  /** Its name, if nobody has registered it: then the user must consent before it gets an answer. */
  readonly clientName: string | null;
}

/** A login whose answer may still be used. */
export interface CompletedAsk extends Pick<AskedLogin, 'clientName'> {
  readonly completedAt: Date;
  readonly consentedAt: Date | null;
  readonly redeemedAt: Date | null;
  readonly expiresAt: Date;
}

/** How a protocol answers the logins that it has begun. */
export interface ProtocolAnswers {
  /** Returns the URL to which the browser is redirected once the login is completed. */
  toCompletedUrl(login: AskedLogin & { readonly loginIntentId: string }): string;
  /** Returns the URL to which the browser is redirected with an error. */
  toErrorUrl(
    login: Pick<AskedLogin, 'responseMode' | 'redirectUri' | 'state'> & { readonly id: string },
    error: string,
  ): string;
  /** Returns whether the answer to a completed login can still be used. */
  isLive(login: CompletedAsk & Pick<AskedLogin, 'responseMode'>, now: Date): boolean;
}

/** What the key has signed would not be accepted any more. */
export class KeyInUseError extends Error {
  constructor(keyId: string) {
    super(`The key ${keyId} has been in use until now. Move it to the second place first, and remove it later`);
  }
}

interface SigningKeys {
  readonly signer: SigningKey;
  /** By `kid`. */
  readonly keys: ReadonlyMap<string, SigningKey>;
}

interface SigningKey {
  readonly kid: string;
  readonly alg: Algorithm;
  readonly privateKey: CryptoKey;
  readonly publicKey: KeyObject;
}

export class AuthTokens {
  readonly issuer: string;
  #signer: SigningKey;
  #keys: ReadonlyMap<string, SigningKey>;
  readonly #protocol: ProtocolAnswers | undefined;

  private constructor(issuer: string, { signer, keys }: SigningKeys, protocol?: ProtocolAnswers) {
    this.issuer = issuer;
    this.#signer = signer;
    this.#keys = keys;
    this.#protocol = protocol;
  }

  /** Imports private JWKs: the first signs, all verify. */
  static async create(issuer: string, jwks: readonly JWK[], protocol?: ProtocolAnswers): Promise<AuthTokens> {
    return new AuthTokens(issuer, await importSigningKeys(jwks), protocol);
  }

  /** Replaces the keys. @throws Error if the key that has signed until now is not one of them */
  async replaceKeys(jwks: readonly JWK[]): Promise<void> {
    const { signer, keys } = await importSigningKeys(jwks);
    if (!keys.has(this.#signer.kid)) throw new KeyInUseError(this.#signer.kid);
    this.#signer = signer;
    this.#keys = keys;
  }

  /** The public halves of the keys, as a JWK Set (RFC 7517). */
  get publicJwks(): { keys: JWK[] } {
    const keys = [...this.#keys.values()];
    return {
      keys: keys.map(({ kid, alg, publicKey }) => ({ ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' })),
    };
  }

  /** Returns undefined for a login that an auth token answers. */
  protocolOf({ responseMode }: Pick<AskedLogin, 'responseMode'>): ProtocolAnswers | undefined {
    if (responseMode === '') return undefined;
    if (!this.#protocol) throw new Error('The login was begun by a protocol that is off');
    return this.#protocol;
  }

  /**
   * Signs a JWT for the user. `auth_time` is the instant of the sign-in in milliseconds, because cut-offs are compared
   * with it (OpenID Connect has seconds). `issuedAt` is that instant unless it is given.
   */
  async mint({
    userId,
    loginIntentId,
    clientId,
    authenticatedAt,
    method,
    assurance,
    ...times
  }: LoginClaims & { readonly issuedAt?: Date }): Promise<string> {
    const issuedAt = toSeconds(times.issuedAt ?? authenticatedAt);
    return new SignJWT({ auth_time: authenticatedAt.getTime(), amr: [method], acr: acrOf(assurance) })
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
   * Returns the claims of a valid token for this client.
   *
   * @throws ServiceError `Invalid or expired token` for every reason
   */
  verify(token: string, clientId: string, now: Date): LoginClaims {
    return verifyToken(token, this, clientId, now);
  }

  findKey(kid: string, alg: Algorithm): KeyObject | undefined {
    const key = this.#keys.get(kid);
    return key?.alg === alg ? key.publicKey : undefined;
  }
}

async function importSigningKeys(jwks: readonly JWK[]): Promise<SigningKeys> {
  const keys = await Promise.all(jwks.map(importSigningKey));
  const [signer] = keys;
  if (!signer) throw new Error('There is no key to sign auth tokens with');
  if (new Set(keys.map(({ kid }) => kid)).size < keys.length) throw new Error('Two signing keys have the same kid');
  return { signer, keys: new Map(keys.map((key) => [key.kid, key])) };
}

/** @throws Error if the key has no `kid` or `alg`, or does not fit its algorithm, which `importJWK` checks */
async function importSigningKey(jwk: JWK): Promise<SigningKey> {
  const { kid, alg } = jwk;
  if (!kid || !isAlgorithm(alg)) {
    throw new Error('An auth token signing key must have a kid and an alg: EdDSA or ES256');
  }
  const privateKey = await importJWK(jwk, alg);
  if (privateKey instanceof Uint8Array) throw new Error('An auth token signing key must be asymmetric');
  return { kid, alg, privateKey, publicKey: createPublicKey({ key: { ...jwk }, format: 'jwk' }) };
}
