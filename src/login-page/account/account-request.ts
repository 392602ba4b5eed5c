/** What the actions of the account page have in common: who is signed in, and where to go next. */
import { type AccountSignIn, findAccount } from '../../domain/account/find-account.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { User } from '../../domain/users/user.ts';
import type { Action } from '../actions.ts';
import { alertFor, problemOf } from '../alerts.ts';
import type { LoginRequest } from '../login-request.ts';
import { sendRedirect } from '../responses.ts';
import { readAccountCookie, writeAccountCookie } from './account-cookie.ts';
import type { AccountFormView } from './account-view.ts';

/** A change needs a sign-in that is no older. */
const FRESH_MS = 15 * 60_000;

export interface Account {
  readonly user: User;
  readonly signIn: AccountSignIn;
}

type Run = (request: LoginRequest, account: Account) => Promise<void>;

/** Returns who is signed in, for another 15 minutes. */
export async function readAccount(request: LoginRequest): Promise<Account | undefined> {
  const { context, call, browser, parts } = request;
  const signIn = readAccountCookie(context, browser, parts.accountKeys, call.now);
  const user = signIn && (await findAccount(call, signIn));
  if (!user) return undefined;
  writeAccountCookie(context, browser, parts.accountKeys, signIn, call.now);
  return { user, signIn };
}

export function isFresh({ call }: LoginRequest, { signIn }: Account): boolean {
  return call.now.getTime() - signIn.authenticatedAt.getTime() < FRESH_MS;
}

/** Sends whoever is not signed in to the account page, which has the way in. */
export function signedIn(run: Run): Action['run'] {
  return async (request) => {
    const account = await readAccount(request);
    if (account) await run(request, account);
    else redirect(request, '');
  };
}

/** Also demands a recent sign-in, and shows problems on the page of the form. */
export function changing(form: string, run: Run): Action['run'] {
  return signedIn(async (request, account) => {
    if (!isFresh(request, account)) return redirect(request, '');
    try {
      await run(request, account);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const { provider } = request.fields;
      redirect(request, form && `/${form}`, { problem: problemOf(error), ...(provider && { provider }) });
    }
  });
}

export function viewOf(request: LoginRequest): AccountFormView {
  const { browser, fields, languages, parts, place } = request;
  const url = new URL(accountUrlOf(request));
  const language = languages.languageFor();
  return {
    language,
    place,
    path: url.pathname,
    host: url.host,
    formToken: browser.formToken,
    alert: alertFor(fields.problem, language, {}, parts.providers.nameOf(fields.provider)),
  };
}

/** Returns what every e-mail about the account has. */
export function envelopeFor(request: LoginRequest, to: string) {
  const { host, language } = viewOf(request);
  return { to, language, host, application: { name: language.text('account.title') } };
}

/** The account page stands beside the login page. */
export function accountUrlOf({ parts }: LoginRequest): string {
  return parts.authPageUrl.replace(/\/login$/, '/account');
}

export function redirect(request: LoginRequest, path: '' | `/${string}`, query: Record<string, string> = {}): void {
  const search = new URLSearchParams(query).toString();
  sendRedirect(request.context, `${new URL(accountUrlOf(request)).pathname}${path}${search && `?${search}`}`);
}
