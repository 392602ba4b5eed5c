/**
 * Verification of auth tokens, ours and others', strictly: a JWT library accepts more than it should
 * for this, such as other headers, several audiences and several spellings of one token, and its
 * signature checks wait for the thread pool.
 */
import { type KeyObject, verify } from 'node:crypto';
import { ServiceError } from '../errors.ts';
import { UUID } from '../validation.ts';

/** Interface, "Limits": an auth token lives 15 minutes. */
export const TOKEN_LIFETIME_SECONDS = 15 * 60;
export const TOKEN_TYPE = 'login+jwt';

export type Algorithm = 'EdDSA' | 'ES256';

/** What a token says: this user completed this login intent of the application with this client ID. */
export interface LoginClaims {
  readonly userId: string;
  readonly loginIntentId: string;
  readonly clientId: string;
}

/** Whose tokens are accepted. */
export interface Issuer {
  /** The `iss` of its tokens. */
  readonly issuer: string;
  /** Undefined where the issuer has no such key for this algorithm. */
  findKey(kid: string, alg: Algorithm): Promise<KeyObject | undefined> | KeyObject | undefined;
}

/** Throws a ServiceError `Invalid or expired token`, whatever is wrong with it, and what `findKey` throws. */
export async function verifyToken(
  token: string,
  issuer: Issuer,
  { clientId, now }: { clientId: string; now: Date },
): Promise<LoginClaims> {
  const parts = token.split('.');
  requireThat(parts.length === 3);
  const [header = '', payload = '', signature = ''] = parts;
  // A header with anything in it but these asks for something we do not do.
  const { alg, typ, kid, ...others } = parseObject(decode(header));
  requireThat(isAlgorithm(alg) && typ === TOKEN_TYPE && typeof kid === 'string' && Object.keys(others).length === 0);
  const key = await issuer.findKey(kid, alg);
  requireThat(key !== undefined && isSignature(decode(signature), `${header}.${payload}`, key, alg));
  return readClaims(parseObject(decode(payload)), issuer.issuer, clientId, toSeconds(now));
}

/** What the token says of its issuer, not verified. */
export function claimedIssuer(token: string): unknown {
  return parseObject(decode(token.split('.')[1] ?? '')).iss;
}

export function isAlgorithm(alg: unknown): alg is Algorithm {
  return alg === 'EdDSA' || alg === 'ES256';
}

export function toSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}

/** Every claim with its type, and the lifetime exactly as it must be, without leeway. */
function readClaims(claims: Record<string, unknown>, issuer: string, clientId: string, now: number): LoginClaims {
  const { iss, aud, sub, jti, iat, exp, nbf } = claims;
  requireThat(iss === issuer && aud === clientId);
  requireThat(typeof sub === 'string' && UUID.test(sub) && typeof jti === 'string' && UUID.test(jti));
  requireThat(isSeconds(iat) && iat <= now && exp === iat + TOKEN_LIFETIME_SECONDS && exp > now);
  requireThat(nbf === undefined || (isSeconds(nbf) && nbf <= now));
  return { userId: sub.toLowerCase(), loginIntentId: jti, clientId };
}

function isSeconds(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isSignature(signature: Buffer, text: string, key: KeyObject, alg: Algorithm): boolean {
  const bytes = Buffer.from(text);
  if (signature.length !== 64) return false;
  if (alg === 'EdDSA') return key.asymmetricKeyType === 'ed25519' && verify(null, bytes, key, signature);
  const isP256 = key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
  return isP256 && verify('sha256', bytes, { key, dsaEncoding: 'ieee-p1363' }, signature);
}

/** Base64url has several spellings of some bytes (padding, spare bits); only the canonical one passes. */
function decode(part: string): Buffer {
  const bytes = Buffer.from(part, 'base64url');
  requireThat(bytes.toString('base64url') === part);
  return bytes;
}

function parseObject(bytes: Buffer): Record<string, unknown> {
  let text: string;
  let value: unknown;
  try {
    text = UTF_8.decode(bytes);
    value = JSON.parse(text);
  } catch {
    throw new InvalidTokenError();
  }
  requireThat(isObject(value) && (JSON.stringify(value) === text || !namesTwice(text)));
  return value;
}

/** Whether an object names something twice, which parsers read differently. Takes the JSON of an object. */
function namesTwice(json: string): boolean {
  const names: string[] = [];
  let depth = 0;
  for (const [token, name] of json.matchAll(/("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}[\]]/g)) {
    if (token === '{' || token === '[') depth++;
    else if (token === '}' || token === ']') depth--;
    else if (depth === 1 && name) names.push(JSON.parse(name));
  }
  return new Set(names).size < names.length;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A byte order mark stays, and so is no JSON. */
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function requireThat(holds: boolean): asserts holds {
  if (!holds) throw new InvalidTokenError();
}

class InvalidTokenError extends ServiceError {
  constructor() {
    super('unauthenticated', 'Invalid or expired token');
  }
}
