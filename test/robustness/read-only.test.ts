/** Postgres answers but writes nothing. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { onServer } from '../../src/testing/on-server.ts';
import { openDatabase, type TestDatabase } from '../support/database.ts';
import { request } from '../support/http.ts';
import { MEASURED, openMetrics, scrape } from '../support/metrics.ts';
import { OwnPostgres } from '../support/own-postgres.ts';
import {
  clientsOf,
  createTenant,
  createTestEvent,
  startTestService,
  type Tenant,
  type TestService,
} from '../support/service.ts';

const stack = new AsyncDisposableStack();
let postgres: OwnPostgres;
let database: TestDatabase;
let service: TestService;
let tenant: Tenant;
let eventId: string;

beforeAll(async () => {
  postgres = stack.use(await OwnPostgres.start());
  database = stack.use(openDatabase(postgres.url));
  service = stack.use(await startTestService({ database, config: MEASURED }));
  tenant = await createTenant(service);
  eventId = await createTestEvent(service, tenant);
});
afterAll(() => stack.disposeAsync());

interface Fault {
  /** Whether a probe can see it. */
  readonly isReady: boolean;
  begin(): Promise<unknown>;
  end(): Promise<unknown>;
}

const FAULTS: Record<string, Fault> = {
  'Postgres is read-only': {
    isReady: false,
    begin: () => setReadOnly('on'),
    end: () => setReadOnly('off'),
  },
  'the disk of Postgres is full': {
    isReady: true,
    begin: () =>
      database.sql.unsafe(`
      create function fill() returns trigger language plpgsql as $$
        begin raise exception using errcode = 'disk_full', message = 'could not extend file'; end $$;
      create trigger fill before insert or update on usher.events for each row execute function fill()`),
    end: () => database.sql.unsafe('drop function fill cascade'),
  },
};

describe.each(Object.entries(FAULTS))('while %s', (_, { isReady, begin, end }) => {
  beforeAll(() => begin());
  afterAll(() => end());

  test('reads succeed, writes get 503, and both can be told from the metrics', async () => {
    await using metrics = await openMetrics(service);
    const before = await scrape(metrics);
    const { events } = clientsOf(service, tenant);
    for (let call = 0; call < 3; call++) {
      await expect(createTestEvent(service, tenant)).rejects.toThrow('Service unavailable');
      await expect.poll(() => events.getEvent({ eventId })).toMatchObject({ event: { eventId } });
    }
    const after = await scrape(metrics);
    const grown = (db_query_summary: string, error_type: string) => {
      const [now = 0, then = 0] = [after, before].map((found) =>
        found.sum('db_client_operation_duration_seconds_count', { db_query_summary, error_type }),
      );
      return now - then;
    };
    expect(grown('insertEvent', 'DatabaseUnavailableError')).toBe(3);
    expect(grown('insertEvent', '')).toBe(0);
    expect(grown('selectEvent', '')).toBeGreaterThanOrEqual(3);
  });

  test(`is ${isReady ? '' : 'not '}ready`, async () => {
    await expect.poll(readiness).toBe(isReady ? 200 : 503);
  });
});

test('is ready afterwards, and writes', async () => {
  await expect.poll(readiness).toBe(200);
  await createTestEvent(service, tenant);
});

async function setReadOnly(value: 'on' | 'off'): Promise<void> {
  await onServer(postgres.url, async (sql) => {
    await sql.unsafe(`alter system set default_transaction_read_only = ${value}`);
    await sql`select pg_reload_conf()`;
    // Postgres reloads later. When a new connection has the setting, all others have been sent the signal to read it.
    const readSetting = () =>
      onServer(postgres.url, async (other) => (await other`show default_transaction_read_only`)[0]);
    await vi.waitFor(
      async () => expect(await readSetting()).toEqual({ default_transaction_read_only: value }),
      120_000,
    );
  });
}

async function readiness(): Promise<number> {
  return (await request(service.url, { path: '/readyz' })).status;
}
