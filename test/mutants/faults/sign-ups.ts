import type { Fault } from '../fault.ts';

const at = { test: 'test/login-page/sign-up-domains.test.ts' };
const AGAIN = 'parts.signUps.allow(intent, latest.email)';

/** Who may become a user. */
export const SIGN_UP_FAULTS: readonly Fault[] = [
  {
    ...at,
    what: 'An address that may not sign up gets a code',
    file: 'src/domain/login/create-login-code.ts',
    find: '(!user && !maySignUp)',
    replace: '(!user && !intent.allowSignUp)',
    title: /sends no code to/,
  },
  {
    ...at,
    what: 'A code signs up an address whose domain has left the list',
    file: 'src/domain/login/redeem-login-code.ts',
    find: AGAIN,
    replace: 'intent.allowSignUp',
    title: /a domain that left the list is refused at the code/,
  },
  {
    ...at,
    what: 'A name signs up an address whose domain has been blocked',
    file: 'src/domain/login/name-new-user.ts',
    find: AGAIN,
    replace: 'intent.allowSignUp',
    title: /is refused at the name/,
  },
  {
    ...at,
    what: 'A trusted provider signs up any address',
    file: 'src/modules/providers/domain/redeem-provider-answer.ts',
    find: 'parts.signUps.allow(intent, email)',
    replace: 'intent.allowSignUp',
    title: /is refused at a provider/,
  },
  {
    ...at,
    what: 'The statement of a sign-up ignores the list',
    file: 'src/domain/login/sign-up.ts',
    find: "(a.sign_up_email_domains = '{}' or",
    replace: '(true or',
    title: /a domain that left the list is refused by the statement/,
  },
  {
    ...at,
    what: 'A sign-up ignores blocked domains',
    file: 'src/domain/login/sign-up.ts',
    find: 'if (signUps.isBlocked(user.email)) return undefined;',
    replace: '',
    title: /a blocked domain is refused by the statement/,
  },
  {
    ...at,
    what: 'A dot after the domain gets around a list',
    file: 'src/config/email-domains.ts',
    find: "+ 1)).replace(/\\.+$/, '')",
    replace: '+ 1))',
    title: /is refused by the statement|sign up/,
  },
  {
    ...at,
    what: 'A blocked domain takes effect at the next start only',
    file: 'src/jobs/run-jobs.ts',
    find: 'signUps.replace(parseEmailDomains(text))',
    replace: 'parseEmailDomains(text)',
    title: /reads the file of blocked domains again/,
  },
];
