/** Signs operators in to the console, which is an application of Usher: the login is that of any application. */

import { AdminService } from '../../../gen/usher/v1/admin_pb.ts';
import { toOwnPath } from '../../client/own-path.ts';
import { loginIntents } from '../../database/schema/intent-schema.ts';
import { nullable, p, statement, t } from '../../database/sql/template.ts';
import type { Call } from '../../domain/core/call.ts';
import { ServiceError } from '../../domain/core/errors.ts';
import { hmac } from '../../domain/crypto/derived-keys.ts';
import { completeLogin } from '../../domain/login/complete-login.ts';
import { createAuthPageLink, generateAuthUrl, INTENT_LIFETIME_MS } from '../../domain/login/generate-auth-url.ts';
import { siteOf } from '../../domain/login/network.ts';
import { type RateLimit, takePermit } from '../../domain/login/rate-limit.ts';
import { exchangeToken } from '../../domain/sessions/exchange-token.ts';
import { revokeSession } from '../../domain/sessions/revoke-session.ts';
import { isYoung } from '../../domain/users/counts-from.ts';
import { findUserByEmail } from '../../domain/users/find-user-by-email.ts';
import { getUser } from '../../domain/users/get-user.ts';
import { headerOf } from '../../http/exchange.ts';
import { html } from '../../http/html.ts';
import { beginLogin, endLogin } from '../../login-page/browser/pending-logins.ts';
import { isolate } from '../../texts/isolate.ts';
import type { ConsoleParts } from './console-parts.ts';
import { type ConsoleRequest, createOperatorCall, perform } from './console-request.ts';
import {
  CONSOLE_LOGINS,
  FRESH_SECONDS,
  removeSessionCookie,
  writeSessionCookie,
  writeSignInCookie,
} from './cookies.ts';
import { sendCard, sendNonOperatorPage } from './frame.ts';
import type { Reply } from './route.ts';
import { LINK_MINUTES, openSignInLink } from './sign-in-link.ts';
import { findOperator, findSignedIn } from './signed-in-operator.ts';
import { CONSOLE_CLIENT_ID, consoleApplication } from './statements/console-application.ts';

/** Limits the logins that a network may start, because each stores a row for half an hour. */
const LOGINS: RateLimit = { burst: 100, intervalMs: 10_000 };
/** A link works once: its permit comes back only after the link has expired. */
const LINK_USES: RateLimit = { burst: 1, intervalMs: 2 * LINK_MINUTES * 60_000 };
/** Three paths of this length, encrypted, fit into a cookie of 4096 bytes, the limit of browsers. */
const MAX_RETURN_PATH = 600;

/** Sends the browser to the login page. `to` is the page to return to, `fresh` and `passkey` demand more of the sign-in. */
export async function startSignIn({ context, parts, query }: ConsoleRequest): Promise<Reply> {
  if (query.has('out'))
    return sendSignInCard(context, 200, 'You are signed out', 'Your session has ended in every browser.');
  const { authPageUrl, cookies, consoleUrl } = parts;
  const call = createOperatorCall(context, parts, '', 'AuthService/GenerateAuthUrl');
  const key = hmac(cookies.keys[0], `console logins: ${siteOf(context.clientAddress)}`);
  if (!(await takePermit(call, key, LOGINS))) {
    return sendSignInCard(context, 429, 'Too many logins', 'Your network has started many logins. Wait a moment.');
  }
  const returnTo = toReturnPath(query.get('to') ?? '/', consoleUrl);
  const fresh = query.has('fresh') ? { prompt: 'LOGIN', maxAgeSeconds: FRESH_SECONDS } : {};
  const stronger = query.has('passkey') ? { requiredAssurance: 'PHISHING_RESISTANT' } : {};
  const redirectUri = redirectUriOf(parts);
  const state = beginLogin(context, { ...cookies, ...CONSOLE_LOGINS }, returnTo);
  const request = { clientId: CONSOLE_CLIENT_ID, redirectUri, state, ...fresh, ...stronger };
  const application = consoleApplication(redirectUri);
  const { authUrl } = await generateAuthUrl({ ...call, application }, createAuthPageLink(authPageUrl), request);
  return { redirect: authUrl };
}

