import { headerOf } from '../../http/exchange.ts';
import type { HttpContext } from '../../http/http-context.ts';

/**
 * Returns whether a page of the console has sent the form. All browsers send `Sec-Fetch-Site` since 2023. Over plain http
 * to other hosts than localhost they omit it, but send `Origin`.
 */
export function isOwnRequest(context: HttpContext, consoleUrl: string): boolean {
  const site = headerOf(context, 'sec-fetch-site');
  if (site !== undefined) return site === 'same-origin';
  return headerOf(context, 'origin') === consoleUrl;
}

/**
 * Returns whether a page of another origin loads this page as a part, for example as an image. Cookies ignore ports, so
 * the request may have the session of an operator: it would renew the session, and could start logins in this browser.
 */
export function isCrossOriginPart(context: HttpContext): boolean {
  const isCrossOrigin = ['cross-site', 'same-site'].includes(headerOf(context, 'sec-fetch-site') ?? '');
  return isCrossOrigin && headerOf(context, 'sec-fetch-dest') !== 'document';
}
