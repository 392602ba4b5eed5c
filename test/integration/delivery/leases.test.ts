/** When leases are extended, and what becomes of one that cannot be. */
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, afterEach, expect, test } from 'vitest';
import type { PlaceholderValues, Run } from '../../../src/database/pool/database.ts';
import { Leases, QUEUE_LEASE_MS } from '../../../src/delivery/leases.ts';
import { SECOND, stopTimer } from '../../support/clock.ts';

const timer = stopTimer();
afterAll(() => timer[Symbol.dispose]());
afterEach(() => {
  statements.length = 0;
});

const statements: PlaceholderValues[] = [];
const tokensOf = ({ leases }: PlaceholderValues) => (leases as { lease: string }[]).map(({ lease }) => ({ lease }));

function openLeases(answer: (parameters: PlaceholderValues) => unknown = tokensOf) {
  const run = async (_: unknown, parameters: PlaceholderValues) => {
    statements.push(parameters);
    return answer(parameters);
  };
  return new Leases(() => new Date(performance.now()), run as Run);
}

/** Lets time pass, with a check every second. */
async function wait(leases: Leases, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    timer.advance(SECOND);
    leases.check();
    await turn();
  }
}

test('a lease that ends within a third of its time costs no statement', async () => {
  const leases = openLeases();
  for (let count = 0; count < 100; count++) {
    const lease = leases.begin({ applicationId: 'a', webhookId: `wh_${count}` });
    await wait(leases, 2);
    leases.end(lease);
  }
  expect(statements).toEqual([]);
});

test('all leases of an application are extended by one statement, once in a third of their time', async () => {
  const leases = openLeases();
  const held = ['a', 'b'].flatMap((applicationId) =>
    Array.from({ length: 50 }, (_, count) => leases.begin({ applicationId, webhookId: `wh_${count}` })),
  );
  await wait(leases, 30);
  expect(statements.filter(({ applicationId }) => applicationId === 'a')).toHaveLength(10);
  expect(statements).toHaveLength(20);
  for (const lease of held) expect([lease.isOver, lease.signal.aborted]).toEqual([false, false]);
});

test('a lease ends 9 s after it began or was last extended, so that another process goes on then', async () => {
  const leases = openLeases();
  const began = performance.now();
  const lease = leases.begin({ applicationId: 'a', webhookId: 'wh' });
  expect(lease.end).toEqual(new Date(began + 9 * SECOND));
  await wait(leases, 3);
  expect(statements).toHaveLength(1);
  expect(lease.end).toEqual(new Date(performance.now() + 9 * SECOND));
  leases.end(lease);
});

test.each([
  ['Postgres does not answer', () => new Promise(() => {})],
  ['Postgres is away', () => Promise.reject(new Error('The database is unavailable'))],
  ['another process has it', () => []],
])('the attempts of a lease end before it does when %s', async (_, answer) => {
  const leases = openLeases(answer);
  const lease = leases.begin({ applicationId: 'a', webhookId: 'wh' });
  await wait(leases, 6);
  expect(lease.signal.aborted).toBe(false);
  await wait(leases, 2);
  expect([lease.isOver, lease.signal.aborted]).toEqual([true, true]);
  expect(lease.firstEnd.getTime()).toBeGreaterThan(performance.now());
  expect(8 * SECOND).toBeLessThan(QUEUE_LEASE_MS);
});

test('attempts that are about to begin end, too, at the end of a shutdown', () => {
  const leases = openLeases();
  const before = leases.begin({ applicationId: 'a', webhookId: 'wh' });
  leases.abort();
  const after = leases.begin({ applicationId: 'a', webhookId: 'wh' });
  expect([before, after].map(({ signal }) => signal.aborted)).toEqual([true, true]);
});
