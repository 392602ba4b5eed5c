/** What the pages of modules show, and what they leave out, with the example data of the preview. */
import { expect, test } from 'vitest';
import type { AccountSession } from '../../src/domain/grants/list-account-sessions.ts';
import type { UserAccess } from '../../src/domain/users/list-user-access.ts';
import { html } from '../../src/http/html.ts';
import { renderAccount } from '../../src/modules/account/pages/account.ts';
import { renderAccountForm, renderAccountSignIn } from '../../src/modules/account/pages/form.ts';
import { type Losses, renderConfirm } from '../../src/modules/account/pages/recover.ts';
import { renderPasskeyForm } from '../../src/modules/passkeys/pages/passkey-form.ts';
import { renderContinue } from '../../src/modules/remembered-sign-ins/pages/continue.ts';
import { ENGLISH } from '../../src/texts/texts.ts';
import { accountView, viewAccountForm } from '../preview/account-screens.ts';
import { formView, SCREENS } from '../preview/screens.ts';
import { textOf } from '../support/login-browser.ts';

/** Says what the body of a page has. Of texts that it has not, it says nothing. */
const HAS = {
  'the address': /ada@<wbr>example<wbr>\.com/,
  'a fault of the field': /aria-invalid="true"/,
  'the first field at hand': / autofocus/,
  'the way to the app': /Use your authenticator app/,
  'the way to recovery codes': /Use a recovery code/,
  'the way to the passkey': /Use your passkey instead/,
  'the way to another account': /Use another account/,
  'the way to passkeys': /No passkey yet\?/,
  'a form for app codes': /method="post" action="\/login\/second-factor"/,
  'a form for recovery codes': /action="\/login\/second-factor\/recovery" data-busy/,
  'from when on it counts': /Counts from (<[^>]*>)*\w+ \d/,
  'when it was used': /Last used: (<[^>]*>)*\w+ \d/,
  'an empty paragraph': /<p[^>]*><\/p>(?<!id="alert"><\/p>)/,
  'the set-up of an app': /Set up an authenticator app<\/button>/,
  'a demand to verify the person': /data-verification="required"/,
  'a second button for the passkey': /<button class="second"><svg/,
  'a note': /<p class="alert note"[^>]*>\w/,
  'a demand for a new sign-in': /To change anything here, sign in again first/,
  applications: /Your applications/,
  'a last use': /last used (<[^>]*>)*\w+ \d/,
  'a use that never was': /(last used|Counts from) (<[^>]*>)*Jan\w* 1, 1970/,
  'a change of the address': /href="\/account\/email"/,
  'codes by e-mail': /Code by e-mail/,
  groups: /Groups/,
  'no session': /Nowhere at the moment/,
  'a sign-out everywhere': /Sign out everywhere<\/button>/,
  'a session of one browser': /name="sid" value="0198/,
  'a session of no name': /name="sid" value="(?!0198)/,
  'a deletion': /Delete…/,
  'a dangerous button': /<button class="danger">/,
  'a row to lead to': /name="row" value="ways"/,
  'a row of no name': /name="row" value="(?!ways)/,
  'a text': /<p>Words<\/p>/,
  'a form of the recovery': /<form method="post" action="\/recover/,
  'a list of losses': /class="ends-here"/,
  'a lost address': /no longer signs you in<\/strong><\/li>/,
  'lost passkeys': /Your passkeys stop working<\/strong><br>/,
  'a lost wallet': /Your wallet no longer signs you in<\/strong><br>/,
  'a loss without an example': /<br><span class="soft small"><\/span>/,
  'a greeting': /The digits are right/,
  'the new address': /From now on you sign in with/,
} as const;
type Thing = keyof typeof HAS;

const screen = (name: string) => SCREENS.find((each) => each.name === name)?.render(ENGLISH).body.text ?? '';
const account = (changes: Partial<Parameters<typeof renderAccount>[0]>) =>
  renderAccount({ ...accountView(ENGLISH), ...changes }).body.text;
