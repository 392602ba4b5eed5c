/** What a statement gets after others on its connection have failed. */
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { gt, lt, sql } from 'drizzle-orm';
import { integer, pgTable } from 'drizzle-orm/pg-core';
import { afterAll, describe, expect, test } from 'vitest';
import { Database, DatabaseUnavailableError, type Statement } from '../../../src/database/pool/database.ts';
import { cloneDatabase } from '../../support/database.ts';
import { clientsOf, createTenant, createTestEvent, startTestService } from '../../support/service.ts';

const testDatabase = await cloneDatabase();
await testDatabase.sql`create table numbers as select number from generate_series(1, 100) number`;

afterAll(() => testDatabase[Symbol.asyncDispose]());

describe('after a statement that failed after its first rows', () => {
  test.each([1, 2, 5])('the next %d on its connection get their own rows', async (count) => {
    await using database = openDatabase();
    for (let round = 0; round < 3; round++) {
      const failed = outcomeOf(database.run(divide, {}, soon()));
      const next = Array.from({ length: count }, (_, id) => database.run(selectNumbers, { id }, soon()));
      expect(await failed).toContain('division by zero');
      expect(await Promise.all(next)).toEqual(Array.from({ length: count }, (_, id) => numbersOf(id)));
    }
  });

  test('and others that failed, the next get their own rows', async () => {
    await using database = openDatabase();
    const all = [
      outcomeOf(database.run(divide, {}, soon())),
      outcomeOf(database.run(divide, {}, soon())),
      outcomeOf(database.run(refuse, {}, soon())),
      database.run(selectNumbers, { id: 1 }, soon()),
      database.run(selectNothing, {}, soon()),
    ];
    expect((await Promise.all(all)).slice(3)).toEqual([numbersOf(1), []]);
  });

  test('one gets its own rows that has exceeded the statement timeout', async () => {
    await using database = openDatabase(300);
    expect(await outcomeOf(database.run(pause, {}, soon()))).toContain('57014');
    expect(await database.run(selectNumbers, { id: 1 }, soon())).toEqual(numbersOf(1));
  });

  test("another application's event is found", async () => {
    await using service = await startTestService();
    const [tenant, other] = [await createTenant(service), await createTenant(service)];
    for (const name of ['third', 'second', 'first'])
      await clientsOf(service, tenant).events.createEvent({ eventId: name });
    const eventId = await createTestEvent(service, other);
    const getEvent = () => clientsOf(service, other).events.getEvent({ eventId });
    await getEvent();
    // A list that exceeds the statement timeout at its last row. What costs so much is computed while rows are sent.
    await service.database.sql.unsafe(`
      create function usher.be_late(id text) returns text stable cost 100000 language plpgsql as $$
      begin
        if id <> 'third' then return id; end if;
        raise exception 'canceling statement due to statement timeout' using errcode = '57014';
      end $$;
      alter table usher.events rename to stored_events;
      create view usher.events as
        select id, application_id, usher.be_late(id) as name, created_at, deleted_at, starts_at, ends_at, capacity, admission
        from usher.stored_events`);
    for (let round = 0; round < 10; round++) {
      await expect(clientsOf(service, tenant).events.listEvents({})).rejects.toThrow('[unavailable]');
      expect(await getEvent()).toMatchObject({ event: { eventId } });
    }
  });
});

test('a statement with a parameter that has no value is not sent, and others on its connection get their own rows', async () => {
  await using database = openDatabase();
  const runs = [0, undefined, 2].map((id) => outcomeOf(database.run(selectNumbers, { id }, soon())));
  const refused = 'Error: A parameter of a statement is undefined';
  expect(await Promise.all(runs)).toEqual([numbersOf(0), refused, numbersOf(2)]);
  expect(await database.run(selectNumbers, { id: 3 }, soon())).toEqual(numbersOf(3));
  expect(database.load.reconnects).toBe(0);
});

const numbers = pgTable('numbers', { number: integer('number').notNull() });

// All lock rows, so they share the one connection that writes.

const divide: Statement<unknown[]> = (db) =>
  db.select({ quotient: sql`1 / (50 - number)` }).from(numbers).for('update').prepare('divide');

const refuse: Statement<unknown[]> = (db) =>
  db.select({ one: sql`1 / 0` }).from(numbers).for('update').prepare('refuse');

const pause: Statement<unknown[]> = (db) =>
  db.select({ pause: sql`pg_sleep(number / 50)` }).from(numbers).for('update').prepare('pause');

const selectNothing: Statement<unknown[]> = (db) =>
  db.select().from(numbers).where(gt(numbers.number, 100)).for('update').prepare('select_nothing');

const selectNumbers: Statement<unknown[]> = (db) =>
  db
    .select({ id: sql`${sql.placeholder('id')}::int`, number: numbers.number })
    .from(numbers)
    .where(lt(numbers.number, 4))
    .for('update')
    .prepare('select_numbers');

const numbersOf = (id: number) => [1, 2, 3].map((number) => ({ id, number }));

function openDatabase(statementTimeoutMs = 60_000) {
  const database = new Database(testDatabase.url, { connections: 1, statementTimeoutMs });
  return Object.assign(database, { [Symbol.asyncDispose]: () => database.close() });
}

function soon(): number {
  return performance.now() + 60_000;
}

/** Returns the rows, or says what went wrong. */
async function outcomeOf(rows: PromiseLike<unknown>): Promise<unknown> {
  try {
    return await rows;
  } catch (error) {
    return error instanceof DatabaseUnavailableError ? `unavailable: ${error.reason}` : String(error);
  }
}

test('instants come back whatever time zone and style of dates the database has', async () => {
  await using own = await cloneDatabase();
  const [{ name } = { name: '' }] = await own.sql`select current_database() as name`;
  await own.sql.unsafe(`alter database ${name} set timezone = 'America/New_York'`);
  await own.sql.unsafe(`alter database ${name} set datestyle = 'German, DMY'`);
  await using service = await startTestService({ database: own });
  const tenant = await createTenant(service);
  const { events } = clientsOf(service, tenant);
  for (const at of ['0001-01-01T00:00:00.000Z', '1850-07-01T12:00:00.120Z', '9999-12-31T23:59:59.999Z']) {
    const startsAt = timestampFromDate(new Date(at));
    const eventId = at.slice(0, 4);
    await events.createEvent({ eventId, startsAt });
    const { event } = await events.getEvent({ eventId });
    expect(event?.startsAt && timestampDate(event.startsAt).toISOString()).toBe(at);
  }
});
