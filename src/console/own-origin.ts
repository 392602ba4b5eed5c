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
