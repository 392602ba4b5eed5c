/** What ends a consent to a client that nobody has registered, and the page that asks for one. */
import { afterAll, describe, expect, it } from 'vitest';
import { openAccount, tokenOf, undoChangeOfAddress } from '../../../support/account-page.ts';
import { MCP_SERVER, startClientServers } from '../../../support/client-metadata.ts';
import { beginDevice, decide, poll, signInForDevice } from '../../../support/device-client.ts';
import { holdLock, waitForLockOf } from '../../../support/lock.ts';
import { beginLogin, LoginBrowser, type LoginPage } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { authorizationOf, CODE_VERIFIER, createRsaJwk, loginAt, parametersOf } from '../../../support/oidc.ts';
import { getUserinfo, post } from '../../../support/oidc-client.ts';
import { adminClient, createTenant, createTestUser, type TestUser } from '../../../support/service.ts';

const clients = await startClientServers();
const fixture = await LoginFixture.open({
  config: clients.config,
  oidcSigningKeys: [createRsaJwk()],
});
const { clock, service } = fixture;
afterAll(async () => {
  await fixture.close();
  await clients[Symbol.asyncDispose]();
});
const admin = adminClient(service);
const RESOURCE = 'https://mcp.app.test/mcp';
const REDIRECT = 'https://assistant.test/callback';
const LOCAL = 'http://127.0.0.1:7/callback';
await createTenant(service, { ...MCP_SERVER, resourceUri: RESOURCE });

interface Visit {
  readonly clientId: string;
  readonly browser: LoginBrowser;
  readonly user: TestUser;
  readonly path: string;
  readonly page: LoginPage;
}

/** Signs in, and returns the browser at the page that asks for consent. */
async function visit(
  {
    clientId = clients.add(),
    browser = new LoginBrowser(service),
    user: known,
  }: Partial<Pick<Visit, 'clientId' | 'browser' | 'user'>> = {},
  redirectUri = REDIRECT,
): Promise<Visit> {
  const wanted = { redirect_uri: redirectUri, resource: RESOURCE, scope: 'openid orders:read' };
  const asked = await browser.open(`/oidc/authorize?${authorizationOf({ clientId }, wanted)}`);
  const { submit, user } = await fixture.readyByEmail({
    ...{ browser, login: loginAt(asked.location) },
    ...(known && { user: known }),
  });
  const { pathname, search } = new URL((await submit()).location ?? '');
  expect(pathname).toBe('/oidc/consent');
  return { clientId, browser, user, path: pathname + search, page: await browser.open(pathname + search) };
}

const allow = ({ browser, page }: Visit) => browser.submit(page, '/oidc/consent', { choice: 'allow' });

async function redeem({ clientId }: Visit, { location }: LoginPage) {
  const fields = { client_id: clientId, code: parametersOf(location).code ?? '', code_verifier: CODE_VERIFIER };
  const form = { grant_type: 'authorization_code', redirect_uri: REDIRECT, resource: RESOURCE, ...fields };
  return (await post(service, '/oidc/token', form)).status;
}

const storedOf = ({ user }: Pick<Visit, 'user'>) =>
  service.database.sql`select client_id from usher.consents where user_id = ${user.id}`;

async function pressEverywhere({ user }: Pick<Visit, 'user'>): Promise<void> {
  const { browser } = await openAccount(fixture, user);
  const token = tokenOf(await browser.open('/account/name'));
  await browser.post('/account/sessions/end-all', { token });
}

/** Ways to end every sign-in of a user. */
const ENDINGS: readonly [string, (visit: Pick<Visit, 'user'>) => Promise<unknown>][] = [
  ['EndUserSessions', ({ user }) => admin.endUserSessions({ userId: user.id })],
  ['"Sign out everywhere"', pressEverywhere],
  [
    'a deactivation',
    async ({ user }) => {
      await admin.deactivateUser({ userId: user.id });
      await admin.reactivateUser({ userId: user.id });
    },
  ],
];

