/** The keys: those of stored secrets, and those that are published. */
import { RowCipher } from '../domain/crypto/aes-gcm.ts';
import { describeUnreadable, readSecretCounts } from '../jobs/read-secret-counts.ts';
import { type Check, comparePublished, fail, pass } from '../modules/check.ts';
import type { FullContext } from './check-context.ts';

export const KEY_CHECKS: readonly Check<FullContext>[] = [
  {
    check: 'stored secrets',
    settings: ['ENCRYPTION_KEY_FILE'],
    async run({ config, read, secrets: { encryptionKeys } }) {
      if (!read || !encryptionKeys) return [];
      const counts = await read((sql) => readSecretCounts(sql, new RowCipher(encryptionKeys), config.databaseSchema));
      const unreadable = describeUnreadable(counts);
      if (unreadable !== undefined) {
        return [fail(unreadable, 'Webhooks cannot be signed. Put the key that is missing back into the file')];
      }
      const total = counts.reduce((sum, { total: each }) => sum + each, 0);
      return [pass(`all ${total} can be decrypted`)];
    },
  },
  {
    check: 'keys of auth tokens',
    settings: ['AUTH_SIGNING_KEYS_FILE'],
    run: (context) => comparePublished(context, '/.well-known/jwks.json', context.secrets.authSigningKeys),
  },
];
