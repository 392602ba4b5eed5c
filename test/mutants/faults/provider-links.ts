import { type Fault, inFolder } from '../fault.ts';

const meanwhile = 'test/domain/providers/changed-meanwhile.test.ts';
const account = 'test/login-page/account-providers.test.ts';
const attacks = 'test/login-page/provider-attacks.test.ts';
const inFlight = 'test/login-page/account-in-flight.test.ts';
const signIn = 'test/login-page/providers.test.ts';

/** To whom an identity at another provider belongs, also while things change. */
export const PROVIDER_LINK_FAULTS: readonly Fault[] = [
  ...inFolder('src/domain/providers', [
    {
      what: 'A user gets no notice of an account that was linked',
      file: 'link-identity.ts',
      find: 'from: sql`linked join owner on owner.id = linked.user_id`',
      replace: 'from: sql`linked join owner on false`',
      test: account,
      title: /a person links an account, gets a notice/,
    },
    {
      what: 'A user gets no notice of an account that is no longer linked',
      file: 'delete-identity.ts',
      find: 'returning i.user_id, i.provider, owner.email\n',
      replace: 'returning i.user_id, i.provider, null::text as email\n',
      test: account,
      title: /a person links an account, gets a notice/,
    },
    {
      what: 'An identity that was removed meanwhile signs in',
      file: 'redeem-provider-answer.ts',
      find: '{ intent, how }, owner.userId, { issuer, subject });',
      replace: '{ intent, how }, owner.userId, {});',
      test: meanwhile,
      title: /is not signed in if the identity is removed/,
    },
    {
      what: 'An address that the user gives up meanwhile signs in',
      file: 'redeem-provider-answer.ts',
      find: '{ intent, how }, user.id, { email, issuer, subject });',
      replace: '{ intent, how }, user.id, { issuer, subject });',
      test: meanwhile,
      title: /is not signed in by an address that the user gives up/,
    },
    {
      what: 'The reload of an answer does not find what it has proved',
      file: 'redeem-provider-answer.ts',
      find: 'const kept = { id: authorization.id,',
      replace: 'const kept = { id: intent.id,',
      test: attacks,
      title: /a reload of the answer of a new identity/,
    },
    {
      what: 'An identity is linked to a user who no longer has the address',
      file: 'link-identity.ts',
      find: 'and ${isSameEmail(sql`email`)}',
      replace: 'and (${isSameEmail(sql`email`)} or true)',
      test: attacks,
      title: /an identity is not linked to a user whose address has changed/,
    },
    {
      what: 'An identity is linked to a deactivated user',
      file: 'link-identity.ts',
      find: '${isActiveUser} and ${isSameEmail(sql`email`)}',
      replace: 'deleted_at is null and ${isSameEmail(sql`email`)}',
      test: attacks,
      title: /an identity is not linked to a user who was deactivated/,
    },
    {
      what: 'An identity is linked although its user has signed out',
      file: 'link-identity.ts',
      find: '      and ${isStillSignedIn}\n',
      replace: '      and (${isStillSignedIn} or true)\n',
      test: inFlight,
      title: /the linked account that waits while every sign-in of the user ends/,
    },
    {
      what: 'An identity that another browser has proved is linked',
      file: 'link-identity.ts',
      find: 'where ${isInBrowser} and expires_at',
      replace:
        "where application_id = ${p.uuid('applicationId')} and login_intent_id = ${p.uuid('loginIntentId')} and expires_at",
      test: attacks,
      title: /whoever opens the login of another browser/,
    },
    {
      what: 'An identity that was proved at another login is linked',
      file: 'link-identity.ts',
      find: 'where ${isInBrowser} and expires_at',
      replace:
        "where application_id = ${p.uuid('applicationId')} and browser_digest = ${p.bytes('browserDigest')} and expires_at",
      test: attacks,
      title: /an identity is not linked by another login of the same browser/,
    },
    {
      what: 'An identity at another provider than the named one is linked',
      file: 'link-identity.ts',
      find: " and provider = ${p.text('provider')} order",
      replace: " and ${p.text('provider')} is not null order",
      test: attacks,
      title: /an identity is not linked by a form that names another provider/,
    },
    {
      what: 'A user who is deleted meanwhile keeps an identity',
      file: 'link-identity.ts',
      find: 'await call.run(deleteIdentitiesOfDeleted, { userId: user.userId });',
      replace: '',
      test: meanwhile,
      title: /leaves no identity of a user who is deleted/,
    },
    {
      what: 'An identity is removed although its user has signed out',
      file: 'delete-identity.ts',
      find: ' and ${isStillSignedIn} for no key',
      replace: ' and (${isStillSignedIn} or true) for no key',
      test: inFlight,
      title: /the removed link that waits while every sign-in of the user ends/,
    },
  ]),
  ...inFolder('src/domain', [
    {
      what: 'An identity that belongs to another user by then signs in',
      file: 'login/complete-login.ts',
      find: 'and d.user_id = u.id)))',
      replace: 'and d.user_id is not null)))',
      test: meanwhile,
      title: /is not signed in if the identity goes to another user/,
    },
    {
      what: 'An identity is linked by a form that does not name it',
      file: 'login/find-to-link.ts',
      find: "code.identityId ? link !== '' && link !== LINK_WALLET : link",
      replace: 'code.identityId ? true : link',
      test: attacks,
      title: /an identity is not linked by the form of a code that does not name its provider/,
    },
    {
      what: 'Whoever signs up at a provider has proved the address to Usher',
      file: 'login/sign-up.ts',
      find: "case when ${p.text('method')} = 'email' then",
      replace: "case when ${p.text('method')} <> '' then",
      test: signIn,
      title: /whoever signs up at a trusted provider has not proved the address/,
    },
    {
      what: 'The proof of an address marks the next one as verified',
      file: 'users/mark-email-verified.ts',
      find: 'and ${isSameEmail(sql`email`)} and',
      replace: 'and (${isSameEmail(sql`email`)} or true) and',
      test: meanwhile,
      title: /a proof of an address is not one of the address that the user has by then/,
    },
    {
      what: 'A wallet is linked to a user who no longer has the address',
      file: 'users/update-user.ts',
      find: 'walletAddress, ...target }: {',
      replace: 'walletAddress, email: _, ...target }: {',
      test: 'test/login-page/sign-up.test.ts',
      title: /is not linked to a user who has another e-mail address by then/,
    },
  ]),
  ...inFolder('src/login-page', [
    {
      what: 'The page says that it has linked what it has not',
      file: 'account/account-providers.ts',
      find: "isLinked ? { done: 'identity' } : {}",
      replace: "isLinked || { done: 'identity' } ? { done: 'identity' } : {}",
      test: account,
      title: /the page does not say so, if the address changes/,
    },
    {
      what: 'The last way to sign in is removed',
      file: 'account/account-providers.ts',
      find: "if (!parts.methods.includes('email')) throw new ServiceError('LOGIN_METHOD_NOT_ENABLED');",
      replace: '',
      test: attacks,
      title: /the last way to sign in cannot be removed/,
    },
    {
      what: 'A network may send any number of answers that link',
      file: 'account/account-providers.ts',
      find: 'await takeNetworkPermits(call, parts.codes, browser, PROVIDER_ANSWERS);',
      replace: '',
      test: account,
      title: /a network may have 60 answers linked at once/,
    },
  ]),
];
