import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { Database } from '../../src/database/database.ts';
import { FIRST_APPLICATION, findApplications } from '../../src/delivery/fan-out.ts';
import { cloneDatabase } from '../support/database.ts';

test('applications with many messages do not hide those behind them', async () => {
  await using testDatabase = await cloneDatabase();
  const applicationIds = Array.from({ length: 5 }, () => randomUUID()).sort();
  await testDatabase.sql`
    insert into webhook_messages (application_id, type, payload, created_at)
    select id, 'event.created', '{}', now()
    from unnest(${applicationIds}::uuid[]) as id, generate_series(1, 250)`;
  const database = new Database(testDatabase.url, { connections: 1, statementTimeoutMs: 60_000 });
  const found = await findApplications(database.within(performance.now() + 60_000), FIRST_APPLICATION);
  await database.close();
  expect(found).toEqual({ applicationIds, next: FIRST_APPLICATION });
});
