/** Signs users in without a browser, by what the login page runs once a person has shown who they are. */
import { randomUUID } from 'node:crypto';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { createAuditedCall } from '../api/calls.ts';
import { ONE_FACTOR, PHISHING_RESISTANT, TWO_FACTORS } from '../domain/core/assurance.ts';
import type { Call } from '../domain/core/call.ts';
import { ServiceError } from '../domain/core/errors.ts';
import { UUID } from '../domain/core/validation.ts';
import { completeEmailLogin } from '../domain/login/complete-email-login.ts';
import { type Completion, completeLogin } from '../domain/login/complete-login.ts';
import { rememberOrigin } from '../domain/login/known-origins.ts';
import { deriveLoginCodeKeys } from '../domain/login/login-code.ts';
import { requireOpenIntent } from '../domain/login/login-intent.ts';
import { noteSignIn } from '../domain/login/note-sign-in.ts';
import { attemptReasonOf, recordAttempt } from '../domain/login/record-attempt.ts';
import { SignUpRules } from '../domain/login/sign-up-rules.ts';
import { shortenUserAgent, toSignInOrigin } from '../domain/sessions/browser.ts';
import { findUserToSignIn } from '../domain/users/find-user-by-email.ts';
import { getUser } from '../domain/users/get-user.ts';
import { markEmailVerified } from '../domain/users/mark-email-verified.ts';
import { createHttpContext } from '../http/exchange.ts';
import { bindAnswer, identifyBrowser } from '../login-page/browser/browser-cookie.ts';
import { readLanguageChoice } from '../login-page/browser/language-choice.ts';
import { nameBrowser } from '../login-page/pages/describe-sign-in.ts';
import type { FullConfig } from '../modules/modules.ts';
import { redeemProviderAnswer } from '../modules/providers/domain/redeem-provider-answer.ts';
import type { UsherServer } from '../server.ts';
import { type CompletedSignIn, type HowToSignIn, SignInRefusedError } from './test-usher.ts';

const TIMEOUT_MS = 10_000;
const USER_AGENT = 'usher-testing';
/** The forms that complete a login, as the audit log names them. */
const ACTIONS: Readonly<Record<string, string>> = {
  email: 'POST /login/code',
  passkey: 'POST /login/passkey',
  wallet: 'POST /login/wallet',
};
const ACTION_OF_PROVIDERS = 'GET /login/callback/*';
const LEVELS = { TWO_FACTORS, PHISHING_RESISTANT } as const;

export interface SignInParts {
  readonly config: FullConfig;
  readonly core: UsherServer['core'];
}

type Person = ReturnType<typeof openBrowser> & {
  readonly loginIntentId: string;
  readonly user: string;
  readonly how: HowToSignIn;
  readonly level: number | undefined;
};

/** @throws SignInRefusedError */
export async function signIn(
  parts: SignInParts,
  authUrl: string | URL,
  user: string,
  how: HowToSignIn = {},
): Promise<CompletedSignIn> {
  const method = how.method ?? 'email';
  const loginIntentId = await findIntent(authUrl);
  const browser = openBrowser(parts, ACTIONS[method] ?? ACTION_OF_PROVIDERS);
  const level = typeof how.assurance === 'string' ? LEVELS[how.assurance] : how.assurance;
  try {
    const complete = { email: byEmail, passkey: byPasskey, wallet: byWallet }[method] ?? byProvider;
    const completion = await complete(parts, { ...browser, loginIntentId, user, how, level });
    const { call, context } = browser;
    const { rememberedSignIns } = parts.core.pages;
    if (how.remember && completion.signIn)
      await rememberedSignIns?.remember({ call, context, browser: browser.browser }, completion.signIn);
    return toAnswer(completion, how.remember ? findCookie(browser.context.response) : undefined);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    await keepRefusal(parts, browser, { loginIntentId, method }, error);
    throw new SignInRefusedError(error.reason, error.message);
  }
}

/** Follows the URL to the login page, unless it is that of the page. */
async function findIntent(authUrl: string | URL): Promise<string> {
  let url = new URL(authUrl);
  if (!url.searchParams.has('intent')) {
    const response = await fetch(url, { redirect: 'manual' });
    await response.body?.cancel();
    const location = response.headers.get('location');
    if (location === null) throw new Error(`${url} leads to no login, but to an answer with status ${response.status}`);
    url = new URL(location, url);
  }
  const intent = url.searchParams.get('intent');
  if (intent !== null) return intent;
  const error = url.searchParams.get('error');
  if (error === null) throw new Error(`${authUrl} leads to no login, but to ${url}`);
  throw new SignInRefusedError(error, url.searchParams.get('error_description') ?? '');
}

