/** Signs auth tokens that are valid except for what a test changes. */
import { createHmac, randomUUID, sign } from 'node:crypto';
import { encode, generateIssuerKey, type IssuerKey, signatureOf } from './issuer.ts';

/** Members to sign, right or wrong; `undefined` leaves a member out. */
export type Json = Record<string, unknown>;

interface ForgeOptions {
  readonly key: IssuerKey;
  /** Another key of the same issuer, for the other algorithm. */
  readonly otherKey: IssuerKey;
  readonly issuer: string;
  readonly clientId: string;
  readonly userId: string;
  /** The time of issue, in seconds. */
  readonly second: number;
}

const LIFETIME_SECONDS = 900;
/** The orders of the groups of P-256 and of Ed25519. */
const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const ED25519_ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

export type TokenForge = ReturnType<typeof createTokenForge>;

export function createTokenForge(options: ForgeOptions) {
  const { key, issuer: iss, clientId: aud, userId: sub, second } = options;
  const header = (changes: Json = {}): Json => ({ alg: key.alg, typ: 'login+jwt', kid: key.kid, ...changes });
  const claims = (changes: Json = {}): Json => ({
    iss,
    aud,
    sub,
    jti: randomUUID(),
    ...lifeFrom(second),
    ...changes,
  });
  /** Signs the base64url texts without checking them. */
  const sealParts = (first: string, next: string, by = key) =>
    `${first}.${next}.${signatureOf(`${first}.${next}`, by)}`;
  /** Signs the texts without checking them. */
  const seal = (first: string, next: string, by = key) => sealParts(toBase64Url(first), toBase64Url(next), by);
  return {
    ...options,
    /** A key that the issuer does not have, with the ID of one that it has. */
    stranger: generateIssuerKey(key.alg, key.kid),
    header,
    claims,
    seal,
    sealParts,
    /** Returns a token that is valid except for the changes. */
    token: (changes: { header?: Json; claims?: Json; key?: IssuerKey } = {}) =>
      seal(JSON.stringify(header(changes.header)), JSON.stringify(claims(changes.claims)), changes.key),
    /** Signs with HMAC, as if both sides shared a secret. */
    sealWithSecret(secret: string | Buffer): string {
      const input = `${encode(header({ alg: 'HS256' }))}.${encode(claims())}`;
      return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
    },
    /** Encodes the signature in DER, which JWTs do not (RFC 7518, section 3.4). */
    withDerSignature: (token: string) =>
      withSignature(token, sign('sha256', Buffer.from(token.slice(0, token.lastIndexOf('.'))), key.privateKey)),
    /** Replaces the signature by an equivalent one: (r, n - s) for ECDSA, S + L for Ed25519. */
    withTwinSignature: (token: string) =>
      key.alg === 'ES256'
        ? withScalar(token, (s) => P256_ORDER - s)
        : withScalar(token, (s) => s + ED25519_ORDER, { isLittleEndian: true }),
  };
}

export function lifeFrom(iat: number): Json {
  return { iat, exp: iat + LIFETIME_SECONDS };
}

export function bytesOfSignature(token: string): Buffer {
  return Buffer.from(token.split('.')[2] ?? '', 'base64url');
}

export function withSignature(token: string, signature: Uint8Array): string {
  return `${token.slice(0, token.lastIndexOf('.'))}.${Buffer.from(signature).toString('base64url')}`;
}

export function toBase64Url(text: string): string {
  return Buffer.from(text).toString('base64url');
}

/** Changes the second half of the signature, a number of 32 bytes. */
function withScalar(token: string, change: (scalar: bigint) => bigint, { isLittleEndian = false } = {}): string {
  const bytes = bytesOfSignature(token);
  const ordered = (half: Uint8Array) => (isLittleEndian ? half.toReversed() : half);
  const scalar = BigInt(`0x${Buffer.from(ordered(bytes.subarray(32))).toString('hex')}`);
  const changed = Buffer.from(change(scalar).toString(16).padStart(64, '0'), 'hex');
  return withSignature(token, Buffer.concat([bytes.subarray(0, 32), ordered(changed)]));
}
