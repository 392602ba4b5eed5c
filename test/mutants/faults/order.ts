/** Which check comes first, and who may enter. */
import type { Fault } from '../fault.ts';

export const ORDER_FAULTS: readonly Fault[] = [
  {
    what: 'A passkey in place of a removed one counts at once',
    find: "when ${hasPasskey} or users.passkey_removed_at > ${p.instant('removedBefore')} then",
    replace: 'when ${hasPasskey} then',
    test: 'test/integration/modules/passkeys/young-passkeys.test.ts',
    title: /in place of one that was removed/,
  },
  {
    what: 'A second factor of a provider is read from userinfo',
    find: 'assurance: levelOfClaims(this.#provider.assurance, claims)',
    replace: 'assurance: levelOfClaims(this.#provider.assurance, all)',
    test: 'test/modules/providers/assurance-table.test.ts',
    title: /userinfo, which nobody has signed, shows no second factor/,
  },
  {
    what: 'A young account at a provider has two factors',
    find: 'assurance: isNew ? ONE_FACTOR : assurance',
    replace: 'assurance',
    test: 'test/integration/modules/providers/provider-assurance.test.ts',
    title: /an account counts after 7 days for somebody with a passkey, by a code/,
  },
  {
    what: 'A provider opens the console for an operator who needs a passkey',
    find: 'assurance >= PHISHING_RESISTANT && isOwnMethod(method)',
    replace: 'assurance >= PHISHING_RESISTANT',
    test: 'test/modules/console/signed-in-operator.test.ts',
    title: /an account at a provider does not open the console/,
  },
  {
    what: 'A continued sign-in gains the highest level',
    find: 'assurance = r.assurance',
    replace: 'assurance = 3',
    test: 'test/integration/login-page/assurance.test.ts',
    title: /a sign-in by remembered code where ANY is demanded, and ANY by the login/,
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
    what: 'A sign-in on behalf of a user accepts the invitation',
    find: 'if (intent.isInvited && onBehalfBy === null)',
    replace: 'if (intent.isInvited)',
    test: 'test/integration/contract/invitations.test.ts',
    title: /on behalf of the user/,
  },
];
