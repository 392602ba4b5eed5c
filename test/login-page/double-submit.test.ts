import { generateKeyPairSync } from 'node:crypto';
import { Code, ConnectError } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MINUTE, type TestClock } from '../support/clock.ts';
import { beginLogin, formOf, LoginBrowser, type LoginPage } from '../support/login-browser.ts';
import { LoginFixture, type Ready } from '../support/login-fixture.ts';
import type { Mailbox } from '../support/mailbox.ts';
import { adminClient, clientsOf, PUBLIC_URL, REDIRECT_URI, type Tenant, type TestService } from '../support/service.ts';

const REDIRECT_URI_WITH_QUERY = 'https://app.test/callback?tenant=a%20b';

let fixture: LoginFixture;
let clock: TestClock;
let mailbox: Mailbox;
let service: TestService;
let tenant: Tenant;

beforeAll(async () => {
  fixture = await LoginFixture.open({ redirectUris: [REDIRECT_URI, REDIRECT_URI_WITH_QUERY] });
  ({ clock, mailbox, service, tenant } = fixture);
});
afterAll(() => fixture.close());

const answerOf = ({ status, location }: LoginPage) => ({ status, location });

/** Signed in, with the redirect that the browser was given. */
async function complete(ready: Ready): Promise<string> {
  const { status, location = '' } = await ready.submit();
  expect(status).toBe(303);
  expect(location.startsWith(`${REDIRECT_URI}?authToken=`)).toBe(true);
  return location;
}

const methods: [name: string, prepare: () => Promise<Ready>][] = [
  ['by e-mail', () => fixture.readyByEmail()],
  ['by e-mail, at the fifth try', () => fixture.readyByFifthTry()],
  ['by wallet', () => fixture.readyByWallet()],
];

describe.each(methods)('the same browser, %s,', (_name, prepare) => {
  it('gets the same redirect for the same form again', async () => {
    const ready = await prepare();
    const location = await complete(ready);
    clock.advance(MINUTE);
    for (let again = 0; again < 6; again++) expect(answerOf(await ready.submit())).toEqual({ status: 303, location });
  });

  it('gets one and the same redirect for the form sent several times at once', async () => {
    const ready = await prepare();
    const replies = await Promise.all(Array.from({ length: 6 }, () => ready.submit()));
    const [first] = replies;
    expect(first?.location).toMatch(/^https:\/\/app\.test\/callback\?authToken=/);
    expect(replies.map(answerOf)).toEqual(replies.map(() => ({ status: 303, location: first?.location })));
  });

  it('gets the same redirect for a second click while the first is still on its way, at another replica', async () => {
    await using replica = await fixture.startReplica();
    const ready = await prepare();
    const { sql } = service.database;
    const waiting = async () => {
      const [row] = await sql`
        select count(*)::int as count from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`;
      return Number(row?.count);
    };
    const replies: Promise<LoginPage>[] = [];
    await sql.begin(async (transaction) => {
      // The first is held where it completes the login, and the second finds that it has to wait.
      await transaction`select 1 from login_intents where id = ${ready.login.loginIntentId} for update`;
      for (const at of [service, replica]) {
        replies.push(ready.submit(at));
        await expect.poll(waiting).toBe(replies.length);
      }
    });
    const [first, second] = await Promise.all(replies);
    expect(first?.status).toBe(303);
    expect(second && answerOf(second)).toEqual(first && answerOf(first));
  });

  it('gets the same redirect when it loads the page again, as long as its token lives', async () => {
    const ready = await prepare();
    const location = await complete(ready);
    expect(answerOf(await ready.browser.open(ready.login.path))).toEqual({ status: 303, location });
    // A token counts in whole seconds.
    clock.advance(15 * MINUTE - 1_000);
    expect(answerOf(await ready.browser.open(ready.login.path))).toEqual({ status: 303, location });
    clock.advance(1_000);
    expect(answerOf(await ready.browser.open(ready.login.path))).toEqual({ status: 409, location: undefined });
    expect(answerOf(await ready.submit())).toEqual({ status: 409, location: undefined });
  });

  it('gets the same redirect for any other form of the page that it comes back to', async () => {
    const ready = await prepare();
    const other = await ready.browser.open((await beginLogin(service, tenant)).path);
    const { token = '' } = formOf(other, '/login/cancel').fields;
    const location = await complete(ready);
    const fields = {
      token,
      intent: ready.login.loginIntentId,
      email: 'ada@example.com',
      code: '000000',
      signature: '0x',
    };
    for (const action of ['/login/email', '/login/code', '/login/wallet', '/login/cancel']) {
      expect(answerOf(await ready.browser.post(action, fields))).toEqual({ status: 303, location });
    }
    expect(mailbox.letters.filter(({ email }) => email === 'ada@example.com')).toEqual([]);
  });

  it('brings a token that is exchanged for one session, however often', async () => {
    const ready = await prepare();
    await complete(ready);
    const { location = '' } = await ready.submit();
    const authToken = new URL(location).searchParams.get('authToken') ?? '';
    const { auth } = clientsOf(service, tenant);
    const [first, second] = [await auth.exchangeToken({ authToken }), await auth.exchangeToken({ authToken })];
    expect(first.user?.email).toBe(ready.user.email);
    expect(second).toEqual(first);
  });
});

