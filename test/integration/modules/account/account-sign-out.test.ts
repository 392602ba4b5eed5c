/** A sign-out on the account page leaves no way back: not by the Back button, an old address, or a copy of the cookies. */
import { afterAll, describe, expect, it } from 'vitest';
import { follow, tokenOf } from '../../../support/account-page.ts';
import { LoginBrowser, type LoginPage } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { createTestUser, PUBLIC_URL, type TestUser } from '../../../support/service.ts';

const fixture = await LoginFixture.open({ config: { loginMethods: ['wallet', 'email', 'passkey'] } });
const { clock, mailbox, service } = fixture;
/** Another process, in which nothing has signed out. */
const replica = await fixture.startReplica();
afterAll(async () => {
  await replica.close();
  await fixture.close();
});

/** What people who are not signed in see. */
const SIGNED_OUT = { status: 200, heading: 'Your account' };

const pathOf = ({ location = '' }: LoginPage) => location.slice(PUBLIC_URL.length);

function copyOf({ cookie }: LoginBrowser): LoginBrowser {
  const copy = new LoginBrowser(service);
  copy.cookie = cookie;
  return copy;
}

/** Begins a login at the account page, and shows its first page. */
async function begin(browser: LoginBrowser) {
  clock.advance(1);
  const begun = await browser.submit(await browser.open('/account'), '/account/login');
  return { path: pathOf(begun), choice: await browser.open(pathOf(begun)) };
}

/** Signs in with a code, and returns every address that the browser has visited. */
async function complete(user: TestUser, browser: LoginBrowser, { path, choice }: Awaited<ReturnType<typeof begin>>) {
  clock.advance(1);
  const codePage = await browser.submit(choice, '/login/email', { email: user.email });
  const code = mailbox.codeFor(user.email);
  const completed = await browser.submit(codePage, '/login/code', { code });
  const pageOf = (page: string) => path.replace('/login', `/login/${page}`);
  const visited = { choice: path, code: pageOf('code'), passkeys: pageOf('passkeys'), return: pathOf(completed) };
  expect(visited.return).toContain('authToken=');
  return { browser, visited, codePage, code };
}

async function signIn(user: TestUser, browser = new LoginBrowser(service)) {
  return complete(user, browser, await begin(browser));
}

/** Signs in, and opens the account page with the answer. */
async function open(user: TestUser) {
  const signedIn = await signIn(user);
  const page = await signedIn.browser.open(signedIn.visited.return);
  expect(page).toMatchObject({ status: 200, heading: user.email });
  return { ...signedIn, page };
}

async function post(browser: LoginBrowser, path: string, fields: Record<string, string> = {}): Promise<LoginPage> {
  const token = tokenOf(await browser.open('/account/name'));
  return browser.post(path, { token, ...fields });
}

async function signOut(browser: LoginBrowser): Promise<void> {
  expect(await post(browser, '/account/logout')).toMatchObject(SIGNED_OUT);
  expect(browser.cookie).not.toMatch(/usher-account=./);
}

const WAYS_OUT: [name: string, leave: (browser: LoginBrowser, user: TestUser) => Promise<unknown>][] = [
  ['a sign-out', signOut],
  ['a sign-out everywhere', (browser) => post(browser, '/account/sessions/end-all')],
  ['the deletion of the account', (browser, { email }) => post(browser, '/account/delete', { email })],
  [
    '"Use another account"',
    async (browser) => {
      const token = tokenOf(await browser.open('/account/name'));
      const again = await follow(browser, await browser.post('/account/login', { token }));
      return browser.submit(again, '/login/forget');
    },
  ],
];

describe.each(WAYS_OUT)('after %s', (_name, leave) => {
  async function openAndLeave() {
    const user = await createTestUser(service);
    const opened = await open(user);
    const copy = copyOf(opened.browser);
    await leave(opened.browser, user);
    return { ...opened, copy };
  }

  it('no address of the history signs in again', async () => {
    const { browser, visited, codePage, code } = await openAndLeave();
    for (const path of Object.values(visited)) {
      const page = await follow(browser, await browser.open(path));
      expect.soft(page.body, path).not.toContain('/account/logout');
      expect.soft(page.heading, path).not.toBe('Your passkeys');
      expect.soft(await browser.open('/account'), path).toMatchObject(SIGNED_OUT);
    }
    await follow(browser, await browser.submit(codePage, '/login/code', { code }));
    expect(await browser.open('/account')).toMatchObject(SIGNED_OUT);
  });

  it('a copy of the cookies opens nothing, on any replica', async () => {
    const opened = await openAndLeave();
    for (const copy of [opened.copy.at(replica), opened.copy]) {
      expect(await copy.open('/account')).toMatchObject(SIGNED_OUT);
      expect(await copy.open('/account/name')).toMatchObject(SIGNED_OUT);
      for (const path of Object.values(opened.visited)) {
        await follow(copy, await copy.open(path));
        expect.soft(await copy.open('/account'), path).toMatchObject(SIGNED_OUT);
      }
    }
  });
});

