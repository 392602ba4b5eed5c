/** "Continue as": sign-ins that applications share. Races: test/robustness/races.test.ts. */

import { hash, randomUUID } from 'node:crypto';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { afterAll, describe, expect, it } from 'vitest';
import { Database } from '../../../../src/database/pool/database.ts';
import { removeExpired } from '../../../../src/jobs/expiry.ts';
import type { RememberedSignInsConfig } from '../../../../src/modules/remembered-sign-ins/settings.ts';
import { HOUR, MINUTE } from '../../../support/clock.ts';
import { LAYOUT } from '../../../support/database.ts';
import {
  type BegunLogin,
  beginLogin,
  type LoginBrowser,
  type LoginPage,
  textOf,
} from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createTenant,
  createTestUser,
  type Tenant,
  type TestUser,
} from '../../../support/service.ts';

const fixture = await LoginFixture.open();
const { clock, service } = fixture;
const { sql } = service.database;
const admin = adminClient(service);
const [shop, forum, alone] = [await createShared(), await createShared(), await createTenant(service)];

afterAll(() => fixture.close());

async function createShared(): Promise<Tenant> {
  const tenant = await createTenant(service, { name: 'Shop' });
  await admin.updateApplication({ applicationId: tenant.id, singleSignOn: true });
  return tenant;
}

/** Signs a new user in by a code. */
async function signIn({ of = shop, ...by }: Parameters<typeof fixture.askForCode>[0] = {}) {
  const asked = await fixture.askForCode({ of, ...by });
  const signedInAt = clock.read();
  const { location = '' } = await asked.enter(asked.code);
  return { ...asked, signedInAt, location };
}

const authTokenOf = (location = '') => new URL(location).searchParams.get('authToken') ?? '';

async function exchange(location: string | undefined, of: Tenant) {
  const { session } = await clientsOf(service, of).auth.exchangeToken({ authToken: authTokenOf(location) });
  return {
    id: session?.id ?? '',
    method: session?.method,
    authTime: session?.authTime && timestampDate(session.authTime),
  };
}

/** Opens a login of the application in the browser. */
async function arrive(browser: LoginBrowser, of: Tenant, options: Parameters<typeof beginLogin>[2] = {}) {
  clock.advance(1);
  const login = await beginLogin(service, of, options);
  return { login, page: await browser.open(login.path) };
}

const isOffered = ({ forms }: LoginPage) => forms.some(({ action }) => action === '/login/continue');

/** Submits the form of an earlier page, whatever the page would show now. */
async function insist(browser: LoginBrowser, page: LoginPage, { loginIntentId }: BegunLogin) {
  const { token = '' } = page.forms.find(({ fields }) => fields.token)?.fields ?? {};
  return browser.post('/login/continue', { intent: loginIntentId, token });
}

async function expectNotRemembered(browser: LoginBrowser, of: Tenant, options = {}) {
  const { page, login } = await arrive(browser, of, options);
  expect(isOffered(page)).toBe(false);
  expect(page.heading).toContain('Sign in');
  const answer = await insist(browser, page, login);
  expect(answer).toMatchObject({ status: 200, location: undefined });
  expect(answer.alert).toContain('We do not remember this sign-in any more');
  expect(await fixture.isCompleted(login.loginIntentId)).toBe(false);
}

