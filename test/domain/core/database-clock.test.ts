/** The clock of Postgres as a process knows it. Replicas whose clocks are off: test/robustness/clocks.test.ts. */
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { Database } from '../../../src/database/pool/database.ts';
import {
  ClockSkewError,
  DatabaseClock,
  openClock as openClockAtStart,
} from '../../../src/domain/core/database-clock.ts';
import { cloneDatabase } from '../../support/database.ts';

const DAY = 24 * 60 * 60_000;
const START = Date.UTC(2030, 0, 1);

const testDatabase = await cloneDatabase();
const database = new Database(testDatabase.url, { connections: 1, statementTimeoutMs: 60_000 });

afterAll(async () => {
  await database.close();
  await testDatabase[Symbol.asyncDispose]();
});

test('reads the time of Postgres, ahead by the time that the quickest answer took, whatever the system clock does', async () => {
  const clock = new DatabaseClock((deadline) => database.readTime(deadline));
  const answersMs: number[] = [];
  for (let time = 0; time < 3; time++) {
    const askedAt = performance.now();
    await clock.measure(Number.POSITIVE_INFINITY);
    answersMs.push(performance.now() - askedAt);
  }
  using _stepped = vi.spyOn(Date, 'now').mockReturnValue(0);
  const before = clock.read().getTime();
  const present = await database.readTime(Number.POSITIVE_INFINITY);
  expect(before - present).toBeLessThanOrEqual(Math.min(...answersMs));
  expect(clock.read().getTime()).toBeGreaterThanOrEqual(Math.floor(present));
});

/** Returns a clock of Postgres that is so far off the system's, and takes so long to answer. Time is the test's. */
function openClock() {
  let elapsedMs = 0;
  const now = vi.spyOn(performance, 'now').mockImplementation(() => elapsedMs);
  onTestFinished(() => now.mockRestore());
  const postgres = { aheadMs: 0, delayMs: 0 };
  const system = () => START + elapsedMs;
  const read = async () => {
    elapsedMs += postgres.delayMs / 2;
    const time = system() + postgres.aheadMs;
    elapsedMs += postgres.delayMs / 2;
    return time;
  };
  const clock = new DatabaseClock(read, system);
  const measure = () => clock.measure(Number.POSITIVE_INFINITY);
  /** Returns by how much it is ahead of Postgres. */
  const errorMs = () => clock.read().getTime() - system() - postgres.aheadMs;
  return { clock, postgres, system, measure, errorMs };
}

test('is not put off by a slow answer once there was a quick one', async () => {
  const { postgres, measure, errorMs } = openClock();
  postgres.delayMs = 200;
  await measure();
  expect(errorMs()).toBe(100);
  postgres.delayMs = 0;
  await measure();
  expect(errorMs()).toBe(0);
  postgres.delayMs = 200;
  await measure();
  expect(errorMs()).toBe(0);
});

test.each([-1_000, 1_000])('follows a primary whose clock is %d ms off that of the one before', async (aheadMs) => {
  const { postgres, measure, errorMs } = openClock();
  await measure();
  postgres.aheadMs = aheadMs;
  await measure();
  expect(errorMs()).toBe(0);
});

test('is put off by slow answers once none of the last eight was quick', async () => {
  const { postgres, measure, errorMs } = openClock();
  await measure();
  postgres.delayMs = 200;
  for (let time = 0; time < 7; time++) await measure();
  expect(errorMs()).toBe(0);
  await measure();
  expect(errorMs()).toBe(100);
});

test.each([
  [5_000, undefined],
  [-5_000, undefined],
  [5_001, 'The clock of this machine is 5.0 s behind that of Postgres'],
  [-6_000, 'The clock of this machine is 6.0 s ahead of that of Postgres'],
])('a clock of Postgres that is %d ms ahead: %s', async (aheadMs, problem) => {
  const { clock, postgres, measure } = openClock();
  postgres.aheadMs = aheadMs;
  await measure();
  if (problem) expect(() => clock.requireInStep()).toThrow(problem);
  else clock.requireInStep();
});

test('a start fails where the clocks are too far apart', async () => {
  await expect(openClockAtStart(async () => Date.now() + DAY, undefined)).rejects.toThrow(ClockSkewError);
});

test('deletes by the earlier of both clocks, and nothing while they are more than 5 seconds apart', async () => {
  const { clock, postgres, system, measure } = openClock();
  for (const aheadMs of [-4_000, 4_000]) {
    postgres.aheadMs = aheadMs;
    await measure();
    const offMs = clock.readForDeletion().getTime() - system();
    expect(offMs).toBe(Math.min(0, aheadMs));
  }
  for (const aheadMs of [-6_000, 6_000, -401 * DAY]) {
    postgres.aheadMs = aheadMs;
    await measure();
    expect(clock.readForDeletion).toThrow(ClockSkewError);
  }
});

test('a start reads the time once more when a moved primary has cost the first answer', async () => {
  const lost = new Error('The connection was given up');
  let asked = 0;
  const read = async () => {
    if (asked++ % 2 === 0) throw lost;
    return Date.now();
  };
  await openClockAtStart(read, undefined);
  expect(asked).toBe(4);
  await expect(openClockAtStart(() => Promise.reject(lost), undefined)).rejects.toBe(lost);
});
