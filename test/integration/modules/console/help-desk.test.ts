/** What somebody at the help desk does for one person: let in, let out, remove a way to sign in. */
import { afterAll, expect, test } from 'vitest';
import { OPERATORS } from '../../../support/console-fixture.ts';
import { openSampledConsole } from '../../../support/console-samples.ts';
import { adminClient, beginSession, createTestUser } from '../../../support/service.ts';

const { fixture, samples, browser } = await openSampledConsole(OPERATORS.admin);
afterAll(() => fixture.close());

const admin = adminClient(fixture.service);
const { a: applicationId, g: groupId } = samples.params;
const users = `/applications/${applicationId}/users`;
const { sql } = fixture.service.database;

const isIn = async (id: string, userId: string) =>
  (await sql`select from added_users where application_id = ${id} and user_id = ${userId}`).length > 0;
const isLetIn = (userId: string) => isIn(applicationId, userId);
const latestAction = async () => (await fixture.readAudit())[0]?.action;

test('lets one more person in on the tab Users: four pages and a button', async () => {
  await admin.updateApplication({ applicationId, restrictAccess: true });
  const grace = await createTestUser(fixture.service, { name: 'Grace Hopper' });
  // The steps after the overview: Applications, the application, Users, the address, "Let in".
  expect((await browser.open('/')).body).toContain('href="/applications"');
  expect((await browser.open('/applications')).body).toContain(`href="/applications/${applicationId}"`);
  expect((await browser.open(`/applications/${applicationId}`)).body).toContain(`href="${users}"`);
  const page = await browser.open(users);
  const done = await browser.submit(page, users, { userId: ` ${grace.email.toUpperCase()}` });
  expect(done.text).toMatch(/May sign in now\. No e-mail was sent\..*Grace Hopper/);
  expect(await isLetIn(grace.id)).toBe(true);
  expect(await latestAction()).toBe('AdminService/AddApplicationUser');

  const removed = await browser.post(`${users}/remove`, { userId: grace.id });
  expect(removed.location).toBe(`${users}?done=let-out`);
  expect(await isLetIn(grace.id)).toBe(false);
  expect((await browser.follow(users)).text).not.toContain('Grace Hopper');
});

test('offers an invitation to an address that nobody has', async () => {
  await admin.updateApplication({ applicationId, restrictAccess: true });
  const email = 'new+er@example.com';
  const refused = await browser.submit(await browser.open(users), users, { userId: email });
  expect(refused).toMatchObject({ status: 422, body: expect.stringMatching(/id="userId-wrong"><bdi>User not found/) });
  const invitations = `/applications/${applicationId}/invitations`;
  const [, link = ''] = /href="([^"]*\/invitations\?[^"]*)"/.exec(refused.body) ?? [];
  const form = (await browser.open(link)).forms.find(({ action }) => action === invitations);
  expect(form?.fields.email).toBe(email);
});

test('the tab Users names the groups that let people in, and everybody who has signed in', async () => {
  await admin.updateApplication({ applicationId, restrictAccess: true });
  const page = await browser.open(users);
  expect(page.body).toContain(`and the members of <a href="/groups/${groupId}">`);
  const everybody = await browser.open(`${users}?everybody`);
  expect(everybody.text).toContain('Ada Lovelace');
  await admin.updateApplication({ applicationId, restrictAccess: false });
  const open = await browser.open(users);
  expect(open.forms.map(({ action }) => action)).not.toContain(users);
  expect(open.text).toContain('Ada Lovelace');
});

test('lists people who were let in page by page, the latest first', async () => {
  const { application } = await admin.createApplication({
    name: 'Many',
    redirectUris: ['https://many.test/'],
    restrictAccess: true,
  });
  const id = application?.id ?? '';
  for (let at = 0; at < 21; at++) {
    fixture.clock.advance(1_000);
    const user = await createTestUser(fixture.service, { name: `Person ${at}.` });
    await admin.addApplicationUser({ applicationId: id, userId: user.id });
  }
  const first = await browser.open(`/applications/${id}/users`);
  expect(first.text).toMatch(/Person 20\..*Person 1\./);
  expect(first.text).not.toContain('Person 0.');
  const [, older = ''] = /href="([^"]+)">Older</.exec(first.body) ?? [];
  expect((await browser.open(older.replaceAll('&#38;', '&'))).text).toContain('Person 0.');
});

