/** The actions of the login page, one per row. */
import type { ApiParts } from '../api/api.ts';
import type { LoginMethod } from '../config/login-methods.ts';
import type { Call } from '../domain/call.ts';
import type { ServiceError } from '../domain/errors.ts';
import { cancelLogin } from '../domain/login/cancel-login.ts';
import { createLoginCode } from '../domain/login/create-login-code.ts';
import { createWalletChallenge } from '../domain/login/create-wallet-challenge.ts';
import { findLoginState } from '../domain/login/find-login-state.ts';
import { nameNewUser } from '../domain/login/name-new-user.ts';
import { redeemLoginCode } from '../domain/login/redeem-login-code.ts';
import { redeemWalletSignature } from '../domain/login/redeem-wallet-signature.ts';
import type { WalletSettings } from '../domain/login/verify-wallet-signature.ts';
import type { HttpContext } from '../http/http-context.ts';
import { alertFor, problemOf } from './alerts.ts';
import { type KnownBrowser, readEmailCookie } from './browser-cookie.ts';
import type { LanguageChoice } from './language-choice.ts';
import type { LoginMailer } from './login-mailer.ts';
import type { PagePlace } from './page-place.ts';
import { renderChoice } from './pages/choice.ts';
import { renderClosed } from './pages/closed.ts';
import { renderCode } from './pages/code.ts';
import { describeError } from './pages/error.ts';
import { renderLink } from './pages/link.ts';
import { renderName } from './pages/name.ts';
import { pageOf, redirectToForm } from './redirect-to-form.ts';
import { type Form, type FormPage, sendErrorPage, sendPage, sendRedirect, sendScriptResponse } from './responses.ts';

export interface LoginPageParts
  extends Pick<ApiParts, 'authPageUrl' | 'clock' | 'database' | 'tokens'>,
    WalletSettings {
  readonly mailer: LoginMailer;
  readonly methods: readonly LoginMethod[];
}

/** Parses a form or a query. Missing fields are empty strings. */
export function toFields(text: string) {
  const form = new URLSearchParams(text);
  const field = (name: string) => form.get(name) ?? '';
  return {
    loginIntentId: field('intent'),
    token: field('token'),
    email: field('email').trim(),
    code: field('code'),
    address: field('address'),
    signature: field('signature'),
    name: field('name').trim(),
    /** Not empty if the user with the e-mail address gets the wallet that has signed before. */
    link: field('link'),
    /** The problem that the page shows: the previous form was refused. */
    problem: field('problem'),
  };
}

export interface LoginRequest {
  readonly context: HttpContext;
  readonly call: Call;
  readonly browser: KnownBrowser;
  readonly languages: LanguageChoice;
  readonly place: PagePlace;
  readonly fields: ReturnType<typeof toFields>;
  readonly parts: LoginPageParts;
}

export interface Action {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** The login method that must be enabled. */
  readonly needs?: LoginMethod;
  /** The form that shows problems of this action. */
  readonly form: Form;
  /** @throws ServiceError of the domain */
  run(request: LoginRequest): Promise<void>;
}

export const ACTIONS: readonly Action[] = [
  { method: 'GET', path: '/login', form: 'choice', run: (request) => showForm(request, 'choice') },
  { method: 'POST', path: '/login/email', needs: 'email', form: 'choice', run: sendCode },
  { method: 'POST', path: '/login/email/again', needs: 'email', form: 'code', run: sendCode },
  { method: 'GET', path: '/login/code', needs: 'email', form: 'code', run: (request) => showForm(request, 'code') },
  { method: 'GET', path: '/login/link', needs: 'email', form: 'link', run: (request) => showForm(request, 'link') },
  { method: 'POST', path: '/login/link', needs: 'email', form: 'link', run: sendCode },
  { method: 'GET', path: '/login/name', needs: 'email', form: 'name', run: (request) => showForm(request, 'name') },
  { method: 'POST', path: '/login/name', needs: 'email', form: 'name', run: nameUser },
  { method: 'POST', path: '/login/code', needs: 'email', form: 'code', run: redeemCode },
  {
    method: 'GET',
    path: '/login/closed',
    needs: 'email',
    form: 'closed',
    run: (request) => showForm(request, 'closed'),
  },
  { method: 'POST', path: '/login/wallet/challenge', needs: 'wallet', form: 'script', run: challengeWallet },
  { method: 'POST', path: '/login/wallet', needs: 'wallet', form: 'choice', run: redeemSignature },
  { method: 'POST', path: '/login/cancel', form: 'choice', run: cancel },
];

