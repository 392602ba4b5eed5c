/** Postgres undoes statements because of others at the same time (SQLSTATE class 40), and Usher runs them again. */
import { expect, test, vi } from 'vitest';
import { ConnectionPool } from '../../src/database/pool/connection-pool.ts';
import { isSerializationFailure } from '../../src/database/sql/errors.ts';
import { cloneDatabase } from '../support/database.ts';
import {
  clientsOf,
  createTenant,
  createTestEvent,
  createTestUser,
  logIn,
  startTestService,
} from '../support/service.ts';

const ROUNDS = 3;
const CALLERS = 8;

test('racing calls succeed where every transaction is serializable', async () => {
  await using database = await cloneDatabase();
  const { pathname } = new URL(database.url);
  await database.sql.unsafe(`alter database ${pathname.slice(1)} set default_transaction_isolation = serializable`);
  const { start } = ConnectionPool.prototype;
  let undone = 0;
  using _spy = vi.spyOn(ConnectionPool.prototype, 'start').mockImplementation(function (
    this: ConnectionPool,
    call,
    { resolve, reject },
  ) {
    const count = (error: unknown) => {
      if (isSerializationFailure(error)) undone++;
      reject(error);
    };
    start.call(this, call, { resolve, reject: count });
  });
  // Sequences keep their values: of all inserts, each third is undone, the first one too.
  await database.sql.unsafe(`
    create sequence usher.inserts;
    create function usher.undo() returns trigger language plpgsql as $$ begin
      if nextval('usher.inserts') % 3 = 1 then raise exception using errcode = 'serialization_failure'; end if;
      return new;
    end $$;
    create trigger undo before insert on usher.check_ins for each row execute function usher.undo();
    create trigger undo before insert on usher.sessions for each row execute function usher.undo()`);
  await using first = await startTestService({ database, config: { databaseConnections: 4 } });
  await using second = await startTestService({ database, like: first.config });
  const tenant = await createTenant(first);
  const clients = [clientsOf(first, tenant), clientsOf(second, tenant)];
  for (let round = 0; round < ROUNDS; round++) {
    const eventId = await createTestEvent(first, tenant);
    const authToken = await logIn(first, tenant, await createTestUser(first));
    const calls = Array.from({ length: CALLERS }, async (_, caller) => {
      const { auth, events } = clients[caller % 2] ?? clientsOf(first, tenant);
      await events.checkIn({ eventId, attendeeId: 'ada' });
      return (await auth.exchangeToken({ authToken })).session?.id;
    });
    const sessionIds = await Promise.all(calls);
    expect(new Set(sessionIds).size).toBe(1);
    expect(await database.sql`select from check_ins where event_id = ${eventId}`).toHaveLength(1);
  }
  // Besides those that Postgres undoes because of the races.
  expect(undone).toBeGreaterThan(0);
});
