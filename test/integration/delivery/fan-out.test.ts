import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { Database } from '../../../src/database/pool/database.ts';
import { FIRST_APPLICATION, findApplications } from '../../../src/delivery/fan-out.ts';
import { cloneDatabase, LAYOUT } from '../../support/database.ts';
import { answer, openDeliveryFixture } from '../../support/delivery-fixture.ts';

const { service, sql, startWorker, subscribe } = await openDeliveryFixture();
afterAll(() => service.close());

test('applications with many messages do not hide those behind them', async () => {
  await using testDatabase = await cloneDatabase();
  const applicationIds = Array.from({ length: 5 }, () => randomUUID()).sort();
  await testDatabase.sql`
    insert into webhook_messages (application_id, type, payload, created_at)
    select id, 'event.created', '{}', now()
    from unnest(${applicationIds}::uuid[]) as id, generate_series(1, 250)`;
  const database = new Database(testDatabase.url, { connections: 1, layout: LAYOUT, statementTimeoutMs: 60_000 });
  const found = await findApplications(database.within(performance.now() + 60_000), FIRST_APPLICATION);
  await database.close();
  expect(found).toEqual({ applicationIds, next: FIRST_APPLICATION });
});

test('gives a message to more webhooks than one statement takes, each once', async () => {
  const { tenant, events } = await subscribe();
  await sql`
    insert into webhooks (application_id, id, url, signing_key, event_types, owner_id, created_at, updated_at)
    select ${tenant.id}, 'wh_' || md5(n::text), url, signing_key, event_types, owner_id, created_at, updated_at
    from webhooks, generate_series(1, 2300) n where application_id = ${tenant.id}`;
  await events.createEvent({ eventId: 'one' });
  await events.createEvent({ eventId: 'two' });
  startWorker(() => answer(204));
  const count = async () => {
    const [row] = await sql`
      select count(*)::int as count, count(distinct (webhook_id, message_id))::int as different
      from webhook_deliveries where application_id = ${tenant.id}`;
    return row;
  };
  await expect.poll(count).toEqual({ count: 4_602, different: 4_602 });
  // The next tests need not wait for all of them.
  await sql`delete from webhook_queues where application_id = ${tenant.id}`;
});

test('a message of a change that has not committed is never sent, and a later one does not hide it', async () => {
  const { tenant, events, list } = await subscribe();
  const sent: string[] = [];
  startWorker(({ body }) => {
    const { eventId } = JSON.parse(body).data ?? {};
    if (eventId?.startsWith('tx-')) sent.push(eventId);
    return answer(204);
  });
  const insert = (change: typeof sql, eventId: string) => change`
    insert into webhook_messages (application_id, type, payload, created_at)
    values (${tenant.id}, 'event.created', ${JSON.stringify({ data: { eventId } })}, now())`;
  const undo = new Error('Undone');
  await sql
    .begin(async (change) => {
      await insert(change as never, 'tx-undone');
      await events.createEvent({ eventId: 'tx-later' });
      await expect.poll(() => sent).toEqual(['tx-later']);
      throw undo;
    })
    .catch((error) => expect(error).toBe(undo));
  await sql.begin(async (change) => {
    await insert(change as never, 'tx-slow');
    await events.createEvent({ eventId: 'tx-last' });
    await expect.poll(() => sent).toEqual(['tx-later', 'tx-last']);
  });
  await expect.poll(() => sent).toEqual(['tx-later', 'tx-last', 'tx-slow']);
  expect(await list()).toHaveLength(3);
});
