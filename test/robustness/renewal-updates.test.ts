/**
 * What renewals leave behind in the table of sessions. The Postgres is their own: transactions of other databases keep
 * it from making room.
 */
import { randomUUID } from 'node:crypto';
import { sql as fragment } from 'drizzle-orm';
import { expect, test } from 'vitest';
import { DEFAULT_SCHEMA } from '../../src/config/database-url.ts';
import { openClient } from '../../src/database/connection/open-client.ts';
import type { Statement } from '../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../src/domain/audit/audit-event.ts';
import { renewSession } from '../../src/domain/sessions/renew-session.ts';
import { HOUR, MINUTE } from '../support/clock.ts';
import { OwnPostgres } from '../support/own-postgres.ts';
import { RecordingDatabase } from '../support/recording-database.ts';

const SESSIONS = 300;
const RENEWALS = 4;
/** A renewal that is no HOT update writes to every index, and leaves a dead row for the vacuum. */
const LEAST_HOT = 0.8;

const flushStatistics: Statement<unknown> = (db) =>
  db
    .select({ flushed: fragment`pg_stat_force_next_flush()` })
    .from(fragment`(select) as nothing`)
    .prepare('flush_statistics');

test('at least 80 % of the updates of renewals are HOT', async () => {
  await using postgres = await OwnPostgres.start();
  const { url } = postgres;
  await using database = new RecordingDatabase(url);
  await using stack = new AsyncDisposableStack();
  const sql = openClient(url, { max: 1, connection: { search_path: DEFAULT_SCHEMA } });
  stack.defer(() => sql.end());
  const application = { id: randomUUID(), name: 'Application', clientId: 'client', redirectUris: [] };
  const beganAt = new Date('2026-03-01T12:00:00.000Z');
  await sql`
    insert into applications (id, name, client_id, redirect_uris, created_at)
    values (${application.id}, ${application.name}, ${application.clientId}, '{}', ${beganAt})`;
  await sql`
    insert into users (id, email, wallet_address, created_at)
    select gen_random_uuid(), n || '@example.com', 'wallet ' || n, ${beganAt} from generate_series(1, ${SESSIONS}::int) n`;
  await sql`
    insert into sessions (application_id, user_id, id, email, wallet_address, ip_address, user_agent, method,
      authenticated_at, began_at, created_at, expires_at)
    select ${application.id}, id, gen_random_uuid(), email, wallet_address, '203.0.113.7', repeat('Mozilla ', 14), 'email',
      ${beganAt}, ${beganAt}, ${beganAt}, ${new Date(beganAt.getTime() + 15 * MINUTE)}
    from users`;
  await sql`
    insert into session_ids
      select application_id, id, user_id, authenticated_at, created_at, expires_at, expires_at from sessions`;
  const rows = await sql`select id from sessions order by md5(id::text)`;

  let ids: string[] = rows.map(({ id }) => id);
  for (let renewal = 1; renewal <= RENEWALS; renewal++) {
    const now = new Date(beganAt.getTime() + renewal * 10 * MINUTE);
    const run = withAudit(database.within(0), { ...BY_USHER, action: 'test', now });
    const settings = { sessionMaxAgeSeconds: (12 * HOUR) / 1_000 };
    const successors: string[] = [];
    for (const sessionId of ids) {
      const { id } = await renewSession({ application, run, now }, settings, { sessionId });
      successors.push(id);
    }
    ids = successors;
  }

  await database.run(flushStatistics, {});
  const [updates] = await sql`
    select n_tup_upd::int as all, n_tup_hot_upd::int as hot from pg_stat_user_tables where relname = 'sessions'`;
  expect(updates?.all).toBe(SESSIONS * RENEWALS);
  expect(updates?.hot / updates?.all).toBeGreaterThanOrEqual(LEAST_HOT);
});
