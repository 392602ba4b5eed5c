/** The pages of an application, in the states that it can be in. */
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { type ConsoleBrowser, ConsoleFixture, OPERATORS } from '../../../support/console-fixture.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createTenant,
  createTestGroup,
  createTestUser,
  type Tenant,
} from '../../../support/service.ts';

const fixture = await ConsoleFixture.open();
const { service, clock } = fixture;
const { sql } = service.database;
const admin = adminClient(service);
const [browser, viewer] = [await fixture.signIn(OPERATORS.admin), await fixture.signIn(OPERATORS.viewer)];
let tenant: Tenant;
let path: string;

afterAll(() => fixture.close());

beforeEach(async () => {
  tenant = await createTenant(service, { name: 'Bakery' });
  path = `/applications/${tenant.id}`;
});

const declare = (isDeclared: boolean) =>
  sql`update applications set declared_by_file = ${isDeclared} where id = ${tenant.id}`;
const closedPattern = /<details class="group"><summary>([^<]*)/g;
const closedIn = ({ body }: { body: string }) => [...body.matchAll(closedPattern)].map(([, title]) => title);

describe('the settings', () => {
  test.each([
    ['an admin', true, false],
    ['an admin', true, true],
    ['a viewer', false, false],
    ['a viewer', false, true],
  ])('are changed by %s (%s) unless a file declares the application (%s)', async (_, isAdmin, isDeclared) => {
    if (isDeclared) await declare(true);
    const page = await (isAdmin ? browser : viewer).open(path);
    const mayEdit = isAdmin && !isDeclared;
    expect(/<fieldset class="fields"[^>]*>/.exec(page.body)?.[0].includes('disabled')).toBe(!mayEdit);
    expect(page.body.includes('name="version"')).toBe(mayEdit);
    for (const text of ['Undo changes', 'Also deletes its keys', 'Logo…'])
      expect(page.text.includes(text)).toBe(mayEdit);
    expect(page.text.includes('Only an admin can change these.')).toBe(!isAdmin && !isDeclared);
    expect(page.forms.some(({ action }) => action === path)).toBe(!isDeclared);
  });

  test('are in groups that are closed until the form is refused, and have a note only where it is new', async () => {
    const page = await browser.open(path);
    const groups = ['Look and links', 'Sessions', 'OpenID Connect', 'Access for other clients, such as assistants'];
    expect(closedIn(page)).toEqual(expect.arrayContaining(groups));
    expect(closedIn(page)).not.toContain('Ways to sign in, and people');
    const refused = await browser.submit(page, path, { name: '' });
    expect(closedIn(refused).filter((title) => groups.includes(title ?? ''))).toEqual([]);
    const fresh = await browser.open('/applications/new');
    for (const text of ['For the quick starts:', 'You can add a logo once'])
      expect([page.text.includes(text), fresh.text.includes(text)]).toEqual([false, true]);
    expect([page.body, fresh.body].map((body) => body.includes('name="requirePkce"'))).toEqual([true, false]);
  });

  test('have each way to sign in once, also one that there is no more, and store those that are ticked', async () => {
    await sql`update applications set login_methods = '{email,gone}' where id = ${tenant.id}`;
    const page = await browser.open(path);
    const boxes = [...page.body.matchAll(/name="loginMethods" value="([^"]*)"( checked)?/g)];
    expect(boxes.map(([, method, checked]) => [method, checked !== undefined])).toEqual([
      ['email', true],
      ['passkey', false],
      ['wallet', false],
      ['gone', true],
    ]);
    const save = async (...methods: string[]) => {
      const pairs = (await browser.open(path)).forms.find(({ action }) => action === path)?.pairs ?? [];
      const others = pairs
        .filter(([name]) => name !== 'loginMethods')
        .map(([name, value]): [string, string] => [name, value]);
      await browser.post(path, [...others, ...methods.map((method): [string, string] => ['loginMethods', method])]);
      return (await admin.getApplication({ applicationId: tenant.id })).application?.loginMethods;
    };
    expect(await save('email')).toEqual(['email']);
    expect(await save('email', 'wallet')).toEqual(['email', 'wallet']);
    expect(await save('email', 'passkey', 'wallet')).toEqual([]);
  });

  test.each([
    ['https://a.test/\n\nhttp://b.test/', ' Refused: line 3.'],
    ['', ''],
  ])('name the lines of %j that are no redirect URIs', async (redirectUris, refused) => {
    const { status, body } = await browser.submit(await browser.open(path), path, { redirectUris });
    expect(status).toBe(422);
    const note = /id="redirectUris-note">(.*?)<\/p>/.exec(body)?.[1]?.replace(/<[^>]*>/g, '');
    expect(note).toBe(`One per line.${refused}`);
  });
});

