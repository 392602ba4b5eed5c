import type { Fault } from '../fault.ts';

const doors = 'test/login-page/restricted-access.test.ts';
const unfinished = 'test/domain/lifecycle/finish-change.test.ts';
const losses = 'test/modules/oidc/lost-access.test.ts';

const OF_ALL_DOORS = {
  file: 'src/domain/login/completed-intent.ts',
  find: "access = sql`(${isUnrestricted} or ${callMaySignIn(sql`i.application_id`, p.uuid('userId'))})`,",
  replace: 'access = sql`true`,',
  test: doors,
};

const DELETE_GROUP = { file: 'src/modules/groups/domain/delete-group.ts' };

/** What DeleteGroup promises beside the message to the applications that see the group. */
const DELETE_GROUP_FAULTS: readonly Fault[] = [
  {
    ...DELETE_GROUP,
    what: 'Members of a deleted group stay signed in until a job has come to each',
    find: '${cutOffEveryRefused(sql`losing`)}',
    replace: '${cutOffEveryRefused(sql`losing where false`)}',
    test: unfinished,
    title: /DeleteGroup/,
  },
  {
    ...DELETE_GROUP,
    what: 'DeleteGroup ends what another group lets in',
    file: 'src/domain/lifecycle/finish-change.ts',
    find: '), ${cutOffLost()}, ${messagesOf',
    replace: '), ${cutOffLost(sql`false`)}, ${messagesOf',
    test: losses,
    title: /stays signed in after DeleteGroup/,
  },
  {
    ...DELETE_GROUP,
    what: 'The process that deletes a group remembers the sessions of its members',
    find: 'return goOn(call, changeId);',
    replace: 'return goOn(call, changeId).then(() => new Set());',
    test: 'test/contract/revocations.test.ts',
    title: /After DeleteGroup a session/,
  },
  {
    ...DELETE_GROUP,
    what: 'The audit log does not have DeleteGroup',
    find: 'from: sql`deleted`, applicationId: noApplication',
    replace: 'from: sql`deleted where false`, applicationId: noApplication',
    test: 'test/modules/groups/groups.test.ts',
    title: /is created, read, changed and deleted/,
  },
  {
    ...DELETE_GROUP,
    what: 'DeleteGroup accepts the ID of no group',
    find: "if (!deleted) throw new ServiceError('GROUP_NOT_FOUND')",
    replace: 'if (!deleted) return new Set()',
    test: 'test/modules/groups/groups.test.ts',
    title: /of DeleteGroup to an unknown ID/,
  },
];

/** Who enters a restricted application, by each door, and what ends with the access. */
export const ACCESS_FAULTS: readonly Fault[] = [
  ...['code', 'wallet', 'passkey', 'provider', 'CompleteLogin'].map((door) => ({
    ...OF_ALL_DOORS,
    what: `Everybody enters a restricted application by ${door}`,
    title: new RegExp(`by ${door}.*is neither`),
  })),
  {
    what: 'Everybody enters a restricted application by "Continue as" and prompt=none',
    file: 'src/modules/remembered-sign-ins/domain/complete-remembered-login.ts',
    find: ' and (not a.restrict_access or ${isAllowed})',
    replace: '',
    test: doors,
    title: /by Continue as.*is neither|prompt=none of a user who is neither/,
  },
  {
    what: 'Strangers get codes of a restricted application',
    file: 'src/domain/login/login-intent.ts',
    find: 'sql<boolean>`${applications.allowSignUp} and not ${applications.restrictAccess}`',
    replace: 'applications.allowSignUp',
    test: doors,
    title: /a stranger cannot sign up/,
  },
  {
    what: 'A group without access lets its members in',
    file: 'src/domain/access/has-access.ts',
    find: ' and g.allows_access and ${counts}`',
    replace: ' and ${counts}`',
    test: doors,
    title: /is neither/,
  },
  {
    what: 'A login asks for every restricted application who may enter it',
    file: 'src/domain/login/completed-intent.ts',
    find: 'callMaySignIn(sql`i.application_id`',
    replace: 'callMaySignIn(sql`a.id`',
    test: 'test/domain/access/has-access.test.ts',
    title: /is called once/,
  },
  {
    what: 'A removal leaves what a removal at the same time counts on',
    file: 'src/domain/lifecycle/lost-access.ts',
    find: '  await cutOffRefused(call, found.affected);\n',
    replace: '',
    test: losses,
    title: /two removals at the same time/,
  },
  {
    what: 'A removal ends what another group lets in',
    file: 'src/domain/lifecycle/lost-access.ts',
    find: 'sql`f.user_id`, isLeft)',
    replace: 'sql`f.user_id`, sql`false`)',
    test: losses,
    title: /stays signed in after/,
  },
  {
    what: 'A switch in the console takes back another one at the same time',
    file: 'src/domain/groups/set-group-access.ts',
    find: 'where ${ofRow} for update',
    replace: 'where ${ofRow}',
    test: 'test/domain/groups/change-group-access.test.ts',
    title: /each keeps what the other has changed/,
  },
  {
    what: 'Applications do not learn that a group is deleted',
    file: 'src/domain/lifecycle/finish-change.ts',
    find: 'messagesOf(...lossMessages, toSeeing)',
    replace: 'messagesOf(...lossMessages)',
    test: 'test/modules/oidc/groups.test.ts',
    title: /applications that see a group learn of its changes/,
  },
  ...DELETE_GROUP_FAULTS,
  {
    what: 'Users stay in an application that becomes restricted, until a job has come to each',
    file: 'src/domain/applications/update-application.ts',
    find: '${cutOffEveryRefused(sql`closed`)}',
    replace: '${cutOffEveryRefused(sql`closed where false`)}',
    test: unfinished,
    title: /UpdateApplication/,
  },
  {
    what: 'Two replicas tell of the same users',
    file: 'src/domain/core/unfinished-changes.ts',
    find: '    where ${isAt()} returning *',
    replace: "    where id = ${p.uuid('id')} returning *",
    test: unfinished,
    title: /lets nobody in any more/,
  },
  {
    what: 'Nobody looks a second time',
    file: 'src/domain/lifecycle/finish-change.ts',
    find: '    { waitMs: SECOND_LOOK_MS, read: readBy(selectSessions), end: endRefused },\n',
    replace: '',
    test: unfinished,
    title: /by the second look/,
  },
];
