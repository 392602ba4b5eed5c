/** What a request to the login page or the account page has of its own. */
import type { Logger } from 'pino';
import { isForm } from '../../api/media-type.ts';
import type { Call } from '../../domain/core/call.ts';
import { HttpError } from '../../http/errors.ts';
import { readBody } from '../../http/exchange.ts';
import type { HttpContext } from '../../http/http-context.ts';
import type { KnownBrowser } from '../browser/browser-cookie.ts';
import type { LanguageChoice, PagePlace } from '../browser/language-choice.ts';
import { readCodeFigures } from '../pages/alerts.ts';

export interface LoginContext {
  readonly context: HttpContext;
  readonly logger: Logger;
  readonly call: Call;
  readonly browser: KnownBrowser;
  readonly languages: LanguageChoice;
  readonly place: PagePlace;
  /** The posted form, or the query. */
  readonly form: URLSearchParams;
  readonly fields: ReturnType<typeof readLoginFields>;
}

/** Reads the fields that lead through all pages of a login. Missing ones are empty strings. @param form or the query */
export function readLoginFields(form: URLSearchParams) {
  const field = (name: string) => form.get(name) ?? '';
  return {
    loginIntentId: field('intent'),
    clientId: field('client_id'),
    token: field('token'),
    email: field('email').trim(),
    /** What the user with the e-mail address gets: `1` for the wallet that has signed, a provider's ID for an account. */
    link: /^[a-z0-9-]{1,31}$/.test(field('link')) ? field('link') : '',
    /** The ID of the provider to sign in at. */
    provider: field('provider'),
    /** The page that the person wants to see after the sign-in. */
    next: field('then') === 'passkeys' ? 'passkeys' : '',
    /** The key of the alert that the page shows, because the previous form was refused. */
    problem: field('problem'),
    figures: readCodeFigures(field),
  };
}

/** Reads the fields of one action. Missing ones are empty strings. */
export function pickFields<Name extends string>(
  { form }: Pick<LoginContext, 'form'>,
  ...names: readonly Name[]
): Readonly<Record<Name, string>> {
  return Object.fromEntries(names.map((name) => [name, form.get(name) ?? ''])) as Record<Name, string>;
}

/** Returns the body of a posted form. @throws HttpError 415, 413 or 408 */
export async function readPostedForm({ request }: HttpContext, maxBytes: number, deadline: number): Promise<string> {
  if (!isForm(request)) throw new HttpError('UNSUPPORTED_MEDIA_TYPE');
  return (await readBody(request, maxBytes, deadline)).toString('utf8');
}
