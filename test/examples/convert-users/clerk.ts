/** The CSV that the dashboard of Clerk exports. It has no identities and no metadata. */
import { readCsv } from './read-export.ts';
import { joinNames, type Product } from './to-user-line.ts';

export const clerk: Product = {
  read: (path) => readCsv(path, 'primary_email_address'),
  fields: [
    ...['id', 'first_name', 'last_name', 'username', 'primary_email_address', 'primary_phone_number', 'totp_secret'],
    ...['verified_email_addresses', 'unverified_email_addresses', 'verified_phone_numbers', 'unverified_phone_numbers'],
    ...['password_digest', 'password_hasher'],
  ],
  toUser(row, drop) {
    const { primary_email_address: email } = row;
    const [verified, unverified] = [row.verified_email_addresses, row.unverified_email_addresses].map(split);
    if (row.password_digest) drop('passwords');
    if (row.primary_phone_number) drop('phone numbers');
    if (row.username) drop('user names');
    for (const other of [...(verified ?? []), ...(unverified ?? [])]) if (other !== email) drop('further addresses');
    return {
      externalId: row.id,
      email,
      emailVerified: verified?.includes(String(email)) === true,
      name: joinNames(row.first_name, row.last_name),
      isActive: true,
      identities: [],
      totpSecret: typeof row.totp_secret === 'string' ? row.totp_secret : undefined,
    };
  },
};

function split(addresses: unknown): string[] {
  return String(addresses ?? '')
    .split(/[\s,;|]+/)
    .filter(Boolean);
}
