/**
 * The files of Auth0: an export job of the Management API, a user per line as JSON or CSV; the export extension, which
 * writes the same with titles such as `Email Verified`; and the array of `GET /api/v2/users`.
 */
import { formatOf, type Row, readCsv, readJson, readJsonLines } from './read-export.ts';
import { asList, has, isTrue, joinNames, type Product, toObject, toValue } from './to-user-line.ts';

/** Connections of Auth0 itself. */
const OWN = ['auth0', 'email', 'sms'];

export const auth0: Product = {
  async *read(path) {
    const format = await formatOf(path);
    const rows = format === 'json' ? readJson(path) : format === 'lines' ? readJsonLines(path) : readCsv(path);
    for await (const row of rows) {
      // A page of `GET /api/v2/users` with `include_totals`.
      for (const user of Array.isArray(row.users) ? asList(row.users) : [row]) yield toFields(user);
    }
  },
  fields: [
    ...['user_id', 'email', 'email_verified', 'name', 'given_name', 'family_name', 'nickname', 'picture', 'created_at'],
    ...['blocked', 'app_metadata', 'user_metadata', 'identities', 'phone_number', 'phone_verified', 'multifactor'],
    ...[
      'username',
      'connection',
      'provider',
      'updated_at',
      'last_login',
      'last_ip',
      'logins_count',
      'multifactor_last_modified',
    ],
    ...['last_password_reset', 'locale', 'guardian_authenticators', '_id'],
  ],
  toUser(row, drop) {
    const { user_id: id, email } = row;
    const [provider = '', ...subject] = String(id ?? '').split('|');
    const given = asList(toValue(row.identities));
    // The extension leaves them out, but the ID names the first one.
    const ofId = subject.length > 0 ? [{ provider, user_id: subject.join('|') }] : [];
    const identities = given.length > 0 ? given : ofId;
    if (identities.some((identity) => identity.provider === 'auth0')) drop('passwords');
    if (has(row.phone_number)) drop('phone numbers');
    if (has(row.username)) drop('user names');
    if (hasAny(toValue(row.multifactor)) || hasAny(toValue(row.guardian_authenticators))) drop('second factors');
    // Users can write it.
    if (hasAny(toValue(row.user_metadata))) drop('user metadata');
    return {
      externalId: id,
      email,
      emailVerified: isTrue(row.email_verified),
      // Without a name Auth0 has the address.
      name: has(row.name) && row.name !== email ? row.name : joinNames(row.given_name, row.family_name),
      profileImage: row.picture,
      createdAt: row.created_at,
      isActive: !isTrue(row.blocked),
      attributes: toObject(row.app_metadata),
      identities: identities
        .filter((identity) => !OWN.includes(String(identity.provider)))
        .map((identity) => ({ provider: identity.provider, subject: identity.user_id })),
    };
  },
};

/** Returns the row with the names of the Management API, and without the quote before each text of a CSV. */
function toFields(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([title, value]) => {
      const name = title.trim().replaceAll(' ', '_').toLowerCase();
      const plain = typeof value === 'string' ? value.replace(/^'/, '') : value;
      return [name === 'id' ? 'user_id' : name, plain];
    }),
  );
}

function hasAny(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}
