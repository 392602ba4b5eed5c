/**
 * The RSA keys of OpenID Connect. They sign only with RS256: many clients refuse other algorithms, and some fail if the
 * key set has other keys. An RSA signature costs ten times as much as one of Ed25519, so the thread pool creates it.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { promisify } from 'node:util';
import type { JWK } from 'jose';
import { KeyInUseError } from '../../../../domain/tokens/auth-tokens.ts';
import { parseObject } from '../../../../encoding/json.ts';

interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export type Claims = Readonly<Record<string, unknown>>;

const signInThreadPool = promisify<string, Buffer, KeyObject, Buffer>(sign);

export class OidcSigningKeys {
  #signer: SigningKey;
  #keys: readonly SigningKey[];

  /** Takes private RSA keys: the first signs, all verify. */
  constructor(jwks: readonly JWK[]) {
    [this.#signer, ...this.#keys] = importKeys(jwks);
    this.#keys = [this.#signer, ...this.#keys];
  }

  /** Replaces the keys. @throws Error if the key that has signed until now is not one of them */
  replace(jwks: readonly JWK[]): void {
    const [signer, ...others] = importKeys(jwks);
    const keys = [signer, ...others];
    if (!keys.some(({ kid }) => kid === this.#signer.kid)) throw new KeyInUseError(this.#signer.kid);
    this.#signer = signer;
    this.#keys = keys;
  }

  /** The public halves of the keys, as a JWK Set (RFC 7517). */
  get publicJwks(): { keys: JWK[] } {
    const keys = this.#keys.map(({ kid, publicKey }) => ({ ...publicKey.export({ format: 'jwk' }), kid }));
    return { keys: keys.map((key) => ({ ...key, alg: 'RS256', use: 'sig' })) };
  }

  async sign(claims: Claims, type = 'JWT'): Promise<string> {
    const { kid, privateKey } = this.#signer;
    const text = [{ alg: 'RS256', typ: type, kid }, claims].map(encode).join('.');
    const signature = await signInThreadPool('sha256', Buffer.from(text), privateKey);
    return `${text}.${signature.toString('base64url')}`;
  }

  /**
   * Returns the claims of a JWT that one of the keys has signed, or undefined.
   *
   * @param isExpected checks the claims before the signature, so that other tokens cost no verification
   */
  verify(token: string, isExpected: (claims: Claims) => boolean): Claims | undefined {
    const [header = '', payload = '', signature = '', ...rest] = token.split('.', 4);
    const { typ, kid } = decode(header) ?? {};
    const key = this.#keys.find((candidate) => candidate.kid === kid);
    // The algorithm is always RS256, whatever the header says.
    if (rest.length > 0 || typ !== 'JWT' || !key) return undefined;
    const claims = decode(payload);
    if (!claims || !isExpected(claims)) return undefined;
    const bytes = Buffer.from(signature, 'base64url');
    return verify('sha256', Buffer.from(`${header}.${payload}`), key.publicKey, bytes) ? claims : undefined;
  }
}

function importKeys(jwks: readonly JWK[]): [SigningKey, ...SigningKey[]] {
  const [signer, ...others] = jwks.map((jwk) => {
    const privateKey = createPrivateKey({ key: { ...jwk }, format: 'jwk' });
    return { kid: jwk.kid ?? '', privateKey, publicKey: createPublicKey(privateKey) };
  });
  if (!signer) throw new Error('There is no key to sign ID tokens with');
  return [signer, ...others];
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

function decode(part: string): Claims | undefined {
  return parseObject(Buffer.from(part, 'base64url').toString('utf8'));
}
