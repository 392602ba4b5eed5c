/** What a browser can do on the login page, a row each, and the forms it is shown. */
import { cancelLogin } from '../core/auth/cancel-login.ts';
import { createLoginCode } from '../core/auth/create-login-code.ts';
import { createWalletChallenge } from '../core/auth/create-wallet-challenge.ts';
import { openLogin } from '../core/auth/open-login.ts';
import { redeemLoginCode } from '../core/auth/redeem-login-code.ts';
import { redeemWalletSignature } from '../core/auth/redeem-wallet-signature.ts';
import type { Call } from '../core/call.ts';
import type { ErrorKind, ServiceError } from '../core/errors.ts';
import type { HttpExchange } from '../net/exchange.ts';
import type { LoginParts } from './adapter.ts';
import { type KnownBrowser, rememberEmail, rememberedEmail } from './browser-cookie.ts';
import { type LoginMethod, renderChoice, renderCode } from './pages.ts';
import { adviceOf, type Form, sendDeadEnd, sendPage, sendRedirect, sendScriptReply } from './replies.ts';

export interface Fields {
  readonly loginIntentId: string;
  readonly token: string;
  readonly email: string;
  readonly code: string;
  readonly address: string;
  readonly signature: string;
}

/** A browser's request. */
export interface Visit {
  readonly exchange: HttpExchange;
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
  run(visit: Visit): Promise<void>;
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

async function sendCode(visit: Visit): Promise<void> {
  const { call, parts, browser, fields, exchange } = visit;
  const code = await createLoginCode(call, parts.codeKeys, browser, fields);
  rememberEmail(exchange, fields.email);
  // To a page of its own, which can be loaded again, and come back to.
  sendRedirect(exchange, `${new URL(parts.pageUrl).pathname}/code?intent=${fields.loginIntentId}`);
  // After the reply, which so takes no longer for an address that somebody has.
  if (!code) return;
  parts.deliver(code).catch((error) => {
    // Not the error itself: a mail server's answer quotes the address.
    const { code, responseCode } = error;
    parts.logger.error({ requestId: exchange.requestId, code, responseCode }, 'login code not sent');
  });
}

async function redeemCode({ call, parts, browser, fields, exchange }: Visit): Promise<void> {
  const keysAndTokens = { tokens: parts.tokens, keys: parts.codeKeys };
  const { redirectUrl } = await redeemLoginCode(call, keysAndTokens, browser, fields);
  sendRedirect(exchange, redirectUrl);
}

async function challengeWallet({ call, parts, browser, fields, exchange }: Visit): Promise<void> {
  sendScriptReply(exchange, 200, await createWalletChallenge(call, parts.pageUrl, browser, fields));
}

async function redeemSignature({ call, parts, browser, fields, exchange }: Visit): Promise<void> {
  const { redirectUrl } = await redeemWalletSignature(call, parts.tokens, browser, fields);
  sendRedirect(exchange, redirectUrl);
}

async function cancel({ call, parts, fields, exchange }: Visit): Promise<void> {
  const { redirectUrl } = await cancelLogin(call, parts.tokens.issuer, fields);
  sendRedirect(exchange, redirectUrl);
}

/**
 * Shows the form, with what went wrong, if anything did. Where the intent is not open any more, says
 * that instead; the browser that completed it gets its redirect again.
 */
export async function showForm(visit: Visit, form: Form, error?: ServiceError): Promise<void> {
  const { exchange, call, browser, fields, parts } = visit;
  const state = await openLogin(call, parts.tokens, browser, fields.loginIntentId);
  if (form === 'script') {
    if (state.kind === 'answered') sendScriptReply(exchange, 200, { redirectUrl: state.redirectUrl });
    else sendScriptReply(exchange, 400, { error: state.kind === 'open' ? alertOf(error) : adviceOf(state.kind) });
  } else if (state.kind === 'answered') {
    sendRedirect(exchange, state.redirectUrl);
  } else if (state.kind !== 'open') {
    sendDeadEnd(exchange, state.kind);
  } else {
    const context = {
      loginIntentId: fields.loginIntentId,
      path: new URL(parts.pageUrl).pathname,
      formToken: browser.formToken,
    };
    const view = {
      applicationName: state.applicationName,
      methods: parts.methods,
      email: fields.email || rememberedEmail(exchange),
      code: fields.code,
      alert: alertOf(error),
    };
    const render = form === 'code' && view.email ? renderCode : renderChoice;
    sendPage(exchange, error ? STATUSES[error.kind] : 200, (nonce) => render(context, view, nonce));
  }
}

const STATUSES: Record<ErrorKind, number> = {
  invalid: 400,
  unauthenticated: 400,
  'not-found': 400,
  'already-exists': 409,
  'failed-precondition': 409,
  'too-many': 429,
};

/** What to tell a person, by the message of the error, or by the field that is wrong. */
const ALERTS: Record<string, string> = {
  email: 'Please enter an e-mail address, such as ada@example.com.',
  code: 'Please enter the six digits from the e-mail.',
  address: 'Your wallet did not tell its address. Please try again.',
  signature: 'Your wallet did not sign. Please try again.',
  'Too many codes': 'Too many codes have been asked for. Please try again in an hour.',
  'Wrong code': 'That is not the code we sent. Please check it and try again.',
  'Code no longer valid': 'This code is not valid any more. Please send a new one.',
  'Invalid signature': 'The signature does not match. Please try again.',
  'Unknown wallet': 'No account has this wallet. Please use another one, or your e-mail address.',
};

function alertOf(error: ServiceError | undefined): string {
  if (!error) return '';
  const field = error.violations.find((violation) => violation.field in ALERTS)?.field;
  return ALERTS[field ?? error.message] ?? 'That did not work. Please try again.';
}