describe('the answer to a sign-in', () => {
  it('opens the account page once, in the browser that began the sign-in', async () => {
    const user = await createTestUser(service);
    const { browser, visited } = await signIn(user);
    const copies = [copyOf(browser), copyOf(browser)] as const;
    const pages = await Promise.all([browser, ...copies].map((each) => each.open(visited.return)));
    expect(pages.filter(({ heading }) => heading === user.email)).toHaveLength(1);
    const other = new LoginBrowser(service);
    await other.open('/account');
    expect(await other.open(visited.return)).toMatchObject(SIGNED_OUT);
  });

  it('of a stranger signs in no browser that has not begun that sign-in, and stays good where it began', async () => {
    const [stranger, victim] = [await createTestUser(service), await createTestUser(service)];
    const { browser, visited } = await signIn(stranger);
    const hasBegunNone = new LoginBrowser(service);
    await hasBegunNone.open('/account');
    const hasBegunItsOwn = new LoginBrowser(service);
    await begin(hasBegunItsOwn);
    for (const other of [new LoginBrowser(service), hasBegunNone, hasBegunItsOwn]) {
      await other.open(visited.return);
      expect(await other.open('/account')).toMatchObject(SIGNED_OUT);
    }
    const signedIn = await open(victim);
    await signedIn.browser.open(visited.return);
    expect(await signedIn.browser.open('/account')).toMatchObject({ heading: victim.email });
    expect(await browser.open(visited.return)).toMatchObject({ status: 200, heading: stranger.email });
  });

  it('is not given again once it has opened the page, to which the Back button leads', async () => {
    const user = await createTestUser(service);
    const { browser, visited } = await open(user);
    const back = await browser.open(visited.code);
    expect(back).toMatchObject({ status: 200, heading: user.email, alert: '' });
    expect(await browser.open(visited.return)).toMatchObject({ status: 200, heading: user.email, alert: '' });
  });

  it('has another state each time, so that no earlier address fits', async () => {
    const user = await createTestUser(service);
    const { browser, visited } = await open(user);
    await signOut(browser);
    const second = await signIn(user, browser);
    const stateOf = (path: string) => new URL(path, PUBLIC_URL).searchParams.get('state');
    expect(stateOf(second.visited.return)).not.toBe(stateOf(visited.return));
    const page = await browser.open(second.visited.return);
    expect(page).toMatchObject({ status: 200, heading: user.email });
  });

  it('opens the page in each of two tabs', async () => {
    const user = await createTestUser(service);
    const browser = new LoginBrowser(service);
    for (const tab of [await begin(browser), await begin(browser)]) {
      const { visited } = await complete(user, browser, tab);
      expect(await browser.open(visited.return)).toMatchObject({ heading: user.email, alert: '' });
    }
  });

  it('of nobody opens nothing, and says so', async () => {
    const { browser, visited } = await signIn(await createTestUser(service));
    const forged = await browser.open(visited.return.replace(/authToken=[^&]*/, 'authToken=x'));
    expect(forged).toMatchObject({ ...SIGNED_OUT, alert: expect.stringMatching(/./) });
  });

  it('of a cancelled login leads back to the page without an alert', async () => {
    const browser = new LoginBrowser(service);
    const choice = await follow(browser, await browser.submit(await browser.open('/account'), '/account/login'));
    const cancelled = await follow(browser, await browser.submit(choice, '/login/cancel'));
    expect(cancelled).toMatchObject({ ...SIGNED_OUT, alert: '' });
  });
});

it('a sign-out in one browser leaves the other one signed in', async () => {
  const user = await createTestUser(service);
  const [first, second] = [await open(user), await open(user)];
  await signOut(first.browser);
  expect(await second.browser.open('/account')).toMatchObject({ heading: user.email });
  expect(await first.browser.open('/account')).toMatchObject(SIGNED_OUT);
});

it('a sign-out without a sign-in stores nothing', async () => {
  const browser = new LoginBrowser(service);
  const page = await browser.open('/account');
  const token = page.forms.find(({ fields }) => fields.token)?.fields.token ?? '';
  const count = async () => (await service.database.sql`select count(*)::int as n from browser_cutoffs`)[0]?.n;
  const before = await count();
  await browser.post('/account/logout', { token });
  await browser.post('/login/forget', { token });
  expect(await count()).toBe(before);
});
