/** Lifetimes follow the clock of the Usher process, which test/contract/exchange-token.test.ts sets months off that of Postgres. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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

describe('two replicas whose clocks are 16 minutes apart', () => {
  const slowClock = new TestClock(new Date(Math.floor(Date.now() / SECOND) * SECOND));
  let slow: TestService;
  let fast: TestService;
  let createToken: (at: TestService) => Promise<string>;
  let sessionOf: (at: TestService, authToken?: string) => Promise<unknown>;

  beforeEach(async () => {
    slow = await startTestService({ clock: slowClock.read });
    const fastClock = () => new Date(slowClock.read().getTime() + SKEW);
    fast = await startTestService({ database: slow.database, like: slow.config, clock: fastClock });
    const [tenant, user] = [await createTenant(slow), await createTestUser(slow)];
    createToken = (at) => logIn(at, tenant, user);
    sessionOf = async (at, authToken) =>
      (await clientsOf(at, tenant).auth.exchangeToken({ authToken: authToken ?? (await createToken(at)) })).session;
  });
  afterEach(async () => {
    await fast.close();
    await slow.close();
  });

  it('refuse tokens of each other: too old for the fast one, not yet valid for the slow one', async () => {
    const [ofSlow, ofFast] = [await createToken(slow), await createToken(fast)];
    const exchange = (at: TestService, authToken: string) =>
      sessionOf(at, authToken).then(
        () => 'ok',
        (error: Error) => error.message,
      );
    const expired = '[unauthenticated] Invalid or expired token';
    expect([await exchange(slow, ofSlow), await exchange(fast, ofFast)]).toEqual(['ok', 'ok']);
    expect(await exchange(fast, ofSlow)).toBe(expired);
    expect(await exchange(slow, ofFast)).toBe(expired);
    // By the clock that checks it, the token of the fast one is valid for exactly 15 minutes.
    slowClock.advance(SKEW - 1);
    expect(await exchange(slow, ofFast)).toBe(expired);
    slowClock.advance(1);
    expect(await exchange(slow, ofFast)).toBe('ok');
    slowClock.advance(LIFETIME - 1);
    expect(await exchange(slow, ofFast)).toBe('ok');
    slowClock.advance(1);
    expect(await exchange(slow, ofFast)).toBe(expired);
  });

  it('have one session at a time: that of the fast one replaces that of the slow one for both', async () => {
    const first = await sessionOf(slow);
    const second = await sessionOf(fast);
    expect(second).not.toEqual(first);
    expect(await sessionOf(slow)).toEqual(second);
    slowClock.advance(LIFETIME - 1);
    expect(await sessionOf(fast)).toEqual(second);
    slowClock.advance(1);
    // For the slow one it ends 16 minutes later.
    expect(await sessionOf(slow)).toEqual(second);
    slowClock.advance(SKEW);
    expect(await sessionOf(slow)).not.toEqual(second);
  });
});
