/** Lifetimes follow the clock of the Usher process, not that of Postgres. */
import { Code, ConnectError } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MINUTE, SECOND, TestClock } from '../support/clock.ts';
import { cloneDatabase } from '../support/database.ts';
import { beginLogin } from '../support/login-browser.ts';
import {
  adminClient,
  clientsOf,
  createTenant,
  createTestUser,
  logIn,
  startTestService,
  type Tenant,
  type TestService,
  type TestUser,
  testConfig,
} from '../support/service.ts';
import { quickOrLong } from '../support/soak.ts';

const INTENT_LIFETIME = 30 * MINUTE;
const TOKEN_LIFETIME = 15 * MINUTE;
const SESSION_LIFETIME = 15 * MINUTE;
const SKEW = 16 * MINUTE;
const DAY = 24 * 60 * MINUTE;
const EXPIRED_INTENT = 'FailedPrecondition: Login intent expired';
const EXPIRED_TOKEN = 'Unauthenticated: Invalid or expired token';

const skews = quickOrLong([-SKEW, SKEW], [-DAY, -SKEW, -15 * MINUTE, -SECOND, SECOND, 15 * MINUTE, SKEW, DAY]);

/** Returns a whole second that is off the time of Postgres by the skew. */
const wholeSecondFromNow = (skew: number) =>
  new Date(Math.floor(Date.now() / SECOND) * SECOND + Math.round(skew / SECOND) * SECOND);

interface Fixture {
  readonly service: TestService;
  readonly tenant: Tenant;
  readonly user: TestUser;
}

const outcomeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'ok',
    (error) => `${Code[ConnectError.from(error).code]}: ${ConnectError.from(error).rawMessage}`,
  );
const complete = ({ service, user }: Fixture, { loginIntentId }: { loginIntentId: string }) =>
  outcomeOf(adminClient(service).completeLogin({ loginIntentId, userId: user.id }));
const exchangeToken = ({ service, tenant }: Fixture, authToken: string) =>
  clientsOf(service, tenant).auth.exchangeToken({ authToken });
const exchange = (fixture: Fixture, authToken: string) => outcomeOf(exchangeToken(fixture, authToken));
const begin = ({ service, tenant }: Fixture) => beginLogin(service, tenant);
const createToken = ({ service, tenant, user }: Fixture) => logIn(service, tenant, user);
const sessionOf = async (fixture: Fixture) => (await exchangeToken(fixture, await createToken(fixture))).session;

describe.each(skews)('with a clock %i ms off that of Postgres', (skew) => {
  let clock: TestClock;
  let fixture: Fixture;

  beforeAll(async () => {
    clock = new TestClock(wholeSecondFromNow(skew));
    const service = await startTestService({ clock: clock.read });
    fixture = { service, tenant: await createTenant(service), user: await createTestUser(service) };
  });
  afterAll(() => fixture.service.close());

  const advanceToWholeSecond = () => clock.advance(SECOND - (clock.read().getTime() % SECOND));

  it('a login intent expires after 30 minutes, to the millisecond', async () => {
    const [first, second] = [await begin(fixture), await begin(fixture)];
    clock.advance(INTENT_LIFETIME - 1);
    expect(await complete(fixture, first)).toBe('ok');
    clock.advance(1);
    expect(await complete(fixture, second)).toBe(EXPIRED_INTENT);
  });

  it.each([0, 1, 999])(
    'an auth token issued %i ms into a second expires 15 minutes after that second',
    async (into) => {
      advanceToWholeSecond();
      clock.advance(into);
      const authToken = await createToken(fixture);
      clock.advance(TOKEN_LIFETIME - into - 1);
      expect(await exchange(fixture, authToken)).toBe('ok');
      clock.advance(1);
      expect(await exchange(fixture, authToken)).toBe(EXPIRED_TOKEN);
    },
  );

  it('a session expires after 15 minutes, to the millisecond, and the next exchange creates another', async () => {
    clock.advance(SESSION_LIFETIME);
    advanceToWholeSecond();
    const session = await sessionOf(fixture);
    expect(session?.createdAt).toMatchObject({ seconds: BigInt(clock.read().getTime() / SECOND), nanos: 0 });
    clock.advance(SESSION_LIFETIME - 1);
    expect(await sessionOf(fixture)).toEqual(session);
    clock.advance(1);
    const next = await sessionOf(fixture);
    expect(next?.id).not.toBe(session?.id);
    expect(next?.createdAt?.seconds).toBe(BigInt(clock.read().getTime() / SECOND));
  });
});

describe('two replicas whose clocks are 16 minutes apart', () => {
  /** Starts two replicas on one database. `advance` moves both clocks. */
  async function startApart() {
    const database = await cloneDatabase();
    const like = testConfig(database.url);
    const start = wholeSecondFromNow(0);
    const clocks = [new TestClock(start), new TestClock(new Date(start.getTime() + SKEW))] as const;
    const slowService = await startTestService({ database, like, clock: clocks[0].read });
    const fastService = await startTestService({ database, like, clock: clocks[1].read });
    const [tenant, user] = [await createTenant(slowService), await createTestUser(slowService)];
    return {
      slow: { service: slowService, tenant, user },
      fast: { service: fastService, tenant, user },
      advance: (ms: number) => clocks.forEach((clock) => void clock.advance(ms)),
      async [Symbol.asyncDispose]() {
        await Promise.all([slowService.close(), fastService.close()]);
        await database[Symbol.asyncDispose]();
      },
    };
  }

  it('refuse tokens of each other: too old for the fast one, not yet valid for the slow one', async () => {
    await using apart = await startApart();
    const { slow, fast } = apart;
    const [ofSlow, ofFast] = [await createToken(slow), await createToken(fast)];
    expect([await exchange(slow, ofSlow), await exchange(fast, ofFast)]).toEqual(['ok', 'ok']);
    expect(await exchange(fast, ofSlow)).toBe(EXPIRED_TOKEN);
    expect(await exchange(slow, ofFast)).toBe(EXPIRED_TOKEN);
    // By the clock that checks it, the token of the fast one is valid for exactly 15 minutes.
    apart.advance(SKEW - 1);
    expect(await exchange(slow, ofFast)).toBe(EXPIRED_TOKEN);
    apart.advance(1);
    expect(await exchange(slow, ofFast)).toBe('ok');
    apart.advance(TOKEN_LIFETIME - 1);
    expect(await exchange(slow, ofFast)).toBe('ok');
    apart.advance(1);
    expect(await exchange(slow, ofFast)).toBe(EXPIRED_TOKEN);
  });

  it('have one session at a time: that of the fast one replaces that of the slow one for both', async () => {
    await using apart = await startApart();
    const { slow, fast } = apart;
    const first = await sessionOf(slow);
    const second = await sessionOf(fast);
    expect(second?.id).not.toBe(first?.id);
    expect(await sessionOf(slow)).toEqual(second);
    apart.advance(SESSION_LIFETIME - 1);
    expect(await sessionOf(fast)).toEqual(second);
    apart.advance(1);
    // For the slow one it ends 16 minutes later.
    expect(await sessionOf(slow)).toEqual(second);
    apart.advance(SKEW);
    expect((await sessionOf(slow))?.id).not.toBe(second?.id);
  });
});
