/** A change of the second factor, and the second step of a sign-in, that wait for the same row. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { tokenOf } from '../../../support/account-page.ts';
import { SECOND } from '../../../support/clock.ts';
import { holdLock, waitForLockOf, waitForQueue } from '../../../support/lock.ts';
import { formOf, type LoginBrowser, type LoginPage } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import {
  createPersonWithApp,
  finishSetUp,
  openWithApp,
  reachStep,
  STEP,
  scanApp,
  type TestApp,
} from '../../../support/second-factor.ts';
import { adminClient, clientsOf, createTenant, type TestUser } from '../../../support/service.ts';

const STEP_MS = 30 * SECOND;
const fixture = await LoginFixture.open({ start: new Date() });
const { clock, service } = fixture;
const { sql } = service.database;
afterAll(fixture.close);
beforeEach(() => sql`delete from rate_limits`);
const admin = adminClient(service);

interface Person {
  readonly user: TestUser;
  readonly app: TestApp;
}

const enter = ({ browser, page }: { browser: LoginBrowser; page: LoginPage }, code: string) =>
  browser.submit(page, STEP, { code });
const isIn = ({ location }: LoginPage) => location?.includes('authToken=') ?? false;

describe('during the second step', () => {
  type Change = (person: Person, account: LoginBrowser) => Promise<unknown>;

  const reset: Change = ({ user }) => admin.resetSecondFactor({ userId: user.id });
  const remove: Change = async (_, account) => {
    const page = await account.open('/account/second-factor');
    return account.post('/account/second-factor/remove', { token: tokenOf(page) });
  };
  const replace: Change = async (_, account) =>
    finishSetUp(fixture, account, await account.open('/account/second-factor/new'));
  const areQueued = (count: number) => waitForQueue(service.database, count);

  it.each([
    ['ResetSecondFactor', reset],
    ['a removal', remove],
    ['another app', replace],
  ] as const)('%s that comes first lets the code complete nothing', async (_, change) => {
    const person = await createPersonWithApp(fixture);
    const account = await openWithApp(fixture, person);
    const step = await reachStep(fixture, { user: person.user });
    clock.advance(STEP_MS);
    const code = person.app.codeAt(clock.read());
    const lock = await holdLock(
      service.database,
      `select from totp_secrets where user_id = '${person.user.id}' for update`,
    );
    const changing = change(person, account);
    await areQueued(1);
    const entering = enter(step, code);
    await areQueued(2);
    await lock.release();
    const [reply] = await Promise.all([entering, changing]);
    expect(isIn(reply)).toBe(false);
    expect(await fixture.isCompleted(step.login.loginIntentId)).toBe(false);
  });

  it.each([
    ['ResetSecondFactor', reset, false],
    ['a removal', remove, true],
  ] as const)('%s that comes second leaves the sign-in as it leaves others', async (_, change, lives) => {
    const person = await createPersonWithApp(fixture);
    const account = await openWithApp(fixture, person);
    const step = await reachStep(fixture, { user: person.user });
    clock.advance(STEP_MS);
    const lock = await holdLock(
      service.database,
      `select from totp_secrets where user_id = '${person.user.id}' for update`,
    );
    const entering = enter(step, person.app.codeAt(clock.read()));
    await areQueued(1);
    const changing = change(person, account);
    await areQueued(2);
    await lock.release();
    const [{ location }] = await Promise.all([entering, changing]);
    const authToken = new URL(location ?? '').searchParams.get('authToken') ?? '';
    const exchanged = clientsOf(service, fixture.tenant).auth.exchangeToken({ authToken });
    expect(
      await exchanged.then(
        () => true,
        () => false,
      ),
    ).toBe(lives);
  });

  it.each([
    ['an app', ({ app }: Person) => app.codeAt(clock.read()), STEP],
    ['the list', ({ app }: Person) => app.recoveryCodes[0] ?? '', `${STEP}/recovery`],
  ])('whatever ends the first step leaves the code of %s to the next one', async (_, codeOf, path) => {
    const person = await createPersonWithApp(fixture);
    const step = await reachStep(fixture, { user: person.user });
    const code = codeOf(person);
    const enterAt = ({ browser, page }: typeof step) => browser.post(path, { ...formOf(page, STEP).fields, code });
    const ending = await holdLock(service.database, `delete from held_sign_ins where user_id = '${person.user.id}'`);
    const entering = enterAt(step);
    await waitForLockOf(service.database, entering);
    await ending.release();
    await entering;
    expect(await fixture.isCompleted(step.login.loginIntentId)).toBe(false);
    const next = await reachStep(fixture, { user: person.user });
    await enterAt(next);
    expect(await fixture.isCompleted(next.login.loginIntentId)).toBe(true);
  });

  it('EndUserSessions that comes first lets a login set up no app', async () => {
    const of = await createTenant(service, { requiredAssurance: 'TWO_FACTORS' });
    const { user, browser, login, ...asked } = await fixture.askForCode({ of });
    const page = await asked.enter(asked.code);
    const code = scanApp(page).codeAt(clock.read());
    const lock = await holdLock(service.database, `select from users where id = '${user.id}' for no key update`);
    const ending = admin.endUserSessions({ userId: user.id });
    await areQueued(1);
    const entering = browser.submit(page, `${STEP}/new`, { code });
    await areQueued(2);
    await lock.release();
    await Promise.all([ending, entering]);
    expect(await fixture.isCompleted(login.loginIntentId)).toBe(false);
    expect((await admin.getSecondFactor({ userId: user.id })).secondFactor).toBeUndefined();
  });
});
