/** The file of `firebase auth:export users.json`, and what `listUsers` of the Admin SDK returns. */
import { readJson } from './read-export.ts';
import { asList, has, type Product, toObject } from './to-user-line.ts';

/** Sign-ins with Firebase itself. */
const OWN = ['password', 'phone', 'emailLink'];

export const firebase: Product = {
  read: readJson,
  fields: [
    ...['localId', 'uid', 'email', 'emailVerified', 'displayName', 'photoUrl', 'photoURL', 'createdAt', 'metadata'],
    ...['disabled', 'customAttributes', 'customClaims', 'providerUserInfo', 'providerData', 'phoneNumber', 'mfaInfo'],
    ...['multiFactor', 'passwordHash', 'salt', 'passwordSalt', 'passwordUpdatedAt', 'lastSignedInAt', 'lastRefreshAt'],
    ...['lastLoginAt', 'validSince', 'tokensValidAfterTime', 'providerId', 'rawId', 'version'],
  ],
  toUser(row, drop) {
    if (has(row.passwordHash)) drop('passwords');
    if (has(row.phoneNumber)) drop('phone numbers');
    const factors = [...asList(row.mfaInfo), ...asList(toObject(row.multiFactor).enrolledFactors)];
    if (factors.length > 0) drop('second factors');
    // Custom claims, which only servers write.
    const attributes = toObject(row.customClaims ?? row.customAttributes);
    if (has(row.customAttributes) && row.customAttributes !== '{}' && Object.keys(attributes).length === 0) {
      drop('attributes');
    }
    return {
      externalId: row.localId ?? row.uid,
      email: row.email,
      emailVerified: row.emailVerified === true,
      name: row.displayName,
      profileImage: row.photoUrl ?? row.photoURL,
      createdAt: row.createdAt ?? toObject(row.metadata).creationTime,
      isActive: row.disabled !== true,
      attributes,
      identities: asList(row.providerUserInfo ?? row.providerData)
        .filter(({ providerId }) => !OWN.includes(String(providerId)))
        .map(({ providerId: provider, rawId, uid }) => ({ provider, subject: rawId ?? uid })),
    };
  },
};
