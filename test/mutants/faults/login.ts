import { type Fault, inFolder } from '../fault.ts';

const email = 'test/login-page/email.test.ts';
const codePage = 'test/login-page/code-page.test.ts';
const signUp = 'test/login-page/sign-up.test.ts';

/** The login page: codes, wallets, forms and cookies. */
export const LOGIN_FAULTS: readonly Fault[] = [
  ...inFolder('src/domain/login', [
    {
      what: 'A challenge that nobody signed links the wallet',
      file: 'create-login-code.ts',
      find: 'walletChallenges.isProved,',
      replace: '',
      test: signUp,
      title: /is not linked to a user, or a new one, if it has signed nothing/,
    },
    {
      what: 'A wallet is linked in another browser',
      file: 'create-login-code.ts',
      find: "whereEqual(walletChallenges, 'applicationId', 'loginIntentId', 'browserDigest')",
      replace: "whereEqual(walletChallenges, 'applicationId', 'loginIntentId')",
      test: signUp,
      title: /fills in the form that links it in another browser/,
    },
    {
      what: 'A wallet is linked at another login',
      file: 'create-login-code.ts',
      find: "whereEqual(walletChallenges, 'applicationId', 'loginIntentId', 'browserDigest')",
      replace: "whereEqual(walletChallenges, 'applicationId', 'browserDigest')",
      test: signUp,
      title: /fills in the form that links it at another login/,
    },
    {
      what: 'Attempts at a code are not counted',
      file: 'redeem-login-code.ts',
      find: 'least(attempts + 1,',
      replace: 'least(attempts + 0,',
      test: email,
      title: /the right code after five wrong ones/,
    },
    {
      what: 'A code is tried a sixth time',
      file: 'redeem-login-code.ts',
      find: 'and (attempts < ${sql.raw(String(ATTEMPTS))} or',
      replace: 'and (attempts < 100 or',
      test: email,
      title: /the right code after five wrong ones/,
    },
    {
      what: 'A code is valid after 10 minutes',
      file: 'redeem-login-code.ts',
      find: " and expires_at > ${p.instant('now')}\n",
      replace: '\n',
      test: email,
      title: /a code that is 10 minutes old/,
    },
    {
      what: 'A code is valid in every browser',
      file: 'find-latest-code.ts',
      find: "whereEqual(loginCodes, 'applicationId', 'loginIntentId', 'browserDigest')",
      replace: "whereEqual(loginCodes, 'applicationId', 'loginIntentId')",
      test: email,
      title: /the code of another browser at the same login/,
    },
    {
      what: 'Each spelling of an address has codes of its own',
      file: 'login-code-limits.ts',
      find: 'address: foldEmail(email),',
      replace: 'address: email || foldEmail(email),',
      test: 'test/robustness/login-limits.test.ts',
      title: /ten codes for an address in whatever case/,
    },
    {
      what: 'Two requests at the same time have a code sent twice',
      file: 'create-login-code.ts',
      find: '        isDueForResend,\n',
      replace: '',
      test: codePage,
      title: /twice at the same time gets it once/,
    },
    {
      what: 'A code is sent again after 15 seconds',
      file: 'resend-delay.ts',
      find: 'INTERVAL_SECONDS = 30',
      replace: 'INTERVAL_SECONDS = 15',
      test: codePage,
      title: /gets it 30 seconds after the first e-mail/,
    },
    {
      what: 'A deactivated user is asked for a name',
      file: 'complete-email-login.ts',
      find: 'knownId ?? (await findUserToSignIn(call, email))?.id;',
      replace: 'knownId ?? undefined;',
      test: signUp,
      title: /told by one that asks for a name that the account is closed/,
    },
    {
      what: 'Digits of other scripts are no digits',
      file: 'read-login-code.ts',
      find: '.replace(/\\p{Nd}/gu, toAsciiDigit)',
      replace: '.replace(/[a-z]/g, toAsciiDigit)',
      test: email,
      title: /with Persian digits in the code/,
    },
    {
      what: 'A completed login answers every browser',
      file: 'find-login-state.ts',
      find: '!browserDigest?.equals(browser.digest)',
      replace: '!browserDigest?.equals(browserDigest ?? browser.digest)',
      test: 'test/login-page/completed.test.ts',
      title: /any other browser gets 409 from the page and its forms/,
    },
  ]),
];
