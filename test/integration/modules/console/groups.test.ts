/** Groups in the console: their members, and what they mean to applications. */
import { afterAll, beforeEach, expect, test } from 'vitest';
import { OPERATORS } from '../../../support/console-fixture.ts';
import { fillPath, openSampledConsole } from '../../../support/console-samples.ts';
import { adminClient, createTestUser, type TestUser } from '../../../support/service.ts';

const { fixture, samples, browser } = await openSampledConsole(OPERATORS.admin);
afterAll(() => fixture.close());

const admin = adminClient(fixture.service);
const applicationId = samples.params.a;
const ofApplication = `/applications/${applicationId}/groups`;
let groupId: string;
let path: string;
let count = 0;

const readMeaning = async () => {
  const { groups } = await admin.listApplicationGroups({ applicationId });
  return groups.find((group) => group.groupId === groupId);
};

beforeEach(async () => {
  const { group } = await admin.createGroup({ name: `team-${count++}` });
  groupId = group?.groupId ?? '';
  path = `/groups/${groupId}`;
});

test('a group is created and renamed, and deleted once its name is typed', async () => {
  const page = await browser.open('/groups');
  const refused = await browser.submit(page, '/groups', { name: 'Has Capitals', displayName: 'Typed' });
  expect(refused.status).toBe(422);
  expect(refused.body).toContain('id="name-wrong"');
  const created = await browser.submit(refused, '/groups', { name: 'authors' });
  expect(created.heading).toBe('Typed');
  expect(created.text).toContain('Created.');
  const taken = await browser.submit(await browser.open('/groups'), '/groups', { name: 'authors' });
  expect(taken.body).toMatch(/id="name-wrong"><bdi>Group already exists/);
  const own = created.forms.find(({ action }) => /^\/groups\/[^/]+$/.test(action))?.action ?? '';
  const saved = await browser.submit(created, own, { name: 'writers', displayName: '' });
  expect(saved.heading).toBe('writers');
  const deletion = await browser.open(`${own}/delete`);
  expect((await browser.submit(deletion, `${own}/delete`, { name: 'authors' })).status).toBe(422);
  expect((await browser.submit(deletion, `${own}/delete`, { name: 'writers' })).text).toContain('Deleted.');
  expect((await browser.open(own)).status).toBe(404);
});

test.each([
  ['address', ({ email }: TestUser) => email],
  ['ID', ({ id }: TestUser) => id],
])('a group is created with a first member, by %s', async (name, typed) => {
  const user = await createTestUser(fixture.service);
  const form = { name: `first-by-${name.toLowerCase()}`, userId: typed(user) };
  const created = await browser.submit(await browser.open('/groups'), '/groups', form);
  expect(created.body).toContain(`<a href="/users/${user.id}">`);
});

test('the page of a group has its settings closed until they are refused, and none if a file declares it', async () => {
  const page = await browser.open(path);
  expect(page.body).toContain('<details class="panel sheet"><summary>Edit the group');
  const refused = await browser.submit(page, path, { name: 'Has Capitals' });
  expect(refused.body).toContain('<details class="panel sheet" open><summary>Edit the group');
  const { sql } = fixture.service.database;
  await sql`update groups set declared_by_file = true where id = ${groupId}`;
  const declared = await browser.open(path);
  expect(declared.text).not.toMatch(/Edit the group|Delete…/);
  expect(declared.forms.map(({ action }) => action)).toContain(`${path}/members`);
});

test('users are added by address and by ID, shown on both pages, and removed', async () => {
  const ada = await createTestUser(fixture.service, { name: 'Ada King' });
  const joan = await createTestUser(fixture.service);
  const add = `${path}/members`;
  const byAddress = await browser.submit(await browser.open(path), add, { userId: ` ${ada.email.toUpperCase()} ` });
  expect(byAddress.text).toContain('Ada King');
  const both = await browser.submit(byAddress, add, { userId: joan.id });
  expect(both.body).toContain(`href="/users/${joan.id}"`);
  expect((await browser.open(`/users/${ada.id}`)).body).toContain(`href="${path}"`);
  await browser.post(`${add}/remove`, { userId: ada.id });
  const { members } = await admin.listGroupMembers({ groupId });
  expect(members.map(({ userId }) => userId)).toEqual([joan.id]);
  expect((await browser.open(`/users/${ada.id}`)).body).not.toContain(`href="${path}"`);
});

