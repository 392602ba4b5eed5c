/** What Usher asks GitHub, and what it believes of the answers. */
import { afterEach, expect, test, vi } from 'vitest';
import { GITHUB_ISSUER, GitHubClient } from '../../../src/modules/providers/domain/github-client.ts';
import type { LoginProvider } from '../../../src/modules/providers/parse-login-providers.ts';

const provider: LoginProvider = {
  id: 'github',
  name: 'GitHub',
  type: 'github',
  issuer: GITHUB_ISSUER,
  clientId: 'usher',
  clientSecret: 'secret',
  trustEmail: false,
  emailDomains: [],
};
const SECRETS = { state: 'a-state', nonce: '', codeVerifier: 'v'.repeat(43) };
const redirectUri = 'https://usher.test/login/callback/github';

afterEach(() => vi.unstubAllGlobals());

interface Answers {
  readonly token?: unknown;
  readonly user?: unknown;
  readonly emails?: unknown;
  /** By the end of the path. */
  readonly statuses?: Readonly<Record<string, number>>;
}

const ADA = { email: 'ada@app.test', primary: true, verified: true };

async function identify(
  { token, user, emails, statuses = {} }: Answers = {},
  { issuer = GITHUB_ISSUER, iss = '' } = {},
) {
  const asked: { url: string; init: RequestInit }[] = [];
  vi.stubGlobal('fetch', async (input: URL, init: RequestInit) => {
    const { href: url, pathname } = input;
    asked.push({ url, init });
    const end = pathname.slice(pathname.lastIndexOf('/') + 1);
    const answers: Readonly<Record<string, unknown>> = {
      access_token: token ?? { access_token: 'gho_1' },
      user: user ?? { id: 7, name: 'Ada' },
      emails: emails ?? [ADA],
    };
    return new Response(JSON.stringify(answers[end]), { status: statuses[end] ?? 200 });
  });
  const client = new GitHubClient({ ...provider, issuer }, 1_000);
  const callback = new URL(`${redirectUri}?code=a-code${iss && `&iss=${encodeURIComponent(iss)}`}`);
  const identity = await client.identify(callback, SECRETS).catch(({ message }: Error) => message);
  return { identity, asked };
}

test.each([
  ['', null],
  ['ada@app.test', 'ada@app.test'],
])('the request with the hint %j has the login %s', async (loginHint, login) => {
  const url = await new GitHubClient(provider, 1_000).authorizationUrl(SECRETS, { redirectUri, loginHint });
  expect(url.href.startsWith('https://github.com/login/oauth/authorize?client_id=usher&')).toBe(true);
  const { state, code_challenge_method, ...others } = Object.fromEntries(url.searchParams);
  expect([state, code_challenge_method, others.login ?? null]).toEqual(['a-state', 'S256', login]);
});

test.each([
  [GITHUB_ISSUER, 'https://api.github.com'],
  ['https://git.test/login/oauth', 'https://git.test/api/v3'],
])('the server %s is asked at its own addresses', async (issuer, api) => {
  const { identity, asked } = await identify({}, { issuer });
  expect(identity).toMatchObject({
    issuer,
    subject: '7',
    email: 'ada@app.test',
    isEmailVerified: true,
    name: 'Ada',
    assurance: 1,
  });
  expect(asked.map(({ url }) => url)).toEqual([`${issuer}/access_token`, `${api}/user`, `${api}/user/emails`]);
  expect(String(asked[0]?.init.body)).toContain('client_secret=secret&code=a-code&');
  expect(asked[1]?.init.headers).toMatchObject({ authorization: 'Bearer gho_1', accept: 'application/json' });
});

test.each<[string, Answers, object | string, iss?: string]>([
  ['names its issuer', {}, { subject: '7' }, GITHUB_ISSUER],
  ['names another issuer', {}, 'wrong issuer', 'https://evil.test'],
  ['refuses the secret', { token: { error: 'incorrect_client_credentials' } }, 'client secret refused'],
  ['refuses the code', { token: { error: 'bad_verification_code' } }, 'token endpoint answered bad_verification_code'],
  ['has an error of its own', { token: { error: 'ada', access_token: 'a' } }, 'token endpoint answered an error'],
  ['has no token', { token: {} }, 'no token'],
  ['has a token that is none', { token: { access_token: ['gho_1'] } }, 'no token'],
  ['has a token of two lines', { token: { access_token: 'gho_1\n' } }, 'no token'],
  ['has nothing to say', { token: 'null', statuses: { access_token: 500 } }, '/access_token answered 500'],
  ['lets nobody read the user', { statuses: { user: 401 } }, 'no permission: /user answered 401'],
  ['fails to read the user', { statuses: { user: 502 } }, '/user answered 502'],
  ['has a user without an ID', { user: {} }, 'no account ID'],
  ['has a user whose ID is a text', { user: { id: '7' } }, 'no account ID'],
  ['has a user whose ID is zero', { user: { id: 0 } }, 'no account ID'],
  ['has a user whose ID is too large', { user: { id: 2 ** 53 } }, 'no account ID'],
  ['has a user whose name is none', { user: { id: 1, name: null } }, { subject: '1', name: '' }],
  [
    'lets nobody read the addresses',
    { statuses: { emails: 403 } },
    { email: '', isEmailVerified: false, problem: 'no permission: /emails answered 403' },
  ],
  ['has addresses that are none', { emails: { 0: ADA } }, { email: '', isEmailVerified: false, problem: undefined }],
  ['has no primary address', { emails: [{ ...ADA, primary: false }] }, { email: '', isEmailVerified: false }],
  ['has an address that is not verified', { emails: [{ ...ADA, verified: 'true' }] }, { email: '' }],
  ['has an address that is no text', { emails: [null, { ...ADA, email: 7 }] }, { email: '' }],
  [
    'has several addresses',
    { emails: [{ ...ADA, email: 'a@b.test', primary: false }, ADA] },
    { email: 'ada@app.test' },
  ],
])('an answer that %s', async (_, answers, expected, iss = '') => {
  const { identity } = await identify(answers, { iss });
  if (typeof expected === 'string') expect(identity).toBe(expected);
  else expect(identity).toMatchObject(expected);
});
