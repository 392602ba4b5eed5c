/** What the pages of the demo say of the ways to sign in, of a person, and of a session. */
import { expect, test } from 'vitest';
import {
  CAFE,
  DEMO,
  renderHome,
  renderMessage,
  renderProfile,
  type SiteView,
} from '../../../src/modules/demo/pages.ts';
import { textOf } from '../../support/login-browser.ts';

const view: SiteView = {
  ...DEMO,
  other: CAFE,
  accountUrl: 'https://usher.test/account',
  email: 'ada@example.com',
  methods: ['email', 'passkey', 'wallet', 'acme'],
};
const NOW = new Date('2026-01-01T00:00:00Z');
const after = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000).toISOString();
const session = {
  userId: 'a-user',
  user: { email: 'ada@example.com', name: 'Ada', walletAddress: '0xada' },
  method: 'email',
  createdAt: after(-300),
  expiresAt: after(600),
};

const home = (changes: Partial<SiteView> = {}) => textOf(renderHome({ ...view, ...changes }).body.text);
const profileOf = (shown: Partial<typeof session>, changes: Partial<SiteView> = {}) =>
  renderProfile({ ...view, ...changes }, { ...session, ...shown } as typeof session, NOW).body.text;

test('the home page names the ways to sign in of Usher itself, and whom to sign in as', () => {
  const text = home();
  expect(text).toContain('With a code by e-mail, a passkey or a wallet.');
  expect(text).toContain('or as ada@example.com. Codes appear in the terminal.');
  expect(text).toContain('Save a passkey');
  expect(text).not.toMatch(/true|false|undefined/);
});

test('the home page names no way where people sign in elsewhere, and nobody whose code is sent', () => {
  const text = home({ methods: [], email: undefined });
  expect(text).toContain('You sign in thereThe Demo never sees it.');
  expect(text).not.toMatch(/With|Try it|passkey|true|false|undefined/);
});

test('a profile has what the application knows', () => {
  const text = textOf(profileOf({}));
  for (const part of ['Hello, Ada', 'NameAda', 'E-mail addressada@example.com', 'Wallet0xada', 'User IDa-user'])
    expect(text).toContain(part);
  expect(text).toMatch(/Signed in byCode by e-mail/);
  expect(text).toContain('Your accountPasskeys, other browsers, your data.Manage');
  expect(text).not.toMatch(/true|false|undefined/);
});

test('a profile leaves out what the application does not know', () => {
  const user = { email: 'ada@example.com' } as typeof session.user;
  const text = textOf(profileOf({ user, method: '' }, { accountUrl: undefined }));
  expect(text).toContain('Hello, ada@example.com');
  expect(text.match(/ada@example\.com/g)).toHaveLength(2);
  expect(text).not.toMatch(/Name|Wallet|Signed in by|Your account|true|false|undefined/);
});

test('a sign-in at a provider has its name', () => {
  expect(textOf(profileOf({ method: 'acme' }))).toContain('Signed in byacme');
});

test.each<[seconds: number, text: string | undefined]>([
  [0, undefined],
  [1, 'a minute'],
  [60, 'a minute'],
  [61, '2 minutes'],
])('%i seconds before half of the session is over, it can be renewed in %s', (seconds, text) => {
  const body = profileOf({ createdAt: after(seconds - 450), expiresAt: after(seconds + 450) });
  expect(/<button[^>]*>Renew/.exec(body)?.[0].includes('disabled')).toBe(text !== undefined);
  expect(body.includes(`data-from="${after(seconds)}"`)).toBe(text !== undefined);
  expect(/You can renew it in ([^.]*)\./.exec(body)?.[1]).toBe(text);
});

test('a message leads back', () => {
  const { body } = renderMessage(CAFE, 'You cancelled', '<b>');
  expect(textOf(body.text)).toContain('You cancelled');
  expect(body.text).toContain('<p>&#60;b&#62;</p>');
  expect(body.text).toContain('<form method="get" action="/demo/cafe">');
});