/** Handles the redirect URI: exchanges the auth token for a session. Also opens sign-in links, which have the same path. */
export async function finishSignIn(request: ConsoleRequest): Promise<Reply> {
  const { context, parts, query } = request;
  const link = query.get('link');
  if (link !== null) return confirmLink(request, link);
  const returnTo = endLogin(context, { ...parts.cookies, ...CONSOLE_LOGINS }, query.get('state') ?? '');
  if (returnTo === undefined || query.get('iss') !== parts.tokens.issuer) {
    return sendSignInCard(
      context,
      400,
      'This sign-in cannot be used',
      `It was started in another browser, or more than ${INTENT_LIFETIME_MS / 60_000} minutes ago.`,
    );
  }
  if (query.has('error'))
    return sendSignInCard(context, 200, 'You are not signed in', 'You have cancelled the sign-in.');
  return exchange(request, query.get('authToken') ?? '', returnTo);
}

async function exchange({ context, parts }: ConsoleRequest, authToken: string, returnTo: string): Promise<Reply> {
  const now = parts.clock();
  const signIn = parts.tokens.verify(authToken, CONSOLE_CLIENT_ID, now);
  const { userId, method, authenticatedAt, loginIntentId } = signIn;
  const call = createOperatorCall(context, parts, userId, 'AuthService/ExchangeToken');
  const user = await getUser(call, { userId });
  // A young passkey has one factor. The page for it says more than that of a sign-in without one.
  const isByPasskey = method === 'passkey' && parts.operators.find(user.email)?.needsPasskey;
  if (isByPasskey && !(await countsForOperators(call, { userId, loginIntentId }))) {
    const text = html`It opens the console 7 days after you have added it. A passkey that you add with the link of <code>npm run console</code> opens it at once.`;
    return sendSignInCard(context, 403, 'This passkey is new', text);
  }
  const operator = findOperator(parts, user, signIn);
  if (!('role' in operator)) return sendNonOperatorPage(context, operator);
  const peer = { ipAddress: context.clientAddress, userAgent: headerOf(context, 'user-agent') ?? '' };
  const application = consoleApplication(redirectUriOf(parts));
  const session = await exchangeToken({ ...call, application }, parts, peer, { authToken });
  writeSessionCookie(context, parts.cookies, session.id);
  writeSignInCookie(context, parts.cookies, { userId, authenticatedAt });
  return { redirect: returnTo };
}

/**
 * Asks before it signs the operator in: chats and mail scanners open links, and must not use them up. The page names the
 * operator, so that nobody is signed in as somebody else by an unknown link.
 */
function confirmLink(request: ConsoleRequest, token: string): Reply {
  const { context, call, parts } = request;
  const link = openSignInLink(parts.cookies.keys, token, call.now);
  if (!link) return refuseLink(request);
  const form = html`<p>As ${isolate(link.email)}.</p>
<form method="post" action="/callback"><input type="hidden" name="link" value="${token}"><button>Sign in</button></form>`;
  sendCard(context, 200, 'Sign in to the console', form);
  return 'sent';
}

/** Signs in the operator whom the link names. Creates the user if there is none. */
export async function followLink(request: ConsoleRequest): Promise<Reply> {
  const { context, form, parts } = request;
  const { keys } = parts.cookies;
  const token = form.get('link') ?? '';
  const call = createOperatorCall(context, parts, '', 'AdminService/CompleteLogin');
  const link = openSignInLink(keys, token, call.now);
  const isUsable = link !== undefined && (await takePermit(call, hmac(keys[0], `console link: ${link.id}`), LINK_USES));
  if (!isUsable) return refuseLink(request, link?.email);
  const operator = parts.operators.find(link.email);
  if (!operator) return sendNonOperatorPage(context, { email: link.email, needsPasskey: false });
  const found = await findUserByEmail(call, link.email);
  const userId = found?.id ?? (await createOperator(request, operator.email));
  if (operator.needsPasskey) return addPasskey(request, userId);
  const redirectUri = redirectUriOf(parts);
  const application = consoleApplication(redirectUri);
  const login = { clientId: CONSOLE_CLIENT_ID, redirectUri, state: link.id };
  const linkTo = createAuthPageLink(parts.authPageUrl);
  const { loginIntentId } = await generateAuthUrl({ ...call, application }, linkTo, login);
  const completing = createOperatorCall(context, parts, userId, 'AdminService/CompleteLogin');
  const { authToken } = await completeLogin(completing, parts.tokens, { loginIntentId, userId });
  return exchange(request, authToken, '/');
}