async function sendCode(request: LoginRequest): Promise<void> {
  const { call, parts, browser, fields, context } = request;
  const {
    digits: _,
    wait: __,
    ...code
  } = await createLoginCode(call, parts.codes, browser, { ...fields, linksWallet: fields.link !== '' });
  redirectToForm(request, 'code');
  parts.mailer.send(code, context.requestId);
}

async function redeemCode(request: LoginRequest): Promise<void> {
  const { call, parts, browser, fields } = request;
  returnToApplication(request, await redeemLoginCode(call, parts, browser, fields), 'name');
}

async function nameUser(request: LoginRequest): Promise<void> {
  const { call, parts, browser, fields } = request;
  returnToApplication(request, await nameNewUser(call, parts, browser, fields));
}

async function challengeWallet({ call, parts, browser, fields, context }: LoginRequest): Promise<void> {
  sendScriptResponse(context, 200, await createWalletChallenge(call, parts, browser, fields));
}

async function redeemSignature(request: LoginRequest): Promise<void> {
  const { call, parts, browser, fields } = request;
  const walletParts = { ...parts, hasEmail: parts.methods.includes('email') };
  returnToApplication(request, await redeemWalletSignature(call, walletParts, browser, fields), 'link');
}

async function cancel(request: LoginRequest): Promise<void> {
  const { call, parts, fields } = request;
  returnToApplication(request, await cancelLogin(call, parts.tokens.issuer, fields));
}

/** Redirects to the application, or to the form that is needed first. */
function returnToApplication(
  request: LoginRequest,
  completion: { redirectUrl: string } | undefined,
  form: FormPage = 'choice',
): void {
  if (completion) sendRedirect(request.context, completion.redirectUrl);
  else redirectToForm(request, form);
}

const RENDER = { choice: renderChoice, closed: renderClosed, code: renderCode, link: renderLink, name: renderName };

/** Shows the form of an open intent. Redirects the browser that has completed the intent to the application again. */
async function showForm({ context, call, browser, languages, place, fields, parts }: LoginRequest, form: FormPage) {
  const state = await findLoginState(call, parts.tokens, browser, fields.loginIntentId);
  const language = languages.languageFor();
  if (state.kind === 'answered') {
    sendRedirect(context, state.redirectUrl);
  } else if (state.kind !== 'open') {
    sendErrorPage(context, state.kind, { language, place });
  } else {
    const email = readEmailCookie(context);
    const view = {
      language,
      place,
      chosenLanguage: languages.chosen,
      applicationName: state.applicationName,
      allowSignUp: state.allowSignUp,
      methods: parts.methods,
      email,
      alert: alertFor(fields.problem, language),
      loginIntentId: fields.loginIntentId,
      path: new URL(parts.authPageUrl).pathname,
      formToken: browser.formToken,
      linksWallet: form === 'link' || fields.link !== '',
    };
    const render = form === 'code' && !email ? renderChoice : RENDER[form];
    sendPage(context, 200, render(view));
  }
}

/** Shows the problem of a form on its page, or answers it to the script of the page. */
export async function answerProblem(request: LoginRequest, form: Form, error: ServiceError): Promise<void> {
  const { context, call, browser, languages, fields, parts } = request;
  const problem = problemOf(error);
  if (form !== 'script') {
    redirectToForm(request, pageOf(error, form), problem);
    return;
  }
  const state = await findLoginState(call, parts.tokens, browser, fields.loginIntentId);
  const language = languages.languageFor();
  if (state.kind === 'answered') sendScriptResponse(context, 200, { redirectUrl: state.redirectUrl });
  else if (state.kind !== 'open') sendScriptResponse(context, 400, { error: describeError(state.kind, language) });
  else
    sendScriptResponse(context, error.code === 'resource_exhausted' ? 429 : 400, {
      error: alertFor(problem, language),
    });
}
