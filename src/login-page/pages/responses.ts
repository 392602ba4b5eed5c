/** The responses of the login page, with their security headers. */
import { randomBytes } from 'node:crypto';
import { send, sendJson, toPageHeaders } from '../../http/exchange.ts';
import type { HttpContext } from '../../http/http-context.ts';
import { ENGLISH } from '../../texts/texts.ts';
import { type PageContent, renderDocument } from './document.ts';
import { describeError, ERROR_PAGES, type ErrorPage, renderError } from './error.ts';
import type { PageView } from './view.ts';

export function sendPage(
  context: HttpContext,
  status: number,
  page: PageContent,
  headers: Record<string, string> = {},
): void {
  const nonce = randomBytes(16).toString('base64');
  send(context, status, renderDocument(page, nonce), {
    ...toPageHeaders(policyOf(nonce)),
    'content-language': (page.language ?? ENGLISH).tag,
    vary: 'accept-language',
    ...headers,
  });
}

/** It has no `form-action`, because browsers apply that to redirects to applications. */
export function policyOf(nonce: string): string {
  return `style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'; connect-src 'self'; img-src 'self' data:`;
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

/** The pages of a login that have a form. */
export type FormPage = 'choice' | 'closed' | 'code' | 'link' | 'name' | 'refused';

/** The page that shows a problem, or `script` if the script of the page shows it. */
export type Form = FormPage | 'script' | OwnPage;

/** The path of a page of a module, below that of the login page. */
type OwnPage = string & {};

export function sendErrorPage(
  context: HttpContext,
  kind: ErrorPage,
  view: PageView,
  status: number = ERROR_PAGES[kind].status,
): void {
  const retryAfter = status === 503 ? '1' : status === 429 ? '60' : undefined;
  const headers = retryAfter === undefined ? undefined : { 'retry-after': retryAfter };
  sendPage(context, status, renderError(kind, view, context.requestId), headers);
}

/** Answers with an error page, or with the error as JSON for the script of the page. */
export function refuse(
  form: Form,
  context: HttpContext,
  kind: ErrorPage,
  view: PageView,
  status: number = ERROR_PAGES[kind].status,
): void {
  if (form === 'script') sendScriptResponse(context, status, { error: describeError(kind, view.language) });
  else sendErrorPage(context, kind, view, status);
}
