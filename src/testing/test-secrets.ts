import { generateKeyPairSync, randomBytes } from 'node:crypto';

/** The settings of the files that `createSecretFiles` returns. */
export const SECRET_SETTINGS = { AUTH_SIGNING_KEYS_FILE: 'signing-keys', ENCRYPTION_KEY_FILE: 'encryption-key' };

/** Returns the files that they name, with new secrets. */
export function createSecretFiles() {
  const { privateKey } = generateKeyPairSync('ed25519');
  return {
    'signing-keys': JSON.stringify({ keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'test-key' }] }),
    'encryption-key': randomBytes(32).toString('base64'),
  };
}
