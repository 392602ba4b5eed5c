/** The places of messages in the feed of their application. How it is read: test/integration/contract/messages.test.ts. */
import { afterAll, expect, test } from 'vitest';
import { fanOut } from '../../../src/delivery/fan-out.ts';
import { RecordingDatabase } from '../../support/recording-database.ts';
import { adminClient, clientsOf, createTenant, startTestService } from '../../support/service.ts';

const service = await startTestService();
const { sql } = service.database;
const database = new RecordingDatabase(service.database.url);

afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await service.close();
});

test('a message that commits after a later one has its place after it, so that no cursor skips it', async () => {
  const { id, apiKey } = await createTenant(service);
  await adminClient(service).updateApplication({ applicationId: id, messageFeed: true });
  const { events } = clientsOf(service, { apiKey });
  const run = database.within(0);
  await sql.begin(async (transaction) => {
    await transaction`
      insert into webhook_messages (application_id, type, payload, created_at) values (${id}, 'event.created', '{}', now())`;
    await events.createEvent({ eventId: 'later' });
    await fanOut(run, id, new Date());
    expect(await placesOf(id)).toMatchObject([{ position: 1 }]);
  });
  await fanOut(run, id, new Date());
  expect(await placesOf(id)).toEqual([
    { position: 1, is_first: false },
    { position: 2, is_first: true },
  ]);
});

test('fan-outs of two processes give each message one place, without a gap', async () => {
  const { id, apiKey } = await createTenant(service);
  await adminClient(service).updateApplication({ applicationId: id, messageFeed: true });
  const { events } = clientsOf(service, { apiKey });
  await using other = new RecordingDatabase(service.database.url);
  const runs = [database.within(0), other.within(0)];
  for (let round = 0; round < 10; round++) {
    const creating = Array.from({ length: 10 }, (_, at) => events.createEvent({ eventId: `${round} ${at}` }));
    await Promise.all([...creating, ...runs.map((run) => fanOut(run, id, new Date()))]);
  }
  await fanOut(database.within(0), id, new Date());
  const places = await placesOf(id);
  expect(places.map(({ position }) => position)).toEqual(Array.from({ length: 100 }, (_, at) => at + 1));
  const [messages] =
    await sql`select count(distinct message_id)::int as count from feed_positions where application_id = ${id}`;
  expect(messages).toEqual({ count: 100 });
  const types = await sql`select distinct type from feed_positions where application_id = ${id}`;
  expect(types).toEqual([{ type: 'event.created' }]);
});

/** In order, with whether the message is the one with the lowest ID. */
async function placesOf(applicationId: string): Promise<readonly { position: number; is_first: boolean }[]> {
  return [
    ...(await sql`
      select position::int, message_id = (select min(id) from webhook_messages where application_id = ${applicationId}) as is_first
      from feed_positions where application_id = ${applicationId} order by position`),
  ] as { position: number; is_first: boolean }[];
}
