/** Attributes of users, which only operators write. An application sees those that its `attributeClaims` list. */
import { type SQL, sql } from 'drizzle-orm';
import type { Attributes } from '../../database/schema/column-types.ts';
import { p } from '../../database/sql/template.ts';
import { isObject } from '../../encoding/json.ts';
import { patternOf, type Rule, rule, Unacceptable } from '../core/rule.ts';
import { listOf, requireText } from '../core/validation.ts';

/** In bytes of JSON. */
const MAX_BYTES = 4_096;
const MAX_ATTRIBUTES = 50;
const NAME = /^[a-z][a-z0-9_]{0,63}$/;

/**
 * The claims of RFC 7519 and OpenID Connect, and those that Usher has for them: an attribute must not pose as one. Only
 * `preferred_username` is chosen by an attribute.
 */
const RESERVED: ReadonlySet<string> = new Set([
  ...['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti', 'azp', 'nonce', 'auth_time', 'at_hash', 'c_hash', 'acr', 'amr'],
  ...['sid', 'name', 'given_name', 'family_name', 'middle_name', 'nickname', 'profile', 'picture'],
  ...['website', 'email', 'email_verified', 'gender', 'birthdate', 'zoneinfo', 'locale', 'phone_number'],
  ...['phone_number_verified', 'address', 'updated_at', 'events', 'sub_jwk', 'cnf', 'client_id', 'scope', 'act'],
  ...['may_act', 'roles', 'groups', 'entitlements', 'token_type'],
]);

/** Accepts the name of an attribute, unless it is that of a registered claim. */
const attributeName: Rule<string> = rule({ type: 'string', pattern: patternOf(NAME) }, (value) => {
  const name = requireText(value);
  if (!isAttributeName(name)) throw new Unacceptable('must be names such as plan_2, and none of a registered claim');
  return name;
});

function isAttributeName(name: string): boolean {
  return NAME.test(name) && !RESERVED.has(name);
}

const names = listOf(attributeName, { min: 0, max: 10 });
/** Accepts the attributes that an application sees. Each is stored once. */
export const attributeClaimsRule: Rule<string[]> = rule(names.schema, (value) => [...new Set(names(value))]);

/** Accepts attributes. Returns null for none. */
export const attributesRule: Rule<Attributes | null> = rule(
  { type: 'object' },
  (value) => {
    if (value === undefined || value === null) return null;
    if (!isObject(value)) throw new Unacceptable('must be an object');
    const entries = Object.entries(value);
    if (entries.length > MAX_ATTRIBUTES) throw new Unacceptable(`must have at most ${MAX_ATTRIBUTES} attributes`);
    for (const [name, each] of entries) {
      if (!isAttributeName(name))
        throw new Unacceptable('must have names such as plan_2, and none of a registered claim');
      requireValue(each);
      if (name === 'preferred_username') requireUsername(each);
    }
    if (Buffer.byteLength(JSON.stringify(value)) > MAX_BYTES)
      throw new Unacceptable(`must have at most ${MAX_BYTES} bytes as JSON`);
    // Each value has been checked.
    return entries.length === 0 ? null : (value as Attributes);
  },
  { isOptional: true, isNullable: true },
);

const USERNAME = /^[^\p{Cc}]{1,255}$/u;

function requireUsername(value: unknown): void {
  if (typeof value !== 'string' || !USERNAME.test(value))
    throw new Unacceptable('must have a preferred_username of 1 to 255 characters without control characters');
}

function requireValue(value: unknown): void {
  const problem = 'must have texts, numbers, booleans, or lists of texts as values';
  if (typeof value === 'boolean' || Number.isFinite(value)) return;
  for (const text of Array.isArray(value) ? value : [value]) {
    if (typeof text !== 'string') throw new Unacceptable(problem);
    requireText(text);
  }
}

/** Selects the attributes that the application sees, or null. Parameter, unless the claims are named: `attributeParameter`. */
export function shownAttributes(attributes: SQL, claims = p.texts('attributeClaims')): SQL {
  return sql`
    -- Equivalent: conjunct: without claims, it finds nothing
    case when ${claims} is not null then (
    select jsonb_object_agg(key, value) from jsonb_each(${attributes}) where key = any(${claims})) end`;
}

/** Selects the `preferred_username` that an operator has set, or null. */
export function preferredUsername(attributes: SQL): SQL {
  return sql`${attributes} ->> 'preferred_username'`;
}

export function attributeParameter({ attributeClaims = [] }: { readonly attributeClaims?: readonly string[] }) {
  // Equivalent: guard: by an empty list, statements look for nothing and find it
  if (attributeClaims.length === 0) return { attributeClaims: null };
  return { attributeClaims };
}
