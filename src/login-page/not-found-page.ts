/** The page at a path that nothing serves, for browsers. Programs get the error body. */

import { headerOf } from '../http/exchange.ts';
import type { HttpContext } from '../http/http-context.ts';
import { readLanguageChoice } from './language-choice.ts';
import { sendErrorPage } from './responses.ts';

/** A form that is sent there keeps the path, whatever it is. */
const SAME_PATH = { path: '?', query: [] };

/** Must be asked last. Only browsers name HTML as what they want. */
export async function serveNotFoundPage(context: HttpContext): Promise<boolean> {
  const { method } = context.request;
  const isBrowser = /\btext\/html\b/i.test(headerOf(context, 'accept') ?? '');
  if ((method !== 'GET' && method !== 'HEAD') || !isBrowser) return false;
  const language = readLanguageChoice(context, context.query).languageFor();
  sendErrorPage(context, 'wrong-path', { language, place: SAME_PATH });
  return true;
}
