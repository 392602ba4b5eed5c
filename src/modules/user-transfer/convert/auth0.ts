/** The file of an export job of Auth0 in the format `json`: a user per line. */
import type { Product } from './product.ts';
import { readJsonLines } from './read-export.ts';
import { asList } from './to-user-line.ts';

/** Connections of Auth0 itself. */
const OWN = ['auth0', 'email', 'sms'];

export const auth0: Product = {
  read: readJsonLines,
  toUser(row, drop) {
    const identities = asList(row.identities);
    if (identities.some(({ provider }) => provider === 'auth0')) drop('passwords');
    if (row.phone_number) drop('phone numbers');
    if (Array.isArray(row.multifactor) && row.multifactor.length > 0) drop('second factors');
    // Users can write it.
    if (row.user_metadata) drop('user metadata');
    return {
      externalId: row.user_id,
      email: row.email,
      emailVerified: row.email_verified === true,
      // Without a name Auth0 has the address.
      name: row.name === row.email ? undefined : row.name,
      profileImage: row.picture,
      createdAt: row.created_at,
      isActive: row.blocked !== true,
      attributes: row.app_metadata,
      identities: identities
        .filter(({ provider }) => !OWN.includes(String(provider)))
        .map(({ provider, user_id: subject }) => ({ provider, subject })),
    };
  },
};
