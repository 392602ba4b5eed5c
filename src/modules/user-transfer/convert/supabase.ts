/** Rows of `auth.users` of Supabase, as CSV or JSON, with those of `auth.identities` in a column `identities`. */
import { isObject, parseObject } from '../../../encoding/json.ts';
import type { Product } from './product.ts';
import { isJson, type Row, readCsv, readJson } from './read-export.ts';
import { asList } from './to-user-line.ts';

/** Sign-ins with Supabase itself. */
const OWN = ['email', 'phone'];

export const supabase: Product = {
  async *read(path) {
    yield* (await isJson(path)) ? readJson(path) : readCsv(path, 'email_confirmed_at');
  },
  toUser(row, drop) {
    if (has(row.deleted_at)) {
      drop('deleted users');
      return undefined;
    }
    if (has(row.encrypted_password)) drop('passwords');
    if (has(row.phone)) drop('phone numbers');
    const { provider: _, providers: _others, ...attributes } = toObject(row.raw_app_meta_data);
    // Users can write it.
    const profile = toObject(row.raw_user_meta_data);
    if (Object.keys(profile).length > 0) drop('user metadata');
    return {
      externalId: row.id,
      email: row.email,
      emailVerified: has(row.email_confirmed_at),
      name: profile.full_name ?? profile.name,
      profileImage: profile.avatar_url,
      createdAt: row.created_at,
      isActive: !has(row.banned_until) || new Date(String(row.banned_until)) <= new Date(),
      attributes,
      identities: asList(toValue(row.identities))
        .filter(({ provider }) => !OWN.includes(String(provider)))
        .map((each) => ({ provider: each.provider, subject: each.provider_id ?? toObject(each.identity_data).sub })),
    };
  },
};

/** CSV has a null as nothing, or in the words of psql. */
function has(value: unknown): boolean {
  return typeof value === 'string' && !['', 'null', 'NULL', '\\N'].includes(value);
}

/** CSV has JSON as text. */
function toValue(value: unknown): unknown {
  return typeof value === 'string' ? parseObject(`{"value":${value}}`)?.value : value;
}

function toObject(value: unknown): Row {
  const object = toValue(value);
  return isObject(object) ? object : {};
}
