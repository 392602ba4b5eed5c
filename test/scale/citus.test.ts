/** Usher on Citus. Needs CITUS_URL, the database of a coordinator with workers, where the extension is created. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OPERATIONS } from '../../src/api/catalogue.ts';
import { Database } from '../../src/database/database.ts';
import { distributeTables } from '../../src/database/distribute.ts';
import { migrateDatabase } from '../../src/database/migrate.ts';
import { openClient } from '../../src/database/open-client.ts';
import { removeExpired } from '../../src/jobs/expiry.ts';
import { call, mainProtocolOf } from '../support/protocols.ts';
import { credentialFor, sampleFields } from '../support/samples.ts';
import {
  clientsOf,
  createTenant,
  createTestEvent,
  createTestUser,
  logIn,
  startTestService,
  type Tenant,
  type TestService,
} from '../support/service.ts';

const url = process.env.CITUS_URL ?? '';
const RACES = 20;
const RACERS = 16;

describe.runIf(url)('on Citus', { timeout: 120_000 }, () => {
  const stack = new AsyncDisposableStack();
  let service: TestService;
  let tenant: Tenant;

  beforeAll(async () => {
    await migrateDatabase(url);
    await distributeTables(url);
    const sql = openClient(url, { max: 2, fetch_types: false, onnotice: () => {} });
    stack.defer(() => sql.end());
    service = stack.use(await startTestService({ database: { url, sql, [Symbol.asyncDispose]: async () => {} } }));
    tenant = await createTenant(service);
  }, 120_000);
  afterAll(() => stack.disposeAsync());

  async function countCheckIns(eventId: string): Promise<number> {
    const [row] = await service.database.sql`select count(*)::int as count from check_ins where event_id = ${eventId}`;
    return row?.count;
  }

  test('distributes every table, and does nothing the second time', async () => {
    await distributeTables(url);
    const others = await service.database.sql`
      select relname from pg_class c where relkind = 'r' and relnamespace = 'public'::regnamespace and not exists (
        select from pg_dist_partition where logicalrelid = c.oid and (partmethod = 'h' or repmodel = 't')
      )`;
    expect(others).toEqual([]);
  });

  test('every operation works', async () => {
    const failures: string[] = [];
    for (const operation of OPERATIONS) {
      const { method } = operation;
      const fields = await sampleFields(method, { service, tenant });
      const { code } = await call(
        mainProtocolOf(method),
        service.url,
        method,
        fields,
        credentialFor(operation, tenant),
      );
      if (code !== 'ok') failures.push(`${method.name}: ${code}`);
    }
    expect(failures).toEqual([]);
  });

  test('racing exchanges give one session', async () => {
    for (let race = 0; race < RACES; race++) {
      const authToken = await logIn(service, tenant, await createTestUser(service));
      const { auth } = clientsOf(service, tenant);
      const answers = await Promise.all(Array.from({ length: RACERS }, () => auth.exchangeToken({ authToken })));
      expect(new Set(answers.map(({ session }) => session?.id)).size).toBe(1);
    }
  });

  test('nobody is admitted after a delete that races check-ins', async () => {
    const { events } = clientsOf(service, tenant);
    for (let race = 0; race < RACES; race++) {
      const eventId = await createTestEvent(service, tenant, randomUUID());
      await events.checkIn({ eventId, attendeeId: 'early' });
      const checkIns = Array.from({ length: RACERS }, (_, attendee) =>
        events.checkIn({ eventId, attendeeId: String(attendee) }).catch(() => {}),
      );
      await events.deleteEvent({ eventId });
      const atDelete = await countCheckIns(eventId);
      await Promise.all(checkIns);
      await expect(events.checkIn({ eventId, attendeeId: 'late' })).rejects.toThrow('Event not found');
      expect(await countCheckIns(eventId)).toBe(atDelete);
    }
  });

  test('the expiry job removes what has expired', async () => {
    const database = new Database(url, { connections: 2, statementTimeoutMs: 5_000 });
    stack.defer(() => database.close());
    await removeExpired(database, new Date(Date.now() + 24 * 60 * 60_000));
    const [left] = await service.database.sql`select count(*)::int as count from login_intents`;
    expect(left?.count).toBe(0);
  });
});
