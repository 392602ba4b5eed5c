/** The page of passkeys after the sign-in has ended: the Back button and the history of the browser still lead to it. */
import { afterAll, expect, it } from 'vitest';
import { openAccount, tokenOf } from '../../../support/account-page.ts';
import { LoginBrowser } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { SoftwarePasskey } from '../../../support/passkey.ts';
import { askedForNew, savePasskey, TO_PASSKEYS } from '../../../support/passkey-page.ts';
import { adminClient, clientsOf, createTestUser, PUBLIC_URL, type TestUser } from '../../../support/service.ts';

const fixture = await LoginFixture.open({ config: { loginMethods: ['wallet', 'email', 'passkey'] } });
const { service, tenant } = fixture;
const admin = adminClient(service);
afterAll(() => fixture.close());

interface Ending {
  readonly user: TestUser;
  readonly browser: LoginBrowser;
  readonly authToken: string;
}

/** Signs in by code, saves a passkey, and returns to the application. */
async function openPasskeys(user: TestUser, given?: LoginBrowser) {
  const asked = await fixture.askForCode({ user, ...(given && { browser: given }) });
  const { browser, codePage, code, login } = asked;
  const list = await browser.submit(codePage, '/login/code', { code, ...TO_PASSKEYS });
  const page = await savePasskey({ browser, page: list }, new SoftwarePasskey(), PUBLIC_URL);
  const { location = '' } = await browser.submit(page, '/login');
  const authToken = new URL(location).searchParams.get('authToken') ?? '';
  return { browser, page, authToken, path: `/login/passkeys?intent=${login.loginIntentId}` };
}

const listOf = async ({ id: userId }: TestUser) =>
  (await admin.listPasskeys({ userId })).passkeys.map(({ passkeyId, name }) => ({ passkeyId, name }));

it.each<[string, (ending: Ending) => Promise<unknown>]>([
  ['EndUserSessions', ({ user }) => admin.endUserSessions({ userId: user.id })],
  ['RevokeUserSessions', ({ user }) => clientsOf(service, tenant).sessions.revokeUserSessions({ userId: user.id })],
  [
    'RevokeSession',
    async ({ authToken }) => {
      const { auth, sessions } = clientsOf(service, tenant);
      const { session } = await auth.exchangeToken({ authToken });
      await sessions.revokeSession({ sessionId: session?.id ?? '' });
    },
  ],
  [
    'a deactivation',
    async ({ user }) => {
      await admin.deactivateUser({ userId: user.id });
      await admin.reactivateUser({ userId: user.id });
    },
  ],
  [
    'a sign-out on the account page of this browser',
    async ({ user, browser }) => {
      await openAccount(fixture, user, browser);
      await browser.post('/account/logout', { token: tokenOf(await browser.open('/account/name')) });
    },
  ],
  [
    'a sign-in of somebody else in this browser',
    async ({ browser }) => (await fixture.readyByEmail({ browser })).submit(),
  ],
])('after %s it shows, adds, renames and removes nothing', async (_name, end) => {
  const user = await createTestUser(service);
  const { browser, page, path, authToken } = await openPasskeys(user);
  expect((await browser.open(path)).heading).toBe('Your passkeys');
  const before = await listOf(user);
  const credential = new SoftwarePasskey().create(askedForNew(page, PUBLIC_URL));
  await end({ user, browser, authToken });
  const answers = [
    await browser.open(path),
    await browser.open(path.replace('passkeys', 'passkey/new')),
    await browser.submit(page, '/login/passkey/new', { credential }),
    await browser.submit(page, '/login/passkeys/name', { name: 'Of Eve' }),
    await browser.submit(page, '/login/passkeys/delete'),
  ];
  for (const { heading, body } of answers) {
    expect(heading).not.toBe('Your passkeys');
    expect(body).not.toContain(before[0]?.name);
  }
  expect(await listOf(user)).toEqual(before);
});

it('after a sign-out in another browser it still shows them', async () => {
  const user = await createTestUser(service);
  const { browser, path } = await openPasskeys(user);
  const elsewhere = (await openAccount(fixture, user, new LoginBrowser(service))).browser;
  await elsewhere.post('/account/logout', { token: tokenOf(await elsewhere.open('/account/name')) });
  expect((await browser.open(path)).heading).toBe('Your passkeys');
});