describe('a browser that has signed in', () => {
  it('is asked by the next application, which learns when and how the user has signed in', async () => {
    const { browser, user, signedInAt, location } = await signIn();
    await exchange(location, shop);
    clock.advance(2 * HOUR);
    const { page } = await arrive(browser, forum);
    expect(page).toMatchObject({ status: 200, heading: 'Welcome back' });
    expect(page.body).toContain(`<bdi>${user.email}</bdi>`);
    expect(page.body).toContain('2 hours ago');
    const answer = await browser.submit(page, '/login/continue');
    expect(answer.status).toBe(303);
    const session = await exchange(answer.location, forum);
    expect(session).toMatchObject({ method: 'email', authTime: signedInAt });
    const { session: checked } = await clientsOf(service, forum).sessions.checkSession({ sessionId: session.id });
    expect(checked?.user?.email).toBe(user.email);
    // The same again: a double click, or the page of another tab.
    expect((await insist(browser, page, (await arrive(browser, forum)).login)).status).toBe(303);
  });

  it.each([
    ['Ada Lovelace', 'Ada'],
    ['Dr. Ada Lovelace', 'Dr. Ada Lovelace'],
    [null, 'ada.of.'],
  ])('and the name %j continues as %s, and sees the address', async (name, short) => {
    const user = await createTestUser(service, { email: `ada.of.${randomUUID()}@example.com` });
    await sql`update users set name = ${name} where id = ${user.id}`;
    const { browser } = await signIn({ user });
    const { page } = await arrive(browser, forum);
    expect(/Continue as <bdi>(.*?)<\/bdi>/.exec(page.body)?.[1]?.slice(0, name ? undefined : 7)).toBe(short);
    expect(textOf(/<div class="person">.*?<\/div>/s.exec(page.body)?.[0])).toContain(user.email);
  });

  it('completes a login once, and gets the same answer again', async () => {
    const { browser } = await signIn();
    const { page, login } = await arrive(browser, forum);
    const first = await browser.submit(page, '/login/continue');
    expect((await browser.submit(page, '/login/continue')).location).toBe(first.location);
    expect((await browser.open(login.path)).location).toBe(first.location);
    const claims = JSON.parse(Buffer.from(authTokenOf(first.location).split('.')[1] ?? '', 'base64url').toString());
    expect(claims.exp - claims.iat).toBe(900);
    expect(claims.iat).toBe(Math.floor(clock.read().getTime() / 1_000));
    const events =
      await sql`select action, application_id from audit_events where action = 'POST /login/continue' and application_id = ${forum.id}`;
    expect(events.length).toBeGreaterThan(0);
  });

  it('gets a new secret with every sign-in, in place of the former, and Postgres its digest', async () => {
    const { browser, user } = await signIn();
    const secretOf = () => /__Host-usher-sso=([\w-]{43})/.exec(browser.cookie ?? '')?.[1] ?? '';
    const former = secretOf();
    await signIn({ browser, user, login: await beginLogin(service, forum, { prompt: 'LOGIN' }) });
    expect(secretOf()).not.toBe(former);
    const rows = await sql`select token_digest from remembered_sign_ins where user_id = ${user.id}`;
    expect(rows).toEqual([{ token_digest: hash('sha256', secretOf(), 'buffer') }]);
  });

  it('gets a cookie for SINGLE_SIGN_ON_MAX_AGE that scripts cannot read', async () => {
    const asked = await fixture.askForCode({ of: shop });
    const { cookies } = await asked.enter(asked.code);
    expect(cookies.filter((cookie) => !cookie.startsWith('__Host-usher-answer='))).toEqual([
      expect.stringMatching(/^__Host-usher-sso=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; Secure; SameSite=Lax$/),
    ]);
  });
});

