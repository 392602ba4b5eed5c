/** What a browser can do on the login page, a row each, and the forms it is shown. */
import type { Logger } from 'pino';
import type { LoginMethod } from '../config/login-methods.ts';
import type { Database } from '../database/database.ts';
import type { Call } from '../domain/call.ts';
import type { ServiceError } from '../domain/errors.ts';
import type { AuthTokens } from '../domain/login/auth-tokens.ts';
import { cancelLogin } from '../domain/login/cancel-login.ts';
import { createLoginCode } from '../domain/login/create-login-code.ts';
import { createWalletChallenge } from '../domain/login/create-wallet-challenge.ts';
import { findLoginState } from '../domain/login/find-login-state.ts';
import type { LoginCodeKeys } from '../domain/login/login-code.ts';
import { redeemLoginCode } from '../domain/login/redeem-login-code.ts';
import { redeemWalletSignature } from '../domain/login/redeem-wallet-signature.ts';
import { UUID } from '../domain/validation.ts';
import type { HttpContext } from '../http/http-context.ts';
import { alertFor, problemOf } from './alerts.ts';
import { type KnownBrowser, rememberEmail, rememberedEmail } from './browser-cookie.ts';
import type { LoginMailer } from './login-mailer.ts';
import { renderChoice, renderCode } from './pages.ts';
import { adviceOf, type Form, sendErrorPage, sendPage, sendRedirect, sendScriptReply } from './responses.ts';

/** What the page is made with. */
export interface LoginParts {
  readonly clock: () => Date;
  readonly codeKeys: LoginCodeKeys;
  readonly database: Database;
  readonly logger: Logger;
  readonly methods: readonly LoginMethod[];
  readonly outbox: LoginMailer;
  /** Where the world finds the page; its path here is `/login`. */
  readonly pageUrl: string;
  readonly requestTimeoutMs: number;
  readonly tokens: AuthTokens;
}

export interface Fields {
  readonly loginIntentId: string;
  readonly token: string;
  readonly email: string;
  readonly code: string;
  readonly address: string;
  readonly signature: string;
  /** What went wrong with the form that led to this page. */
  readonly problem: string;
}

/** A browser's request. */
export interface LoginRequest {
  readonly exchange: HttpContext;
  readonly call: Call;
  readonly browser: KnownBrowser;
  readonly fields: Fields;
  readonly parts: LoginParts;
}

export interface Action {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** The method of signing in that it belongs to. */
  readonly needs?: LoginMethod;
  /** The form that shows what went wrong. */
  readonly form: Form;
  /** Throws the ServiceError of the verb. */
  run(visit: LoginRequest): Promise<void>;
}

export const ACTIONS: readonly Action[] = [
  { method: 'GET', path: '/login', form: 'choice', run: (visit) => showForm(visit, 'choice') },
  { method: 'POST', path: '/login/email', needs: 'email', form: 'choice', run: sendCode },
  { method: 'POST', path: '/login/email/again', needs: 'email', form: 'code', run: sendCode },
  { method: 'GET', path: '/login/code', needs: 'email', form: 'code', run: (visit) => showForm(visit, 'code') },
  { method: 'POST', path: '/login/code', needs: 'email', form: 'code', run: redeemCode },
  { method: 'POST', path: '/login/wallet/challenge', needs: 'wallet', form: 'script', run: challengeWallet },
  { method: 'POST', path: '/login/wallet', needs: 'wallet', form: 'choice', run: redeemSignature },
  { method: 'POST', path: '/login/cancel', form: 'choice', run: cancel },
];

async function sendCode(visit: LoginRequest): Promise<void> {
  const { call, parts, browser, fields, exchange } = visit;
  const code = await createLoginCode(call, parts.codeKeys, browser, fields);
  sendBack(visit, 'code');
  // After the reply, which so takes no longer for an address that somebody has.
  if (code) parts.outbox.post(code, exchange.requestId);
}

async function redeemCode({ call, parts, browser, fields, exchange }: LoginRequest): Promise<void> {
  const keysAndTokens = { tokens: parts.tokens, keys: parts.codeKeys };
  const { redirectUrl } = await redeemLoginCode(call, keysAndTokens, browser, fields);
  sendRedirect(exchange, redirectUrl);
}

async function challengeWallet({ call, parts, browser, fields, exchange }: LoginRequest): Promise<void> {
  sendScriptReply(exchange, 200, await createWalletChallenge(call, parts.pageUrl, browser, fields));
}

async function redeemSignature({ call, parts, browser, fields, exchange }: LoginRequest): Promise<void> {
  const { redirectUrl } = await redeemWalletSignature(call, parts.tokens, browser, fields);
  sendRedirect(exchange, redirectUrl);
}

async function cancel({ call, parts, fields, exchange }: LoginRequest): Promise<void> {
  const { redirectUrl } = await cancelLogin(call, parts.tokens.issuer, fields);
  sendRedirect(exchange, redirectUrl);
}

/** Shows the form, or, where the intent is not open any more, that; who completed it gets the redirect again. */
async function showForm(
  { exchange, call, browser, fields, parts }: LoginRequest,
  form: 'choice' | 'code',
): Promise<void> {
  const state = await findLoginState(call, parts.tokens, browser, fields.loginIntentId);
  if (state.kind === 'answered') {
    sendRedirect(exchange, state.redirectUrl);
  } else if (state.kind !== 'open') {
    sendErrorPage(exchange, state.kind);
  } else {
    const { loginIntentId } = fields;
    const context = { loginIntentId, path: new URL(parts.pageUrl).pathname, formToken: browser.formToken };
    const view = {
      applicationName: state.applicationName,
      methods: parts.methods,
      email: rememberedEmail(exchange),
      alert: alertFor(fields.problem),
    };
    const render = form === 'code' && view.email ? renderCode : renderChoice;
    sendPage(exchange, 200, (nonce) => render(context, view, nonce));
  }
}

/** Says what went wrong with a form: on its page, or to the script of the page. */
export async function answerProblem(visit: LoginRequest, form: Form, error: ServiceError): Promise<void> {
  const { exchange, call, browser, fields, parts } = visit;
  const problem = problemOf(error);
  if (form !== 'script') {
    sendBack(visit, form, problem);
    return;
  }
  const state = await findLoginState(call, parts.tokens, browser, fields.loginIntentId);
  if (state.kind === 'answered') sendScriptReply(exchange, 200, { redirectUrl: state.redirectUrl });
  else if (state.kind !== 'open') sendScriptReply(exchange, 400, { error: adviceOf(state.kind) });
  else sendScriptReply(exchange, error.kind === 'too-many' ? 429 : 400, { error: alertFor(problem) });
}

/** From a form to a page, which can be loaded again, and come back to, without sending the form once more. */
function sendBack({ exchange, browser, fields, parts }: LoginRequest, form: 'choice' | 'code', problem?: string): void {
  if (!UUID.test(fields.loginIntentId)) {
    sendErrorPage(exchange, 'unknown');
    return;
  }
  if (fields.email) rememberEmail(exchange, browser, fields.email);
  const query = new URLSearchParams({ intent: fields.loginIntentId, ...(problem && { problem }) });
  const page = `${new URL(parts.pageUrl).pathname}${form === 'code' ? '/code' : ''}`;
  sendRedirect(exchange, `${page}?${query}`);
}