describe.each(methods)('another browser, after one has signed in %s,', (_name, prepare) => {
  it('is told 409 by the page and by every form, and never gets the redirect', async () => {
    const ready = await prepare();
    const thief = new LoginBrowser(service);
    const page = await thief.open(ready.login.path);
    await complete(ready);
    const refused = await thief.open(ready.login.path);
    expect({ ...answerOf(refused), heading: refused.heading }).toEqual({
      status: 409,
      location: undefined,
      heading: 'This sign-in has been used',
    });
    const typed = { email: ready.user.email, code: '000000', signature: `0x${'1'.repeat(130)}` };
    for (const action of ['/login/email', '/login/wallet', '/login/cancel']) {
      expect(answerOf(await thief.submit(page, action, typed))).toEqual({ status: 409, location: undefined });
    }
    const { fields } = formOf(page, '/login/email');
    expect(answerOf(await thief.post('/login/code', { ...fields, ...typed }))).toEqual({
      status: 409,
      location: undefined,
    });
    clock.advance(30 * MINUTE);
    expect((await thief.open(ready.login.path)).status).toBe(409);
  });

  it('is told 409 with no cookie at all, or one that was made up', async () => {
    const ready = await prepare();
    await complete(ready);
    for (const cookie of [undefined, `__Host-usher=${'A'.repeat(43)}`, '__Host-usher=']) {
      const thief = new LoginBrowser(service);
      thief.cookie = cookie;
      expect(answerOf(await thief.open(ready.login.path))).toEqual({ status: 409, location: undefined });
    }
  });
});

it('the same browser gets a token of the same claims again where the algorithm signs differently each time', async () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const secrets = {
    ...service.config.secrets,
    authSigningKeys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'ES256', kid: 'ec' }],
  };
  await using other = await fixture.startReplica({ secrets });
  const ready = await fixture.readyByEmail({ at: other });
  const first = await complete(ready);
  clock.advance(MINUTE);
  const { location = '' } = await ready.submit();
  const withoutSignature = (url: string) => url.replace(/(authToken=[\w-]+\.[\w-]+)\.[\w-]+/, '$1');
  expect(withoutSignature(location)).toBe(withoutSignature(first));
  const authToken = new URL(location).searchParams.get('authToken') ?? '';
  expect((await clientsOf(other, tenant).auth.exchangeToken({ authToken })).user?.email).toBe(ready.user.email);
});

describe('a person who cancels', () => {
  it('goes back to the application with access_denied, the state and the issuer', async () => {
    const state = 'a&b=c +ü';
    const login = await beginLogin(service, tenant, { redirectUri: REDIRECT_URI_WITH_QUERY, state });
    const browser = new LoginBrowser(service);
    const { status, location = '', body } = await browser.submit(await browser.open(login.path), '/login/cancel');
    expect({ status, body }).toEqual({ status: 303, body: '' });
    expect(location.startsWith(`${REDIRECT_URI_WITH_QUERY}&error=access_denied&`)).toBe(true);
    expect([...new URL(location).searchParams]).toEqual([
      ['tenant', 'a b'],
      ['error', 'access_denied'],
      ['state', state],
      ['iss', PUBLIC_URL],
    ]);
  });

  it('gets the same answer for cancelling twice, and can still sign in after all', async () => {
    const ready = await fixture.readyByEmail();
    const page = await ready.browser.open(ready.login.path);
    const [first, second] = [
      await ready.browser.submit(page, '/login/cancel'),
      await ready.browser.submit(page, '/login/cancel'),
    ];
    expect(answerOf(second)).toEqual(answerOf(first));
    await complete(ready);
  });
});

describe('a login that CompleteLogin has completed', () => {
  it('is used up for every browser, the one on the page included', async () => {
    const ready = await fixture.readyByEmail();
    const { redirectUrl } = await adminClient(service).completeLogin({
      loginIntentId: ready.login.loginIntentId,
      userId: ready.user.id,
    });
    expect(redirectUrl).toContain('authToken=');
    expect(answerOf(await ready.browser.open(ready.login.path))).toEqual({ status: 409, location: undefined });
    expect(answerOf(await ready.submit())).toEqual({ status: 409, location: undefined });
    expect((await new LoginBrowser(service).open(ready.login.path)).status).toBe(409);
  });

  it.each(methods)('cannot be completed once more after somebody has signed in %s', async (_name, prepare) => {
    const ready = await prepare();
    await complete(ready);
    const again = adminClient(service).completeLogin({
      loginIntentId: ready.login.loginIntentId,
      userId: ready.user.id,
    });
    const error = await again.then(() => undefined, ConnectError.from);
    expect({ code: error?.code, message: error?.rawMessage }).toEqual({
      code: Code.FailedPrecondition,
      message: 'Login intent already completed',
    });
  });
});
