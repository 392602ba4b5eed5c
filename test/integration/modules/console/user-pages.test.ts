/** The page of a user, and those below it: what they show of one who has this or that, and of one who has not. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Database } from '../../../../src/database/pool/database.ts';
import { type ConsoleBrowser, ConsoleFixture, OPERATORS } from '../../../support/console-fixture.ts';
import { createSampleWays } from '../../../support/console-samples.ts';
import { adminClient, beginSession, createTenant, createTestUser, type TestUser } from '../../../support/service.ts';

const NOON = '2026-03-01T12:00:00Z';
const AT_NOON = '1 Mar 2026, 12:00:00';

const fixture = await ConsoleFixture.open();
const { service, tenant } = fixture;
const { sql } = service.database;
const admin = adminClient(service);
let browser: ConsoleBrowser;
let user: TestUser;
let path: string;

beforeAll(async () => {
  browser = await fixture.signIn(OPERATORS.admin);
  user = await createTestUser(service, { walletAddress: '' });
  path = `/users/${user.id}`;
});

afterAll(() => fixture.close());

const isLinked = (body: string, label: string) => new RegExp(`<a [^>]*>${label}</a>`).test(body);

test('a user without any of it has few facts, no sessions and no applications', async () => {
  const { facts, body, text, heading } = await browser.open(path);
  expect(heading).toBe(user.email);
  for (const name of ['Name', 'Profile image', 'External ID', 'Attributes', 'Groups', 'Deactivated'])
    expect(facts).not.toHaveProperty(name);
  expect(text).toContain('Has signed in to none, and was let in to none.');
  expect(text).not.toContain('End all sessions');
  for (const label of ['All sessions', 'All applications', 'All attempts']) expect(isLinked(body, label)).toBe(false);
  expect(body).toContain('<details class="panel sheet"><summary>Edit the profile');
});

test('the profile opens again if it is refused, and not because of another form of the page', async () => {
  const open = '<details class="panel sheet" open><summary>Edit the profile';
  const page = await browser.open(path);
  const twice = await browser.submit(page, path, { attributes: '{"plan":"a","plan":"b"}' });
  expect(twice.body).toContain(open);
  expect(twice.body).toContain('<bdi>must not have a name twice</bdi>');
  const other = await browser.submit(page, `${path}/applications`, { applicationId: 'nothing' });
  expect([other.status, other.body.includes(open)]).toEqual([422, false]);
  expect(other.body).toContain('id="applicationId-wrong"');
  expect(twice.body).not.toContain('id="applicationId-wrong"');
});

test('a user who has it all shows it', async () => {
  const name = 'Zoë Quinn';
  const { id } = await createTestUser(service, { name, profileImage: 'https://images.test/zoe' });
  await admin.updateUser({ userId: id, externalId: 'crm-7', attributes: { plan: 'pro' } });
  const { group } = await admin.createGroup({ name: 'authors' });
  await admin.addGroupMember({ groupId: group?.groupId ?? '', userId: id });
  await admin.deactivateUser({ userId: id });
  const { facts } = await browser.open(`/users/${id}`);
  expect(facts).toMatchObject({
    Name: name,
    'Profile image': 'https://images.test/zoe',
    'External ID': 'crm-7',
    Attributes: '{"plan":"pro"}',
    Groups: 'authors',
    Deactivated: expect.stringMatching(/^\d+ \w+ \d{4}, /),
  });
});

test.each([
  ['email=nobody%40example.com', 'No user has this address. Create one'],
  ['prefix=nobody', 'No user has this address. Create one'],
  ['wallet=0x0000000000000000000000000000000000000001', 'No user has this address. Create one'],
])('a list of users that the filter %s leaves empty says so', async (query, text) => {
  expect((await browser.open(`/users?${query}`)).text).toContain(text);
  const { text: seen } = await (await fixture.signIn(OPERATORS.viewer)).open(`/users?${query}`);
  expect(seen).toContain('No user has this address.');
  expect(seen).not.toContain('Create one');
});

describe('the applications of a user', () => {
  const open = (name: string, restrictAccess = false) => createTenant(service, { name, restrictAccess });

  test('are ten on the page of the user, and all on a page of their own', async () => {
    const { id } = await createTestUser(service);
    const letIn = async (name: string) =>
      admin.addApplicationUser({ applicationId: (await open(name, true)).id, userId: id });
    for (let at = 0; at < 10; at++) await letIn(`First ${at}.`);
    const shownIn = ({ body }: { body: string }) => body.match(/<strong><a [^>]*><bdi>(First|Later) /g)?.length;
    const ten = await browser.open(`/users/${id}`);
    expect([shownIn(ten), isLinked(ten.body, 'All applications')]).toEqual([10, false]);
    await letIn('Later 10.');
    const more = await browser.open(`/users/${id}`);
    expect([shownIn(more), isLinked(more.body, 'All applications')]).toEqual([10, true]);
    const all = await browser.open(`/users/${id}/applications`);
    expect(shownIn(all)).toBe(11);
    expect(all.text).not.toContain('These are the first');
    await sql`
      with created as (
        insert into applications (id, name, client_id, redirect_uris, created_at)
        select gen_random_uuid(), 'Many ' || n, 'client_many_' || n, '{https://a.test}', now() from generate_series(1, 89) n returning id)
      insert into application_users (application_id, user_id, first_signed_in_at) select id, ${id}, now() from created`;
    expect((await browser.open(`/users/${id}/applications`)).text).toContain('These are the first 100.');
    await sql`update applications set deleted_at = now() where name like 'Many %'`;
  });

  test('say who lets the user in, where not everybody may sign in, and when it was used last', async () => {
    const { id } = await createTestUser(service);
    const { group } = await admin.createGroup({ name: 'readers' });
    const groupId = group?.groupId ?? '';
    const [named, grouped, former, free, once] = await Promise.all([
      open('Named', true),
      open('Grouped', true),
      open('Former', true),
      open('Free'),
      open('Once'),
    ]);
    for (const { id: applicationId } of [named, free]) await admin.addApplicationUser({ applicationId, userId: id });
    for (const { id: applicationId } of [grouped, free])
      await admin.setGroupAccess({ groupId, applicationId, allowsAccess: true });
    await admin.addGroupMember({ groupId, userId: id });
    await sql`
      insert into application_users (application_id, user_id, first_signed_in_at, last_signed_in_at)
      values (${former.id}, ${id}, ${NOON}, ${NOON}), (${once.id}, ${id}, ${NOON}, null)`;
    const page = await browser.open(`/users/${id}/applications`);
    const items = [...page.body.matchAll(/<div class="item">(.*?)<\/div>\n/gs)].map(([, item = '']) =>
      item
        .replace(/<[^>]*>/g, ' ')
        .replace(/\s+/g, ' ')
        .trim(),
    );
    const removal = ` Remove ${(await admin.getUser({ userId: id })).user?.email} from Named`;
    expect(items).toEqual([
      'Former Restricted Not let in any more. Last used 1 Mar 2026 .',
      'Free Never signed in.',
      'Grouped Restricted Let in by the group readers . Never signed in.',
      expect.stringMatching(new RegExp(`^Named Restricted Let in \\d+ \\w+ \\d{4} \\. Never signed in\\.${removal}$`)),
      'Once Has signed in.',
    ]);
    const viewer = await fixture.signIn(OPERATORS.viewer);
    expect((await viewer.open(`/users/${id}/applications`)).text).not.toContain('Remove');
  });
});

test('ten sessions are on the page of a user, and others on a page of their own', async () => {
  const { id } = await createTestUser(service);
  const begin = async () => beginSession(service, await createTenant(service, { name: 'Of ten' }), { id });
  for (let at = 0; at < 10; at++) await begin();
  await sql`update sessions set ip_address = '' where user_id = ${id}`;
  const ten = await browser.open(`/users/${id}`);
  const sessionsIn = ({ rows }: typeof ten) => rows.filter(([application]) => application?.startsWith('Of ten'));
  expect([sessionsIn(ten).length, isLinked(ten.body, 'All sessions')]).toEqual([10, false]);
  expect(sessionsIn(ten)[0]?.[3]).toBe('–');
  expect(ten.text).toContain('End all sessions');
  await begin();
  await sql`update sessions set ip_address = '203.0.113.7' where user_id = ${id}`;
  const more = await browser.open(`/users/${id}`);
  expect([sessionsIn(more).length, isLinked(more.body, 'All sessions')]).toEqual([10, true]);
  expect(sessionsIn(more)[0]?.[3]).toBe('203.0.113.7');
  expect((await browser.open(`/users/${id}/sessions`)).rows).toHaveLength(11);
});

describe('attempts to sign in', () => {
  const insert = (resource: string, { count = 1, network = null as string | null } = {}) => sql`
    insert into audit_events (application_id, occurred_at, id, actor_type, actor, action, resource, ip_address,
      request_id, method, user_agent, network, attempts)
    values (${tenant.id}, ${NOON}, gen_random_uuid(), 'login_page', '', 'SignIn/NO_ACCOUNT', ${resource}, '', 'r-1',
      'email', '', ${network}, ${count})`;

  test('are five on the page of a user, and all on a page of their own, without the name each time', async () => {
    const { id } = await createTestUser(service);
    for (let at = 0; at < 5; at++) await insert(id);
    const attemptsIn = ({ rows }: Awaited<ReturnType<typeof browser.open>>) => rows.filter(([at]) => at === AT_NOON);
    const five = await browser.open(`/users/${id}`);
    expect([attemptsIn(five).length, isLinked(five.body, 'All attempts')]).toEqual([5, false]);
    await insert(id);
    const more = await browser.open(`/users/${id}`);
    expect([attemptsIn(more).length, isLinked(more.body, 'All attempts')]).toEqual([5, true]);
    const all = await browser.open(`/users/${id}/attempts`);
    expect(attemptsIn(all)).toHaveLength(6);
    const about = 'The name of a person stands only where';
    expect([all.text.includes(about), (await browser.open('/attempts')).text.includes(about)]).toEqual([false, true]);
    expect(all.body).not.toContain('<th scope="col">Person</th>');
  });

  test('link to a person who is known, and say how often it was tried and from where', async () => {
    const gone = randomUUID();
    await sql`delete from audit_events where occurred_at = ${NOON}`;
    await insert(user.id, { count: 3, network: '203.0.113.0/24' });
    await insert('');
    await insert(gone);
    const { rows, body } = await browser.open(`/applications/${tenant.id}/attempts`);
    const what = expect.stringMatching(/^No account here/);
    const byPerson = rows.map(([, person, ...others]) => [person, ...others]).sort();
    const short = `${gone.slice(0, 8)}…${gone.slice(-4)}`;
    expect(byPerson).toEqual(
      [
        [user.email, expect.stringMatching(/^3 × No account here/), '–203.0.113.0/24', expect.any(String)],
        ['Not known', what, '–', expect.any(String)],
        [short, what, '–', expect.any(String)],
      ].sort(([one], [other]) => (String(one) < String(other) ? -1 : 1)),
    );
    expect(body).toContain(`<a href="${path}">`);
    expect(body).not.toContain(`href="/users/${gone}"`);
  });

  test('of nobody need no statement for names', async () => {
    const { id } = await createTestUser(service);
    using run = vi.spyOn(Database.prototype, 'run');
    const count = async () => {
      let least = Number.POSITIVE_INFINITY;
      // Jobs run beside.
      for (let tries = 0; tries < 10; tries++) {
        run.mockClear();
        await browser.open(`/users/${id}/attempts`);
        least = Math.min(least, run.mock.calls.length);
      }
      return least;
    };
    const none = await count();
    await insert(id);
    expect((await count()) - none).toBe(1);
  });
});

describe('the ways to sign in', () => {
  test('say which of them do not count yet, which are on one device, and that one is the second factor', async () => {
    const { id } = await createTestUser(service, { walletAddress: '' });
    const own = `/users/${id}`;
    const ways = await createSampleWays(service, id, { name: 'My phone', subject: '7' });
    const itemsOf = (body: string) =>
      [
        ...(/aria-labelledby="ways">(.*?)<\/section>/s.exec(body)?.[1] ?? '').matchAll(
          /<div class="item">(.*?)<\/div>\n/gs,
        ),
      ].map(([, item = '']) =>
        item
          .replace(/<[^>]*>/g, ' ')
          .replace(/\s+/g, ' ')
          .trim(),
      );
    const { body } = await browser.open(own);
    expect(body).not.toContain('<span class="tag"></span>');
    const before = itemsOf(body);
    expect(before[1]).toMatch(/^My phone Synced Passkey, added [^.]*, last used never\. Remove…/);
    expect(before[2]).toMatch(/^acme Account 7 , linked [^.]*\. Remove…/);
    expect(before[0]).toMatch(/^Code by e-mail To \S+@ ?example ?\.com ?\.$/);
    expect(before).toHaveLength(3);
    await sql`update passkeys set is_backed_up = false, counts_from = '2099-01-02T00:00:00Z' where id = ${ways.p}`;
    await sql`
      insert into totp_secrets (user_id, id, sealed, created_at, counts_from, last_step)
      values (${id}, gen_random_uuid(), '', ${NOON}, '2099-01-03T00:00:00Z', 0)`;
    const after = await browser.open(own);
    expect(itemsOf(after.body)[1]).toMatch(/^My phone This device only .* Counts from 2 Jan 2099 \. Remove…/);
    expect(itemsOf(after.body)[3]).toMatch(/^Authenticator app Second factor, .* Counts from 3 Jan 2099 \. Remove…/);
    expect(after.body).toContain(`href="${own}/second-factor/reset"`);
    const viewer = await (await fixture.signIn(OPERATORS.viewer)).open(own);
    expect(itemsOf(viewer.body).filter((item) => item.includes('Remove'))).toEqual([]);
    expect(itemsOf(viewer.body)).toHaveLength(4);
  });

  test('are removed one by one: the question names the account that the link has', async () => {
    const { id } = await createTestUser(service);
    const account = (issuer: string, subject: string, provider: string) => sql`
      insert into user_identities (issuer, subject, user_id, provider, created_at)
      values (${issuer}, ${subject}, ${id}, ${provider}, now())`;
    await account('https://one.test', '7', 'one');
    await account('https://two.test', '7', 'two');
    await account('https://two.test', '8', 'two');
    const ask = async (issuer: string, subject: string) =>
      browser.open(`/users/${id}/accounts/${encodeURIComponent(issuer)}/${subject}/remove`);
    expect((await ask('https://two.test', '7')).heading).toContain('Remove the account at two');
    expect((await ask('https://two.test', '8')).text).toContain('The account 8 at two');
    expect((await ask('https://one.test', '8')).status).toBe(404);
  });
});

describe('where nobody signs in by code', () => {
  const person = { walletAddress: '0x00000000000000000000000000000000000000a1' };
  const provider = {
    id: 'acme',
    name: 'Acme Inc.',
    type: 'openid' as const,
    issuer: 'https://acme.test/a',
    clientId: 'usher',
    clientSecret: 'a-secret-of-usher',
    trustEmail: false,
    emailDomains: [],
  };
  const open = (config: Parameters<typeof ConsoleFixture.open>[0] = {}) =>
    ConsoleFixture.open({
      sendMail: undefined,
      config: { loginMethods: ['wallet'], loginProviderIds: undefined, loginProviders: [provider], ...config.config },
    });
  const last = 'has no other way to sign in.';

  test('the question says that it is the last way, and the page that there is none', async () => {
    await using other = await open();
    const ada = await other.signIn(OPERATORS.admin);
    const none = await createTestUser(other.service, { walletAddress: '' });
    expect((await ada.open(`/users/${none.id}`)).text).toMatch(/Ways to sign in\s?None\./);
    const { id } = await createTestUser(other.service, person);
    const own = `/users/${id}`;
    expect((await ada.open(own)).text).not.toMatch(/Ways to sign in\s?None\./);
    expect((await ada.open(`${own}/wallet/remove`)).text).toContain(last);
    expect((await ada.open(`${own}/second-factor/reset`)).text).not.toContain(last);
    const { i, s } = await createSampleWays(other.service, id);
    expect((await ada.open(`${own}/wallet/remove`)).text).not.toContain(last);
    const account = `${own}/accounts/${encodeURIComponent(i)}/${encodeURIComponent(s)}/remove`;
    expect((await ada.open(account)).heading).toContain('Remove the account at Acme Inc.');
    const { text: lost } = await ada.open(`${own}/recovery`);
    expect(lost).toContain('The accounts at providersAcme Inc.');
    // Nobody can prove a new address.
    expect(lost).not.toContain('The link asks for a new one');
  });

  test('a login page of its own is another way', async () => {
    await using other = await open({ config: { authPageUrl: 'https://shop.test/login' } });
    const ada = await other.signIn(OPERATORS.admin);
    const { id } = await createTestUser(other.service, person);
    expect((await ada.open(`/users/${id}/wallet/remove`)).text).not.toContain(last);
  });
});
