import postgres from 'postgres';
import { digestOf } from '../../../src/domain/applications/api-key.ts';
import { RowCipher } from '../../../src/domain/crypto/aes-gcm.ts';
import { onServer } from '../../../src/testing/on-server.ts';
import { type Fixtures, OPEN_EVENTS, SIGNED_IN_USERS, sessionIdAt, userAt, WEBHOOKS, webhookAt } from './fixtures.ts';

/** Longer than any benchmark takes. */
const SESSION_LIFETIME_MS = 24 * 60 * 60_000;
const BATCH = 5_000;

/** Inserts the fixtures, `fresh` users without a session, and as many events to delete. */
export async function seedDatabase(url: string, fixtures: Fixtures, fresh: number): Promise<void> {
  const seed = async (sql: postgres.Sql) => {
    // For the statements of benchmarks, here and in other servers.
    await sql`alter role current_user set search_path = usher`;
    await sql`set search_path = usher`;
    await insertApplication(sql, fixtures);
    for (let first = 0; first < SIGNED_IN_USERS + fresh; first += BATCH) {
      const count = Math.min(BATCH, SIGNED_IN_USERS + fresh - first);
      const users = Array.from({ length: count }, (_, index) => userAt(first + index));
      await sql`insert into users ${sql(users.map((user) => ({ ...user, createdAt: fixtures.createdAt })))}`;
    }
    await insertWebhooks(sql, fixtures);
    await insertSessions(sql, fixtures);
    await insertEvents(sql, fixtures, fresh);
    // Plans need statistics, and an autovacuum would disturb the measurements.
    await sql`vacuum analyze`;
  };
  // The names of the fixtures' fields become those of columns.
  await onServer(url, seed, { transform: postgres.camel });
}

async function insertApplication(sql: postgres.Sql, { application, apiKey, createdAt }: Fixtures): Promise<void> {
  const { id, redirectUris } = application;
  await sql`insert into applications ${sql({ ...application, redirectUris: [...redirectUris], createdAt })}`;
  const digest = Buffer.from(digestOf(apiKey), 'hex');
  await sql`insert into api_keys ${sql({ applicationId: id, id, digest, createdAt })}`;
}

async function insertWebhooks(sql: postgres.Sql, { application, encryptionKey, createdAt }: Fixtures): Promise<void> {
  const { id: applicationId } = application;
  const cipher = new RowCipher([encryptionKey]);
  const rows = Array.from({ length: WEBHOOKS }, (_, number) => {
    const { id, url, signingKey, owner } = webhookAt(number);
    return {
      ...{ applicationId, id, url, isActive: true, ownerId: owner.id, createdAt, updatedAt: createdAt },
      signingKey: cipher.encrypt(signingKey, { applicationId, id }),
    };
  });
  await sql`insert into webhooks ${sql(rows)}`;
}

async function insertSessions(sql: postgres.Sql, { application, createdAt }: Fixtures): Promise<void> {
  const expiresAt = new Date(createdAt.getTime() + SESSION_LIFETIME_MS);
  const rows = Array.from({ length: SIGNED_IN_USERS }, (_, number) => {
    const { id: userId, ...user } = userAt(number);
    return {
      ...{ applicationId: application.id, id: sessionIdAt(number), userId, ...user },
      ...{ ipAddress: '127.0.0.1', userAgent: 'bench', method: 'page' },
      // No token is of a later sign-in, so that exchanging one reads.
      ...{ beganAt: createdAt, createdAt, expiresAt, authenticatedAt: expiresAt },
    };
  });
  await sql`insert into sessions ${sql(rows)}`;
  await sql`
    insert into session_ids (application_id, id, user_id, authenticated_at, created_at, expires_at, kept_until)
    select application_id, id, user_id, created_at, created_at, expires_at, expires_at from sessions`;
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
