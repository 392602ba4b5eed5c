import type { HttpContext } from '../http/http-context.ts';

/** The URL that shows a page again, in another language. */
export interface PagePlace {
  readonly path: string;
  /** The query without the language. */
  readonly query: readonly (readonly [name: string, value: string])[];
}

/** The parameters that a page keeps when its language changes. */
const KEPT = [
  ...['change', 'client_id', 'digits', 'done', 'intent', 'left', 'link', 'minutes', 'problem', 'provider'],
  ...['then', 't'],
];
/** Matches all values that Usher itself writes. Others are dropped. */
const OWN_VALUE = /^[\w .:-]{1,255}$/;

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
