/** Reads the `Content-Type` of requests, for every protocol and form. */
import { parse } from 'content-type';
import { headerOf } from '../http/exchange.ts';
import type { RequestContext } from '../http/http-context.ts';

export interface MediaType {
  /** Type and subtype in lower case, without parameters. Empty if there is none. */
  readonly name: string;
  /** False if the header names another charset. */
  readonly isUtf8: boolean;
}

/** Accepts every spelling of RFC 9110, section 8.3.1, and ignores parameters other than the charset. */
export function readMediaType(context: Pick<RequestContext, 'headers'>): MediaType {
  const { type, parameters } = parse(headerOf(context, 'content-type') ?? '');
  return { name: type, isUtf8: /^utf-?8$/i.test(parameters.charset ?? 'utf-8') };
}

/** Ignores the charset: Usher reads forms in UTF-8, as browsers send them, but Java clients say `ISO-8859-1`. */
export function isForm(context: Pick<RequestContext, 'headers'>): boolean {
  return readMediaType(context).name === 'application/x-www-form-urlencoded';
}
