/**
 * Verifies auth tokens without jose, which accepts several spellings of one token, lists of audiences and unknown
 * headers. It also verifies in the thread pool, which costs 30 % more CPU per EdDSA token.
 */
import { type KeyObject, verify } from 'node:crypto';
import { decodeBase64Url } from '../../encoding/base64url.ts';
import { isObject } from '../../encoding/json.ts';
import { levelOfAcr } from '../core/assurance.ts';
import { ServiceError } from '../core/errors.ts';
import { UUID } from '../core/validation.ts';

export const TOKEN_LIFETIME_SECONDS = 15 * 60;
export const TOKEN_TYPE = 'login+jwt';

export type Algorithm = 'EdDSA' | 'ES256';

/**
 * How a user signed in: by code (`email`), wallet or passkey on the login page, on another page that called
 * CompleteLogin (`page`), or at a provider. For a provider it is the provider's ID. `issuer`: the token does not say it.
 * With `impersonation`, somebody else has signed in on behalf of the user. No application ever learns of `recovery`, by
 * the link of an operator.
 */
export type SignInMethod =
  | ('email' | 'wallet' | 'passkey' | 'page' | 'issuer' | typeof IMPERSONATION | 'recovery')
  | ProviderMethod;

/** The method of a sign-in on behalf of a user. It is never fresh, and browsers do not remember it. */
export const IMPERSONATION = 'impersonation';

/**
 * Any string, as operators choose the IDs of providers. `& {}` keeps the literals of `SignInMethod` apart in editors.
 */
type ProviderMethod = string & {};

/** The content of a token: this user has completed this login intent of the application with this client ID. */
export interface LoginClaims {
  readonly userId: string;
  readonly loginIntentId: string;
  readonly clientId: string;
  /** Precise to the second if the token does not say it. */
  readonly authenticatedAt: Date;
  readonly method: SignInMethod;
  readonly assurance: number;
}

interface Issuer {
  /** The `iss` of its tokens. */
  readonly issuer: string;
  /** Returns the public key with this ID if it is for this algorithm. */
  findKey(kid: string, alg: Algorithm): KeyObject | undefined;
}

/**
 * Returns the claims of a token that the issuer signed for this client.
 *
 * @throws ServiceError `Invalid or expired token` for every reason
 */
export function verifyToken(token: string, issuer: Issuer, clientId: string, now: Date): LoginClaims {
  const parts = token.split('.');
  requireThat(parts.length === 3);
  const [header = '', payload = '', signature = ''] = parts;
  const { alg, typ, kid, ...unknown } = parseObject(decode(header));
  requireThat(typ === TOKEN_TYPE && Object.keys(unknown).length === 0);
  // Equivalent: call, condition: no key is found by others
  requireThat(isAlgorithm(alg) && typeof kid === 'string');

  const claims = parseObject(decode(payload));
  const key = claims.iss === issuer.issuer ? issuer.findKey(kid, alg) : undefined;
  requireThat(key !== undefined && isSignature(decode(signature), `${header}.${payload}`, key, alg));
  return { ...checkClaims(claims, clientId, toSeconds(now)), ...readSignIn(claims) };
}

export function isAlgorithm(alg: unknown): alg is Algorithm {
  return alg === 'EdDSA' || alg === 'ES256';
}

/** Returns whole seconds since 1970, the unit of times in JWTs. */
export function toSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}

/** Requires all claims and exactly the documented lifetime. Allows no leeway for clocks. */
function checkClaims(
  claims: Record<string, unknown>,
  clientId: string,
  now: number,
): Omit<LoginClaims, 'method' | 'assurance'> {
  const { aud, sub, jti, iat, exp, nbf } = claims;
  requireThat(aud === clientId);
  requireThat(typeof sub === 'string' && UUID.test(sub) && typeof jti === 'string' && UUID.test(jti));
  requireThat(isSeconds(iat) && iat <= now && exp === iat + TOKEN_LIFETIME_SECONDS && exp > now);
  requireThat(nbf === undefined || (isSeconds(nbf) && nbf <= now));
  return { userId: sub.toLowerCase(), loginIntentId: jti, clientId, authenticatedAt: new Date(iat * 1_000) };
}

/** Reads claims that tokens which somebody else signs with Usher's keys may lack. */
function readSignIn({
  auth_time: authTime,
  amr,
  acr,
}: Record<string, unknown>): Partial<LoginClaims> & Pick<LoginClaims, 'method' | 'assurance'> {
  const [method] = Array.isArray(amr) ? amr : [];
  const how = { method: method ?? 'issuer', assurance: levelOfAcr(acr) };
  return { ...how, ...(isSeconds(authTime) && { authenticatedAt: new Date(authTime) }) };
}

function isSeconds(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

/** Signatures of both algorithms have 64 bytes: RFC 7518, section 3.4 (ECDSA without DER), and RFC 8037. */
function isSignature(signature: Buffer, text: string, key: KeyObject, alg: Algorithm): boolean {
  // Equivalent: guard: Node refuses others, too
  if (signature.length !== 64) return false;
  const bytes = Buffer.from(text);
  if (alg === 'ES256') return verify('sha256', bytes, { key, dsaEncoding: 'ieee-p1363' }, signature);
  // Passing the key in an options object costs 15 % more CPU.
  return verify(null, bytes, key, signature);
}

function decode(part: string): Buffer {
  const bytes = decodeBase64Url(part);
  requireThat(bytes !== undefined);
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
  requireThat(isObject(value));
  // Equivalent: guard: a fast path: most issuers write the same JSON as JSON.stringify, which repeats no name
  if (JSON.stringify(value) === text) return value;
  requireThat(!hasDuplicateNames(text));
  return value;
}

/** Returns whether a JSON object repeats a name at its top level: parsers differ in which value they return. */
function hasDuplicateNames(json: string): boolean {
  const names: string[] = [];
  let depth = 0;
  for (const [token, name] of json.matchAll(/("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}[\]]/g)) {
    if (token === '{' || token === '[') depth++;
    else if (token === '}' || token === ']') depth--;
    else if (depth === 1 && name) names.push(JSON.parse(name));
  }
  return new Set(names).size < names.length;
}

/** `ignoreBOM` keeps a byte order mark in the text, so that JSON.parse refuses the text. */
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function requireThat(holds: boolean): asserts holds {
  if (!holds) throw new InvalidTokenError();
}

export class InvalidTokenError extends ServiceError {
  constructor() {
    super('INVALID_TOKEN');
  }
}
