/** Statements that take effect together, or not at all. */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { Database, DatabaseUnavailableError, type Run } from '../../../src/database/pool/database.ts';
import { p, statement } from '../../../src/database/sql/template.ts';
import { TcpProxy } from '../../../src/testing/tcp-proxy.ts';
import { cloneDatabase } from '../../support/database.ts';
import { holdLock } from '../../support/lock.ts';
import { MEASURED } from '../../support/metrics.ts';
import { clientsOf, createTenant, createTestEvent, startTestService } from '../../support/service.ts';

const testDatabase = await cloneDatabase();
const proxy = await TcpProxy.open(testDatabase.url);
const database = new Database(proxy.through(testDatabase.url), { connections: 1, statementTimeoutMs: 60_000 });

afterEach(() => proxy.setMode('pass'));

afterAll(async () => {
  await database.close();
  await proxy[Symbol.asyncDispose]();
  await testDatabase[Symbol.asyncDispose]();
});

const insertMark = statement('insert_test_mark')`
  insert into expiry_marks (name, reached_at) values (${p.text('name')}, now()) returning name`;

const within = (ms: number) => ({ applicationId: 'a', deadline: performance.now() + ms });

async function readMarks(): Promise<string[]> {
  const rows = await testDatabase.sql`delete from expiry_marks returning name`;
  return rows.map(({ name }) => name).sort();
}

const insertTwo = async (run: Run) => {
  await run(insertMark, { name: 'one' });
  await run(insertMark, { name: 'two' });
  return 'answer';
};

test('both statements take effect', async () => {
  expect(await database.transact(within(60_000), insertTwo)).toBe('answer');
  expect(await readMarks()).toEqual(['one', 'two']);
});

test('neither takes effect after an error, of the statements or between them', async () => {
  const thrown = database.transact(within(60_000), async (run) => {
    await insertTwo(run);
    throw new Error('between');
  });
  await expect(thrown).rejects.toThrow('between');
  const refused = database.transact(within(60_000), async (run) => {
    await insertTwo(run);
    await insertTwo(run);
  });
  await expect(refused).rejects.toThrow('duplicate key');
  const ignored = database.transact(within(60_000), async (run) => {
    await insertTwo(run);
    await insertTwo(run).catch(() => {});
  });
  await expect(ignored).rejects.toThrow('rolled back');
  expect(await readMarks()).toEqual([]);
});

test('neither takes effect if the work ends after the deadline', async () => {
  const late = database.transact(within(300), async (run) => {
    await insertTwo(run);
    await expect.poll(() => performance.now(), { timeout: 60_000 }).toBeGreaterThan(performance.now() + 300);
  });
  await expect(late).rejects.toThrow(DatabaseUnavailableError);
  expect(await readMarks()).toEqual([]);
});

test.each(['refuse', 'reset', 'freeze'] as const)(
  'a network in the mode %s ends it, and others follow',
  async (mode) => {
    const broken = database.transact(within(1_000), async (run) => {
      await run(insertMark, { name: 'one' });
      await proxy.setMode(mode);
      await run(insertMark, { name: 'two' });
    });
    await expect(broken).rejects.toThrow(DatabaseUnavailableError);
    await expect(database.transact(within(500), insertTwo)).rejects.toThrow(DatabaseUnavailableError);
    await proxy.setMode('pass');
    expect(await database.transact(within(60_000), insertTwo)).toBe('answer');
    expect(await readMarks()).toEqual(['one', 'two']);
  },
);

test('more than run at the same time wait for their turn', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `mark ${String(index).padStart(2, '0')}`);
  await Promise.all(names.map((name) => database.transact(within(60_000), (run) => run(insertMark, { name }))));
  expect(await readMarks()).toEqual(names);
});

