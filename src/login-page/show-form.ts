/** Shows the forms of a login, and the problems of refused forms. */
import { allowsMethod } from '../domain/applications/branding.ts';
import { ONE_FACTOR, TWO_FACTORS } from '../domain/core/assurance.ts';
import type { ServiceError } from '../domain/core/errors.ts';
import { ACCOUNT_APPLICATION_ID } from '../domain/core/own-applications.ts';
import { UUID } from '../domain/core/validation.ts';
import { findLatestCode, type StoredLoginCode } from '../domain/login/find-latest-code.ts';
import { findApplicationOfClient, findLoginApplication } from '../domain/login/find-login-application.ts';
import { findLoginState } from '../domain/login/find-login-state.ts';
import { LINK_WALLET } from '../domain/login/find-to-link.ts';
import { findHeldSignIn } from '../domain/login/held-sign-in.ts';
import { findLoginIntent, type LoginIntent } from '../domain/login/login-intent.ts';
import { hasCompleted } from '../domain/sessions/browser.ts';
import { createFormNonce, keepAnswer, readEmailCookie } from './browser/browser-cookie.ts';
import { keepAttempt } from './offer/keep-attempt.ts';
import { type LoginRequest, loginPathOf } from './offer/login-request.ts';
import { alertFor, alertKeyOf } from './pages/alerts.ts';
import { renderChoice, renderLink } from './pages/choice.ts';
import { renderCode, renderName } from './pages/code.ts';
import { describeError, type ErrorPage, renderClosed, renderRefused } from './pages/error.ts';
import { toPageApplication } from './pages/page-application.ts';
import {
  type Form,
  type FormPage,
  sendErrorPage,
  sendPage,
  sendRedirect,
  sendScriptResponse,
} from './pages/responses.ts';
import type { Demand, LoginView, WayView } from './pages/view.ts';
import { isExpected, pageOf, redirectToForm, SECOND_STEP, urlOfForm } from './redirect-to-form.ts';

const RENDER = {
  choice: renderChoice,
  closed: renderClosed,
  code: renderCode,
  link: renderLink,
  name: renderName,
  refused: renderRefused,
};

const DEAD_ENDS = {
  completed: 'LOGIN_INTENT_COMPLETED',
  expired: 'LOGIN_INTENT_EXPIRED',
  unavailable: 'LOGIN_METHOD_NOT_ENABLED',
} as const;

/** The forms that need the method `email`. A wallet, passkey or provider may say who is refused, too. */
const OF_EMAIL = ['code', 'link', 'name'];

/** Shows the form of an open intent. Redirects the browser that has completed the intent to the application. */
export async function showForm(request: LoginRequest, form: FormPage) {
  const { context, call, browser, fields, parts } = request;
  const state = await findLoginState(call, parts.tokens, browser, fields.loginIntentId);
  if (state.kind === 'answered') {
    const wanted = parts.signInWays.findWantedPage(request);
    if (wanted) redirectToForm(request, wanted);
    else sendRedirect(context, state.redirectUrl);
    return;
  }
  if (state.kind === 'unknown') return showDeadEnd(request, 'unknown');
  // The Back button leads here. The account page shows whether somebody is signed in.
  const accountPath = loginPathOf(parts).replace(/login$/, 'account');
  if (state.kind === 'completed' && state.applicationId === ACCOUNT_APPLICATION_ID)
    return sendRedirect(context, accountPath);
  const { requiredAssurance } = state;
  const demandsMore = requiredAssurance > ONE_FACTOR;
  // Where two factors are enough, a code is the first of them.
  const isFirstStep = requiredAssurance <= TWO_FACTORS;
  const methods = parts.methods.filter(
    (method) => allowsMethod(state.branding, method) && (!demandsMore || (isFirstStep && method === 'email')),
  );
  const asked = { ...state.branding, requiredAssurance };
  const offered = state.kind === 'open' ? parts.signInWays.view(asked, request) : [];
  const ways = demandsMore ? offered.toSorted((one, other) => rankOf(one) - rankOf(other)) : offered;
  // Without any method: the operator has disabled all methods that the application allows.
  const isClosed = !demandsMore && methods.length + ways.length === 0;
  const kind = state.kind === 'open' && isClosed ? 'unavailable' : state.kind;
  if (kind !== 'open') {
    request.note({ reason: DEAD_ENDS[kind] });
    sendErrorPage(context, kind, viewLogin(request, state));
    // Back leads here, too, when the answer no longer works.
    if (kind !== 'completed' || !hasCompleted(browser, state)) await keepAttempt(request, DEAD_ENDS[kind]);
  } else {
    const latest = form === 'code' ? await findCode(request, state) : undefined;
    // The page for the code names the address that has got it, whatever the person enters in other tabs.
    const email = latest?.email ?? readEmailCookie(context, fields.loginIntentId);
    // Forms send this back in a hidden field, so that a form that is sent twice leads to the passkeys both times.
    const next = state.prompt === 'PASSKEYS' ? 'passkeys' : fields.next;
    const view = {
      ...viewLogin(request, state, fields.problem || (latest?.isUnsent ? 'EMAIL_NOT_SENT' : '')),
      allowSignUp: state.allowSignUp,
      signUpEmailDomains: state.signUpEmailDomains,
      methods,
      demand: demandsMore ? demandFor(ways, methods) : undefined,
      accountPath: ways.some(({ isPasskey }) => isPasskey) ? accountPath : undefined,
      email,
      once: createFormNonce(),
      figures: fields.figures,
      ways,
      next,
      link: fields.link || (form === 'link' ? LINK_WALLET : ''),
      linkedProvider: allowsMethod(state.branding, fields.link) ? parts.providers.nameOf(fields.link) : '',
    };
    const isMissing = OF_EMAIL.includes(form) && ((form === 'code' && !latest) || !methods.includes('email'));
    const render = isMissing ? renderChoice : RENDER[form];
    // A continued sign-in does not allow changes of passkeys, so the page does not offer it on the way to them.
    const isDue = form === 'choice' && !next;
    const offer = isDue ? await parts.rememberedSignIns?.renderOffer(request, state, view) : undefined;
    const page = offer ?? render(view);
    sendPage(context, 200, { ...page, application: view.application });
  }
}

