/** Who sees and changes nothing on the account page, and what a stranger can store there. */
import { afterAll, describe, expect, it, vi } from 'vitest';
import { NetworkLimit } from '../../../../src/login-page/browser/network-limit.ts';
import { beginSession, openAccount, tokenOf } from '../../../support/account-page.ts';
import { HOUR } from '../../../support/clock.ts';
import { request } from '../../../support/http.ts';
import { LoginBrowser, textOf } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { RecordedLog } from '../../../support/recorded-log.ts';
import { makeRecoveryLink } from '../../../support/recovery.ts';
import {
  adminClient,
  clientsOf,
  createTenant,
  createTestUser,
  PUBLIC_URL,
  type TestUser,
} from '../../../support/service.ts';

const log = new RecordedLog('error');
const fixture = await LoginFixture.open({ logger: log.logger });
const { clock, mailbox, service, tenant } = fixture;
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

it('a network that has begun too many logins of applications begins none here', async () => {
  const browser = new LoginBrowser(service);
  const page = await browser.open('/account');
  const take = vi.spyOn(NetworkLimit.prototype, 'take').mockReturnValue(false);
  const { alert } = await browser.submit(page, '/account/login');
  take.mockRestore();
  expect(alert).toContain('Too many sign-ins were begun here.');
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

it('a code page of nobody leads to the form, without the text of a stranger', async () => {
  const { browser } = await openAccount(fixture, await createTestUser(service));
  const redirectOf = async (problem: string) => {
    const path = `/account/email/code?${new URLSearchParams({ change: 'x', problem })}`;
    return (await request(service.url, { path, headers: { cookie: browser.cookie ?? '' } })).headers.location;
  };
  expect(await redirectOf('WRONG_CODE')).toBe('/account/email?problem=WRONG_CODE');
  expect(await redirectOf('<b>')).toBe('/account/email');
});

it('a site has 50 tries at recovery links, from many networks', async () => {
  const first = new LoginBrowser(service);
  const page = await first.open('/recover');
  const tryFrom = async (address: string) => {
    const browser = new LoginBrowser(service, { address });
    browser.cookie = first.cookie;
    return (await browser.submit(page, '/recover', { link: 'x'.repeat(43) })).status;
  };
  for (let network = 1; network <= 50; network++) expect(await tryFrom(`203.0.113.${network}`)).toBe(404);
  expect([await tryFrom('203.0.113.99'), await tryFrom('203.0.114.1')]).toEqual([429, 404]);
});

it('a refusal leads to its form with what it was about, and nothing else', async () => {
  const { browser } = await openAccount(fixture, await createTestUser(service));
  const token = tokenOf(await browser.open('/account/name'));
  const redirectOf = async (fields: Record<string, string>) => {
    const headers = { cookie: browser.cookie ?? '', 'content-type': 'application/x-www-form-urlencoded' };
    const body = new URLSearchParams({ token, name: '', ...fields }).toString();
    return (await request(service.url, { method: 'POST', path: '/account/name', headers, body })).headers.location;
  };
  expect(await redirectOf({})).toMatch(/^\/account\/name\?problem=\w+$/);
  expect(await redirectOf({ provider: 'acme', change: '7' })).toMatch(/\?problem=\w+&provider=acme&change=7$/);
});

it('a person can make 60 changes at once, and then one a minute', async () => {
  const user = await createTestUser(service, { name: 'Ada' });
  const { browser } = await openAccount(fixture, user);
  const token = tokenOf(await browser.open('/account/name'));
  const change = async (name: string) => (await browser.post('/account/name', { token, name })).alert;
  for (let turn = 0; turn < 60; turn++) expect(await change(`Ada ${turn}`)).toBe('');
  expect(await change('Eve')).toBe('Too many attempts. Please wait a minute.');
  const ended = await browser.post('/account/sessions/end', { token, application: tenant.id });
  expect(ended).toMatchObject({ heading: 'Ada 59', alert: 'Too many attempts. Please wait a minute.' });
  clock.advance(HOUR / 60);
  expect(await change('Ada')).toBe('');
});

describe('what fails in Usher', () => {
  it('is no refusal of a change, and the log has the cause', async () => {
    const { browser } = await openAccount(fixture, await createTestUser(service, { name: 'Ada' }));
    const form = await browser.open('/account/name');
    await sql`alter table users add constraint fails check (name <> 'Fails') not valid`;
    const { status } = await browser.submit(form, '/account/name', { name: 'Fails' });
    await sql`alter table users drop constraint fails`;
    expect([status, log.lines.splice(0).join().includes('TypeError')]).toEqual([500, false]);
    expect((await browser.submit(form, '/account/name', { name: 'Fails' })).heading).toBe('Fails');
  });

  it('is no refusal of the link that stops a recovery, which still works later', async () => {
    const user = await createTestUser(service);
    await makeRecoveryLink(service, user, ['ADDRESS']);
    const findNotice = () => mailbox.mails.find(({ to, kind }) => to === user.email && kind === 'recovery notice');
    await expect.poll(findNotice).toBeDefined();
    const browser = new LoginBrowser(service);
    const question = await browser.open((findNotice()?.link?.url ?? '').slice(PUBLIC_URL.length));
    await sql`alter table recovery_links add constraint fails check (status <> 'STOPPED') not valid`;
    const { status } = await browser.submit(question, '/account/recovery');
    await sql`alter table recovery_links drop constraint fails`;
    expect(status).toBe(500);
    expect((await browser.submit(question, '/account/recovery')).heading).toBe('The recovery is stopped');
  });
});
