/**
 * The language of a page. In this order: chosen by the person, wanted by the application, remembered, preferred by the
 * browser.
 */

import { headerOf } from '../http/exchange.ts';
import type { HttpContext } from '../http/http-context.ts';
import { matchHeader, matchTags } from '../texts/match-language.ts';
import { ENGLISH, type Language } from '../texts/texts.ts';
import { MAX_COOKIE_SECONDS, readCookie, setCookie } from './browser-cookie.ts';

export interface LanguageChoice {
  /** The tag of the language that the person has chosen at this login, or an empty string. */
  readonly chosen: string;
  /** Returns the language for a login. @param locale the languages that the application wants */
  languageFor(locale?: string | null): Language;
}

const COOKIE = 'usher-lang';

/** @param form the posted form, or the query */
export function readLanguageChoice(context: HttpContext, form: string): LanguageChoice {
  const chosen = matchTags(new URLSearchParams(form).get('lang') ?? '');
  return {
    chosen: chosen?.tag ?? '',
    languageFor: (locale) =>
      chosen ??
      matchTags(locale ?? '') ??
      matchTags(readCookie(context, COOKIE) ?? '') ??
      matchHeader(headerOf(context, 'accept-language') ?? '') ??
      ENGLISH,
  };
}

/** Remembers the language that the person has chosen, for logins at applications that want none. */
export function rememberLanguage(context: HttpContext, { chosen }: LanguageChoice, isSecure: boolean): void {
  if (chosen && readCookie(context, COOKIE) !== chosen)
    setCookie(context, COOKIE, chosen, MAX_COOKIE_SECONDS, isSecure);
}
