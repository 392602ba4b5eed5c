/** Lifetimes follow the clock of the Usher process, wherever that of Postgres is. */
import { Code, ConnectError } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database } from '../../src/database/database.ts';
import { sweep } from '../../src/jobs/expiry.ts';
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
import { quickOrLong, report } from '../support/soak.ts';

const INTENT_LIFETIME = 30 * MINUTE;
const TOKEN_LIFETIME = 15 * MINUTE;
const SESSION_LIFETIME = 15 * MINUTE;
const OFF = 16 * MINUTE;
const DAY = 24 * 60 * MINUTE;

const skews = quickOrLong([-OFF, OFF], [-DAY, -OFF, -15 * MINUTE, -SECOND, SECOND, 15 * MINUTE, OFF, DAY]);

/** A whole second, as far from now, and so from the time of Postgres, as it says. */
const wholeSecondFromNow = (skew: number) =>
  new Date(Math.floor(Date.now() / SECOND) * SECOND + Math.round(skew / SECOND) * SECOND);

interface Fixture {
  readonly service: TestService;
  readonly tenant: Tenant;
  readonly user: TestUser;
}

async function startAt(clock: TestClock): Promise<Fixture> {
  const service = await startTestService({ clock: clock.read });
  return { service, tenant: await createTenant(service), user: await createTestUser(service) };
}

const outcomeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'ok',
    (error) => `${Code[ConnectError.from(error).code]}: ${ConnectError.from(error).rawMessage}`,
  );

const complete = ({ service, user }: Fixture, loginIntentId: string) =>
  adminClient(service).completeLogin({ loginIntentId, userId: user.id });

const exchange = ({ service, tenant }: Fixture, authToken: string) =>
  clientsOf(service, tenant).auth.exchangeToken({ authToken });

describe.each(skews)('with a clock that is %i ms off that of Postgres', (skew) => {
  let clock: TestClock;
  let fixture: Fixture;

  beforeAll(async () => {
    clock = new TestClock(wholeSecondFromNow(skew));
    fixture = await startAt(clock);
  });
  afterAll(() => fixture.service.close());

  const advanceToWholeSecond = () => clock.advance(SECOND - (clock.read().getTime() % SECOND));
  const logInAgain = () => logIn(fixture.service, fixture.tenant, fixture.user);
  const enter = async () => (await exchange(fixture, await logInAgain())).session;

  it('a login intent expires after 30 minutes, to the millisecond', async (context) => {
    const [first, second] = [
      await beginLogin(fixture.service, fixture.tenant),
      await beginLogin(fixture.service, fixture.tenant),
    ];
    clock.advance(INTENT_LIFETIME - 1);
    expect(await outcomeOf(complete(fixture, first.loginIntentId))).toBe('ok');
    clock.advance(1);
    expect(await outcomeOf(complete(fixture, second.loginIntentId))).toBe('FailedPrecondition: Login intent expired');
    report(context, { tried: `lifetimes with a clock ${skew / SECOND} s off that of Postgres`, lost: 'nothing' });
  });

  it.each([0, 1, 999])('an auth token made %i ms into a second expires 15 minutes after that second', async (into) => {
    advanceToWholeSecond();
    clock.advance(into);
    const authToken = await logInAgain();
    clock.advance(TOKEN_LIFETIME - into - 1);
    expect(await outcomeOf(exchange(fixture, authToken))).toBe('ok');
    clock.advance(1);
    expect(await outcomeOf(exchange(fixture, authToken))).toBe('Unauthenticated: Invalid or expired token');
  });

  it('a session ends after 15 minutes, to the millisecond, and another begins', async () => {
    clock.advance(SESSION_LIFETIME);
    advanceToWholeSecond();
    const session = await enter();
    expect(session?.createdAt).toMatchObject({ seconds: BigInt(clock.read().getTime() / SECOND), nanos: 0 });
    clock.advance(SESSION_LIFETIME - 1);
    expect(await enter()).toEqual(session);
    clock.advance(1);
    const next = await enter();
    expect(next?.id).not.toBe(session?.id);
    expect(next?.createdAt?.seconds).toBe(BigInt(clock.read().getTime() / SECOND));
  });

  it('what lives by that clock survives housekeeping, and what does not is removed', async () => {
    clock.advance(SESSION_LIFETIME);
    advanceToWholeSecond();
    const { database } = fixture.service;
    const login = await beginLogin(fixture.service, fixture.tenant);
    const authToken = await logInAgain();
    const { session } = await exchange(fixture, authToken);
    const sweepAt = async (instant: Date) => {
      const swept = new Database(database.url, { connections: 1, statementTimeoutMs: 5_000 });
      await sweep(swept, instant).finally(() => swept.close());
    };
    clock.advance(SESSION_LIFETIME - 1);
    await sweepAt(clock.read());
    expect((await exchange(fixture, authToken)).session).toEqual(session);
    expect(await outcomeOf(complete(fixture, login.loginIntentId))).toBe('ok');
    clock.advance(2);
    await sweepAt(clock.read());
    expect(await database.sql`select 1 from sessions`).toEqual([]);
  });
});

