/** What the actions of the account page share: the check of the sign-in, views and redirects. */

import { type AccountSignIn, findAccount } from '../../domain/account/find-account.ts';
import type { Call } from '../../domain/core/call.ts';
import { ServiceError } from '../../domain/core/errors.ts';
import { takeChangePermit } from '../../domain/login/change-permits.ts';
import { FRESH_MINUTES } from '../../domain/login/sign-in-age.ts';
import type { Action } from '../action.ts';
import { alertFor, alertKeyOf } from '../alerts.ts';
import { type LoginRequest, pickFields } from '../login-request.ts';
import type { Account, AccountFormView, AccountQuery, RunWithAccount } from '../page-offer.ts';
import { sendRedirect } from '../responses.ts';
import { readAccountCookie, writeAccountCookie } from './account-cookie.ts';

/** Returns the account that is signed in, and extends its cookie by 15 minutes. */
export async function readAccount(request: LoginRequest): Promise<Account | undefined> {
  const { context, call, browser, parts } = request;
  const signIn = readAccountCookie(context, browser, parts.accountKeys, call.now);
  const found = signIn && (await findAccount(call, browser, signIn));
  if (!found) return undefined;
  writeAccountCookie(context, browser, parts.accountKeys, signIn, call.now);
  const { user, cutoffCount } = found;
  return { user, signIn, isFresh: isFresh(call, signIn), call: { ...call, cutoffCount } };
}

function isFresh({ now }: Pick<Call, 'now'>, { authenticatedAt, isContinued }: AccountSignIn): boolean {
  return !isContinued && now.getTime() - authenticatedAt.getTime() < FRESH_MINUTES * 60_000;
}

/** Returns an action that redirects people who are not signed in to the start of the account page. */
export function signedIn(run: RunWithAccount): Action['run'] {
  return async (request) => {
    const account = await readAccount(request);
    if (account) await run({ ...request, call: account.call }, account);
    else redirect(request, '');
  };
}

/** Returns an action that also demands a recent sign-in, and shows problems on the page of the form. */
export function changing(form: string, run: RunWithAccount): Action['run'] {
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

export function redirect(request: LoginRequest, path: '' | `/${string}`, query: AccountQuery = {}): void {
  const search = new URLSearchParams(query).toString();
  sendRedirect(
    request.context,
    `${new URL(accountUrlOf(request.parts.authPageUrl)).pathname}${path}${search && `?${search}`}`,
  );
}
