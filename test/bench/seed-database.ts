import type postgres from 'postgres';
import { openClient } from '../../src/database/open-client.ts';
import { digestOf } from '../../src/domain/api-keys/api-key.ts';
import { SigningKeyCipher } from '../../src/domain/webhooks/signing-key-cipher.ts';
import { type Fixtures, OPEN_EVENTS, SIGNED_IN_USERS, sessionIdAt, userAt, WEBHOOKS, webhookAt } from './fixtures.ts';

/** Longer than any benchmark takes. */
const SESSION_LIFETIME_MS = 24 * 60 * 60_000;
const BATCH = 5_000;

/** Inserts the fixtures, `fresh` users without a session, and as many events to delete. */
export async function seedDatabase(url: string, fixtures: Fixtures, fresh: number): Promise<void> {
  const sql = openClient(url, { max: 1, onnotice: () => {} });
  try {
    // For the statements of benchmarks, here and in other servers.
    await sql`alter role current_user set search_path = usher`;
    await sql`set search_path = usher`;
    await insertApplication(sql, fixtures);
    for (let first = 0; first < SIGNED_IN_USERS + fresh; first += BATCH) {
      const count = Math.min(BATCH, SIGNED_IN_USERS + fresh - first);
      await insertUsers(sql, first, count, fixtures.createdAt);
    }
    await insertWebhooks(sql, fixtures);
    await insertSessions(sql, fixtures);
    await insertEvents(sql, fixtures, fresh);
    // Plans need statistics, and an autovacuum would disturb the measurements.
    await sql`vacuum analyze`;
  } finally {
    await sql.end();
  }
}

async function insertApplication(sql: postgres.Sql, { application, apiKey, createdAt }: Fixtures): Promise<void> {
  const { id, name, clientId, redirectUris } = application;
  await sql`
    insert into applications (id, name, client_id, redirect_uris, created_at)
    values (${id}, ${name}, ${clientId}, ${[...redirectUris]}, ${createdAt})`;
  await sql`
    insert into api_keys (application_id, id, digest, created_at)
    values (${id}, ${id}, ${Buffer.from(digestOf(apiKey), 'hex')}, ${createdAt})`;
}

async function insertUsers(sql: postgres.Sql, first: number, count: number, createdAt: Date): Promise<void> {
  const rows = Array.from({ length: count }, (_, index) => {
    const { id, email, name, profileImage, walletAddress } = userAt(first + index);
    return { id, email, name, profile_image: profileImage, wallet_address: walletAddress, created_at: createdAt };
  });
  await sql`insert into users ${sql(rows)}`;
}

async function insertWebhooks(sql: postgres.Sql, { application, encryptionKey, createdAt }: Fixtures): Promise<void> {
  const cipher = new SigningKeyCipher([encryptionKey]);
  const rows = Array.from({ length: WEBHOOKS }, (_, number) => {
    const { id, url, signingKey, owner } = webhookAt(number);
    return {
      application_id: application.id,
      id,
      url,
      signing_key: cipher.encrypt(signingKey, { applicationId: application.id, webhookId: id }),
      is_active: true,
      owner_id: owner.id,
      created_at: createdAt,
      updated_at: createdAt,
    };
  });
  await sql`insert into webhooks ${sql(rows)}`;
}

async function insertSessions(sql: postgres.Sql, { application, createdAt }: Fixtures): Promise<void> {
  const rows = Array.from({ length: SIGNED_IN_USERS }, (_, number) => {
    const { id, email, name, profileImage, walletAddress } = userAt(number);
    return {
      application_id: application.id,
      user_id: id,
      id: sessionIdAt(number),
      email,
      name,
      profile_image: profileImage,
      wallet_address: walletAddress,
      ip_address: '127.0.0.1',
      user_agent: 'bench',
      method: 'page',
      created_at: createdAt,
      expires_at: new Date(createdAt.getTime() + SESSION_LIFETIME_MS),
    };
  });
  await sql`insert into sessions ${sql(rows)}`;
  await sql`
    insert into session_ids (application_id, id, user_id, authenticated_at, created_at, expires_at)
    select application_id, id, user_id, created_at, created_at, expires_at from sessions`;
}

async function insertEvents(sql: postgres.Sql, { application, createdAt }: Fixtures, deletable: number): Promise<void> {
  for (const [prefix, count] of [
    ['open-event-', OPEN_EVENTS],
    ['event-', deletable],
  ] as const) {
    await sql`
      insert into events (application_id, id, created_at)
      select ${application.id}::uuid, ${prefix}::text || number, ${createdAt}::timestamptz
      from generate_series(0, ${count - 1}::int) as number`;
  }
}
