/** Makes a line for the import of what a product knows of a user, and counts what Usher does not take. */
import { readStoredInstant } from '../../../src/database/sql/template.ts';
import type { Rule } from '../../../src/domain/core/rule.ts';
import { groupRules } from '../../../src/domain/groups/group.ts';
import { attributesRule } from '../../../src/domain/users/attributes.ts';
import { profileRules } from '../../../src/domain/users/user.ts';
import { decodeBase32 } from '../../../src/encoding/base32.ts';
import { isInRange } from '../../../src/encoding/instants.ts';
import { isObject, parseObject } from '../../../src/encoding/json.ts';
import type { Row } from './read-export.ts';

/** Counts things that are left out, by their plural. */
export type Drop = (what: string) => void;

/** A product that users come from. */
export interface Product {
  read(path: string): AsyncIterable<Row>;
  /** The fields of a row that `toUser` looks at, or that say nothing of the user. All others are counted as left out. */
  readonly fields: readonly string[];
  /** Returns undefined for what is no user. */
  toUser(row: Row, drop: Drop): FoundUser | undefined;
}

export interface FoundUser {
  readonly externalId: unknown;
  readonly email: unknown;
  readonly emailVerified: boolean;
  readonly name: unknown;
  readonly profileImage?: unknown;
  /** Text, or milliseconds. */
  readonly createdAt?: unknown;
  readonly isActive: boolean;
  readonly attributes?: unknown;
  readonly groups?: readonly unknown[];
  readonly identities: readonly { readonly provider: unknown; readonly subject: unknown }[];
  /** The key of an authenticator app, in Base32. */
  readonly totpSecret?: string | undefined;
}

/**
 * The usual IDs in `LOGIN_PROVIDERS_FILE`, by those of the products. Microsoft and others are missing, because the
 * subject of an account differs there for each client.
 */
const PROVIDERS: Readonly<Record<string, string>> = {
  google: 'google',
  'google-oauth2': 'google',
  'google.com': 'google',
  github: 'github',
  'github.com': 'github',
};

/** Returns undefined for a user without an address. */
export function toUserLine(found: FoundUser, drop: Drop): string | undefined {
  const { email, emailVerified, isActive } = found;
  if (!accepts(profileRules.email, email)) {
    drop('users without a valid address');
    return undefined;
  }
  const keep = (rule: Rule<unknown>, value: unknown, what: string) => {
    if (value === undefined || value === null || value === '') return undefined;
    if (accepts(rule, value)) return value;
    drop(what);
    return undefined;
  };
  const groups = (found.groups ?? []).filter((name) => keep(groupRules.name, name, 'groups') !== undefined);
  const identities = found.identities.flatMap(({ provider, subject }) => {
    const id = Object.hasOwn(PROVIDERS, String(provider)) ? PROVIDERS[String(provider)] : undefined;
    // Who signed up with the address of somebody else must not keep a way in.
    if (id && subject && emailVerified) return [{ provider: id, subject: String(subject) }];
    drop(id && subject ? 'identities of users whose address is not verified' : 'identities of other providers');
    return [];
  });
  const line = {
    externalId: keep(profileRules.externalId, found.externalId, 'IDs'),
    email,
    emailVerified,
    name: keep(profileRules.name, found.name, 'names'),
    profileImage: keep(profileRules.profileImage, found.profileImage, 'images'),
    createdAt: toInstant(found.createdAt, drop),
    isActive,
    attributes: toAttributes(found.attributes, drop),
    groups,
    identities,
    totpSecret: toTotpSecret(found.totpSecret, drop),
  };
  return `${JSON.stringify(line)}\n`;
}

/** Returns whether there is a value. CSV has a null as nothing, or in the words of psql. */
export function has(value: unknown): boolean {
  return value !== undefined && value !== null && !['', 'null', 'NULL', '\\N'].includes(String(value));
}

/** CSV has a boolean as text, and psql as a letter. */
export function isTrue(value: unknown): boolean {
  return ['true', 't'].includes(String(value).toLowerCase());
}

/** CSV has JSON as text. */
export function toValue(value: unknown): unknown {
  return typeof value === 'string' ? parseObject(`{"value":${value}}`)?.value : value;
}

export function toObject(value: unknown): Row {
  const object = toValue(value);
  return isObject(object) ? object : {};
}

export function asList(value: unknown): readonly Row[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

export function joinNames(...names: readonly unknown[]): string {
  return names.filter((name) => typeof name === 'string' && name !== '').join(' ');
}

function accepts(rule: Rule<unknown>, value: unknown): boolean {
  try {
    rule(value);
    return true;
  } catch {
    return false;
  }
}

/** The import takes keys of 80 to 512 bits. */
function toTotpSecret(secret: string | undefined, drop: Drop): string | undefined {
  if (!secret) return undefined;
  const bytes = decodeBase32(secret)?.length ?? 0;
  if (bytes >= 10 && bytes <= 64) return secret;
  drop('TOTP');
  return undefined;
}

/** Names become like `plan_tier`. */
function toAttributes(value: unknown, drop: Drop): Row | undefined {
  let attributes: Row = {};
  for (const [name, each] of Object.entries(isObject(value) ? value : {})) {
    const plain = name
      .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
      .replaceAll(/[^A-Za-z0-9]+/g, '_')
      .toLowerCase();
    const more = { ...attributes, [plain]: each };
    if (!Object.hasOwn(attributes, plain) && accepts(attributesRule, more)) attributes = more;
    else drop('attributes');
  }
  return Object.keys(attributes).length > 0 ? attributes : undefined;
}

function toInstant(value: unknown, drop: Drop): string | undefined {
  if (!has(value)) return undefined;
  // `listUsers` of Firebase has dates as HTTP writes them, and an export of Supabase as Postgres does.
  const isMilliseconds = typeof value === 'number' || /^\d+$/.test(String(value));
  const date = isMilliseconds ? new Date(Number(value)) : readStoredInstant(String(value));
  if (isInRange(date)) return date.toISOString();
  drop('dates');
  return undefined;
}