describe('a new application', () => {
  const create = (redirectUris: string) =>
    browser.post('/applications/new', { name: 'New', redirectUris, kind: 'product', sending: crypto.randomUUID() });

  test('comes back from a logout to the root of its pages, and to none of an app', async () => {
    clock.advance(1_000);
    expect((await create('https://shop.test/a\ncom.example.app:/back')).heading).toBe('New');
    const { applications } = await admin.listApplications({ pageSize: 1 });
    expect(applications[0]?.postLogoutRedirectUris).toEqual(['https://shop.test/']);
  });

  test('is refused with a redirect URI that is no URL', async () => {
    expect((await create('https://[')).status).toBe(422);
  });
});

test.each([
  [{ allowSignUp: true }, 'Everyone'],
  [{ allowSignUp: true, signUpEmailDomains: ['example.com'] }, 'Users, and addresses of listed domains'],
  [{ allowSignUp: false }, 'Users only'],
])('the list says of an application with %j who may sign in: %s', async (fields, text) => {
  await admin.updateApplication({ applicationId: tenant.id, ...fields });
  clock.advance(1_000);
  const row = (await browser.open('/applications')).rows.find(([, clientId]) => clientId === tenant.clientId);
  expect(row?.[2]).toBe(text);
});

describe('API keys', () => {
  const keyOf = async (name: string, columns: Record<string, string | Date | boolean | null> = {}) => {
    const { apiKeyId } = await admin.createApiKey({ applicationId: tenant.id, name });
    if (Object.keys(columns).length > 0) await sql`update api_keys set ${sql(columns)} where id = ${apiKeyId}`;
    return apiKeyId;
  };
  /** Returns the state of each key by name, and what can be done with it. */
  const readKeys = async () =>
    Object.fromEntries(
      (await browser.open(`${path}/keys`)).rows.map((row) => [row[0]?.split(/[\da-f]{8}-/)[0], [row[1], row.at(-1)]]),
    );
  const later = (ms: number) => new Date(clock.read().getTime() + ms);

  test('work until they are revoked, replaced or expired, and are changed only while they work', async () => {
    await keyOf('plain');
    await keyOf('later', { expires_at: later(1) });
    await keyOf('expired', { expires_at: later(0) });
    await keyOf('revoked', { revoked_at: later(0) });
    await keyOf('replaced', { replaced_by: await keyOf('next') });
    const all = 'Rotate… Revoke…';
    expect(await readKeys()).toMatchObject({
      plain: ['Works', all],
      later: ['Works', all],
      expired: ['Expired', ''],
      revoked: ['Revoked', ''],
      replaced: ['Replaced', 'Revoke…'],
      next: ['Works', all],
    });
  });

  test('that a file declares are changed there, and others are told apart', async () => {
    await keyOf('in file', { declared_by_file: true });
    await keyOf('by hand');
    expect(await readKeys()).toMatchObject({
      'in file': ['Works', 'Rotate… Revoke…'],
      'by hand': ['Works', expect.any(String)],
    });
    await declare(true);
    expect(await readKeys()).toMatchObject({
      'in file': ['Works', ''],
      'by hand': ['Works not in the file', 'Rotate… Revoke…'],
    });
  });

  test('are created by those who may, below the list', async () => {
    expect((await browser.open(`${path}/keys`)).text).toMatch(/Create a key\s?Name.*Works until \(UTC\)/);
    expect((await viewer.open(`${path}/keys`)).text).not.toContain('Create a key');
  });

  test('are asked about by their own names, in capitals, too', async () => {
    const [one, other] = [await keyOf('one'), await keyOf('other')];
    const headingOf = async (id: string) => (await browser.open(`${path}/keys/${id}/rotate`)).heading;
    expect(await headingOf(one)).toBe('Rotate the key one');
    expect(await headingOf(other.toUpperCase())).toBe('Rotate the key other');
    expect((await browser.open(`${path}/keys/${crypto.randomUUID()}/rotate`)).status).toBe(404);
  });
});