describe('the page that asks for consent', () => {
  it.each<[string, (visit: Visit) => Promise<unknown>]>([
    ...ENDINGS,
    ['a deletion', ({ user }) => admin.deleteUser({ userId: user.id })],
    [
      '"Sign out" on the account page',
      async ({ browser, user }) => {
        await openAccount(fixture, user, browser);
        await browser.post('/account/logout', { token: tokenOf(await browser.open('/account/name')) });
      },
    ],
    [
      'a sign-in of somebody else in the browser',
      async ({ browser }) => {
        const of = { browser, user: await createTestUser(service), login: await beginLogin(service, fixture.tenant) };
        await (await fixture.readyByEmail(of)).submit();
        // Longer than the auth token of that sign-in works.
        clock.advance(16 * 60_000);
      },
    ],
  ])('is closed by %s, and then stores nothing', async (_, end) => {
    const at = await visit();
    expect(at.page).toMatchObject({ status: 200, heading: 'Allow access?' });
    clock.advance(1);
    await end(at);
    const closed = { status: 409, location: undefined };
    const again = await at.browser.open(at.path);
    expect(again).toMatchObject(closed);
    expect(again.body).not.toContain(at.user.email.split('@')[0]);
    expect(await allow(at)).toMatchObject(closed);
    expect(await storedOf(at)).toEqual([]);
  });

  it('stays open while the same person signs in elsewhere in the browser', async () => {
    const at = await visit();
    const of = { browser: at.browser, user: at.user, login: await beginLogin(service, fixture.tenant) };
    await (await fixture.readyByEmail(of)).submit();
    expect(await redeem(at, await allow(at))).toBe(200);
  });

  it('stores nothing when the sign-in ends while the answer is on its way', async () => {
    const at = await visit();
    clock.advance(1);
    const lock = await holdLock(service.database, 'lock table usher.login_intents in exclusive mode');
    const answer = allow(at);
    await waitForLockOf(service.database, answer);
    await admin.endUserSessions({ userId: at.user.id });
    await lock.release();
    expect(await answer).toMatchObject({ status: 409, location: undefined });
    expect(await storedOf(at)).toEqual([]);
  });
});

it('asks for consent no longer than the login lasts', async () => {
  const at = await visit();
  await service.database.sql`update usher.login_intents set expires_at = ${clock.read()} where user_id = ${at.user.id}`;
  expect(await at.browser.open(at.path)).toMatchObject({ status: 410, heading: 'This sign-in has expired' });
});

describe('a consent', () => {
  it('counts from the last answer of the person, whatever other pages have asked meanwhile', async () => {
    const first = await visit();
    const second = await visit({ clientId: first.clientId, user: first.user });
    const createdAtOf = async () => {
      const [row] = await service.database.sql`select created_at from usher.consents where user_id = ${first.user.id}`;
      return row?.created_at;
    };
    await allow(first);
    clock.advance(1_000);
    expect(await redeem(second, await allow(second))).toBe(200);
    const answeredAt = clock.read();
    expect(await createdAtOf()).toEqual(answeredAt);
    clock.advance(1_000);
    expect((await visit({ clientId: first.clientId, user: first.user })).page).toMatchObject({ status: 303 });
    expect(await createdAtOf()).toEqual(answeredAt);
  });

  it.each<[string, (visit: Pick<Visit, 'user'>) => Promise<unknown>]>([
    ...ENDINGS,
    [
      'the link that undoes a change of address',
      async ({ user }) => undoChangeOfAddress(fixture, (await openAccount(fixture, user)).browser, user),
    ],
  ])('is asked for again after %s', async (_, end) => {
    const at = await visit();
    expect(await redeem(at, await allow(at))).toBe(200);
    expect((await visit(at)).page).toMatchObject({ status: 303 });
    clock.advance(1);
    await end(at);
    expect(await storedOf(at)).toEqual([]);
    const again = await visit({ clientId: at.clientId, user: at.user });
    expect(again.page).toMatchObject({ status: 200, heading: 'Allow access?' });
    expect(await redeem(again, await allow(again))).toBe(200);
    expect((await visit({ clientId: at.clientId, user: at.user })).page).toMatchObject({ status: 303 });
  });

  it('of a sign-in that had ended counts for nothing, also if it was stored meanwhile', async () => {
    const at = await visit();
    await allow(at);
    const [consent] = await service.database.sql`select * from usher.consents where user_id = ${at.user.id}`;
    clock.advance(1);
    await admin.endUserSessions({ userId: at.user.id });
    await service.database
      .sql`insert into usher.consents ${service.database.sql(consent as never)} on conflict do nothing`;
    expect((await visit({ clientId: at.clientId, user: at.user })).page).toMatchObject({ status: 200 });
    const { page } = await openAccount(fixture, at.user);
    expect(page.body).not.toContain('.client.test');
  });
});

