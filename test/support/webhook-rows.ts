/** Inserts webhooks in bulk, as the service would have stored them. */
import { randomBytes } from 'node:crypto';
import { Database } from '../../src/database/database.ts';
import { createApplication } from '../../src/domain/applications/create-application.ts';
import { BY_USHER, withAudit } from '../../src/domain/audit/audit-event.ts';
import type { Call } from '../../src/domain/call.ts';
import { createUser } from '../../src/domain/users/create-user.ts';
import { SigningKeyCipher } from '../../src/domain/webhooks/signing-key-cipher.ts';
import { cloneDatabase, type TestDatabase } from './database.ts';

interface PlantedWebhook {
  readonly id: string;
  /** Not encrypted. */
  readonly signingKey: string;
}

async function plantWebhooks(
  sql: TestDatabase['sql'],
  cipher: SigningKeyCipher,
  { applicationId, ownerId, count }: { applicationId: string; ownerId: string; count: number },
): Promise<PlantedWebhook[]> {
  const planted = Array.from({ length: count }, () => ({
    id: `wh_${randomBytes(16).toString('hex')}`,
    signingKey: `whsec_${randomBytes(32).toString('base64')}`,
  }));
  for (let at = 0; at < count; at += 5_000) {
    const rows = planted.slice(at, at + 5_000).map(({ id, signingKey }) => ({
      id,
      hex: cipher.encrypt(signingKey, { applicationId, webhookId: id }).toString('hex'),
    }));
    await sql`
      insert into webhooks (application_id, id, url, signing_key, owner_id, created_at, updated_at)
      select ${applicationId}, id, 'https://hooks.test', decode(hex, 'hex'), ${ownerId}, now(), now()
      from unnest(${rows.map(({ id }) => id)}::text[], ${rows.map(({ hex }) => hex)}::text[]) as row (id, hex)`;
  }
  return planted;
}

/** Returns how many webhooks each key has encrypted, by the ID of the key. */
export async function countByKey({ sql }: TestDatabase): Promise<Record<string, number>> {
  const rows = await sql`
    select encode(substr(signing_key, 1, 4), 'hex') as key, count(*)::int as count from webhooks group by 1`;
  return Object.fromEntries(rows.map(({ key, count }) => [key, count]));
}

/** A database with an application whose webhooks are encrypted with one key. */
export interface KeyedDatabase extends TestDatabase {
  readonly call: Call;
  readonly applicationId: string;
  readonly apiKey: string;
  readonly ownerId: string;
  readonly webhooks: readonly PlantedWebhook[];
}

export async function createKeyedDatabase(encryptionKey: Buffer, count: number): Promise<KeyedDatabase> {
  const { url, sql, ...rest } = await cloneDatabase();
  const database = new Database(url, { connections: 1, statementTimeoutMs: 60_000 });
  const now = new Date();
  const run: Call['run'] = (statement, parameters) => database.run(statement, parameters, performance.now() + 60_000);
  const call: Call = { run: withAudit(run, { ...BY_USHER, action: 'test', now }), now };
  const { application, apiKey } = await createApplication(call, { name: 'App', redirectUris: ['https://app.test'] });
  const { id: ownerId } = await createUser(call, { email: 'ada@example.com', walletAddress: 'wallet' });
  const cipher = new SigningKeyCipher([encryptionKey]);
  const webhooks = await plantWebhooks(sql, cipher, { applicationId: application.id, ownerId, count });
  const dispose = async () => {
    await database.close();
    await rest[Symbol.asyncDispose]();
  };
  return { url, sql, call, applicationId: application.id, apiKey, ownerId, webhooks, [Symbol.asyncDispose]: dispose };
}
