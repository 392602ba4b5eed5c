/** The export of a realm of Keycloak with its users, or one of its files of users. */
import { isObject } from '../../../encoding/json.ts';
import type { Product } from './product.ts';
import { readJson } from './read-export.ts';
import { asList, joinNames } from './to-user-line.ts';

const CREDENTIALS: Readonly<Record<string, string>> = {
  password: 'passwords',
  otp: 'TOTP',
  webauthn: 'passkeys',
  'webauthn-passwordless': 'passkeys',
};

export const keycloak: Product = {
  read: readJson,
  toUser(row, drop) {
    if (row.serviceAccountClientId) {
      drop('service accounts');
      return undefined;
    }
    for (const { type } of asList(row.credentials)) drop(CREDENTIALS[String(type)] ?? 'other credentials');
    const { phoneNumber, phoneNumberVerified: _, ...attributes } = isObject(row.attributes) ? row.attributes : {};
    if (phoneNumber) drop('phone numbers');
    const groups = Array.isArray(row.groups) ? row.groups : [];
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

/** Keycloak has a list for each attribute. */
function unwrap(value: unknown): unknown {
  return Array.isArray(value) && value.length === 1 ? value[0] : value;
}
