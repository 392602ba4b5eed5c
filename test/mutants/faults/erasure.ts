/** What must be gone after an erasure, and what must stay. */
import type { Fault } from '../fault.ts';

export const ERASURE_FAULTS: readonly Fault[] = [
  {
    what: 'EraseUser leaves the user in the lists of applications',
    find: "applicationUsers.applicationId, expires: [], erasedBy: ['user']",
    replace: 'applicationUsers.applicationId, expires: [], erasedBy: []',
    test: 'test/contract/users.test.ts',
    title: /whose ID is left in few tables/,
  },
  {
    what: 'EraseUser leaves the origins that the user signed in from',
    find: "knownOrigins.expiresAt }], erasedBy: ['user']",
    replace: `knownOrigins.expiresAt }],
    erasedBy: []`,
    test: 'test/contract/users.test.ts',
    title: /whose ID is left in few tables/,
  },
  {
    what: 'EraseUser leaves codes that were sent to the address',
    find: 'lower(c.email) = lower(known.email)',
    replace: 'false',
    test: 'test/contract/users.test.ts',
    title: /erases a user from every table/,
  },
  {
    what: 'EraseUser leaves messages that the wallet was to sign',
    find: 'c.address = lower(known.wallet_address)',
    replace: 'false',
    test: 'test/contract/users.test.ts',
    title: /erases a user from every table/,
  },
  {
    what: 'A link that restores an e-mail address is never void',
    find: "${p.instant('changedAt')} <@ coalesce(void_undo_links, '{}') as is_void",
    replace: 'false as is_void',
    test: 'test/integration/modules/account/domain/undo-address-change.test.ts',
    title: /the earlier first/,
  },
  {
    what: 'A revoked invitation leaves people inside a restricted application',
    find: 'losingIds.map((applicationId) => [applicationId, userId])',
    replace: '[]',
    test: 'test/integration/domain/lifecycle/finish-change.test.ts',
    title: /a revoked invitation whose process ends/,
  },
  {
    what: 'A withdrawn invitation erases a user whom an operator has named',
    find: 'where v.user_id = c.id',
    replace: 'where false',
    test: 'test/integration/contract/invitations.test.ts',
    title: /an operator has given a name/,
  },
];
