/** What the login page answers with, and the headers that keep it to itself. */
import { randomBytes } from 'node:crypto';
import type { LoginState } from '../domain/login/find-login-state.ts';
import type { HttpContext } from '../http/http-context.ts';
import { send, sendJson } from '../http/response.ts';
import { renderErrorPage } from './pages.ts';

/** Takes a page as a function of the nonce that its style and script must carry. */
export function sendPage(
  exchange: HttpContext,
  status: number,
  render: (nonce: string) => string,
  headers: Record<string, string> = {},
): void {
  const nonce = randomBytes(16).toString('base64');
  send(exchange, status, render(nonce), {
    'content-type': 'text/html; charset=utf-8',
    // No form-action: browsers apply it to where the form redirects to as well, which is up to the application.
    'content-security-policy':
      `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'; connect-src 'self'; ` +
      `img-src data:; base-uri 'none'; frame-ancestors 'none'`,
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    ...headers,
  });
}

export function sendRedirect(exchange: HttpContext, location: string): void {
  send(exchange, 303, '', { location, 'referrer-policy': 'no-referrer' });
}

/** For the script of the page. */
export function sendScriptReply(
  exchange: HttpContext,
  status: number,
  reply: { message: string } | { error: string } | { redirectUrl: string },
): void {
  sendJson(exchange, status, JSON.stringify(reply), { 'x-content-type-options': 'nosniff' });
}

/** Which form: where to choose how to sign in, where to type the code, or a reply to the page's script. */
export type Form = 'choice' | 'code' | 'script';

type ErrorPage =
  | Exclude<LoginState['kind'], 'open' | 'answered'>
  | 'no-cookie'
  | 'stale-form'
  | 'unavailable'
  | 'bad-request'
  | 'not-found';

const ERROR_PAGES: Record<ErrorPage, { status: number; title: string; advice: string }> = {
  unknown: {
    status: 404,
    title: 'This sign-in is not known',
    advice: 'The link may be incomplete, or very old. Go back to the application you came from and sign in again.',
  },
  expired: {
    status: 410,
    title: 'This sign-in has expired',
    advice: 'It was good for 30 minutes. Go back to the application you came from and sign in again.',
  },
  completed: {
    status: 409,
    title: 'This sign-in has been used',
    advice: 'Each works once, in one browser. Go back to the application you came from and sign in again.',
  },
  'no-cookie': {
    status: 403,
    title: 'Your browser did not send our cookie',
    advice: 'Allow cookies for this page. Then go back to the application you came from and sign in again.',
  },
  // Of a page from before the browser got the cookie that it has now.
  'stale-form': {
    status: 403,
    title: 'That page was out of date',
    advice: 'Another page of ours was opened after it. Go back, load the page again, and send it once more.',
  },
  unavailable: {
    status: 503,
    title: 'We cannot sign you in right now',
    advice: 'Something is not working on our side. Wait a moment, then load this page again.',
  },
  'bad-request': {
    status: 400,
    title: 'We could not read that',
    advice: 'Go back to the application you came from and sign in again.',
  },
  'not-found': {
    status: 404,
    title: 'There is no such page',
    advice: 'Go back to the application you came from and sign in again.',
  },
};

export function adviceOf(kind: ErrorPage): string {
  const { title, advice } = ERROR_PAGES[kind];
  return `${title}. ${advice}`;
}

export function sendErrorPage(exchange: HttpContext, kind: ErrorPage, status = ERROR_PAGES[kind].status): void {
  const headers = status === 503 ? { 'retry-after': '1' } : undefined;
  sendPage(exchange, status, (nonce) => renderErrorPage(ERROR_PAGES[kind], nonce), headers);
}

/** Says so to the person, or, where the page's script asked, to the script. */
export function refuse(form: Form, exchange: HttpContext, kind: ErrorPage, status = ERROR_PAGES[kind].status): void {
  if (form === 'script') sendScriptReply(exchange, status, { error: adviceOf(kind) });
  else sendErrorPage(exchange, kind, status);
}
