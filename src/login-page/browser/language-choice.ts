/**
 * The language of a page. In this order: chosen by the person, wanted by the application, remembered, preferred by the
 * browser.
 */
import { headerOf } from '../../http/exchange.ts';
import { type Html, html } from '../../http/html.ts';
import type { HttpContext } from '../../http/http-context.ts';
import { matchHeader, matchTags } from '../../texts/match-language.ts';
import { ENGLISH, type Language } from '../../texts/texts.ts';
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

/** The URL that shows a page again, in another language. */
export interface PagePlace {
  readonly path: string;
  /** The query without the language. Undefined if it is too long to be repeated: the page offers no other language then. */
  readonly query: PageQuery | undefined;
  /** The link that tries again, if that is not path and query. */
  readonly retry?: string;
}

export type PageQuery = readonly (readonly [name: string, value: string])[];

/** What a page may repeat also of a short request, in bytes of HTML: fields are longer than parameters. */
const SHORT_BYTES = 4_096;

/** The parameters that a page keeps when its language changes. */
const KEPT = [
  ...['change', 'client_id', 'digits', 'done', 'intent', 'left', 'link', 'minutes', 'problem', 'provider'],
  ...['row', 'then', 't'],
];
/** Matches all values that Usher itself writes. Others are dropped. */
const OWN_VALUE = /^[\w .:-]{1,255}$/;

/**
 * Returns the parameters with these names, which a page needs to be shown again. Returns undefined if their fields, as
 * often as the page has them, are longer than the request: anybody could make Usher send ten times what it gets.
 */
export function keepParameters(form: string, names: readonly string[], times = 1): PageQuery | undefined {
  const kept = [...new URLSearchParams(form)].filter(([name]) => names.includes(name));
  const bytes = times * Buffer.byteLength(renderQuery(kept).text);
  return bytes <= Math.max(SHORT_BYTES, Buffer.byteLength(form)) ? kept : undefined;
}

/** Renders the parameters as fields of a form. */
export function renderQuery(query: PageQuery = []): Html {
  return html`${query.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}`;
}

/**
 * Returns the place of the page that answers the request. A page that answers a posted form cannot be shown again, so its
 * place is the first page of the login, or of the account.
 *
 * @param form the posted form, or the query
 * @param loginPath the path of the login page in its public URL
 */
export function placeOf({ request, path }: HttpContext, form: string, loginPath: string): PagePlace {
  const isForm = request.method === 'POST';
  const base = loginPath.slice(0, -'/login'.length);
  const given = new URLSearchParams(form);
  const kept = (isForm ? ['client_id', 'intent'] : KEPT).map((name) => [name, given.get(name) ?? ''] as const);
  return {
    path: base + (isForm ? path.split('/', 2).join('/') : path),
    query: kept.filter(([, value]) => OWN_VALUE.test(value)),
  };
}