test('the page of a user says what lets the user in, and lets in and out', async () => {
  const restricted = async (name: string) =>
    (await admin.createApplication({ name, redirectUris: ['https://r.test/'], restrictAccess: true })).application
      ?.id ?? '';
  const [wiki, intranet] = [await restricted('Wiki'), await restricted('Intranet')];
  const joan = await createTestUser(fixture.service, { name: 'Joan' });
  await admin.updateApplication({ applicationId, restrictAccess: false });
  await beginSession(fixture.service, fixture.tenant, joan);
  await admin.setGroupAccess({ applicationId: intranet, groupId, allowsAccess: true, inClaim: false });
  await admin.addGroupMember({ groupId, userId: joan.id });
  const path = `/users/${joan.id}`;
  const page = await browser.open(path);
  expect(page.text).toMatch(/Intranet Restricted\s?Let in by the group editors\. Never signed in\./);
  expect(page.text).toMatch(/Shop\s?Last used/);
  const letIn = await browser.submit(page, `${path}/applications`, { applicationId: 'wiki' });
  expect(await isIn(wiki, joan.id)).toBe(true);
  expect(letIn.text).toMatch(/May sign in now\..*Wiki Restricted\s?Let in [^.]+\. Never signed in\.\s?Remove/);
  const out = await browser.submit(letIn, `${path}/applications/remove`);
  expect(out.text).toContain('No longer let in by name.');
  expect(out.text).not.toMatch(/Wiki Restricted/);
  const actions = (await fixture.readAudit()).map(({ action }) => action);
  expect(actions).toEqual(
    expect.arrayContaining(['AdminService/AddApplicationUser', 'AdminService/RemoveApplicationUser']),
  );
});

test('lets in to any application by name, by what tells it apart, by client ID and by ID', async () => {
  const create = async (name: string, redirectUri = 'https://t.test/') =>
    (await admin.createApplication({ name, redirectUris: [redirectUri], restrictAccess: true })).application;
  const oldest = await create('The oldest');
  // More than a list of the newest would have.
  for (let at = 0; at < 101; at++) await create(`Later ${at}`);
  const [plan, twin, other, byId] = [
    await create('Plan (b) for all'),
    await create('Twin'),
    await create('TWIN', 'https://other.test/x'),
    await create('By its ID'),
  ];
  const { id: userId } = await createTestUser(fixture.service);
  const path = `/users/${userId}`;
  const letIn = async (typed = '') =>
    browser.submit(await browser.open(path), `${path}/applications`, { applicationId: typed });
  for (const [typed, application] of [
    [' the oldest', oldest],
    ['plan (b)', plan],
    ['twin (t.test)', twin],
    [other?.clientId, other],
    [byId?.id, byId],
  ] as const) {
    expect((await letIn(typed)).text).toContain('May sign in now.');
    expect(await isIn(application?.id ?? '', userId)).toBe(true);
  }
  const refused = async (typed: string) => {
    const { status, body, forms } = await letIn(typed);
    const kept = forms.find(({ action }) => action === `${path}/applications`)?.fields.applicationId;
    return { status, kept, wrong: /id="applicationId-wrong"><bdi>([^<]*)/.exec(body)?.[1] };
  };
  const severally = { status: 422, kept: 'Twin', wrong: expect.stringContaining('fits several') };
  expect(await refused('Twin')).toMatchObject(severally);
  for (const typed of ['Nothing', crypto.randomUUID(), 'client_x', '%', 'The oldest (x.test)'])
    expect(await refused(typed)).toMatchObject({ status: 422, kept: typed, wrong: 'Application not found' });
  expect((await refused('x'.repeat(300))).wrong).toBe('Application not found');
  expect((await refused('x'.repeat(301))).wrong).toContain('300');
});