const losses = (changes: Partial<Losses>) => {
  const none = { name: null, newEmail: null, email: null, passkeys: [], providers: [], walletAddress: null };
  const view = { ...viewAccountForm(ENGLISH), recoverPath: '/recover', entered: {} };
  return renderConfirm(view, { isNew: false, ...none, ...changes }, 'once').body.text;
};
const form = { action: 'name', title: 'account.name.title', submit: 'account.save' } as const;
const application = accountView(ENGLISH).applications[0] as UserAccess;
const session = accountView(ENGLISH).sessions[0] as AccountSession;

const ACCOUNT: readonly Thing[] = [
  ...(['a note', 'applications', 'a last use', 'a change of the address', 'codes by e-mail', 'groups'] as const),
  ...([
    'a sign-out everywhere',
    'a deletion',
    'a dangerous button',
    'when it was used',
    'from when on it counts',
  ] as const),
];
const accountBut = (...missing: readonly Thing[]) => ACCOUNT.filter((thing) => !missing.includes(thing));
const STRICT = { challenge: 'AAAA', rpId: 'usher.test', problem: undefined, needsVerification: true };
const STEP = ['the first field at hand', 'the way to another account'] as const;

test.each<[string, body: string, things: readonly Thing[]]>([
  [
    'the second step',
    screen('second-step'),
    [...STEP, 'the address', 'a form for app codes', 'the way to recovery codes', 'the way to the passkey'],
  ],
  [
    'the second step after a passkey, with an alert',
    screen('second-step-wrong'),
    [...STEP, 'a fault of the field', 'a form for app codes', 'the way to recovery codes'],
  ],
  [
    'the second step by a recovery code',
    screen('recovery-code'),
    [...STEP, 'the address', 'a form for recovery codes', 'the way to the app', 'the way to the passkey'],
  ],
  [
    'the same with an alert',
    screen('recovery-code-wrong'),
    [
      ...STEP,
      'the address',
      'a fault of the field',
      'a form for recovery codes',
      'the way to the app',
      'the way to the passkey',
    ],
  ],
  ['the set-up of an app within a login', screen('app-set-up'), ['the way to another account', 'the way to passkeys']],
  ['the set-up of an app after one', screen('app-set-up-wrong'), ['a fault of the field']],
  ['the codes of a young app', screen('recovery-codes'), ['from when on it counts']],
  ['the codes of another', screen('recovery-codes-new'), []],
  ['an app', screen('app-manage'), ['when it was used', 'a dangerous button']],
  ['a young app', screen('app-manage-stale'), ['from when on it counts']],
  ['the sign-in before a set-up', screen('app-start'), ['a demand for a new sign-in']],
  ['passkeys', screen('passkey-list'), ['from when on it counts', 'when it was used']],
  ['no passkeys', screen('passkey-list-empty'), ['the set-up of an app']],
  ['the passkey beside codes', screen('choice-passkey'), ['a second button for the passkey']],
  ['the passkey alone', screen('choice-assurance'), ['the way to passkeys']],
  [
    'the passkey where two factors are demanded',
    renderPasskeyForm(formView(ENGLISH), STRICT).text,
    ['a demand to verify the person', 'a second button for the passkey'],
  ],
  ['the account', account({}), ACCOUNT],
  ['the account without a note', account({ note: '' }), accountBut('a note')],
  ['the account after a while', account({ isFresh: false }), [...ACCOUNT, 'a demand for a new sign-in']],
  ['the account without applications', account({ applications: [] }), accountBut('applications', 'a last use')],
  [
    'an application without a page of its own',
    account({ applications: [{ ...application, initiateLoginUri: null }] }),
    accountBut('applications', 'a last use'),
  ],
  [
    'the account where no codes are sent',
    account({ hasEmail: false }),
    accountBut('a change of the address', 'codes by e-mail'),
  ],
  ['the account without groups', account({ groups: [] }), accountBut('groups')],
  ['the account without sessions', account({ sessions: [] }), [...accountBut('a sign-out everywhere'), 'no session']],
  [
    'a session of one browser',
    account({ sessions: [{ ...session, sid: session.applicationId }] }),
    [...ACCOUNT, 'a session of one browser'],
  ],
  ['an account that stays', account({ mayDelete: false }), accountBut('a deletion')],
  ['a form', renderAccountForm(viewAccountForm(ENGLISH), form).body.text, []],
  [
    'a form with a text',
    renderAccountForm(viewAccountForm(ENGLISH), { ...form, text: html`Words` }).body.text,
    ['a text'],
  ],
  ['the end of a recovery', screen('recover-done'), []],
  [
    'a form with a warning',
    renderAccountForm(viewAccountForm(ENGLISH), { ...form, isDangerous: true }).body.text,
    ['a dangerous button'],
  ],
  ['the sign-in to the account', renderAccountSignIn(viewAccountForm(ENGLISH)).body.text, []],
  [
    'the same on the way to a row',
    renderAccountSignIn(viewAccountForm(ENGLISH), 'Done', 'ways').body.text,
    ['a note', 'a row to lead to'],
  ],
  [
    'the last page of a recovery',
    screen('recover-confirm'),
    [
      'a form of the recovery',
      'a list of losses',
      'a lost address',
      'lost passkeys',
      'a lost wallet',
      'a greeting',
      'the new address',
    ],
  ],
  ['a recovery of nothing but sign-ins', losses({}), ['a form of the recovery', 'a list of losses']],
  [
    'a recovery with one loss',
    losses({ passkeys: ['Phone'] }),
    ['a form of the recovery', 'a list of losses', 'lost passkeys'],
  ],
  ['a recovery of somebody new', losses({ isNew: true }), ['a form of the recovery']],
])('%s', (_, body, things) => {
  expect(body).not.toBe('');
  expect(Object.entries(HAS).flatMap(([thing, pattern]) => (pattern.test(body) ? [thing] : []))).toEqual(
    Object.keys(HAS).filter((thing) => things.includes(thing as Thing)),
  );
});

