/** CORS for the pages of public clients: https://fetch.spec.whatwg.org/#http-cors-protocol */
import { isPreflight, PREFLIGHT_AGE } from '../../../api/cors.ts';
import { headerOf, send } from '../../../http/exchange.ts';
import type { HttpContext } from '../../../http/http-context.ts';
import { isOriginOf } from '../clients/page-origins.ts';

const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, POST',
  // The asterisk means every header but this one: pages and libraries add their own.
  'access-control-allow-headers': '*, Authorization',
  ...PREFLIGHT_AGE,
};

export const EXPOSED_HEADERS = 'WWW-Authenticate, X-Request-Id, Retry-After';

/** Lets the page that sent the request read the answer, if its origin is that of a redirect URI of the client. */
export function allowPage(context: HttpContext, redirectUris: readonly string[]): void {
  const origin = headerOf(context, 'origin');
  if (origin !== undefined && isOriginOf(origin, redirectUris)) allowOrigin(context, origin);
}

/** Lets any page read the answer to a client that has no application, and so no redirect URIs to compare with. */
export function allowAnyPage(context: HttpContext): void {
  const origin = headerOf(context, 'origin');
  if (origin !== undefined) allowOrigin(context, origin);
}

function allowOrigin({ response }: HttpContext, origin: string): void {
  response.setHeader('vary', 'Origin');
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('access-control-expose-headers', EXPOSED_HEADERS);
}

/**
 * Answers a preflight, and returns whether the request was one. A preflight names no client, so it allows every origin.
 * This is safe: `allowPage` decides who may read the answer itself, and the endpoints use no cookies.
 */
export function answerPreflight(context: HttpContext): boolean {
  const origin = headerOf(context, 'origin');
  if (!isPreflight(context) || origin === undefined) return false;
  send(context, 204, '', { ...PREFLIGHT_HEADERS, 'access-control-allow-origin': origin, vary: 'Origin' });
  return true;
}