/** Sends an operator who needs a passkey to the login page. A passkey that is added there opens the console at once. */
async function addPasskey({ context, parts }: ConsoleRequest, userId: string): Promise<Reply> {
  const redirectUri = redirectUriOf(parts);
  const call = createOperatorCall(context, parts, userId, 'AuthService/GenerateAuthUrl');
  const state = beginLogin(context, { ...parts.cookies, ...CONSOLE_LOGINS }, '/');
  const login = { clientId: CONSOLE_CLIENT_ID, redirectUri, state, prompt: 'PASSKEYS' };
  const application = consoleApplication(redirectUri);
  const linkTo = createAuthPageLink(parts.authPageUrl);
  const { authUrl, loginIntentId } = await generateAuthUrl({ ...call, application }, linkTo, login);
  await vouchForOperator(call, { loginIntentId, userId });
  return { redirect: authUrl };
}

/** Names the whole command: with the embedded Postgres it needs no address. */
function refuseLink({ context, parts }: ConsoleRequest, email = '<e-mail address>'): Reply {
  const address = parts.config.databaseUrl === undefined ? '' : ` ${email}`;
  const text = html`A link works once, and for ${String(LINK_MINUTES)} minutes. <code>npm run console${address}</code> prints a new one.`;
  return sendSignInCard(context, 403, 'This link cannot be used', text);
}

async function createOperator({ context, parts }: ConsoleRequest, email: string): Promise<string> {
  const performer = { context, parts, params: {}, actor: '' };
  const { user } = await perform(performer, AdminService.method.createUser, { email });
  // Equivalent: guard: whoever is created has an ID
  if (!user?.id) throw new ServiceError('USER_NOT_FOUND');
  return user.id;
}

/** Ends the session in every browser of the operator. */
export async function endSignIn({ context, parts }: ConsoleRequest): Promise<Reply> {
  const found = await findSignedIn(context, createOperatorCall(context, parts, ''), parts, 'POST');
  removeSessionCookie(context, parts.cookies);
  if (found) {
    const call = createOperatorCall(context, parts, found.userId, 'SessionService/RevokeSession');
    const application = consoleApplication(redirectUriOf(parts));
    await revokeSession({ ...call, application }, parts, found);
    parts.liveSessions.forgetUser(found.userId);
  }
  return { redirect: '/login?out' };
}

/** Returns a path of the console, or `/`. Drops a query that is too long for the cookie. */
function toReturnPath(to: string, consoleUrl: string): string {
  const path = toOwnPath(to, consoleUrl) ?? '/';
  return [path, path.replace(/\?.*/s, '')].find(({ length }) => length <= MAX_RETURN_PATH) ?? '/';
}

export function redirectUriOf({ consoleUrl }: Pick<ConsoleParts, 'consoleUrl'>): string {
  return `${consoleUrl}/callback`;
}

function sendSignInCard(
  context: ConsoleRequest['context'],
  status: number,
  title: string,
  text: Parameters<typeof html>[1],
): 'sent' {
  sendCard(context, status, title, html`<p>${text}</p>\n<p><a class="button" href="/login">Sign in</a></p>`);
  return 'sent';
}

/** Makes passkeys that the user adds after this login count in full, because a printed link proves who it is. */
async function vouchForOperator(
  { run }: Call,
  login: { readonly loginIntentId: string; readonly userId: string },
): Promise<void> {
  await run(storeVoucher, login);
}

const storeVoucher = statement('vouch_for_operator')`
  update login_intents set vouched_user_id = ${p.uuid('userId')} where id = ${p.uuid('loginIntentId')}`;

/**
 * Returns whether the passkey of this sign-in opens the console for an operator who must sign in with one. A young one
 * does not: whoever reads the operator's e-mails could have added it.
 */
async function countsForOperators(
  { run, now }: Call,
  { userId, loginIntentId }: { readonly userId: string; readonly loginIntentId: string },
): Promise<boolean> {
  // Two statements, because the rows may be on different servers.
  const [login] = await run(selectPasskeyOfLogin, { loginIntentId });
  const [passkey] = await run(selectOperatorsFrom, { userId, passkeyId: login?.passkeyId ?? null });
  return passkey !== undefined && !isYoung(passkey.from, now);
}

const selectPasskeyOfLogin = statement('select_passkey_of_login', { passkeyId: loginIntents.passkeyId })`
  select passkey_id from login_intents where id = ${p.uuid('loginIntentId')}`;

const selectOperatorsFrom = statement('select_passkey_for_operators', { from: nullable(t.instant) })`
  select counts_for_operators_from as from from passkeys
  -- Equivalent: conjunct: the ID is unique, and an index begins with the user
  where user_id = ${p.uuid('userId')}
    and id = ${p.uuid('passkeyId')}`;