test('a session leads to its own application', () => {
  const [, where = ''] = /aria-labelledby="where">(.*?)<\/section>/s.exec(account({})) ?? [];
  expect([...where.matchAll(/ href="(.*?)"/g)].map(([, uri]) => uri)).toEqual(
    Array(2).fill('https://shop.example.com/login'),
  );
});

const now = new Date('2026-03-02T12:00:00Z');
const ago = (seconds: number) => new Date(now.getTime() - seconds * 1_000);
test.each<[name: string | null, seconds: number, shown: string, button: string, time: string]>([
  ['Ada Lovelace', 0, 'Ada Lovelaceada@example.com', 'Continue as Ada', 'this minute'],
  ['Dr. Lovelace', 59, 'Dr. Lovelaceada@example.com', 'Continue as Dr. Lovelace', 'this minute'],
  [null, 60, 'ada@example.com', 'Continue as ada', '1 minute ago'],
  ['Ada', 3_599, 'Adaada@example.com', 'Continue as Ada', '59 minutes ago'],
  ['Ada', 3_600, 'Adaada@example.com', 'Continue as Ada', '1 hour ago'],
  ['Ada', 86_399, 'Adaada@example.com', 'Continue as Ada', '23 hours ago'],
  ['Ada', 86_400, 'Adaada@example.com', 'Continue as Ada', 'yesterday'],
])('the offer to continue names %s, %i seconds ago', (name, seconds, shown, button, time) => {
  const signIn = { email: 'ada@example.com', name, authenticatedAt: ago(seconds) };
  const { body } = renderContinue({ ...formView(ENGLISH), signIn, now });
  const [, person] = /<div class="person">.*?<p>(.*?)<\/p>/s.exec(body.text) ?? [];
  expect(textOf(person)).toBe(`${shown}Last sign-in: ${time}`);
  expect([...body.text.matchAll(/<button>(.*?)<\/button>/g)].map(([, label]) => textOf(label))).toEqual([button]);
});
