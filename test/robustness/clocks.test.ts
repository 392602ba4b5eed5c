/**
 * Lifetimes follow the clock of the Usher process. Here the clocks of two replicas are 16 minutes apart; in
 * test/contract/exchange-token.test.ts that of Usher is months off that of Postgres.
 */
import { afterAll, expect, it } from 'vitest';
import { MINUTE, SECOND, TestClock } from '../support/clock.ts';
import {
  clientsOf,
  createTenant,
  createTestUser,
  logIn,
  startTestService,
  type TestService,
} from '../support/service.ts';

const LIFETIME = 15 * MINUTE;
const SKEW = 16 * MINUTE;

const slowClock = new TestClock(new Date(Math.floor(Date.now() / SECOND) * SECOND));
const fastClock = () => new Date(slowClock.read().getTime() + SKEW);
const slow = await startTestService({ clock: slowClock.read });
const fast = await startTestService({ database: slow.database, like: slow.config, clock: fastClock });
const tenant = await createTenant(slow);

afterAll(async () => {
  await fast.close();
  await slow.close();
});

const exchange = async (at: TestService, authToken: string) =>
  (await clientsOf(at, tenant).auth.exchangeToken({ authToken })).session;

it('each replica refuses tokens of the other: too old for the fast one, not yet valid for the slow one', async () => {
  const user = await createTestUser(slow);
  const [ofSlow, ofFast] = [await logIn(slow, tenant, user), await logIn(fast, tenant, user)];
  const outcomeOf = (at: TestService, authToken: string) =>
    exchange(at, authToken).then(
      () => 'ok',
      (error: Error) => error.message,
    );
  const expired = '[unauthenticated] Invalid or expired token';
  expect([await outcomeOf(slow, ofSlow), await outcomeOf(fast, ofFast)]).toEqual(['ok', 'ok']);
  expect(await outcomeOf(fast, ofSlow)).toBe(expired);
  expect(await outcomeOf(slow, ofFast)).toBe(expired);
  // By the clock that checks it, the token of the fast one is valid for exactly 15 minutes.
  slowClock.advance(SKEW - 1);
  expect(await outcomeOf(slow, ofFast)).toBe(expired);
  slowClock.advance(1);
  expect(await outcomeOf(slow, ofFast)).toBe('ok');
  slowClock.advance(LIFETIME - 1);
  expect(await outcomeOf(slow, ofFast)).toBe('ok');
  slowClock.advance(1);
  expect(await outcomeOf(slow, ofFast)).toBe(expired);
});

it('a session that the fast one begins replaces that of the slow one for both', async () => {
  const user = await createTestUser(slow);
  const sessionAt = async (at: TestService) => exchange(at, await logIn(at, tenant, user));
  const first = await sessionAt(slow);
  const second = await sessionAt(fast);
  expect(second).not.toEqual(first);
  expect(await sessionAt(slow)).toEqual(second);
  slowClock.advance(LIFETIME - 1);
  expect(await sessionAt(fast)).toEqual(second);
  slowClock.advance(1);
  // For the slow one it ends 16 minutes later.
  expect(await sessionAt(slow)).toEqual(second);
  slowClock.advance(SKEW);
  expect(await sessionAt(slow)).not.toEqual(second);
});
