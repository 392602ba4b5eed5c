/** Which sessions and remembered sign-ins of the account page are of the browser that looks. */
import { afterAll, describe, expect, it } from 'vitest';
import { openAccount } from '../../../support/account-page.ts';
import { MINUTE } from '../../../support/clock.ts';
import { LoginBrowser, type LoginPage, textOf } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import {
  adminClient,
  clientsOf,
  createLoginIntent,
  createTenant,
  createTestUser,
  type Tenant,
  type TestUser,
} from '../../../support/service.ts';

const fixture = await LoginFixture.open();
const { clock, service, tenant: shop } = fixture;
const admin = adminClient(service);
const forum = await createTenant(service, { name: 'Forum' });
afterAll(() => fixture.close());

const TAG = 'This device';

async function signIn(user: TestUser, browser: LoginBrowser, of: Tenant): Promise<void> {
  const asked = await fixture.askForCode({ user, browser, of });
  const { location = '' } = await asked.enter(asked.code);
  const authToken = new URL(location).searchParams.get('authToken') ?? '';
  await clientsOf(service, of).auth.exchangeToken({ authToken });
}

/** Returns the items of a panel as a person reads them. */
function itemsOf({ body }: LoginPage, panel: string): string[] {
  const [, content = ''] = new RegExp(`aria-labelledby="${panel}">(.*?)</section>`, 's').exec(body) ?? [];
  return content.split('<div class="item">').slice(1).map(textOf);
}

describe('a session', () => {
  it('is tagged in the browser that has signed in last, and nowhere else', async () => {
    const user = await createTestUser(service);
    const [here, there] = [new LoginBrowser(service), new LoginBrowser(service)];
    await signIn(user, here, shop);
    await signIn(user, there, forum);
    const elsewhere = new LoginBrowser(service);
    for (const browser of [here, there, elsewhere]) await openAccount(fixture, user, browser);
    const tagged = async (browser: LoginBrowser) =>
      itemsOf(await browser.open('/account'), 'where').map((item) => [
        item.includes(forum.name) ? 'forum' : 'shop',
        item.includes(TAG),
      ]);
    expect(Object.fromEntries(await tagged(here))).toEqual({ shop: true, forum: false });
    expect(Object.fromEntries(await tagged(there))).toEqual({ shop: false, forum: true });
    expect(Object.fromEntries(await tagged(elsewhere))).toEqual({ shop: false, forum: false });
    clock.advance(MINUTE);
    await signIn(user, there, shop);
    expect(Object.fromEntries(await tagged(here))).toEqual({ shop: false, forum: false });
    expect(Object.fromEntries(await tagged(there))).toEqual({ shop: true, forum: true });
  });

  it('that another page has begun is tagged nowhere', async () => {
    const user = await createTestUser(service);
    const loginIntentId = await createLoginIntent(service, shop);
    const { authToken } = await admin.completeLogin({ loginIntentId, userId: user.id });
    await clientsOf(service, shop).auth.exchangeToken({ authToken });
    expect(itemsOf((await openAccount(fixture, user)).page, 'where')).toEqual([expect.not.stringContaining(TAG)]);
  });
});

it('remembered sign-ins are listed, and the one of this browser is tagged', async () => {
  const user = await createTestUser(service);
  const here = await openAccount(fixture, user);
  await openAccount(fixture, user);
  const list = async (browser: LoginBrowser) => itemsOf(await browser.open('/account'), 'remembered');
  expect((await list(here.browser)).map((item) => item.includes(TAG))).toEqual([false, true]);
  // Without the cookie of the sign-in, it is that of another browser.
  here.browser.cookie = (here.browser.cookie ?? '').replace(/__Host-usher-sso=[^;]+; ?/, '');
  expect((await list(here.browser)).map((item) => item.includes(TAG))).toEqual([false, false]);
  await admin.endUserSessions({ userId: user.id });
  const again = await openAccount(fixture, user, here.browser);
  expect(itemsOf(again.page, 'remembered')).toHaveLength(1);
});