/** Returns a new browser with its call, as the login page makes them of a request. */
function openBrowser({ config, core }: SignInParts, action: string) {
  const request = new IncomingMessage(new Socket());
  request.headers['user-agent'] = USER_AGENT;
  const isSecure = core.authPageUrl.startsWith('https:');
  const origin = { trustedProxies: core.trustedProxies, receivedAt: performance.now(), isSecure };
  const context = { ...createHttpContext(request, new ServerResponse(request), origin), clientAddress: '127.0.0.1' };
  const browser = bindAnswer(context, identifyBrowser(context, isSecure));
  const languages = readLanguageChoice(context, '');
  const toLanguage = (locale?: string | null) => languages.languageFor(locale).tag;
  const own = { ...core, notices: core.notices && { ...core.notices, toLanguage } };
  const actor = { actorType: 'login_page', actor: '', action } as const;
  const call = createAuditedCall(own, context, actor, { deadline: performance.now() + TIMEOUT_MS });
  const codes = { keys: deriveLoginCodeKeys(core.secrets.encryptionKeys), limitFactor: 1 };
  return { browser, call, codes, context, signUps: new SignUpRules(config.blockedEmailDomains) };
}

/** Returns the user, who may not exist yet: then only with an e-mail address. */
async function findPerson(call: Call, user: string): Promise<{ id: string | undefined; email: string }> {
  if (UUID.test(user)) return getUser(call, { userId: user, email: null });
  const found = await findUserToSignIn(call, user);
  return { id: found?.id, email: found?.email ?? user };
}

async function byEmail({ config, core }: SignInParts, person: Person): Promise<Completion> {
  const { browser, call, codes, loginIntentId, level = ONE_FACTOR } = person;
  if (!config.loginMethods.includes('email')) throw new ServiceError('LOGIN_METHOD_NOT_ENABLED');
  const intent = await requireOpenIntent(call, loginIntentId, 'email', TWO_FACTORS);
  const { id: userId, email } = await findPerson(call, person.user);
  if (userId && level > ONE_FACTOR) {
    const signedIn = { method: 'email', ...toSignInOrigin(browser) } as const;
    const login = { loginIntentId, userId, assurance: level };
    const completion = await completeLogin(call, core.tokens, login, { how: signedIn, proved: { email } });
    await markEmailVerified(call, { userId, email });
    await rememberOrigin(call, codes.keys, browser, { userId, email });
    return completion;
  }
  return completeByCode(core, person, { intent, userId, email, identityId: null });
}

/** Completes the login as the right code does. It may link what was proved before. */
async function completeByCode(
  { tokens }: SignInParts['core'],
  { browser, call, codes, signUps, how }: Person,
  {
    intent,
    userId = null,
    email,
    identityId,
  }: {
    intent: Parameters<typeof completeEmailLogin>[2]['intent'];
    userId: string | null | undefined;
    email: string;
    identityId: string | null;
  },
): Promise<Completion> {
  const now = call.now;
  const code = {
    ...{ id: randomUUID(), userId, email, walletAddress: null, identityId, codeDigest: Buffer.alloc(32) },
    ...{ sends: 1, isUnsent: false, attempts: 0, isRedeemed: true, createdAt: now, expiresAt: now },
  };
  const name = how.name ?? email.split('@')[0] ?? '';
  const completion = await completeEmailLogin(call, { codes, tokens, signUps }, { browser, intent, code, name });
  if (!completion) throw new Error('A new user with a name was not signed up');
  return completion;
}

async function byPasskey({ config, core }: SignInParts, person: Person): Promise<Completion> {
  const { browser, call, loginIntentId, level = PHISHING_RESISTANT } = person;
  if (!config.loginMethods.includes('passkey')) throw new ServiceError('LOGIN_METHOD_NOT_ENABLED');
  const intent = await requireOpenIntent(call, loginIntentId, 'passkey', PHISHING_RESISTANT);
  const { id: userId } = await findPerson(call, person.user);
  if (!userId) throw new ServiceError('UNKNOWN_PASSKEY');
  const how = { method: 'passkey', ...toSignInOrigin(browser) } as const;
  const completion = await completeLogin(call, core.tokens, { loginIntentId, userId, assurance: level }, { how });
  await noteSignIn(call, person.codes.keys, browser, { ...intent, userId });
  return completion;
}