test('removes a passkey, an account at a provider and a wallet, each after a question', async () => {
  const path = `/users/${samples.params.u}`;
  const wallet = '0x52908400098527886E0F7030069857D2E4169EE7';
  await admin.updateUser({ userId: samples.params.u, walletAddress: wallet });
  const page = await browser.open(path);
  const links = [...page.body.matchAll(/href="([^"]+\/remove)"/g)].map(([, link = '']) => link);
  expect(links).toHaveLength(3);
  const actions = ['DeletePasskey', 'DeleteUserIdentity', 'UpdateUser'];
  for (const [at, link] of links.entries()) {
    const question = await browser.open(link);
    expect(question.heading).toMatch(/^Remove (Apple Passwords|the account at acme|the wallet) of Ada Lovelace$/);
    expect(question.text).not.toContain('no other way to sign in');
    const done = await browser.submit(question, link);
    expect(done.text).toContain('Removed. Sessions that began with it live on.');
    expect(await latestAction()).toBe(`AdminService/${actions[at]}`);
    expect((await browser.open(link)).status).toBe(at === 2 ? 200 : 404);
  }
  const after = await browser.open(path);
  expect(after.body).not.toMatch(/\/remove"/);
  expect(await sql`select from passkeys where user_id = ${samples.params.u}`).toEqual([]);
});

test('support and viewers see the ways and applications, and change none', async () => {
  for (const role of ['support', 'viewer'] as const) {
    const other = await fixture.signIn(OPERATORS[role]);
    const page = await other.open(`/users/${samples.params.u}`);
    expect(page.text).toContain('Ways to sign in');
    expect(page.body).not.toMatch(/\/remove"|Let in to/);
    expect((await other.post(`/users/${samples.params.u}/applications`, { applicationId })).status).toBe(403);
    expect((await other.post(`${users}/remove`, { userId: samples.params.u })).status).toBe(403);
  }
});

test('ends all sessions of a person: the search, the page, the button', async () => {
  const joan = await createTestUser(fixture.service, { name: 'Joan' });
  await beginSession(fixture.service, fixture.tenant, joan);
  const found = await browser.follow(`/search?q=${encodeURIComponent(joan.email)}`);
  const done = await browser.submit(found, `/users/${joan.id}/end-sessions`);
  expect(done.text).toContain('The sessions have ended.');
});

test('rotates a key without typing: the tab, Rotate…, Rotate, and the new key to copy', async () => {
  const { apiKeyId } = await admin.createApiKey({ applicationId });
  const keys = `/applications/${applicationId}/keys`;
  const page = await browser.open(keys);
  expect(page.text).toMatch(/\d{4}-\d\d-\d\d/);
  expect(page.body).toContain(`href="${keys}/${apiKeyId}/rotate"`);
  const rotated = await browser.submit(await browser.open(`${keys}/${apiKeyId}/rotate`), `${keys}/${apiKeyId}/rotate`);
  expect(rotated.text).toMatch(/This key is shown once\..*usk_/);
});

test('a key that nobody named has a short name to type', async () => {
  const { apiKeyId } = await admin.createApiKey({ applicationId });
  await sql`update api_keys set name = null where id = ${apiKeyId}`;
  const path = `/applications/${applicationId}/keys/${apiKeyId}/revoke`;
  const done = await browser.submit(await browser.open(path), path, { name: apiKeyId.slice(-6) });
  expect(done.text).toContain('The key no longer works.');
});

test('a group has a switch for each of its two meanings', async () => {
  const page = await browser.open(`/applications/${applicationId}/groups`);
  expect(page.body).toMatch(/role="switch" aria-checked="true"><span class="hide">May sign in: /);
  expect(page.text).not.toMatch(/Shut out|Hide/);
});
