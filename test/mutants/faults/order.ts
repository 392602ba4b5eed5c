/** Which check comes first, and who may enter. */
import type { Fault } from '../fault.ts';

export const ORDER_FAULTS: readonly Fault[] = [
  {
    what: 'Everybody enters a restricted application by code',
    find: 'access = sql`not a.restrict_access`,',
    replace: 'access = sql`true`,',
    test: 'test/integration/login-page/restricted-access.test.ts',
    title: /by code.*is neither/,
  },
  {
    what: 'Everybody enters a restricted application by "Continue as" and prompt=none',
    find: ' and (not a.restrict_access or ${isAllowed})',
    replace: '',
    test: 'test/integration/login-page/restricted-access.test.ts',
    title: /by Continue as.*is neither|prompt=none of a user who is neither/,
  },
  {
    what: 'A group without access lets its members in',
    find: ' and g.allows_access and ${counts}`',
    replace: ' and ${counts}`',
    test: 'test/integration/login-page/restricted-access.test.ts',
    title: /is neither/,
  },
  {
    what: 'A young passkey signs in to applications for passkeys',
    find: "and (not ${p.boolean('isYoung')} or a.login_methods <> array['passkey'])",
    replace: '',
    test: 'test/integration/modules/passkeys/young-passkeys.test.ts',
    title: /only after 7 days/,
  },
  {
    what: 'A passkey in place of a removed one counts at once',
    find: "or ${count} = 0 and coalesce(users.passkey_removed_at <= ${p.instant('removedBefore')}, true)",
    replace: 'or ${count} = 0',
    test: 'test/integration/modules/passkeys/young-passkeys.test.ts',
    title: /in place of one that was removed/,
  },
  {
    what: 'A sign-in that is too weak completes a login',
    find: ' and ${assurance} >= ${requiredAssurance} and ${condition}',
    replace: `
      and \${condition}`,
    test: 'test/contract/login.test.ts',
    title: /demands more than one factor and is TWO_FACTORS is completed/,
  },
  {
    what: 'A login lowers what its application demands',
    find: 'sql`greatest(i.required_assurance, a.required_assurance)`',
    replace: 'sql`i.required_assurance`',
    test: 'test/integration/login-page/assurance.test.ts',
    title: /by OpenID Connect a sign-in by own page where PHISHING_RESISTANT is demanded, and ANY by the login/,
  },
  {
    what: 'A continued sign-in gains the highest level',
    find: 'assurance = r.assurance',
    replace: 'assurance = 3',
    test: 'test/integration/login-page/assurance.test.ts',
    title: /a sign-in by remembered code where ANY is demanded, and ANY by the login/,
  },
  {
    what: 'An application accepts auth tokens of sign-ins that are too weak',
    find: 'login.assurance < (application.requiredAssurance ?? ONE_FACTOR)',
    replace: 'login.assurance < ONE_FACTOR',
    test: 'test/integration/login-page/assurance.test.ts',
    title: /auth tokens of weaker sign-ins are refused/,
  },
  {
    what: 'Sessions of sign-ins that are too weak are renewed',
    find: "sql`and coalesce(s.assurance, 1) >= ${p.integer('requiredAssurance')}`",
    replace: 'sql``',
    test: 'test/integration/login-page/assurance.test.ts',
    title: /sessions of weaker sign-ins live on, and are not renewed/,
  },
  {
    what: 'Codes of sign-ins that are too weak give tokens',
    find: " and coalesce(assurance, 1) >= ${p.integer('requiredAssurance')} ",
    replace: '',
    test: 'test/integration/login-page/assurance.test.ts',
    title: /codes and refresh tokens of weaker sign-ins are refused/,
  },
  {
    what: 'Refresh tokens of sign-ins that are too weak give tokens',
    find: " and g.assurance >= ${p.integer('requiredAssurance')}`",
    replace: '`',
    test: 'test/integration/login-page/assurance.test.ts',
    title: /codes and refresh tokens of weaker sign-ins are refused/,
  },
  {
    what: 'A code works before the user has consented',
    find: 'if (login.clientName !== null) return consentUrlOf(issuer, keys.consent, login.loginIntentId);',
    replace: '',
    test: 'test/integration/modules/oidc/metadata-clients.test.ts',
    title: /consent is needed before a code works, and given once/,
  },
  {
    what: 'A scan that is sent again is decided again',
    find: 'if (earlier) return { scanId',
    replace: 'if (false) return { scanId',
    test: 'test/contract/check-in-rules.test.ts',
    title: /^a scan gets its first result again, whatever happened since/,
  },
  {
    what: 'Rules are asked before an existing check-in',
    find: "if (checkIn) return { scanId, outcome: 'ALREADY_CHECKED_IN', reason: null, checkIn };",
    replace:
      "if (checkIn && !refusalOf(event, scan, { listed, admitted: admitted.size, now })) return { scanId, outcome: 'ALREADY_CHECKED_IN', reason: null, checkIn };",
    test: 'test/contract/check-in-rules.test.ts',
    title: /^UpdateEvent keeps the check-ins beyond a new capacity/,
  },
  {
    what: 'A body is read before the admin key is checked',
    find: "const actor = isAdmin ? ({ actorType: 'admin_key', actor: requireAdmin(this.#parts, context, method) } as const) : NOBODY; call.outcome = { code: 'ok', isAuthenticated: isAdmin }; const key = readKey(); const fields = await readFields(); ",
    replace: `const fields = await readFields();
      const actor = isAdmin
        ? ({ actorType: 'admin_key', actor: requireAdmin(this.#parts, context, method) } as const)
        : NOBODY;
      call.outcome = { code: 'ok', isAuthenticated: isAdmin };
      const key = readKey();
`,
    test: 'test/contract/authentication.test.ts',
    title: /A body without a credential, .* is 401 when it is/,
  },
  {
    what: 'An application prolongs what an operator has given',
    find: "or ${p.boolean('isByOperator')} or",
    replace: 'or true or',
    test: 'test/integration/contract/invitations.test.ts',
    title: /is not prolonged or shortened/,
  },
  {
    what: 'An invitation lets in until its job has come',
    find: "v.expires_at <= ${p.instant('now')})`",
    replace: "v.expires_at <= ${p.instant('now')} - interval '1 day')`",
    test: 'test/integration/contract/invitations.test.ts',
    title: /lets nobody in once it has expired/,
  },
  {
    what: 'A sign-in on behalf of a user accepts the invitation',
    find: 'if (intent.isInvited && onBehalfBy === null)',
    replace: 'if (intent.isInvited)',
    test: 'test/integration/contract/invitations.test.ts',
    title: /on behalf of the user/,
  },
];
