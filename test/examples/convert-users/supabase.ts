/**
 * Rows of `auth.users` of Supabase, as CSV or JSON, with those of `auth.identities` in a column `identities`, and what
 * `auth.admin.listUsers` returns.
 */
import { formatOf, type Row, readCsv, readJson } from './read-export.ts';
import { asList, has, isTrue, type Product, toObject, toValue } from './to-user-line.ts';

/** Sign-ins with Supabase itself. */
const OWN = ['email', 'phone'];

export const supabase: Product = {
  async *read(path) {
    yield* (await formatOf(path)) === 'csv' ? readCsv(path, 'email_confirmed_at') : readJson(path);
  },
  fields: [
    ...[
      'id',
      'email',
      'email_confirmed_at',
      'confirmed_at',
      'created_at',
      'updated_at',
      'last_sign_in_at',
      'deleted_at',
    ],
    ...['raw_app_meta_data', 'app_metadata', 'raw_user_meta_data', 'user_metadata', 'identities', 'phone', 'factors'],
    ...['encrypted_password', 'banned_until', 'is_anonymous', 'aud', 'role', 'phone_confirmed_at'],
    ...['confirmation_token', 'recovery_token', 'email_change_token_new', 'email_change_token_current', 'email_change'],
    ...['reauthentication_token', 'phone_change', 'phone_change_token', 'email_change_confirm_status', 'is_sso_user'],
    ...['invited_at', 'confirmation_sent_at', 'recovery_sent_at', 'email_change_sent_at', 'phone_change_sent_at'],
    ...['reauthentication_sent_at', 'is_super_admin'],
  ],
  toUser(row, drop) {
    if (has(row.deleted_at)) {
      drop('deleted users');
      return undefined;
    }
    if (has(row.encrypted_password)) drop('passwords');
    if (has(row.phone)) drop('phone numbers');
    if (asList(toValue(row.factors)).length > 0) drop('second factors');
    if (has(row.role) && row.role !== 'authenticated') drop('roles');
    if (isTrue(row.is_super_admin)) drop('roles');
    const { provider: _, providers: _others, ...attributes } = toObject(row.raw_app_meta_data ?? row.app_metadata);
    // Users can write it.
    const profile = toObject(row.raw_user_meta_data ?? row.user_metadata);
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
        .map((each) => ({ provider: each.provider, subject: subjectOf(each) })),
    };
  },
};

/** A row of the table has an `id` of its own. Where there is an `identity_id`, the `id` is that at the provider. */
function subjectOf(identity: Row): unknown {
  const ofProvider = identity.provider_id ?? toObject(identity.identity_data).sub;
  return ofProvider ?? (has(identity.identity_id) ? identity.id : undefined);
}
