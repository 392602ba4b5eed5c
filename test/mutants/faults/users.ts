import { type Fault, inFolder, uncapitalize } from '../fault.ts';

const revocations = 'test/contract/revocations.test.ts';
const users = 'test/contract/users.test.ts';
const undo = 'test/domain/account/undo-address-change.test.ts';

/** Users, sessions and what ends them. */
export const USER_FAULTS: readonly Fault[] = [
  ...inFolder('src/domain', [
    {
      what: 'EraseUser leaves the user in the lists of applications',
      file: 'users/personal-data.ts',
      find: '  applicationUsers,\n',
      replace: '',
      test: users,
      title: /whose ID is left in few tables/,
    },
    {
      what: 'EraseUser leaves the origins that the user signed in from',
      file: 'users/personal-data.ts',
      find: '  knownOrigins,\n',
      replace: '',
      test: users,
      title: /whose ID is left in few tables/,
    },
    {
      what: 'EraseUser leaves codes that were sent to the address',
      file: 'users/end-user.ts',
      find: 'lower(c.email) = lower(known.email)',
      replace: 'false',
      test: users,
      title: /erases a user from every table/,
    },
    {
      what: 'EraseUser leaves messages that the wallet was to sign',
      file: 'users/end-user.ts',
      find: 'c.address = lower(known.wallet_address)',
      replace: 'false',
      test: users,
      title: /erases a user from every table/,
    },
    {
      what: 'A link that restores an e-mail address is never void',
      file: 'account/undo-address-change.ts',
      find: "${p.instant('changedAt')} <@ coalesce(void_undo_links, '{}') as is_void",
      replace: 'false as is_void',
      test: undo,
      title: /the earlier first/,
    },
    {
      what: 'A link that restores an e-mail address voids the links of earlier changes',
      file: 'account/undo-address-change.ts',
      find: "${rangeOf(p.instant('changedAt'), sql`w.email_changed_at`)}",
      replace: '${rangeOf(sql`null`, sql`w.email_changed_at`)}',
      test: undo,
      title: /works after the link of a later change/,
    },
    {
      what: 'The user voids the link that restores the e-mail address by another change',
      file: 'users/update-user.ts',
      find: 'keepsUndoLinks: true',
      replace: 'keepsUndoLinks: false',
      test: undo,
      title: /restores the old address after later changes/,
    },
    {
      what: 'An operator who changes the e-mail address voids no link',
      file: 'users/update-user.ts',
      find: "or ${p.boolean('keepsUndoLinks')} then",
      replace: "or ${p.boolean('keepsUndoLinks')} is not null then",
      test: undo,
      title: /is void after a change by an operator/,
    },
    {
      what: 'Changes of an e-mail address at the same instant have one instant',
      file: 'users/email-changes.ts',
      find: "interval '1 millisecond'",
      replace: "interval '0'",
      test: undo,
      title: /each next one is equal/,
    },
    {
      what: 'CheckSession takes 0 for no bound of staleness',
      file: 'sessions/check-session.ts',
      find: 'maxStalenessMs ?? MAX_STALENESS_MS',
      replace: 'maxStalenessMs || MAX_STALENESS_MS',
      test: 'test/contract/sessions.test.ts',
      title: /another replica sees a revocation at once/,
    },
  ]),
  {
    what: 'DeactivateUser is not seen at once by the process that has run it',
    file: 'src/api/handlers/admin-handlers.ts',
    find: 'await liveSessions.forgetUser(user.id);',
    replace: '',
    test: revocations,
    title: /After DeactivateUser a session/,
  },
  ...['DeleteUser', 'EraseUser', 'RemoveApplicationUser'].map((name) => ({
    what: `${name} is not seen at once by the process that has run it`,
    file: 'src/api/handlers/admin-handlers.ts',
    find: `liveSessions.forgetUser(await ${uncapitalize(name)}(call, fields)),`,
    replace: `${uncapitalize(name)}(call, fields),`,
    test: revocations,
    title: new RegExp(`After ${name} a session`),
  })),
  {
    what: 'RevokeSession is not seen at once by the process that has run it',
    file: 'src/api/handlers/session-handlers.ts',
    find: 'const userId = await revokeSession(call, parts, fields);\n      if (userId) await liveSessions.forgetUser(userId);',
    replace: 'await revokeSession(call, parts, fields);',
    test: revocations,
    title: /After RevokeSession a session/,
  },
  {
    what: 'RevokeUserSessions is not seen at once by the process that has run it',
    file: 'src/api/handlers/session-handlers.ts',
    find: 'liveSessions.forgetUser(await revokeUserSessions(call, fields)),',
    replace: 'revokeUserSessions(call, fields),',
    test: revocations,
    title: /After RevokeUserSessions a session/,
  },
];
