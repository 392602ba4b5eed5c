/** Who sees and changes nothing on the account page, and what a stranger can store there. */
import { afterAll, expect, it } from 'vitest';
import { beginSession, openAccount, tokenOf } from '../../../support/account-page.ts';
import { HOUR } from '../../../support/clock.ts';
import { LoginBrowser, textOf } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { adminClient, clientsOf, createTenant, createTestUser, type TestUser } from '../../../support/service.ts';

const fixture = await LoginFixture.open();
const { clock, service, tenant } = fixture;
const { sql } = service.database;
const admin = adminClient(service);
afterAll(() => fixture.close());

/** Pages that show something of a person. */
const PAGES = ['', '/name', '/email', '/email/code', '/wallet', '/wallet/new', '/data', '/delete'];
/** Forms that change something. */
const FORMS = [
  '/name',
  '/email',
  '/email/code',
  '/wallet',
  '/wallet/new',
  '/sessions/end',
  '/sessions/end-all',
  '/delete',
];

const isActive = async (sessionId: string) =>
  (await clientsOf(service, tenant).sessions.checkSession({ sessionId, maxStalenessMs: 0 })).session !== undefined;

it.each<[string, (user: TestUser) => Promise<unknown>]>([
  ['is deactivated', ({ id }) => admin.deactivateUser({ userId: id })],
  ['is deleted', ({ id }) => admin.deleteUser({ userId: id })],
  ['is erased', ({ id }) => admin.eraseUser({ userId: id })],
])('a user who %s sees and changes nothing with the cookie of before', async (_name, end) => {
  const user = await createTestUser(service, { name: 'Ada' });
  const { browser } = await openAccount(fixture, user);
  const token = tokenOf(await browser.open('/account/name'));
  const { cookie } = browser;
  await end(user);
  const stored = () => sql`select * from users where id = ${user.id}`;
  const before = await stored();
  const answers = [];
  for (const path of PAGES) {
    browser.cookie = cookie;
    answers.push(await browser.open(`/account${path}`));
  }
  const fields = { token, name: 'Eve', email: user.email, code: '123456', application: tenant.id };
  for (const path of FORMS) {
    browser.cookie = cookie;
    answers.push(await browser.post(`/account${path}`, fields));
  }
  for (const { status, heading, body } of answers) {
    expect({ status, heading }).toEqual({ status: 200, heading: 'Your account' });
    expect(textOf(body)).not.toContain(user.email);
  }
  expect(await stored()).toEqual(before);
});

it('nobody ends the session of somebody else, whatever the form names', async () => {
  const [user, other] = [await createTestUser(service), await createTestUser(service)];
  const foreign = await beginSession(fixture, other);
  const stranger = await createTenant(service);
  const { browser } = await openAccount(fixture, user);
  const token = tokenOf(await browser.open('/account/name'));
  for (const application of [
    tenant.id,
    stranger.id,
    foreign,
    other.id,
    crypto.randomUUID(),
    '',
    'x',
    `${tenant.id}'`,
  ]) {
    const answer = await browser.post('/account/sessions/end', {
      token,
      application,
      userId: other.id,
      session: foreign,
    });
    expect(answer).toMatchObject({ status: 200, heading: user.email });
    expect(textOf(answer.body)).not.toContain(other.email);
    expect(answer.body).not.toContain(stranger.name);
  }
  expect(await isActive(foreign)).toBe(true);
});

it('a session that was revoked is listed no more, and its ID is on no page', async () => {
  const user = await createTestUser(service);
  const sessionId = await beginSession(fixture, user);
  const { browser, page } = await openAccount(fixture, user);
  expect(page.body).toContain(tenant.name);
  expect(page.body).not.toContain(sessionId);
  await clientsOf(service, tenant).sessions.revokeSession({ sessionId });
  const after = await browser.open('/account');
  expect(after).toMatchObject({ heading: user.email });
  expect(after.body).not.toContain(tenant.name);
});

it('a site can begin 100 logins, and then 360 an hour; looking at the page stores nothing', async () => {
  const count = async () => (await sql`select count(*)::integer as logins from login_intents`)[0]?.logins;
  const rows = async () => {
    const tables = await sql`select relname as name from pg_stat_user_tables order by relname`;
    const counts = tables.map(async ({ name }) => (await sql`select from ${sql(name)}`).count);
    return Promise.all(counts);
  };
  const before = await rows();
  for (let view = 0; view < 20; view++) await new LoginBrowser(service, { address: '203.0.113.9' }).open('/account');
  expect(await rows()).toEqual(before);

  const first = await count();
  /** Sends the form from many networks of one site, each time with another cookie. */
  const press = async (times: number) => {
    let refused = 0;
    for (let turn = 0; turn < times; turn++) {
      const browser = new LoginBrowser(service, { address: `203.0.113.${turn % 250}` });
      const { alert } = await browser.submit(await browser.open('/account'), '/account/login');
      if (alert.startsWith('Too many sign-ins were begun here.')) refused++;
    }
    return refused;
  };
  expect(await press(110)).toBe(10);
  expect((await count()) - first).toBe(100);
  clock.advance(HOUR / 60);
  expect(await press(10)).toBe(4);
  expect((await count()) - first).toBe(106);
  // Another site is not hindered.
  const elsewhere = new LoginBrowser(service, { address: '198.51.100.1' });
  expect((await elsewhere.submit(await elsewhere.open('/account'), '/account/login')).alert).toBe('');
});

it('a person who ends sessions of applications without any stores nothing', async () => {
  const user = await createTestUser(service);
  const known = await createTenant(service);
  const { browser } = await openAccount(fixture, user);
  const token = tokenOf(await browser.open('/account/name'));
  const stored = async () => [
    (await sql`select from session_cutoffs`).count,
    (await sql`select from audit_events where action = 'POST /account/sessions/end'`).count,
  ];
  const before = await stored();
  for (let turn = 0; turn < 5; turn++) {
    for (const application of [crypto.randomUUID(), known.id])
      await browser.post('/account/sessions/end', { token, application, sid: turn % 2 ? crypto.randomUUID() : '' });
  }
  expect(await stored()).toEqual(before);
});

it('a person who ends a session twice stores its cut-offs and audit events once', async () => {
  const user = await createTestUser(service);
  const sessionId = await beginSession(fixture, user);
  const { browser } = await openAccount(fixture, user);
  const token = tokenOf(await browser.open('/account/name'));
  for (let turn = 0; turn < 2; turn++) await browser.post('/account/sessions/end', { token, application: tenant.id });
  expect(await isActive(sessionId)).toBe(false);
  const events = await sql`
    select from audit_events where action = 'POST /account/sessions/end' and resource = ${user.id}`;
  // One of the application, and one of the browser in which the session was.
  expect(events.count).toBe(2);
});

it('a person can make 60 changes at once, and then one a minute', async () => {
  const user = await createTestUser(service, { name: 'Ada' });
  const { browser } = await openAccount(fixture, user);
  const token = tokenOf(await browser.open('/account/name'));
  const change = async (name: string) => (await browser.post('/account/name', { token, name })).alert;
  for (let turn = 0; turn < 60; turn++) expect(await change(`Ada ${turn}`)).toBe('');
  expect(await change('Eve')).toBe('Too many attempts. Please wait a minute.');
  expect((await browser.open('/account')).heading).toBe('Ada 59');
  clock.advance(HOUR / 60);
  expect(await change('Ada')).toBe('');
});
