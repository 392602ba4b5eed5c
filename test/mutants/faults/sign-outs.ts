import type { Fault } from '../fault.ts';

const signOut = 'test/modules/account/account-sign-out.test.ts';
const answers = 'test/login-page/answers.test.ts';
const twoTabs = 'test/login-page/two-tabs.test.ts';

/** Ways back in after a sign-out, copies of cookies, and sign-ins that are not fresh. */
export const SIGN_OUT_FAULTS: readonly Fault[] = [
  {
    what: 'An auth token opens the account page twice',
    file: 'src/modules/account/domain/open-account.ts',
    find: ' and redeemed_at is null',
    replace: '',
    test: signOut,
    title: /opens the account page once/,
  },
  {
    what: 'A sign-out ends nothing on the server',
    file: 'src/domain/sessions/browser-cutoffs.ts',
    find: 'b.cutoff_at >= ',
    replace: 'b.cutoff_at < ',
    test: signOut,
    title: /a copy of the cookies opens nothing/,
  },
  {
    what: 'The secret of an answer works in any browser',
    file: 'src/domain/sessions/browser.ts',
    find: 'if (!intent.browserDigest?.equals(digest)) return false;',
    replace: '',
    test: answers,
    title: /the secret alone is worth nothing/,
  },
  {
    what: 'A code links what the page has not named',
    file: 'src/domain/login/redeem-login-code.ts',
    find: "toLinkBy(latest, request.link ?? '')",
    replace: 'latest',
    test: answers,
    title: /cannot have its own wallet linked/,
  },
  {
    what: 'A continued sign-in changes the account',
    file: 'src/modules/account/account-request.ts',
    find: '!isContinued && ',
    replace: '',
    test: 'test/modules/account/account.test.ts',
    title: /is not good for changes if it is continued/,
  },
  {
    what: 'The page for the code names the address of another tab',
    file: 'src/login-page/show-form.ts',
    find: 'latest?.email ?? ',
    replace: '',
    test: twoTabs,
    title: /name their own address after a reload/,
  },
  {
    what: 'The forms of a login fill in the address of another one',
    file: 'src/login-page/browser-cookie.ts',
    find: '(isOfLogin && ',
    replace: '(',
    test: twoTabs,
    title: /fill in their own address/,
  },
  {
    what: 'A made-up sign-in counts as fresh',
    file: 'src/client/own-sign-in.ts',
    find: 'if (given !== expected)',
    replace: 'if (!given)',
    test: 'test/client/browser-sessions.test.ts',
    title: /that somebody made up/,
  },
];
