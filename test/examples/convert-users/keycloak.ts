/** The export of a realm of Keycloak with its users, or one of its files of users. */
import { encodeBase32 } from '../../../src/encoding/base32.ts';
import { isObject, parseObject } from '../../../src/encoding/json.ts';
import { type Row, readJson } from './read-export.ts';
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
    const credentials = asList(row.credentials);
    const totpSecret = credentials.map(readTotpSecret).find((secret) => secret !== undefined);
    for (const credential of credentials)
      if (!totpSecret || readTotpSecret(credential) !== totpSecret)
        drop(CREDENTIALS[String(credential.type)] ?? 'other credentials');
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
      totpSecret,
    };
  },
};

/** Returns the key of an app with SHA-1, 6 digits and 30 seconds. Keycloak has its bytes as text, or in Base32. */
function readTotpSecret({ type, secretData, credentialData }: Row): string | undefined {
  const { subType, digits, period, algorithm, secretEncoding } = toFields(credentialData);
  const { value } = toFields(secretData);
  const isUsual = subType === 'totp' && digits === 6 && period === 30 && algorithm === 'HmacSHA1';
  if (type !== 'otp' || !isUsual || typeof value !== 'string') return undefined;
  return secretEncoding === 'BASE32' ? value : encodeBase32(Buffer.from(value));
}

/** Keycloak has these objects as text. */
function toFields(text: unknown): Row {
  return (typeof text === 'string' && parseObject(text)) || {};
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Keycloak has a list for each attribute. */
function unwrap(value: unknown): unknown {
  return Array.isArray(value) && value.length === 1 ? value[0] : value;
}
