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
    what: 'A copy of the cookies from before the sign-in gets the answer',
    find: 'if (!expected) return',
    replace: 'if (expected || true) return',
    test: 'test/login-page/answers.test.ts',
    title: /gets no answer from any page or form/,
  },
  {
    what: "A stranger signs a browser in to the stranger's account",
    find: 'const row = endLogin(context, begunLoginsOf(request), state);',
    replace: "const row = endLogin(context, begunLoginsOf(request), state) ?? '';",
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
];
