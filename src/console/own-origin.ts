import { type HttpContext, headerOf } from '../http/http-context.ts';

/**
 * Returns whether a page of the console has sent the form. All browsers have sent `Sec-Fetch-Site` since 2023, except over
 * plain http beyond localhost, where they send `Origin`.
 */
export function isOwnRequest(context: HttpContext, consoleUrl: string): boolean {
  const site = headerOf(context, 'sec-fetch-site');
  if (site !== undefined) return site === 'same-origin';
  return headerOf(context, 'origin') === consoleUrl;
}

/**
 * Returns whether a page of another origin loads this into itself, such as an image. Cookies ignore ports, so that it may
 * come with the session of an operator, and a login that it begins would count as one of theirs.
 */
export function isForeignPart(context: HttpContext): boolean {
  const isForeign = ['cross-site', 'same-site'].includes(headerOf(context, 'sec-fetch-site') ?? '');
  return isForeign && headerOf(context, 'sec-fetch-dest') !== 'document';
}