describe('no sign-in is shared', () => {
  it('with or by an application that has not opted in, also if it has opted out again', async () => {
    const { browser } = await signIn();
    await expectNotRemembered(browser, alone);
    const { browser: other } = await signIn({ of: alone });
    expect(other.cookie).not.toContain('usher-sso');
    const former = await createShared();
    expect(isOffered((await arrive(browser, former)).page)).toBe(true);
    await admin.updateApplication({ applicationId: former.id, singleSignOn: false });
    await expectNotRemembered(browser, former);
  });

  it('with another browser, whatever it sends', async () => {
    await signIn();
    const { browser } = await fixture.arrive({ of: forum });
    await expectNotRemembered(browser, forum);
    const own = browser.cookie ?? '';
    for (const forged of ['A'.repeat(43), 'A'.repeat(42), "'; drop table users", '']) {
      browser.cookie = `${own}; __Host-usher-sso=${forged}`;
      await expectNotRemembered(browser, forum);
    }
  });

  it('with a login that asks for a new one', async () => {
    const { browser } = await signIn();
    await expectNotRemembered(browser, forum, { prompt: 'LOGIN' });
  });

  it('where SINGLE_SIGN_ON_MAX_AGE is 0, on any replica', async () => {
    const config: Partial<RememberedSignInsConfig> = { singleSignOnMaxAgeSeconds: 0 };
    await using replica = await fixture.startReplica(config);
    const { browser } = await signIn();
    const login = await beginLogin(replica, forum);
    const page = await browser.at(replica).open(login.path);
    expect(isOffered(page)).toBe(false);
    expect((await insist(browser.at(replica), page, login)).alert).toContain('We do not remember');
    const { enter, code } = await fixture.askForCode({ of: shop, at: replica });
    expect((await enter(code)).cookies.filter((cookie) => cookie.includes('sso'))).toEqual([]);
  });

  it('after SINGLE_SIGN_ON_MAX_AGE', async () => {
    const { browser, signedInAt } = await signIn();
    clock.advance(signedInAt.getTime() + 12 * HOUR - 2 - clock.read().getTime());
    expect(isOffered((await arrive(browser, forum)).page)).toBe(true);
    await expectNotRemembered(browser, forum);
  });

  it('after SINGLE_SIGN_ON_MAX_AGE, however often it is continued until then', async () => {
    const { browser, signedInAt } = await signIn();
    for (const hours of [5, 10]) {
      clock.advance(signedInAt.getTime() + hours * HOUR - clock.read().getTime());
      const { page } = await arrive(browser, forum);
      expect((await browser.submit(page, '/login/continue')).status).toBe(303);
    }
    clock.advance(signedInAt.getTime() + 12 * HOUR - clock.read().getTime());
    await expectNotRemembered(browser, shop);
  });

  it('that is older than a SINGLE_SIGN_ON_MAX_AGE which was shortened since', async () => {
    const { browser } = await signIn();
    const config: Partial<RememberedSignInsConfig> = { singleSignOnMaxAgeSeconds: 60 };
    await using replica = await fixture.startReplica(config);
    clock.advance(MINUTE);
    const login = await beginLogin(replica, forum);
    const page = await browser.at(replica).open(login.path);
    expect(isOffered(page)).toBe(false);
    expect((await insist(browser.at(replica), page, login)).alert).toContain('We do not remember');
    expect(isOffered(await browser.open(login.path))).toBe(true);
  });

  it('that is older than max_age_seconds, at its edge', async () => {
    const { browser, signedInAt } = await signIn();
    clock.advance(signedInAt.getTime() + 5 * MINUTE - 1 - clock.read().getTime());
    const { page, login } = await arrive(browser, forum, { maxAgeSeconds: 300 });
    expect(isOffered(page)).toBe(true);
    // It was young enough when the page was shown.
    clock.advance(1);
    expect((await browser.submit(page, '/login/continue')).alert).toContain('We do not remember');
    expect(await fixture.isCompleted(login.loginIntentId)).toBe(false);
    await expectNotRemembered(browser, forum, { maxAgeSeconds: 300 });
    await expectNotRemembered(browser, forum, { maxAgeSeconds: 0 });
    expect(isOffered((await arrive(browser, forum)).page)).toBe(true);
  });

  it('with an application that does not allow its method', async () => {
    const strict = await createShared();
    await admin.updateApplication({ applicationId: strict.id, loginMethods: ['wallet'] });
    const { browser } = await signIn();
    const { page, login } = await arrive(browser, strict);
    expect(isOffered(page)).toBe(false);
    expect((await insist(browser, page, login)).location).toBeUndefined();
    await admin.updateApplication({ applicationId: strict.id, loginMethods: ['wallet', 'email'] });
    expect(isOffered((await arrive(browser, strict)).page)).toBe(true);
  });

  it('that is older than sessions of the application may become', async () => {
    const strict = await createShared();
    await admin.updateApplication({ applicationId: strict.id, sessionMaxAgeSeconds: 3_600 });
    const { browser, signedInAt } = await signIn();
    clock.advance(signedInAt.getTime() + HOUR - 2 - clock.read().getTime());
    const { page } = await arrive(browser, strict);
    expect(isOffered(page)).toBe(true);
    await expectNotRemembered(browser, strict);
    expect(isOffered((await arrive(browser, forum)).page)).toBe(true);
  });
});

describe('"Use another account"', () => {
  it('forgets the sign-in, also in another tab and in a copy of the cookie, and leaves sessions', async () => {
    const { browser, location } = await signIn();
    const { id } = await exchange(location, shop);
    const copied = browser.cookie ?? '';
    const [first, second] = [await arrive(browser, forum), await arrive(browser, forum)];
    const choice = await browser.submit(first.page, '/login/forget');
    expect(choice).toMatchObject({ status: 200, alert: '' });
    expect(choice.heading).toContain('Sign in');
    expect((await browser.submit(second.page, '/login/continue')).alert).toContain('We do not remember');
    browser.cookie = copied;
    await expectNotRemembered(browser, forum);
    expect((await clientsOf(service, shop).sessions.checkSession({ sessionId: id })).active).toBe(true);
  });

  it('cannot be pressed by another site', async () => {
    const { browser } = await signIn();
    const { page, login } = await arrive(browser, forum);
    const stale = await browser.post('/login/forget', { intent: login.loginIntentId, token: 'x' });
    expect(stale.status).toBe(403);
    expect((await browser.post('/login/continue', { intent: login.loginIntentId, token: 'x' })).status).toBe(403);
    expect((await browser.submit(page, '/login/continue')).status).toBe(303);
  });
});

