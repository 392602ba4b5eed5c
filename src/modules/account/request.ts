/** What the actions of the account page share: the check of the sign-in, views and redirects. */

import type { Call } from '../../domain/core/call.ts';
import { ServiceError } from '../../domain/core/errors.ts';
import type { DerivedKeys } from '../../domain/crypto/derived-keys.ts';
import { takeChangePermit } from '../../domain/login/rate-limit.ts';
import { FRESH_MINUTES } from '../../domain/login/sign-in-age.ts';
import { pickFields } from '../../login-page/offer/login-context.ts';
import type { Action, LoginRequest } from '../../login-page/offer/login-request.ts';
import type { Account, AccountFormView, AccountQuery } from '../../login-page/offer/page-offer.ts';
import { alertFor, alertKeyOf } from '../../login-page/pages/alerts.ts';
import { sendRedirect } from '../../login-page/pages/responses.ts';
import { readAccountCookie, writeAccountCookie } from './cookie.ts';
import { type AccountSignIn, findAccount } from './domain/find-account.ts';

/** What the account page has of its own. */
interface AccountParts {
  /** The keys of its cookies and of its links in notices. The first key encrypts, and all keys decrypt. */
  readonly keys: DerivedKeys;
  /** Whether people may delete their account. */
  readonly allowDeletion: boolean;
  /** Whether the person with the address is an operator of the console. */
  readonly isOperator: (email: string) => boolean;
}

export interface AccountRequest extends LoginRequest {
  readonly own: AccountParts;
}

/** An action of the account page. */
export interface AccountAction extends Omit<Action, 'run'> {
  run(request: AccountRequest): ReturnType<Action['run']>;
}

type Run = (request: AccountRequest, account: Account) => Promise<void>;

/** Returns the account that is signed in, and extends its cookie by 15 minutes. */
export async function readAccount(request: AccountRequest): Promise<Account | undefined> {
  const { context, call, browser, own } = request;
  const signIn = readAccountCookie(context, browser, own.keys, call.now);
  const found = signIn && (await findAccount(call, browser, signIn));
  if (!found) return undefined;
  writeAccountCookie(context, browser, own.keys, signIn, call.now);
  const { user, cutoffCount } = found;
  return { user, signIn, isFresh: isFresh(call, signIn), call: { ...call, cutoffCount } };
}

function isFresh({ now }: Pick<Call, 'now'>, { authenticatedAt, isContinued }: AccountSignIn): boolean {
  return !isContinued && now.getTime() - authenticatedAt.getTime() < FRESH_MINUTES * 60_000;
}

/** Returns an action that redirects people who are not signed in to the start of the account page. */
export function signedIn(run: Run): AccountAction['run'] {
  return async (request) => {
    const account = await readAccount(request);
    if (account) await run({ ...request, call: account.call }, account);
    else redirect(request, '');
  };
}

/** Returns an action that also demands a recent sign-in, and shows problems on the page of the form. */
export function changing(form: string, run: Run): AccountAction['run'] {
  return signedIn(async (request, account) => {
    if (!account.isFresh) return redirect(request, '');
    try {
      await takeChangePermit(request.call, request.parts.codes.keys, account.user.id);
      await run(request, account);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const { provider, change } = pickFields(request, 'provider', 'change');
      const { minutes } = error.figures;
      redirect(request, form && `/${form}`, {
        problem: alertKeyOf(error),
        ...(minutes && { minutes: String(minutes) }),
        ...(provider && { provider }),
        ...(change && { change }),
      });
    }
  });
}

export function viewOf(request: LoginRequest): AccountFormView {
  const { browser, fields, languages, parts, place } = request;
  const url = new URL(accountUrlOf(request.parts.authPageUrl));
  const language = languages.languageFor();
  return {
    language,
    place,
    path: url.pathname,
    host: url.host,
    formToken: browser.formToken,
    alert: alertFor(fields.problem, language, fields.figures, parts.providers.nameOf(fields.provider)),
  };
}

/** Returns the values that every e-mail about the account needs. */
export function envelopeFor(request: LoginRequest, to: string) {
  const { host, language } = viewOf(request);
  return { to, language, host, application: { name: language.text('account.title') } };
}

/** Returns the URL of the account page, next to that of the login page. */
export function accountUrlOf(authPageUrl: string): string {
  return authPageUrl.replace(/\/login$/, '/account');
}

export function redirect(request: LoginRequest, path: '' | `${'/' | '#'}${string}`, query: AccountQuery = {}): void {
  const search = new URLSearchParams(query).toString();
  sendRedirect(
    request.context,
    `${new URL(accountUrlOf(request.parts.authPageUrl)).pathname}${path}${search && `?${search}`}`,
  );
}