test('an unknown address is refused at its field, and the form of the group keeps its values', async () => {
  await admin.updateGroup({ groupId, displayName: 'Kept' });
  const page = await browser.open(path);
  const refused = await browser.submit(page, `${path}/members`, { userId: 'nobody@example.com' });
  expect(refused.status).toBe(422);
  expect(refused.body).toMatch(/id="userId-wrong"><bdi>User not found/);
  expect(refused.forms.find(({ action }) => action === path)?.fields).toMatchObject({ displayName: 'Kept' });
  await browser.submit(refused, path, { name: 'still-named' });
  expect(await admin.getGroup({ groupId })).toMatchObject({ group: { name: 'still-named', displayName: 'Kept' } });
});

test('an application gets a group by its name, and each of its two meanings changes alone', async () => {
  const { group } = await admin.getGroup({ groupId });
  const page = await browser.open(ofApplication);
  const unknown = await browser.submit(page, ofApplication, { group: 'no-such-group' });
  expect(unknown.body).toMatch(/id="group-wrong"><bdi>Group not found/);
  await browser.submit(page, ofApplication, { group: group?.name ?? '' });
  expect(await readMeaning()).toMatchObject({ allowsAccess: true, inClaim: true });
  // As somebody else has changed meanwhile: what the page has shown of the other meaning does not come back.
  await admin.setGroupAccess({ applicationId, groupId, allowsAccess: false, inClaim: true });
  await browser.post(`${ofApplication}/change`, { groupId, inClaim: 'false' });
  expect(await readMeaning()).toBeUndefined();
  await browser.post(`${ofApplication}/change`, { groupId, allowsAccess: 'true' });
  expect(await readMeaning()).toMatchObject({ allowsAccess: true, inClaim: false });
  await browser.post(`${ofApplication}/change`, { groupId, allowsAccess: 'false' });
  expect(await readMeaning()).toBeUndefined();
});

test('a group is added with at least one meaning', async () => {
  const { group } = await admin.getGroup({ groupId });
  const reply = await browser.post(ofApplication, { group: group?.name ?? '' });
  expect(reply.status).toBe(422);
  expect(reply.body).toContain('id="group-wrong"');
});

test('an invitation names groups, and an unknown one is refused at its field', async () => {
  const path = `/applications/${applicationId}/invitations`;
  const { group } = await admin.getGroup({ groupId });
  const typed = { email: 'invited@example.com', group: `${group?.name}\r\nnobody` };
  const refused = await browser.submit(await browser.open(path), path, typed);
  expect(refused).toMatchObject({ status: 422, body: expect.stringContaining('id="group-wrong"') });
  await browser.submit(refused, path, { ...typed, group: `${group?.name}\r\n` });
  const [invitation] = await fixture.service.database
    .sql`select group_ids from invitations where email = ${typed.email}`;
  expect(invitation).toEqual({ group_ids: [groupId] });
});

test('the page of an application says whether groups decide who may sign in', async () => {
  const notRestricted = 'do not restrict access';
  expect((await browser.open(ofApplication)).text).toContain(notRestricted);
  await admin.updateApplication({ applicationId, restrictAccess: true });
  expect((await browser.open(ofApplication)).text).not.toContain(notRestricted);
});

test('a viewer sees all of it, and changes none', async () => {
  const viewer = await fixture.signIn(OPERATORS.viewer);
  for (const route of ['/groups', '/groups/:g', '/applications/:a/groups']) {
    const page = await viewer.open(fillPath(route, samples.params));
    expect(page.text).toContain(route === '/groups/:g' ? samples.email : 'editors');
    expect(page.forms.map(({ action }) => action).filter((action) => /group/.test(action))).toEqual([]);
  }
  const member = { userId: samples.params.u };
  for (const [form, fields] of [
    ['/groups', { name: 'mine' }],
    [path, { name: 'mine' }],
    [`${path}/members`, member],
    [`${path}/members/remove`, member],
    [`${path}/delete`, { name: 'mine' }],
    [ofApplication, { group: 'editors', allowsAccess: 'on' }],
    [`${ofApplication}/change`, { groupId, allowsAccess: 'true' }],
  ] satisfies [string, Record<string, string>][]) {
    expect((await viewer.post(form, fields)).status).toBe(403);
  }
  expect(await admin.listGroupMembers({ groupId })).toMatchObject({ members: [] });
  expect(await readMeaning()).toBeUndefined();
});

test('the search box knows the ID of a group', async () => {
  expect((await browser.open(`/search?q=${groupId}`)).location).toBe(path);
});