type Revoke = (of: { user: TestUser; sessionId: string }) => Promise<unknown>;
const sessionsOf = (tenant: Tenant) => clientsOf(service, tenant).sessions;

/** What a revocation in the application of the sign-in ends elsewhere, too. */
const EVERYWHERE: Readonly<Record<string, Revoke>> = {
  'RevokeSession of the sign-out': ({ sessionId }) => sessionsOf(shop).revokeSession({ sessionId }),
  RevokeUserSessions: ({ user }) => sessionsOf(shop).revokeUserSessions({ userId: user.id }),
  'DeactivateUser and ReactivateUser': async ({ user: { id: userId } }) => {
    await admin.deactivateUser({ userId });
    await admin.reactivateUser({ userId });
  },
  DeactivateUser: ({ user }) => admin.deactivateUser({ userId: user.id }),
  DeleteUser: ({ user }) => admin.deleteUser({ userId: user.id }),
  EraseUser: ({ user }) => admin.eraseUser({ userId: user.id }),
};

describe.each(Object.entries(EVERYWHERE))('after %s', (_, revoke) => {
  it('no application offers the sign-in, and nothing of it is stored', async () => {
    const { browser, user, location } = await signIn();
    const { id: sessionId } = await exchange(location, shop);
    const { page, login } = await arrive(browser, forum);
    expect(isOffered(page)).toBe(true);
    clock.advance(1);
    await revoke({ user, sessionId });
    expect(await sql`select from remembered_sign_ins where user_id = ${user.id}`).toEqual([]);
    expect((await insist(browser, page, login)).alert).toContain('We do not remember');
    await expectNotRemembered(browser, forum);
  });
});

/** What ends sign-ins by a cut-off alone: for the user in the application, for all of its users, for the user. */
const CUTOFFS: Readonly<Record<string, Revoke>> = {
  'RemoveApplicationUser, in its application': ({ user }) =>
    admin.removeApplicationUser({ applicationId: forum.id, userId: user.id }),
  'a cut-off for all users, in its application': () =>
    sql`insert into session_cutoffs values (${forum.id}, '00000000-0000-0000-0000-000000000000', ${clock.read()},
      ${new Date(clock.read().getTime() + 366 * 24 * HOUR)})
      on conflict (application_id, user_id) do update set cutoff_at = excluded.cutoff_at`,
  'a cut-off of the user, everywhere': ({ user }) =>
    sql`insert into user_cutoffs values (${user.id}, ${clock.read()}, ${new Date(clock.read().getTime() + 366 * 24 * HOUR)})`,
};

describe.each(Object.entries(CUTOFFS))('after %s', (name, revoke) => {
  it('the sign-in is not offered, also two hours later', async () => {
    const { browser, user } = await signIn();
    const { page, login } = await arrive(browser, forum);
    const elsewhere = await arrive(browser, shop);
    clock.advance(1);
    await revoke({ user, sessionId: '' });
    expect((await insist(browser, page, login)).alert).toContain('We do not remember');
    clock.advance(2 * HOUR);
    const database = new Database(service.database.url, { connections: 2, layout: LAYOUT, statementTimeoutMs: 60_000 });
    await removeExpired(database, { now: clock.read(), webhookLogDays: 14 });
    await database.close();
    await expectNotRemembered(browser, forum);
    const isEnded = name.includes('everywhere');
    expect(isOffered((await arrive(browser, shop)).page)).toBe(!isEnded);
    expect(isOffered(elsewhere.page)).toBe(true);
  });
});

it('a sign-out ends the sign-in that other sign-ins of the same session have followed', async () => {
  const first = await signIn();
  const { id } = await exchange(first.location, shop);
  clock.advance(MINUTE);
  const second = await signIn({ user: first.user });
  expect((await exchange(second.location, shop)).id).toBe(id);
  await sessionsOf(shop).revokeSession({ sessionId: id });
  for (const { browser } of [first, second]) await expectNotRemembered(browser, forum);
});

it('a sign-out from one application leaves the sessions and sign-ins of others that have begun otherwise', async () => {
  const { user, location } = await signIn();
  const { id } = await exchange(location, shop);
  clock.advance(20 * MINUTE);
  const later = await signIn({ of: forum, user });
  const other = await beginSession(service, forum, user);
  await sessionsOf(shop).revokeSession({ sessionId: id });
  // It had expired.
  expect(isOffered((await arrive(later.browser, shop)).page)).toBe(true);
  expect((await sessionsOf(forum).checkSession({ sessionId: other })).active).toBe(true);
});
