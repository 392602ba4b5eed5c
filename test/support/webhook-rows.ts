/** Webhooks as the service would have stored them with a key. */
import { randomBytes } from 'node:crypto';
import { SigningKeyCipher } from '../../src/domain/webhooks/signing-key-cipher.ts';
import { cloneDatabase, type TestDatabase } from './database.ts';
import { createTenant, createTestUser, startTestService } from './service.ts';

/** Returns how many webhooks each key has encrypted, by the ID of the key. */
export async function countByKey({ sql }: TestDatabase): Promise<Record<string, number>> {
  const rows = await sql`
    select encode(substr(signing_key, 1, 4), 'hex') as key, count(*)::int as count from webhooks group by 1`;
  return Object.fromEntries(rows.map(({ key, count }) => [key, count]));
}

/** Creates a database with an application whose webhooks are encrypted with the key. */
export async function createKeyedDatabase(encryptionKey: Buffer, count: number) {
  const database = await cloneDatabase();
  await using service = await startTestService({ database });
  const { id: applicationId, apiKey } = await createTenant(service);
  const { id: ownerId } = await createTestUser(service);
  const cipher = new SigningKeyCipher([encryptionKey]);
  const webhooks = Array.from({ length: count }, () => ({
    id: `wh_${randomBytes(16).toString('hex')}`,
    signingKey: `whsec_${randomBytes(32).toString('base64')}`,
  }));
  const now = new Date();
  const rows = webhooks.map(({ id, signingKey }) => ({
    ...{ application_id: applicationId, id, url: 'https://hooks.test', owner_id: ownerId },
    signing_key: cipher.encrypt(signingKey, { applicationId, webhookId: id }),
    ...{ created_at: now, updated_at: now },
  }));
  if (count > 0) await database.sql`insert into webhooks ${database.sql(rows)}`;
  return { ...database, apiKey, webhooks };
}
