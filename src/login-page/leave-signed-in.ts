/** The redirect after a sign-in. The login is complete before, so no error here can undo it. */
import type { Completion } from '../domain/login/complete-login.ts';
import { keepAnswer } from './answer-cookie.ts';
import type { LoginRequest } from './login-request.ts';
import { redirectToForm } from './redirect-to-form.ts';
import { type FormPage, sendRedirect } from './responses.ts';

/** Redirects to the page that the person wants to see first, to a page with an offer that is due, or to the application. */
export async function leaveSignedIn(
  request: LoginRequest,
  completion: Pick<Completion, 'redirectUrl' | 'signIn' | 'prompt'>,
  { mayOffer }: { readonly mayOffer: boolean },
): Promise<void> {
  const { rememberedSignIns, signInWays } = request.parts;
  keepAnswer(request);
  if (completion.signIn) await rememberedSignIns?.remember(request, completion.signIn);
  const wanted = signInWays.findWantedPage(request, completion.prompt);
  const page = wanted ?? (mayOffer ? await signInWays.findDueOffer(request) : undefined);
  if (page === undefined) sendRedirect(request.context, completion.redirectUrl);
  else redirectToForm(request, page);
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