describe('a notice', () => {
  const noticesOf = (to: string) =>
    fixture.mailbox.mails.filter((mail) => mail.to === to && /(client|device)Allowed/.test(String(mail.subject)));
  const expectNotices = (to: string, count: number) => expect.poll(() => noticesOf(to).length).toBe(count);

  it('tells of a consent, once a day for the same from one network, and its link ends it all', async () => {
    const clientId = clients.add({ client_name: 'Assistant <of> Ada' });
    const at = await visit({ clientId });
    const { location } = await allow(at);
    await expectNotices(at.user.email, 1);
    const [mail] = noticesOf(at.user.email);
    const host = new URL(clientId).hostname;
    expect(mail?.application).toMatchObject({ name: 'Shop MCP' });
    expect(mail?.paragraphs).toMatchObject([
      ['mail.clientAllowed.text', { client: `Assistant <of> Ada (${host})`, application: 'Shop MCP' }],
    ]);
    // What was consented to before needs no notice. What is asked for each time has one a day.
    await visit(at);
    const allowLocal = async (address: string) =>
      allow(await visit({ ...at, browser: new LoginBrowser(service, { address }) }, LOCAL));
    for (const address of ['203.0.113.7', '203.0.113.7', '203.0.113.8']) await allowLocal(address);
    await expectNotices(at.user.email, 3);
    const { pathname, search } = new URL(mail?.link?.url ?? '');
    const stranger = new LoginBrowser(service);
    const done = await stranger.submit(await stranger.open(pathname + search), '/account/sign-ins');
    expect(done.heading).toBe('Every sign-in has ended');
    expect(await redeem(at, { location } as LoginPage)).toBe(400);
    expect(await storedOf(at)).toEqual([]);
  });

  it('tells of nothing that was denied, or that was allowed after the sign-in had ended', async () => {
    const [denied, late] = [await visit(), await visit()];
    await denied.browser.submit(denied.page, '/oidc/consent', { choice: 'deny' });
    await admin.endUserSessions({ userId: late.user.id });
    await allow(late);
    const [stored] = await service.database.sql`
      select count(*)::int from usher.notices where user_id = any(${[denied.user.id, late.user.id]})`;
    expect([stored?.count, noticesOf(denied.user.email), noticesOf(late.user.email)]).toEqual([0, [], []]);
  });

  it('tells of a device that was let in, and its link ends it', async () => {
    const of = await createTenant(service, { name: 'Shop CLI', openIdConnect: true, deviceLogin: true });
    const device = await beginDevice(service, of);
    const at = await signInForDevice(fixture, of, device);
    await decide(at, 'allow');
    const { body } = await poll(service, of, device);
    await expectNotices(at.user.email, 1);
    const [mail] = noticesOf(at.user.email);
    expect(mail?.paragraphs).toMatchObject([['mail.deviceAllowed.text', { client: 'Shop CLI' }]]);
    const { pathname, search } = new URL(mail?.link?.url ?? '');
    clock.advance(1);
    const stranger = new LoginBrowser(service);
    await stranger.submit(await stranger.open(pathname + search), '/account/sign-ins');
    expect(await getUserinfo(service, body.access_token)).toMatchObject({ status: 401 });
  });
});
