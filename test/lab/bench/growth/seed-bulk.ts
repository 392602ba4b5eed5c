/** Millions of rows, all of one application: the worst case, in which its ID selects nothing. */
import type postgres from 'postgres';
import { RowCipher } from '../../../../src/domain/crypto/aes-gcm.ts';
import { EXPIRING } from '../../../../src/jobs/expiring-rows.ts';
import { onServer } from '../../../../src/testing/on-server.ts';
import { type Fixtures, OPEN_EVENTS, SIGNED_IN_USERS, userAt, WEBHOOKS, webhookAt } from '../fixtures.ts';

const BATCH = 5_000;
/** How many users without a session and events to delete seedDatabase inserts. */
export const FRESH_ROWS = 1_000;
/** How many of the webhooks have a valid signing key and can be read, at most. */
const READABLE_WEBHOOKS = 100_000;

/** Returns how many webhooks apart those are that can be read. */
export function strideOf(rows: number): number {
  return Math.ceil(rows / READABLE_WEBHOOKS);
}

/** Inserts as many rows into each of the three tables. */
export async function seedBulk(url: string, fixtures: Fixtures, rows: number): Promise<void> {
  await withTables(url, ['webhooks', 'events', 'login_intents'], async (sql) => {
    await insertWebhooks(sql, fixtures, rows);
    await insertEvents(sql, fixtures, rows);
    // They expired so recently that the expiry job keeps them.
    await insertIntents(sql, fixtures, rows, '30 minutes');
  });
}

/** Inserts login intents that the expiry job removes. */
export async function seedExpiredIntents(url: string, fixtures: Fixtures, rows: number): Promise<void> {
  await withTables(url, ['login_intents'], (sql) => insertIntents(sql, fixtures, rows, '3 hours'));
  // In a service in use, the job has looked for abandoned logins among them before.
  const marks = EXPIRING.flatMap(({ mark = [] }) => mark);
  await onServer(url, (sql) => sql`insert into expiry_marks select name, now() from unnest(${marks}::text[]) name`);
}

/** Drops indexes and constraints, which would slow millions of insertions down, and creates them again. */
export async function withTables(
  url: string,
  tables: readonly string[],
  fill: (sql: postgres.Sql) => Promise<void>,
): Promise<void> {
  await onServer(url, async (sql) => {
    await sql`set maintenance_work_mem = '512MB'`;
    const constraints = await sql`
      select conname, conrelid::regclass::text as table, pg_get_constraintdef(oid) as definition, contype from pg_constraint
      where contype in ('p', 'f') and (conrelid = any(${sql.array([...tables])}::regclass[]) or confrelid = any(${sql.array([...tables])}::regclass[]))
      order by contype = 'f'`;
    for (const { table, conname } of [...constraints].reverse())
      await sql`alter table ${sql(table)} drop constraint ${sql(conname)}`;
    const indexes = await sql`
      select indexname, indexdef from pg_indexes where schemaname = 'usher' and tablename = any(${sql.array([...tables])})`;
    for (const { indexname } of indexes) await sql`drop index ${sql(indexname)}`;

    await fill(sql);

    for (const { indexdef } of indexes) await sql.unsafe(indexdef);
    for (const { table, conname, definition } of constraints)
      await sql`alter table ${sql(table)} add constraint ${sql(conname)} ${sql.unsafe(definition)}`;
    // Plans need statistics, and an autovacuum would disturb the measurements.
    await sql`vacuum analyze`;
  });
}

async function insertWebhooks(sql: postgres.Sql, fixtures: Fixtures, rows: number): Promise<void> {
  const { application, createdAt, encryptionKey } = fixtures;
  const stride = strideOf(rows);
  const cipher = new RowCipher([encryptionKey]);
  await sql`create temporary table real_keys (number int primary key, signing_key bytea)`;
  for (let first = 0; first < rows; first += BATCH * stride) {
    const count = Math.min(BATCH, Math.ceil((rows - first) / stride));
    const keys = Array.from({ length: count }, (_, index) => {
      const number = first + index * stride;
      const { id, signingKey } = webhookAt(number);
      return { number, signing_key: cipher.encrypt(signingKey, { applicationId: application.id, id }) };
    });
    await sql`insert into real_keys ${sql(keys)}`;
  }
  const [any] = await sql`select signing_key from real_keys limit 1`;
  await sql`
    insert into webhooks (application_id, id, url, signing_key, is_active, owner_id, created_at, updated_at)
    select ${application.id}::uuid, 'wh_' || lpad(to_hex(number), 32, '0'), 'https://hooks.example/' || number,
      coalesce(real_keys.signing_key, ${any?.signing_key}), true,
      overlay(${userAt(0).id}::text placing lpad(to_hex(number % ${SIGNED_IN_USERS}::int), 12, '0') from 25)::uuid,
      ${createdAt}::timestamptz, ${createdAt}::timestamptz
    from generate_series(${WEBHOOKS}::int, ${rows - 1}::int) as number left join real_keys using (number)`;
}

/** Inserts one half for check-ins and one half to delete. */
async function insertEvents(sql: postgres.Sql, { application, createdAt }: Fixtures, rows: number): Promise<void> {
  await sql`
    insert into events (application_id, id, created_at)
    select ${application.id}::uuid, prefix || number, ${createdAt}::timestamptz
    from generate_series(0, ${rows / 2 - 1}::int) as number, (values ('open-event-'), ('event-')) as kinds (prefix)
    where (prefix = 'open-event-' and number >= ${OPEN_EVENTS}::int) or (prefix = 'event-' and number >= ${FRESH_ROWS}::int)`;
}

async function insertIntents(sql: postgres.Sql, { application, createdAt }: Fixtures, rows: number, ago: string) {
  await sql`
    insert into login_intents (application_id, id, redirect_uri, state, created_at, expires_at)
    select ${application.id}::uuid, uuidv7(expired_at - interval '30 minutes' - now()), ${application.redirectUris[1] ?? ''}::text, 'state-of-a-request-' || number,
      expired_at - interval '30 minutes', expired_at
    from generate_series(1, ${rows}::int) as number,
      lateral (select ${createdAt}::timestamptz - ${ago}::interval + number * interval '1 millisecond' / 100 as expired_at) as expiry`;
}
