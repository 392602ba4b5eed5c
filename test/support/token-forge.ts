/** Signs auth tokens that are valid except for what a test changes. */
import { createHmac, createPublicKey, type KeyObject, randomUUID, sign } from 'node:crypto';
import { encode, generateIssuerKey, type IssuerKey, signatureOf } from './issuer.ts';

/** Members to sign, right or wrong; `undefined` leaves a member out. */
export type Json = Record<string, unknown>;

export interface ForgeOptions {
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

export class TokenForge {
  readonly key: IssuerKey;
  readonly otherKey: IssuerKey;
  /** A key that the issuer does not have, with the ID of one that it has. */
  readonly stranger: IssuerKey;
  readonly issuer: string;
  readonly clientId: string;
  readonly userId: string;
  readonly second: number;

  constructor({ key, otherKey, issuer, clientId, userId, second }: ForgeOptions) {
    this.key = key;
    this.otherKey = otherKey;
    this.stranger = generateIssuerKey(key.alg, key.kid);
    this.issuer = issuer;
    this.clientId = clientId;
    this.userId = userId;
    this.second = second;
  }

  get publicKey(): KeyObject {
    return createPublicKey({ key: { ...this.key.publicJwk }, format: 'jwk' });
  }

  /** Returns a token that is valid except for the changes. */
  token({ header = {}, claims = {}, key = this.key }: { header?: Json; claims?: Json; key?: IssuerKey } = {}): string {
    return this.seal(JSON.stringify(this.header(header)), JSON.stringify(this.claims(claims)), key);
  }

  header(changes: Json = {}): Json {
    return { alg: this.key.alg, typ: 'login+jwt', kid: this.key.kid, ...changes };
  }

  claims(changes: Json = {}): Json {
    const { issuer: iss, clientId: aud, userId: sub } = this;
    return { iss, aud, sub, jti: randomUUID(), ...lifeFrom(this.second), ...changes };
  }

  /** Signs the texts without checking them. */
  seal(header: string, payload: string, key = this.key): string {
    return this.sealParts(Buffer.from(header).toString('base64url'), Buffer.from(payload).toString('base64url'), key);
  }

  sealParts(header: string, payload: string, key = this.key): string {
    const input = `${header}.${payload}`;
    const token = `${input}.${signatureOf(input, key)}`;
    return key.alg === 'ES256' ? withScalar(token, (s) => (s > P256_ORDER / 2n ? P256_ORDER - s : s)) : token;
  }

  /** Signs with HMAC, as if both sides shared a secret. */
  sealWithSecret(hash: string, alg: string, secret: string | Buffer): string {
    const input = `${encode(this.header({ alg }))}.${encode(this.claims())}`;
    return `${input}.${createHmac(hash, secret).update(input).digest('base64url')}`;
  }

  /** Encodes the signature in DER, which JWTs do not (RFC 7518, section 3.4). */
  withDerSignature(): string {
    const token = this.token();
    return withSignature(token, sign('sha256', Buffer.from(inputOf(token)), this.key.privateKey));
  }

  /** Replaces the signature by an equivalent one: (r, n - s) for ECDSA, S + L for Ed25519. */
  withTwinSignature(): string {
    return this.key.alg === 'ES256'
      ? withScalar(this.token(), (s) => P256_ORDER - s)
      : withScalar(this.token(), (s) => s + ED25519_ORDER, true);
  }

  /** Signs a header or payload with spare bits set, so that only its spelling is wrong. */
  withSpareBits(part: 'header' | 'payload'): string {
    const texts = { header: JSON.stringify(this.header()), payload: JSON.stringify(this.claims()) };
    // Spare bits exist when the text is one byte longer than a multiple of three.
    while (Buffer.byteLength(texts[part]) % 3 !== 1) texts[part] += ' ';
    const parts = { header: toBase64Url(texts.header), payload: toBase64Url(texts.payload) };
    parts[part] = withSpareBits(parts[part]);
    return this.sealParts(parts.header, parts.payload);
  }

  /** Returns a valid token in the standard alphabet, with at least one character that base64url does not have. */
  inStandardAlphabet(): string {
    for (;;) {
      const token = this.token();
      const respelled = token.replaceAll('-', '+').replaceAll('_', '/');
      if (respelled !== token) return respelled;
    }
  }
}

export function lifeFrom(iat: number): Json {
  return { iat, exp: iat + LIFETIME_SECONDS };
}

export function bytesOfSignature(token: string): Buffer {
  return Buffer.from(token.split('.')[2] ?? '', 'base64url');
}

export function withSignature(token: string, signature: Uint8Array): string {
  return `${inputOf(token)}.${Buffer.from(signature).toString('base64url')}`;
}

/** 64 bytes are 85 characters and a third: the last character has four bits to spare. */
export function withSpareBits(text: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return text.slice(0, -1) + alphabet[alphabet.indexOf(text.slice(-1)) + 1];
}

function inputOf(token: string): string {
  return token.slice(0, token.lastIndexOf('.'));
}

function toBase64Url(text: string): string {
  return Buffer.from(text).toString('base64url');
}

/** Changes the second half of the signature, a number of 32 bytes. */
function withScalar(token: string, change: (scalar: bigint) => bigint, isLittleEndian = false): string {
  const bytes = bytesOfSignature(token);
  const ordered = (half: Uint8Array) => (isLittleEndian ? half.toReversed() : half);
  const scalar = BigInt(`0x${Buffer.from(ordered(bytes.subarray(32))).toString('hex')}`);
  const changed = Buffer.from(change(scalar).toString(16).padStart(64, '0'), 'hex');
  return withSignature(token, Buffer.concat([bytes.subarray(0, 32), ordered(changed)]));
}
