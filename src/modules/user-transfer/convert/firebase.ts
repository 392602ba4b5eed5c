/** The file of `firebase auth:export users.json`. */
import { parseObject } from '../../../encoding/json.ts';
import type { Product } from './product.ts';
import { readJson } from './read-export.ts';
import { asList } from './to-user-line.ts';

/** Sign-ins with Firebase itself. */
const OWN = ['password', 'phone', 'emailLink'];

export const firebase: Product = {
  read: readJson,
  toUser(row, drop) {
    if (row.passwordHash) drop('passwords');
    if (row.phoneNumber) drop('phone numbers');
    if (asList(row.mfaInfo).length > 0) drop('second factors');
    return {
      externalId: row.localId,
      email: row.email,
      emailVerified: row.emailVerified === true,
      name: row.displayName,
      profileImage: row.photoUrl,
      createdAt: row.createdAt,
      isActive: row.disabled !== true,
      // Custom claims, which only servers write.
      attributes: typeof row.customAttributes === 'string' ? parseObject(row.customAttributes) : undefined,
      identities: asList(row.providerUserInfo)
        .filter(({ providerId }) => !OWN.includes(String(providerId)))
        .map(({ providerId: provider, rawId: subject }) => ({ provider, subject })),
    };
  },
};