async function byWallet({ config, core }: SignInParts, person: Person): Promise<Completion> {
  const { browser, call, loginIntentId, level = ONE_FACTOR } = person;
  if (!config.loginMethods.includes('wallet')) throw new ServiceError('LOGIN_METHOD_NOT_ENABLED');
  const intent = await requireOpenIntent(call, loginIntentId, 'wallet');
  const { id: userId } = await findPerson(call, person.user);
  const walletAddress = userId && (await getUser(call, { userId, email: null })).walletAddress;
  if (!userId || !walletAddress) throw new ServiceError('UNKNOWN_WALLET');
  const how = { method: 'wallet', ...toSignInOrigin(browser) } as const;
  const login = { loginIntentId, userId, assurance: level };
  const completion = await completeLogin(call, core.tokens, login, { how, proved: { walletAddress } });
  await noteSignIn(call, person.codes.keys, browser, { ...intent, userId });
  return completion;
}

/** Answers in place of the provider. A code follows where production asks for one. */
async function byProvider(parts: SignInParts, person: Person): Promise<Completion> {
  const { config, core } = parts;
  const { browser, call, codes, signUps, loginIntentId, how, level = ONE_FACTOR } = person;
  const { loginProviderIds, loginProviders } = config;
  const isOffered = loginProviderIds?.includes(how.method ?? '') ?? true;
  const provider = loginProviders.find(({ id }) => id === how.method && isOffered);
  if (!provider) throw new ServiceError('LOGIN_METHOD_NOT_ENABLED');
  const { id: userId, email } = await findPerson(call, person.user);
  // The same at each sign-in, so that it is linked once.
  const subject = email.toLowerCase();
  const identity = { issuer: provider.issuer, subject, email, isEmailVerified: true, name: how.name ?? '' };
  const identify = async () => ({ ...identity, assurance: level, authenticatedAt: call.now });
  const id = randomUUID();
  const authorization = { id, subjectId: loginIntentId, begunAt: call.now, state: '', nonce: '', codeVerifier: '' };
  const hasEmail = config.loginMethods.includes('email');
  const answer = await redeemProviderAnswer(call, { codes, signUps, tokens: core.tokens, hasEmail }, browser, {
    ...{ connection: { provider, identify }, callback: new URL(core.authPageUrl), authorization, purpose: 'login' },
  });
  if ('redirectUrl' in answer) return answer;
  const intent = await requireOpenIntent(call, loginIntentId, 'email', TWO_FACTORS);
  return completeByCode(core, person, { intent, userId, email, identityId: id });
}

async function keepRefusal(
  { core }: SignInParts,
  { browser, call, codes }: ReturnType<typeof openBrowser>,
  { loginIntentId, method }: { readonly loginIntentId: string; readonly method: string },
  error: ServiceError,
): Promise<void> {
  const reason = attemptReasonOf(error);
  if (!reason) return;
  call.count?.('refused_sign_ins');
  const userId = error.attempt?.userId ?? null;
  const userAgent = userId === null ? nameBrowser(browser.userAgent) : shortenUserAgent(browser.userAgent);
  const place = { ipAddress: browser.address, userAgent };
  const isKnown = ACTIONS[method] !== undefined || core.providers.nameOf(method) !== undefined;
  await recordAttempt(call, codes, { loginIntentId, reason, userId, method: isKnown ? method : null, ...place });
}

function toAnswer({ redirectUrl, authToken }: Completion, cookie: string | undefined): CompletedSignIn {
  const query = new URL(redirectUrl).searchParams;
  const [code, state] = [query.get('code'), query.get('state')];
  return {
    redirectUrl,
    ...(authToken && { authToken }),
    ...(code !== null && { code }),
    ...(state !== null && { state }),
    ...(cookie !== undefined && { cookie }),
  };
}

function findCookie(response: { getHeader(name: string): unknown }): string | undefined {
  const cookies = [response.getHeader('set-cookie') ?? []].flat().map(String);
  return cookies.find((cookie) => /^(__Host-)?usher-sso=/.test(cookie));
}
