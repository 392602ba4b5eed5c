/** Groups, their members, and what they mean to applications. Who may sign in by them: restricted-access.test.ts. */
import { randomUUID } from 'node:crypto';
import type { DescMethodUnary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { refusal, success, validationFailed } from '../support/answers.ts';
import { sampleFields } from '../support/samples.ts';
import { adminClient, createTenant, createTestGroup, createTestUser, newGroupName } from '../support/service.ts';
import { openContractFixture, UNKNOWN_ID } from './contract-fixture.ts';

const fixture = await openContractFixture();
const { service, callWith } = fixture;
const { sql } = service.database;
const admin = adminClient(service);
const { createGroup, getGroup, updateGroup, deleteGroup, listGroupMembers } = AdminService.method;
const { addGroupMember, removeGroupMember, setGroupAccess, listUserGroups, listApplicationGroups } =
  AdminService.method;

const auditOf = (resource: string) => sql`
  select action, application_id from audit_events where resource = ${resource} order by occurred_at, action`;

describe('a group', () => {
  it('is created, read, changed and deleted, each with an event in the audit log', async () => {
    const name = newGroupName();
    const created = await callWith(createGroup, { name, displayName: 'Redaktion' });
    const createdAt = expect.any(String);
    const group = { groupId: expect.any(String), name, displayName: 'Redaktion', createdAt, managedByFile: false };
    expect(created).toEqual(success({ group }));
    const { groupId } = (created.data as { group: { groupId: string } }).group;
    expect(await callWith(getGroup, { groupId })).toEqual(success({ group }));
    const renamed = `${name}-2`;
    expect(await callWith(updateGroup, { groupId, name: renamed, displayName: 'Redaktion' })).toEqual(
      success({ group: { ...group, name: renamed, displayName: 'Redaktion' } }),
    );
    expect(await callWith(updateGroup, { groupId, updateMask: 'displayName' })).toMatchObject({ code: 'ok' });
    const { displayName: _, ...bare } = group;
    expect(await callWith(getGroup, { groupId })).toEqual(success({ group: { ...bare, name: renamed } }));
    expect(await callWith(deleteGroup, { groupId })).toMatchObject({ code: 'ok' });
    expect(await callWith(getGroup, { groupId })).toEqual(refusal('not_found', 'Group not found'));
    expect((await auditOf(groupId)).map(({ action }) => action)).toEqual([
      'AdminService/CreateGroup',
      'AdminService/UpdateGroup',
      'AdminService/UpdateGroup',
      'AdminService/DeleteGroup',
    ]);
  });

  it.each(['', 'Editors', '-editors', 'éditeurs', 'a b', 'a'.repeat(64)])(
    'is not named %j, which other products could not compare',
    async (name) => {
      expect(await callWith(createGroup, { name })).toEqual(validationFailed('name'));
    },
  );

  it('has a name that no other group has', async () => {
    const [one, other] = [await createTestGroup(service), await createTestGroup(service)];
    const taken = refusal('already_exists', 'Group already exists');
    expect(await callWith(createGroup, { name: one.name })).toEqual(taken);
    expect(await callWith(updateGroup, { groupId: other.groupId, name: one.name })).toEqual(taken);
    const name = newGroupName();
    const answers = await Promise.all([1, 2, 3].map(() => callWith(createGroup, { name })));
    expect(answers.filter(({ code }) => code === 'ok')).toHaveLength(1);
  });
});

describe('the members of a group', () => {
  it('are added and removed, once each', async () => {
    const { groupId, name } = await createTestGroup(service);
    const { id: userId, email } = await createTestUser(service);
    for (let time = 0; time < 2; time++) await admin.addGroupMember({ groupId, userId });
    expect(await callWith(listGroupMembers, { groupId })).toMatchObject(success({ members: [{ userId, email }] }));
    expect(await callWith(listUserGroups, { userId })).toMatchObject(success({ groups: [{ groupId, name }] }));
    for (let time = 0; time < 2; time++) await admin.removeGroupMember({ groupId, userId });
    expect(await callWith(listGroupMembers, { groupId })).toMatchObject(success({ members: [] }));
    expect(await callWith(listUserGroups, { userId })).toMatchObject(success({ groups: [] }));
    expect((await auditOf(userId)).map(({ action }) => action)).toEqual([
      'AdminService/CreateUser',
      'AdminService/AddGroupMember',
      'AdminService/RemoveGroupMember',
    ]);
  });

  it('leave it when they are erased, and are not listed when they are deleted', async () => {
    const users = [await createTestUser(service), await createTestUser(service)];
    const [erased, deleted] = users.map(({ id }) => id) as [string, string];
    const { groupId } = await createTestGroup(service, { userIds: [erased, deleted] });
    await admin.eraseUser({ userId: erased });
    await admin.deleteUser({ userId: deleted });
    expect((await admin.listGroupMembers({ groupId })).members).toEqual([]);
    expect(await sql`select user_id from group_members where group_id = ${groupId}`).toEqual([{ user_id: deleted }]);
    for (const userId of [erased, deleted, UNKNOWN_ID])
      expect(await callWith(addGroupMember, { groupId, userId })).toEqual(refusal('not_found', 'User not found'));
  });
});

describe('what a group means to an application', () => {
  it('is set, listed by name, and removed when it means nothing', async () => {
    const { id: applicationId } = await createTenant(service);
    const [editors, readers] = [
      await createTestGroup(service, { name: `b${randomUUID()}` }),
      await createTestGroup(service, { name: `a${randomUUID()}` }),
    ];
    await admin.setGroupAccess({ groupId: editors.groupId, applicationId, allowsAccess: true });
    await admin.setGroupAccess({ groupId: readers.groupId, applicationId, inClaim: true });
    const shown = (group: typeof editors, allowsAccess: boolean, inClaim: boolean) => ({
      groupId: group.groupId,
      name: group.name,
      allowsAccess,
      inClaim,
    });
    expect(await callWith(listApplicationGroups, { applicationId })).toEqual(
      success({ groups: [shown(readers, false, true), shown(editors, true, false)] }),
    );
    for (let time = 0; time < 2; time++) await admin.setGroupAccess({ groupId: readers.groupId, applicationId });
    expect(await callWith(listApplicationGroups, { applicationId })).toEqual(
      success({ groups: [shown(editors, true, false)] }),
    );
    await admin.deleteGroup({ groupId: editors.groupId });
    expect(await callWith(listApplicationGroups, { applicationId })).toEqual(success({ groups: [] }));
    expect(await auditOf(readers.groupId)).toEqual([
      { action: 'AdminService/CreateGroup', application_id: expect.any(String) },
      { action: 'AdminService/SetGroupAccess', application_id: applicationId },
      { action: 'AdminService/SetGroupAccess', application_id: applicationId },
    ]);
  });
});

describe('there are at most', () => {
  const tooMany = refusal('resource_exhausted', 'Too many groups');
  /** Stores groups as CreateGroup does. */
  const insertGroups = (count: number) => sql<{ id: string }[]>`
    insert into groups (id, name, created_at) select gen_random_uuid(), gen_random_uuid(), now()
    from generate_series(1, ${count}) returning id`;

  it('100 groups of a user, and 100 of an application', async () => {
    const { id: applicationId } = await createTenant(service);
    const { id: userId } = await createTestUser(service);
    for (const { id: groupId } of await insertGroups(100)) {
      await sql`insert into group_members values (${groupId}, ${userId}, now())`;
      await sql`insert into application_groups values (${applicationId}, ${groupId}, true, false)`;
    }
    const { groupId } = await createTestGroup(service);
    expect(await callWith(addGroupMember, { groupId, userId })).toEqual(tooMany);
    expect(await callWith(setGroupAccess, { groupId, applicationId, inClaim: true })).toEqual(tooMany);
    // What is there can still be changed.
    const [known] = await sql`select group_id from group_members where user_id = ${userId} limit 1`;
    await admin.addGroupMember({ groupId: known?.group_id, userId });
    await admin.setGroupAccess({ groupId: known?.group_id, applicationId, inClaim: true });
    await admin.setGroupAccess({ groupId, applicationId });
  });

  it('1,000 groups', async () => {
    const [present] = await sql`select count(*)::int as count from groups where deleted_at is null`;
    const [gone] = await insertGroups(1_000 - present?.count);
    await sql`update groups set deleted_at = now() where id = ${gone?.id ?? ''}`;
    await admin.createGroup({ name: newGroupName() });
    expect(await callWith(createGroup, { name: newGroupName() })).toEqual(tooMany);
    await sql`delete from groups`;
  });
});

describe.each<[what: string, field: string, methods: DescMethodUnary[]]>([
  ['Group', 'groupId', [getGroup, updateGroup, deleteGroup, listGroupMembers]],
  ['Group', 'groupId', [addGroupMember, removeGroupMember, setGroupAccess]],
  ['User', 'userId', [addGroupMember, removeGroupMember, listUserGroups]],
  ['Application', 'applicationId', [setGroupAccess, listApplicationGroups]],
])('%s not found is the answer', (what, field, methods) => {
  it.each(methods)('of $name to an unknown ID', async (method) => {
    const fields = { ...(await sampleFields(method, fixture)), [field]: UNKNOWN_ID };
    expect(await callWith(method, fields)).toEqual(refusal('not_found', `${what} not found`));
  });
});