/** Where more than one factor is demanded, the passkey comes first: it alone needs no second step. */
function rankOf({ isPasskey = false }: WayView): number {
  return isPasskey ? 0 : 1;
}

function demandFor(ways: readonly WayView[], methods: readonly string[]): Demand {
  if (methods.length + ways.length === 0) return 'assurance.unmet';
  if (!ways.every(({ isPasskey }) => isPasskey)) return 'assurance.factors';
  return methods.length > 0 ? 'assurance.two' : 'assurance.text';
}

function findCode(
  { call, browser, fields }: LoginRequest,
  { applicationId }: { readonly applicationId: string },
): Promise<StoredLoginCode | undefined> {
  const { loginIntentId } = fields;
  return findLatestCode(call, { applicationId, loginIntentId, browserDigest: browser.digest });
}

/** Redirects to the page that shows the problem of a form, or answers the script of the page. */
export async function answerProblem(request: LoginRequest, form: Form, error: ServiceError): Promise<void> {
  const { context, call, browser, languages, fields, parts } = request;
  const problem = alertKeyOf(error);
  if (await isHeld(request, error)) {
    if (form === 'script') sendScriptResponse(context, 200, { redirectUrl: urlOfForm(request, SECOND_STEP) });
    else redirectToForm(request, SECOND_STEP);
    return;
  }
  if (form !== 'script') {
    if (!UUID.test(fields.loginIntentId)) return showDeadEnd(request, 'unknown');
    // The same form has completed the login before, and its reply may have been lost.
    const intent = await findLoginIntent(call, fields.loginIntentId);
    if (intent?.answerDigest?.equals(browser.answerDigest)) keepAnswer(request);
    const figures = { digits: fields.figures.digits, ...error.figures };
    redirectToForm(request, pageOf(error, form), { figures, ...(!isExpected(error, form) && { problem }) });
    return;
  }
  const state = await findLoginState(call, parts.tokens, browser, fields.loginIntentId);
  if (state.kind === 'answered') {
    sendScriptResponse(context, 200, { redirectUrl: state.redirectUrl });
    return;
  }
  const language = languages.languageFor(state.locale);
  const status = error.code === 'resource_exhausted' ? 429 : 400;
  if (state.kind !== 'open') sendScriptResponse(context, 400, { error: describeError(state.kind, language) });
  else sendScriptResponse(context, status, { error: alertFor(problem, language) });
}

/** Whether the first step is taken. The same form has taken it before if its code or signature is used up. */
async function isHeld({ call, browser, fields }: LoginRequest, { reason }: ServiceError): Promise<boolean> {
  if (reason === 'SECOND_FACTOR_NEEDED') return true;
  const { loginIntentId } = fields;
  if (!USED_UP.has(reason) || !UUID.test(loginIntentId)) return false;
  const intent = await findLoginIntent(call, loginIntentId);
  return intent?.completedAt === null && (await findHeldSignIn(call, browser, intent)) !== undefined;
}

const USED_UP: ReadonlySet<string> = new Set(['CODE_NOT_VALID', 'INVALID_SIGNATURE']);

/** Returns the view that all pages of a login share, with an alert if the previous form was refused. */
export function viewLogin(
  { browser, fields, languages, parts, place }: LoginRequest,
  login: LoginIntent,
  problem: string = fields.problem,
) {
  const language = languages.languageFor(login.locale);
  const path = loginPathOf(parts);
  const application = toPageApplication(login, language, path);
  return {
    language,
    place,
    application,
    chosenLanguage: languages.chosen,
    applicationName: application.name,
    alert: alertFor(problem, language, fields.figures, parts.providers.nameOf(fields.provider)),
    loginIntentId: fields.loginIntentId,
    clientId: login.clientId,
    path,
    formToken: browser.formToken,
  } satisfies LoginView;
}

/** Shows why a login cannot continue, with links back to its application. */
export async function showDeadEnd(request: LoginRequest, kind: ErrorPage): Promise<void> {
  // A form that is not Usher's own has the outcome of a caller without a credential.
  if (kind === 'unknown' || kind === 'not-found') request.note({ reason: kind });
  const { context, call, languages, place, fields, parts } = request;
  // For `unknown`, the intent has already been looked up in vain.
  const found =
    kind === 'unknown'
      ? await findApplicationOfClient(call, fields.clientId)
      : await findLoginApplication(call, fields);
  const language = languages.languageFor(found?.locale);
  const application = found && toPageApplication(found, language, loginPathOf(parts));
  sendErrorPage(context, kind, { language, place, application });
}