describe('people', () => {
  test('have nine sessions on a page', async () => {
    for (let at = 0; at < 10; at++) await beginSession(service, tenant, await createTestUser(service));
    await sql`update sessions set ip_address = '' where application_id = ${tenant.id}`;
    const { rows } = await browser.open(`${path}/sessions`);
    expect([rows.length, rows[0]?.[3]]).toEqual([9, '–']);
    await sql`update sessions set ip_address = '203.0.113.7' where application_id = ${tenant.id}`;
    expect((await browser.open(`${path}/sessions`)).rows[0]?.[3]).toBe('203.0.113.7');
  });

  test('are known by name and address, or by the address alone', async () => {
    const named = await createTestUser(service, { name: 'Zoë Quinn' });
    const unnamed = await createTestUser(service);
    for (const user of [named, unnamed]) await beginSession(service, tenant, user);
    const people = (await browser.open(`${path}/users`)).rows.map(([person]) => person);
    expect(people.sort()).toEqual([unnamed.email, `Zoë Quinn${named.email}`].sort());
  });

  test('of a restricted application are those let in, and groups with access', async () => {
    await admin.updateApplication({ applicationId: tenant.id, restrictAccess: true });
    const users = `${path}/users`;
    const opening = async () =>
      /<p>Only people who are let in may sign in(.*?)\. <a/.exec((await browser.open(users)).body)?.[1];
    expect(await opening()).toBe('');
    const [one, other, seen] = [
      await createTestGroup(service),
      await createTestGroup(service),
      await createTestGroup(service),
    ];
    for (const { groupId } of [one, other])
      await admin.setGroupAccess({ groupId, applicationId: tenant.id, allowsAccess: true });
    await admin.setGroupAccess({ groupId: seen.groupId, applicationId: tenant.id, inClaim: true });
    const linkTo = ({ groupId, name }: typeof one) => `<a href="/groups/${groupId}"><bdi>${name}</bdi></a>`;
    const sorted = [one, other].sort((a, b) => (a.name < b.name ? -1 : 1));
    expect(await opening()).toBe(`, and the members of ${sorted.map(linkTo).join(', ')}`);
    const everybody = await browser.open(`${users}?everybody`);
    expect(everybody.body).not.toContain('<summary>Filter</summary>');
    expect(everybody.body).toContain(`<a href="${users}">People let in by name</a>`);
    expect((await viewer.open(users)).text).not.toContain('Let somebody in');
    await admin.updateApplication({ applicationId: tenant.id, restrictAccess: false });
    expect((await browser.open(users)).text).not.toContain('People let in by name');
  });

  test('of a group get one meaning or both, which a file may decide', async () => {
    const groups = `${path}/groups`;
    const meanings = async () =>
      (await admin.listApplicationGroups({ applicationId: tenant.id })).groups.map(({ allowsAccess, inClaim }) => [
        allowsAccess,
        inClaim,
      ]);
    const [one, other] = [await createTestGroup(service), await createTestGroup(service)];
    expect((await browser.post(groups, { group: one.name, allowsAccess: 'on' })).status).toBe(303);
    expect(await meanings()).toEqual([[true, false]]);
    expect((await browser.post(groups, { group: other.name, inClaim: 'on' })).status).toBe(303);
    expect((await meanings()).sort()).toEqual([
      [false, true],
      [true, false],
    ]);
    expect((await browser.open(groups)).body).toContain('role="switch"');
    await declare(true);
    const declared = await browser.open(groups);
    expect(declared.body).not.toContain('role="switch"');
    expect(declared.text).not.toContain('Add a group');
    expect(declared.rows.map((row) => row.slice(2)).sort()).toEqual([
      ['No', 'Yes'],
      ['Yes', 'No'],
    ]);
  });

  test('of a group that loses access are signed out at once', async () => {
    await admin.updateApplication({ applicationId: tenant.id, restrictAccess: true });
    const { groupId } = await createTestGroup(service);
    await admin.setGroupAccess({ groupId, applicationId: tenant.id, allowsAccess: true });
    const user = await createTestUser(service);
    await admin.addGroupMember({ groupId, userId: user.id });
    const sessionId = await beginSession(service, tenant, user);
    const { sessions } = clientsOf(service, tenant);
    const isLive = async () => (await sessions.checkSession({ sessionId })).active;
    // The answer is known for some seconds.
    expect(await isLive()).toBe(true);
    await browser.post(`${path}/groups/change`, { groupId, allowsAccess: 'false' });
    expect(await isLive()).toBe(false);
  });
});

test('without applications, the list and the overview offer to create one to those who may', async () => {
  await using other = await ConsoleFixture.open();
  await adminClient(other.service).deleteApplication({ applicationId: other.tenant.id });
  const open = async (who: ConsoleBrowser, page: string) => (await who.open(page)).text;
  for (const [email, may] of [
    [OPERATORS.admin, true],
    [OPERATORS.viewer, false],
  ] as const) {
    const who = await other.signIn(email);
    expect(await open(who, '/applications')).toContain('There are no applications yet.');
    expect((await open(who, '/applications')).includes('Create one')).toBe(may);
    await other.service.database.sql`delete from hourly_counts`;
    expect(await open(who, '/')).toContain('Nobody has signed in yet. Create an application to begin with.');
    expect(((await who.open('/')).body.match(/class="button" href="\/applications\/new"/g) ?? []).length).toBe(
      may ? 1 : 0,
    );
  }
  await createTenant(other.service);
  const ada = await other.signIn(OPERATORS.admin);
  expect((await ada.open('/')).body).not.toContain('class="button" href="/applications/new"');
});
