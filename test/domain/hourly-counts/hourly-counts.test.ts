import { afterAll, expect, test } from 'vitest';
import { Database, type Run } from '../../../src/database/pool/database.ts';
import { ApiKeys } from '../../../src/domain/api-keys/api-keys.ts';
import { HourlyCounts, MemoryCounts } from '../../../src/jobs/memory-counts.ts';
import { createLogger } from '../../../src/log.ts';
import { readHourlyCounts } from '../../../src/modules/console/statements/overview.ts';
import { cloneDatabase, LAYOUT } from '../../support/database.ts';
import { beginSession, createTenant, createTestUser, startTestService } from '../../support/service.ts';

const HOUR = 60 * 60_000;
const NOON = new Date('2026-03-01T12:00:00Z');
const testDatabase = await cloneDatabase();
const database = new Database(testDatabase.url, { connections: 1, layout: LAYOUT, statementTimeoutMs: 60_000 });
const run: Run = (statement, parameters) => database.run(statement, parameters, Number.POSITIVE_INFINITY);
const at = (minutes: number) => new Date(NOON.getTime() + minutes * 60_000);

afterAll(async () => {
  await database.close();
  await testDatabase[Symbol.asyncDispose]();
});

test('adds what several processes have counted, by the hour', async () => {
  const processes = [new HourlyCounts(), new HourlyCounts()];
  for (const counts of processes) {
    counts.add('sign_ins', at(1));
    counts.add('sign_ins', at(59));
    counts.add('sign_ins', at(60));
    counts.add('wrong_codes', at(59), 3);
    counts.add('emails', at(59), 0);
  }
  await Promise.all(processes.map((counts) => counts.save(run)));
  await Promise.all(processes.map((counts) => counts.save(run)));
  expect(await readHourlyCounts({ run, now: at(61) })).toEqual([
    { name: 'sign_ins', hour: NOON, count: 4 },
    { name: 'wrong_codes', hour: NOON, count: 6 },
    { name: 'sign_ins', hour: at(60), count: 2 },
  ]);
  const hours = async (now: Date) => (await readHourlyCounts({ run, now })).map(({ hour }) => hour);
  expect(await hours(new Date(NOON.getTime() + 24 * HOUR - 1))).toHaveLength(3);
  expect(await hours(new Date(NOON.getTime() + 24 * HOUR))).toEqual([at(60)]);
});

test('keeps what it cannot store, and goes on counting', async () => {
  const counts = new HourlyCounts();
  const later = at(24 * 60 * 7);
  counts.add('sign_ups', later);
  await expect(counts.save(() => Promise.reject(new Error('down')))).rejects.toThrow('down');
  counts.add('sign_ups', later);
  await counts.save(run);
  expect(await readHourlyCounts({ run, now: later })).toMatchObject([{ name: 'sign_ups', count: 2 }]);
});

test('stores by how much the counters of a process have grown', async () => {
  const now = at(24 * 60 * 14);
  const mailer = { outcomes: { sent: 2, failed: 0 } };
  const delivery = { outcomes: { pending: 1, succeeded: 3, failed: 0 } };
  const apiKeys = new ApiKeys(database.eachWithin(60_000));
  const logger = createLogger('silent');
  const unknownAddresses = { save: async () => {} };
  const job = new MemoryCounts({ apiKeys, clock: () => now, database, delivery, logger, mailer, unknownAddresses });
  await job.save(60_000);
  mailer.outcomes.sent++;
  await job.save(60_000);
  expect(await readHourlyCounts({ run, now })).toMatchObject([
    { name: 'emails', count: 3 },
    { name: 'failed_webhook_attempts', count: 1 },
    { name: 'webhook_attempts', count: 4 },
  ]);
});

test('a service counts its sign-ins, and stores them at the latest when it stops', async () => {
  const service = await startTestService({ database: testDatabase });
  // One window for both, because an hour may begin in between.
  const since = new Date(Date.now() - HOUR);
  const before = await signInsSince(since);
  await beginSession(service, await createTenant(service), await createTestUser(service));
  await service.close();
  expect(await signInsSince(since)).toBe(before + 1);
});

async function signInsSince(since: Date): Promise<number> {
  const [row] = await testDatabase.sql`
    select coalesce(sum(count), 0)::int as count from hourly_counts
    where name = 'sign_ins' and hour between ${since} and ${since}::timestamptz + interval '2 hours'`;
  return row?.count;
}
