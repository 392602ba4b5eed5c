/** Which sessions and remembered sign-ins of the account page are of the browser that looks. */
import { afterAll, describe, expect, it } from 'vitest';
import { follow, openAccount } from '../../../support/account-page.ts';
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
const { sql } = service.database;
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
  return content
    .split(/<div class="item"(?: id="[^"]*")?>/)
    .slice(1)
    .map(textOf);
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

describe('a remembered sign-in', () => {
  const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0';
  const withFirefox = () => new LoginBrowser(service, { address: '203.0.113.7', userAgent: FIREFOX });
  const remembered = async (browser: LoginBrowser) => itemsOf(await browser.open('/account'), 'remembered');
  /** Presses the button of the row. */
  const forget = async (browser: LoginBrowser, row: number) => {
    const page = await browser.open('/account');
    const digests = page.forms.flatMap(({ fields }) => fields.signIn ?? []);
    return follow(browser, await browser.submit(page, '/account/remembered/forget', { signIn: digests[row] ?? '' }));
  };

  it('says browser, network, hour and end', async () => {
    const user = await createTestUser(service);
    const { browser } = await openAccount(fixture, user, withFirefox());
    const [item = ''] = await remembered(browser);
    expect(item).toMatch(
      /^Firefox, Windows This device\s*by code · 203\.0\.113\.0\/24 · .+ at \d+:\d\d [AP]M UTC · until .+\sForget Firefox/s,
    );
    const { rememberedBrowsers } = JSON.parse((await browser.open('/account/data')).body);
    const [{ ipAddress, userAgent }] = rememberedBrowsers;
    expect({ ipAddress, userAgent }).toEqual({ ipAddress: '203.0.113.7', userAgent: FIREFOX });
  });

  it('of another browser is forgotten, and that browser is signed out of the account page', async () => {
    const user = await createTestUser(service);
    const [there, here] = [withFirefox(), new LoginBrowser(service)];
    await openAccount(fixture, user, there);
    await openAccount(fixture, user, here);
    expect((await forget(here, 1)).body).toContain('The browser is forgotten');
    expect(await remembered(here)).toEqual([expect.stringContaining(TAG)]);
    expect((await there.open('/account')).heading).toBe('Your account');
    expect(await countRows(user)).toBe(1);
  });

  it('of this browser is forgotten, and the account page stays open', async () => {
    const user = await createTestUser(service);
    const { browser } = await openAccount(fixture, user);
    await openAccount(fixture, user, withFirefox());
    await forget(browser, 1);
    expect(await remembered(browser)).toEqual([expect.not.stringContaining(TAG)]);
  });

  it('of somebody else, and one that does not exist, stay as they are', async () => {
    const [user, other] = [await createTestUser(service), await createTestUser(service)];
    const theirs = await openAccount(fixture, other);
    const [digest = ''] = theirs.page.forms.flatMap(({ fields }) => fields.signIn ?? []);
    const { browser, page } = await openAccount(fixture, user);
    for (const signIn of [digest, '', 'x'.repeat(10_000)]) {
      await browser.submit(page, '/account/remembered/forget', { signIn });
    }
    expect([await countRows(user), await countRows(other)]).toEqual([1, 1]);
    expect((await theirs.browser.open('/account')).heading).toBe(other.email);
  });

  it('stays while the last sign-in is too old for changes', async () => {
    const user = await createTestUser(service);
    const { browser } = await openAccount(fixture, user);
    for (let step = 0; step < 2; step++) {
      clock.advance(10 * MINUTE);
      await browser.open('/account');
    }
    expect((await forget(browser, 0)).body).not.toContain('The browser is forgotten');
    expect(await countRows(user)).toBe(1);
  });

  it('of an older version has the hour in place of the browser', async () => {
    const user = await createTestUser(service);
    const { browser } = await openAccount(fixture, user);
    await sql`update remembered_sign_ins set user_agent = null, ip_address = null, browser_digest = null
      where user_id = ${user.id}`;
    expect(await remembered(browser)).toEqual([
      expect.stringMatching(/^[A-Z]\w+ \d+, \d{4} at .+ UTC This device\s*by code · until /),
    ]);
    await forget(browser, 0);
    expect(await countRows(user)).toBe(0);
  });

  async function countRows({ id }: TestUser): Promise<number> {
    return (await sql`select from remembered_sign_ins where user_id = ${id}`).length;
  }
});