describe('two instances whose clocks are 16 minutes apart', () => {
  /** Two instances on one database; the clocks move together. */
  async function startApart() {
    const database = await cloneDatabase();
    const config = testConfig(database.url);
    const start = wholeSecondFromNow(0);
    const [slowClock, fastClock] = [new TestClock(start), new TestClock(new Date(start.getTime() + OFF))];
    const slowService = await startTestService({ database, like: config, clock: slowClock.read });
    const fastService = await startTestService({ database, like: config, clock: fastClock.read });
    const [tenant, user] = [await createTenant(slowService), await createTestUser(slowService)];
    return {
      slow: { service: slowService, tenant, user },
      fast: { service: fastService, tenant, user },
      pass: (ms: number) => [slowClock, fastClock].forEach((clock) => void clock.advance(ms)),
      logInAt: ({ service }: Fixture) => logIn(service, tenant, user),
      async [Symbol.asyncDispose]() {
        await Promise.all([slowService.close(), fastService.close()]);
        await database[Symbol.asyncDispose]();
      },
    };
  }

  it('each serve a whole login of their own', async () => {
    await using apart = await startApart();
    for (const fixture of [apart.slow, apart.fast]) {
      expect(await outcomeOf(exchange(fixture, await apart.logInAt(fixture)))).toBe('ok');
    }
  });

  it('refuse a token of the other: too old for the fast one, from the future for the slow one', async () => {
    await using apart = await startApart();
    const [ofSlow, ofFast] = [await apart.logInAt(apart.slow), await apart.logInAt(apart.fast)];
    const REFUSED = 'Unauthenticated: Invalid or expired token';
    expect(await outcomeOf(exchange(apart.fast, ofSlow))).toBe(REFUSED);
    expect(await outcomeOf(exchange(apart.slow, ofFast))).toBe(REFUSED);
    // 15 minutes by the clock of whoever looks at it, no more and no less.
    apart.pass(OFF - 1);
    expect(await outcomeOf(exchange(apart.slow, ofFast))).toBe(REFUSED);
    apart.pass(1);
    expect(await outcomeOf(exchange(apart.slow, ofFast))).toBe('ok');
    apart.pass(TOKEN_LIFETIME - 1);
    expect(await outcomeOf(exchange(apart.slow, ofFast))).toBe('ok');
    apart.pass(1);
    expect(await outcomeOf(exchange(apart.slow, ofFast))).toBe(REFUSED);
  });

  it('take a login intent of the other for 16 minutes shorter, or longer, to the millisecond', async () => {
    await using apart = await startApart();
    const begin = ({ service, tenant }: Fixture) => beginLogin(service, tenant);
    const [early, late] = [await begin(apart.slow), await begin(apart.slow)];
    apart.pass(INTENT_LIFETIME - OFF - 1);
    expect(await outcomeOf(complete(apart.fast, early.loginIntentId))).toBe('ok');
    apart.pass(1);
    expect(await outcomeOf(complete(apart.fast, late.loginIntentId))).toBe('FailedPrecondition: Login intent expired');
    expect(await outcomeOf(complete(apart.slow, late.loginIntentId))).toBe('ok');
    const [first, second] = [await begin(apart.fast), await begin(apart.fast)];
    apart.pass(INTENT_LIFETIME + OFF - 1);
    expect(await outcomeOf(complete(apart.slow, first.loginIntentId))).toBe('ok');
    apart.pass(1);
    expect(await outcomeOf(complete(apart.slow, second.loginIntentId))).toBe(
      'FailedPrecondition: Login intent expired',
    );
  });

  it('never have two sessions at once: the fast one’s takes the place of the slow one’s, for both', async (context) => {
    await using apart = await startApart();
    const sessionAt = async (fixture: Fixture) => (await exchange(fixture, await apart.logInAt(fixture))).session;
    const first = await sessionAt(apart.slow);
    const second = await sessionAt(apart.fast);
    expect(second?.id).not.toBe(first?.id);
    expect(await sessionAt(apart.slow)).toEqual(second);
    apart.pass(SESSION_LIFETIME - 1);
    expect(await sessionAt(apart.fast)).toEqual(second);
    apart.pass(1);
    // Its end comes 16 minutes later for the slow one.
    expect(await sessionAt(apart.slow)).toEqual(second);
    apart.pass(OFF);
    expect((await sessionAt(apart.slow))?.id).not.toBe(second?.id);
    report(context, {
      tried: 'two instances with clocks 16 minutes apart, and either away from Postgres',
      lost: 'up to 16 minutes of a lifetime, by the clock of whoever checks; tokens of the other are refused',
    });
  });
});
