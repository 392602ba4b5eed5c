/** What one user or browser must not see or change of another. */
import type { Fault } from '../fault.ts';

export const USERS_FAULTS: readonly Fault[] = [
  {
    what: 'A sign-in on behalf of a user changes the account',
    find: 'redeemed.isContinued || signIn.method === IMPERSONATION',
    replace: 'redeemed.isContinued || signIn.method === IMPERSONATION && false',
    test: 'test/login-page/on-behalf-by.test.ts',
    title: /look at the account, but change nothing/,
  },
  {
    what: 'A sign-in on behalf of an operator opens the console',
    find: 'method === IMPERSONATION ? undefined : operators.find(email)',
    replace: 'method === IMPERSONATION ? operators.find(email) : operators.find(email)',
    test: 'test/integration/modules/console/sign-in.test.ts',
    title: /signs nobody in who signs in on behalf of an operator/,
  },
  {
    what: 'A line takes the ID of one user and the address of another',
    find: 'if (userId !== undefined && line.id !== null && line.id !== userId)',
    replace: 'if (userId === null && line.id !== null)',
    test: 'test/integration/contract/import-users.test.ts',
    title: /a line is refused with an ID/,
  },
  {
    what: 'An import takes the identity of another user',
    find: " if (taken) return fail('IDENTITY_ALREADY_LINKED', 'identities'); ",
    replace: '',
    test: 'test/integration/contract/import-users.test.ts',
    title: /duplicates fail, in any spelling/,
  },
  {
    what: 'An import takes the passkey of another user',
    find: " if (taken?.[0] === 'passkey') return fail('PASSKEY_ALREADY_EXISTS', 'passkeys'); ",
    replace: `  if (taken?.[0] === 'passkey') return { status: 'created', id: randomUUID() };
`,
    test: 'test/integration/contract/import-users.test.ts',
    title: /duplicates fail, in any spelling/,
  },
  {
    what: 'A wallet is linked in another browser',
    after: "statement('select_proved_wallet'",
    find: '${isInBrowser}',
    replace: "application_id = ${p.uuid('applicationId')} and login_intent_id = ${p.uuid('loginIntentId')}",
    test: 'test/login-page/sign-up.test.ts',
    title: /fills in the form that links it in another browser/,
  },
  {
    what: 'A copy of the cookies from before the sign-in gets the answer',
    find: 'if (!expected) return',
    replace: 'if (expected || true) return',
    test: 'test/login-page/answers.test.ts',
    title: /gets no answer from any page or form/,
  },
  {
    what: 'A continued sign-in changes the account',
    find: '!isContinued && ',
    replace: '',
    test: 'test/integration/modules/account/account.test.ts',
    title: /is not good for changes if it is continued/,
  },
  {
    what: 'A user removes the passkey of another',
    after: "statement('delete_passkey'",
    find: 'k.user_id = owner.id and ',
    replace: '',
    test: 'test/modules/passkeys/creation.test.ts',
    title: /are not those of another/,
  },
  {
    what: 'A user renames the passkey of another',
    after: "statement('rename_passkey'",
    find: 'k.user_id = owner.id and ',
    replace: '',
    test: 'test/modules/passkeys/creation.test.ts',
    title: /are not those of another/,
  },
  {
    what: "A stranger signs a browser in to the stranger's account",
    find: 'const isOwn = endLogin(context, begunLoginsOf(request), state) !== undefined;',
    replace: 'const isOwn = true;',
    test: 'test/integration/modules/account/account-sign-out.test.ts',
    title: /of a stranger signs in no browser that has not begun that sign-in/,
  },
  {
    what: 'A challenge is good in any browser',
    after: 'const expected =',
    find: "browser.digest.toString('hex')",
    replace: 'String(typeof browser)',
    test: 'test/modules/passkeys/own-checks.test.ts',
    title: /good for one purpose, login, browser and user/,
  },
  {
    what: 'The state of a sign-in links an account',
    find: '`${purpose} ${providerId}`',
    replace: 'providerId + typeof purpose',
    test: 'test/modules/providers/authorization-state.test.ts',
    title: /no use to a link/,
  },
  {
    what: 'A user removes the identity of another',
    find: ' and i.user_id = owner.id ',
    replace: `
`,
    test: 'test/integration/modules/providers/provider-attacks.test.ts',
    title: /nobody removes the identity of another user/,
  },
  {
    what: 'Any browser lets a device in as the person who has signed in',
    find: 'if (isOther || !(await',
    replace: 'if (!(await',
    test: 'test/integration/modules/oidc/device.test.ts',
    title: /takes a decision from the browser alone that has signed in/,
  },
  {
    what: 'A form of another site consents',
    find: "isAnswer && !isOwnForm(browser, parameters.get('token') ?? '')",
    replace: "isAnswer && browser.formToken === ''",
    test: 'test/integration/modules/oidc/metadata-clients.test.ts',
    title: /is refused to another browser, and to forms of other sites/,
  },
  {
    what: 'Who signs in on behalf of a user lets clients act for that user',
    find: 'intent.method === IMPERSONATION || ',
    replace: '',
    test: 'test/integration/modules/oidc/metadata-clients.test.ts',
    title: /is given by nobody on behalf of the user, also where it is remembered/,
  },
  {
    what: 'An operator without the role gets the answer to a form that was sent with it',
    find: "if (!mayUse(found, signedIn)) return sendRefusal(asOperator, route.role); if (route.isSensitive && !signedIn.isFresh) { return askToSignIn(asOperator, { to: page, fresh: '' }); } const reply = () => run(asOperator, route);",
    replace: `if (route.isSensitive && !signedIn.isFresh) {
    return askToSignIn(asOperator, { to: page, fresh: '' });
  }
  const reply = async () => {
    if (!mayUse(found, signedIn)) return sendRefusal(asOperator, route.role) ?? 'sent';
    return run(asOperator, route);
  };`,
    test: 'test/integration/modules/console/sent-forms.test.ts',
    title: /is not for the operator who has lost the role meanwhile/,
  },
  {
    what: 'A browser without a recent sign-in gets the answer to the form of another one',
    find: "if (!mayUse(found, signedIn)) return sendRefusal(asOperator, route.role); if (route.isSensitive && !signedIn.isFresh) { return askToSignIn(asOperator, { to: page, fresh: '' }); } const reply = () => run(asOperator, route);",
    replace: `if (!mayUse(found, signedIn)) return sendRefusal(asOperator, route.role);
  const reply = async () => {
    if (route.isSensitive && !signedIn.isFresh) {
    return askToSignIn(asOperator, { to: page, fresh: '' }) ?? 'sent';
  }
    return run(asOperator, route);
  };`,
    test: 'test/integration/modules/console/sent-forms.test.ts',
    title: /is not for another browser of the operator, without a recent sign-in/,
  },
  {
    what: 'The recent sign-in of another operator is enough for sensitive actions',
    find: 'signedInUserId === userId && now',
    replace: 'now',
    test: 'test/integration/modules/console/attacks.test.ts',
    title: /of a recent sign-in of another operator make no sign-in recent/,
  },
  {
    what: 'A team uses the pages of every application',
    find: 'return params.a !== undefined && applicationIds.includes(params.a.toLowerCase());',
    replace: 'return params.a !== undefined;',
    test: 'test/integration/modules/console/routes.test.ts',
    title: /does in its application what support does, and nothing elsewhere/,
  },
  {
    what: 'A scan with the ID of another scan lets in another attendee, who is not recorded',
    find: 'if (earlier && earlier.attendeeId !== attendeeId)',
    replace: 'if (false)',
    test: 'test/contract/check-in-rules.test.ts',
    title: /^a scan with the ID of a scan of another attendee is refused alone/,
  },
];