describe('transactions that wait', () => {
  test('follow one another in the order of their arrival if they have the same lock', async () => {
    const order: number[] = [];
    let running = 0;
    const follow = Array.from({ length: 10 }, (_, at) =>
      database.transact({ ...within(60_000), lock: 'event' }, async (run) => {
        expect(running++).toBe(0);
        await run(insertMark, { name: String(at) });
        order.push(at);
        running--;
      }),
    );
    await Promise.all(follow);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(await readMarks()).toHaveLength(10);
  });

  test('leave a connection to other applications, however many of one block', async () => {
    const held = { a: hold('a', 20), b: hold('b', 20), c: hold('c', 20) };
    expect(database.load.pools.transactions).toEqual({ inFlight: 7, waiting: 53 });
    expect(await database.transact({ ...within(60_000), applicationId: 'd' }, insertTwo)).toBe('answer');
    for (const { end } of Object.values(held)) end();
    await Promise.all(Object.values(held).flatMap(({ all }) => all));
    expect(await readMarks()).toEqual(['one', 'two']);
  });

  test('are of a limited number per application', async () => {
    const { all, end } = hold('a', 504);
    await expect(database.transact(within(60_000), insertTwo)).rejects.toThrow('Too many transactions wait');
    expect(await database.transact({ ...within(60_000), applicationId: 'b' }, insertTwo)).toBe('answer');
    end();
    await Promise.all(all);
    expect(await readMarks()).toEqual(['one', 'two']);
  });

  test('make room once their callers have left, and never begin', async () => {
    const first = hold('a', 1, { lock: 'event' });
    let [hasLeft, begun] = [false, 0];
    const left = Array.from({ length: 500 }, () =>
      database.transact({ ...within(60_000), lock: 'event', isGone: () => hasLeft }, async () => void begun++),
    );
    const outcomes = Promise.allSettled(left);
    hasLeft = true;
    await expect.poll(() => database.load.pools.transactions.waiting).toBe(0);
    const next = database.transact({ ...within(60_000), lock: 'event' }, insertTwo);
    first.end();
    expect(await next).toBe('answer');
    expect((await outcomes).filter(({ status }) => status === 'fulfilled')).toEqual([]);
    expect(begun).toBe(0);
    expect(await readMarks()).toEqual(['one', 'two']);
  });

  /** Begins transactions that do nothing until `end`. */
  function hold(applicationId: string, count: number, { lock }: { readonly lock?: string } = {}) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const of = { ...within(60_000), applicationId, lock };
    return { all: Array.from({ length: count }, () => database.transact(of, () => promise)), end: resolve };
  }
});

describe('while events of one application are locked', async () => {
  const service = await startTestService({ config: MEASURED });
  afterAll(service.close);
  const [busy, other] = [await createTenant(service), await createTenant(service)];
  const events = Array.from({ length: 12 }, (_, at) => `event ${at}`);
  for (const eventId of events) await createTestEvent(service, busy, eventId);
  await createTestEvent(service, other, 'event 0');

  const ofBusy = clientsOf(service, busy).events;
  const [one = ''] = events;
  const scan = () => ({ attendeeId: randomUUID(), scanId: randomUUID() });
  const key = () => ({ headers: { 'idempotency-key': randomUUID() } });
  const cases: readonly (readonly [string, number, number, (at: number) => Promise<unknown>])[] = [
    ['64 batches of scans of one event', 1, 64, () => ofBusy.batchCheckIn({ eventId: one, scans: [scan()] })],
    ['eight scans with a gate', 1, 8, () => ofBusy.checkIn({ eventId: one, ...scan(), gate: 'east' })],
    ['check-ins with a key', 1, 12, () => ofBusy.checkIn({ eventId: one, attendeeId: randomUUID() }, key())],
    ['lists of one event', 1, 12, () => ofBusy.batchPutAttendees({ eventId: one, attendees: [scan()] })],
    ['removals from a list', 1, 12, () => ofBusy.deleteAttendees({ eventId: one, attendeeIds: ['a'] })],
    ['batches of many events', 4, 12, (at) => ofBusy.batchCheckIn({ eventId: events[at] ?? '', scans: [scan()] })],
    ['keys of many events', 4, 12, (at) => ofBusy.checkIn({ eventId: events[at] ?? '', ...scan() }, key())],
  ];
  test.each(cases)('%s take %i connections, and delay no call of another', async (_, blocked, calls, send) => {
    const locked = `select from events where application_id = '${busy.id}' for update`;
    await using lock = await holdLock(service.database, locked);
    let answered = 0;
    const answers = Array.from({ length: calls }, (_, at) => send(at).finally(() => answered++));
    await expect.poll(readLoad).toEqual({ in_flight: blocked, waiting: calls - blocked });
    const { events: ofOther } = clientsOf(service, other);
    const eventId = 'event 0';
    await Promise.all([
      ofOther.batchCheckIn({ eventId, scans: [scan()] }),
      ofOther.checkIn({ eventId, ...scan(), gate: 'west' }),
      ofOther.checkIn({ eventId, attendeeId: randomUUID() }, key()),
      ofOther.createEvent({ eventId: randomUUID() }, key()),
      ofOther.batchPutAttendees({ eventId, attendees: [scan()] }),
      ofOther.deleteAttendees({ eventId, attendeeIds: ['a'] }),
    ]);
    expect(answered).toBe(0);
    await lock.release();
    await Promise.all(answers);
  });

  async function readLoad() {
    const metrics = (await service.collect?.()) ?? [];
    const values = metrics.find(({ name }) => name === 'usher_database_statements')?.values ?? [];
    const ofTransactions = values.filter(({ labels }) => labels.client === 'calls' && labels.pool === 'transactions');
    return Object.fromEntries(ofTransactions.map(({ labels, value }) => [labels.state, value]));
  }
});
