/** The responses of the login page, with their security headers. */
import { randomBytes } from 'node:crypto';
import type { HttpContext } from '../http/http-context.ts';
import { send, sendJson } from '../http/response.ts';
import { type PageContent, renderDocument, renderErrorPage } from './pages.ts';

export function sendPage(
  context: HttpContext,
  status: number,
  page: PageContent,
  headers: Record<string, string> = {},
): void {
  const nonce = randomBytes(16).toString('base64');
  send(context, status, renderDocument(page, nonce), {
    'content-type': 'text/html; charset=utf-8',
    // No form-action: browsers would apply it to the redirect after a form, too, which leads to the application.
    'content-security-policy':
      `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'; connect-src 'self'; ` +
      `img-src data:; base-uri 'none'; frame-ancestors 'none'`,
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    ...headers,
  });
}

export function sendRedirect(context: HttpContext, location: string): void {
  send(context, 303, '', { location, 'referrer-policy': 'no-referrer' });
}

export function sendScriptResponse(
  context: HttpContext,
  status: number,
  body: { message: string } | { error: string } | { redirectUrl: string },
): void {
  sendJson(context, status, JSON.stringify(body), { 'x-content-type-options': 'nosniff' });
}

/** The pages with a form: the choice of methods, and those after it. */
export type FormPage = 'choice' | 'code' | 'link' | 'name';

/** Where a problem is shown: on a page, or by the script of the page. */
export type Form = FormPage | 'script';

type ErrorPage = keyof typeof ERROR_PAGES;

const ERROR_PAGES = {
  unknown: {
    status: 404,
    title: 'This sign-in is not known',
    advice: 'The link may be incomplete, or very old. Go back to the application you came from and sign in again.',
  },
  expired: {
    status: 410,
    title: 'This sign-in has expired',
    advice: 'It was valid for 30 minutes. Go back to the application you came from and sign in again.',
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
  // The page was loaded before the browser got another cookie.
  'stale-form': {
    status: 403,
    title: 'That page was out of date',
    advice: 'You opened another of our pages after it. Go back, reload the page and send it again.',
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

export function sendErrorPage(context: HttpContext, kind: ErrorPage, status: number = ERROR_PAGES[kind].status): void {
  const headers = status === 503 ? { 'retry-after': '1' } : undefined;
  sendPage(context, status, renderErrorPage(ERROR_PAGES[kind]), headers);
}

/** Shows an error page, or answers the error to the script of the page. */
export function refuse(
  form: Form,
  context: HttpContext,
  kind: ErrorPage,
  status: number = ERROR_PAGES[kind].status,
): void {
  if (form === 'script') sendScriptResponse(context, status, { error: adviceOf(kind) });
  else sendErrorPage(context, kind, status);
}
