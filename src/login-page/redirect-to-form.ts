/** The redirects after a form: to the page that follows, or after a sign-in to the application. */
import type { ServiceError } from '../domain/core/errors.ts';
import { UUID } from '../domain/core/validation.ts';
import type { Completion } from '../domain/login/complete-login.ts';
import { keepAnswer, setEmailCookie } from './browser/browser-cookie.ts';
import { type LoginRequest, loginPathOf } from './offer/login-request.ts';
import type { AlertKey, CodeFigures } from './pages/alerts.ts';
import { type Form, type FormPage, sendRedirect } from './pages/responses.ts';

/** The page for the second step of a sign-in whose first was right. */
export const SECOND_STEP = 'second-factor';

/** Returns the page that shows the error of a form. */
export function pageOf({ reason }: ServiceError, form: Form): Form {
  if (reason === 'ACCOUNT_CLOSED') return 'closed';
  if (reason === 'ACCESS_NOT_ALLOWED') return 'refused';
  if (reason === 'SECOND_FACTOR_NEEDED') return SECOND_STEP;
  if (reason === 'HELD_SIGN_IN_ENDED') return 'choice';
  if (reason === 'LOGIN_METHOD_NOT_ENABLED' || reason === 'ASSURANCE_NOT_MET') return 'choice';
  // A name completes the login only with a valid code.
  if (reason === 'CODE_NOT_VALID' && form === 'name') return 'code';
  // A code was just sent, whichever form has asked for it.
  return reason === 'CODE_SENT_JUST_NOW' || reason === 'CODE_SENT_TOO_OFTEN' ? 'code' : form;
}

/**
 * Returns whether the error needs no alert: the page says it, or the person entered an address again to which a code was
 * just sent.
 */
export function isExpected({ reason }: ServiceError, form: Form): boolean {
  return (
    reason === 'ACCESS_NOT_ALLOWED' ||
    reason === 'SECOND_FACTOR_NEEDED' ||
    (reason === 'CODE_SENT_JUST_NOW' && form !== 'code')
  );
}

/** Redirects after a form, so that the browser can reload the page without sending the form again. */
export function redirectToForm(request: LoginRequest, form: Form, shown: ShownProblem = {}): void {
  sendRedirect(request.context, urlOfForm(request, form, shown));
}

interface ShownProblem {
  readonly problem?: AlertKey;
  readonly figures?: Partial<CodeFigures>;
}

export function urlOfForm(request: LoginRequest, form: Form, { problem, figures = {} }: ShownProblem = {}): string {
  const { context, browser, languages, fields, parts } = request;
  const { loginIntentId: intent, clientId, link, next, provider } = fields;
  if (fields.email && UUID.test(intent)) setEmailCookie(context, browser, intent, fields.email);
  const query = new URLSearchParams({
    intent,
    ...(clientId && { client_id: clientId }),
    ...(languages.chosen && { lang: languages.chosen }),
    ...(link && { link }),
    ...(problem && { problem, ...(provider && { provider }) }),
  });
  if (next) query.set('then', next);
  const { digits, ...others } = figures;
  const shown = form === 'code' ? figures : others;
  for (const [name, value] of Object.entries(shown)) if (value) query.set(name, String(value));
  const page = loginPathOf(parts);
  return `${form === 'choice' ? page : `${page}/${form}`}?${query}`;
}

/** Redirects to the page that the person wants to see first, to a page with an offer that is due, or to the application. */
export async function leaveSignedIn(
  request: LoginRequest,
  completion: Pick<Completion, 'redirectUrl' | 'signIn' | 'prompt'>,
  { mayOffer }: { readonly mayOffer: boolean },
): Promise<void> {
  const { signInWays } = request.parts;
  await keepSignedIn(request, completion);
  const wanted = signInWays.findWantedPage(request, completion.prompt);
  const page = wanted ?? (mayOffer ? await signInWays.findDueOffer(request) : undefined);
  if (page === undefined) sendRedirect(request.context, completion.redirectUrl);
  else redirectToForm(request, page);
}

/** Lets this browser get the answer of the login that it has completed again, and remembers the sign-in. */
export async function keepSignedIn(request: LoginRequest, { signIn }: Pick<Completion, 'signIn'>): Promise<void> {
  keepAnswer(request);
  if (signIn) await request.parts.rememberedSignIns?.remember(request, signIn);
}

/** Redirects after a completed login. Otherwise redirects to the form that the login still needs. */
export async function continueAfter(
  request: LoginRequest,
  completion: Completion | undefined,
  form: FormPage = 'choice',
): Promise<void> {
  if (completion) await leaveSignedIn(request, completion, { mayOffer: true });
  else redirectToForm(request, form);
}
