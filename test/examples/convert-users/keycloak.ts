/** The export of a realm of Keycloak with its users, or one of its files of users. */
import { isObject } from '../../../src/encoding/json.ts';
import { readJson } from './read-export.ts';
import { asList, has, joinNames, type Product, toObject } from './to-user-line.ts';

const CREDENTIALS: Readonly<Record<string, string>> = {
  password: 'passwords',
  otp: 'TOTP',
  webauthn: 'passkeys',
  'webauthn-passwordless': 'passkeys',
};

export const keycloak: Product = {
  read: readJson,
  fields: [
    ...[
      'id',
      'username',
      'email',
      'emailVerified',
      'enabled',
      'firstName',
      'lastName',
      'createdTimestamp',
      'attributes',
    ],
    ...['credentials', 'groups', 'federatedIdentities', 'realmRoles', 'clientRoles', 'requiredActions', 'totp', 'self'],
    ...['serviceAccountClientId', 'disableableCredentialTypes', 'notBefore', 'access', 'origin', 'userProfileMetadata'],
  ],
  toUser(row, drop) {
    if (row.serviceAccountClientId) {
      drop('service accounts');
      return undefined;
    }
    for (const { type } of asList(row.credentials)) drop(CREDENTIALS[String(type)] ?? 'other credentials');
    const { phoneNumber, phoneNumberVerified: _, ...attributes } = isObject(row.attributes) ? row.attributes : {};
    if (phoneNumber) drop('phone numbers');
    if (has(row.username) && row.username !== row.email) drop('user names');
    for (const role of [...asArray(row.realmRoles), ...Object.values(toObject(row.clientRoles)).flatMap(asArray)]) {
      // Every user has those of the realm.
      if (!String(role).startsWith('default-roles-')) drop('roles');
    }
    for (const _action of asArray(row.requiredActions)) drop('required actions');
    const groups = asArray(row.groups);
    return {
      externalId: row.id,
      email: row.email,
      emailVerified: row.emailVerified === true,
      name: joinNames(row.firstName, row.lastName),
      createdAt: row.createdTimestamp,
      isActive: row.enabled !== false,
      attributes: Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, unwrap(value)])),
      // A path such as `/editors`. Usher has no groups within groups.
      groups: groups.map((path) => String(path).replace(/^\//, '')),
      identities: asList(row.federatedIdentities).map(({ identityProvider: provider, userId: subject }) => ({
        provider,
        subject,
      })),
    };
  },
};

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Keycloak has a list for each attribute. */
function unwrap(value: unknown): unknown {
  return Array.isArray(value) && value.length === 1 ? value[0] : value;
}
