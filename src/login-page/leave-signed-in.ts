/** The redirect after a sign-in. The login is complete before, so no error here can undo it. */
import type { Completion } from '../domain/login/complete-login.ts';
import { requireRecentSignIn } from '../domain/login/recent-sign-in.ts';
import { hasPasskey } from '../domain/passkeys/list-passkeys.ts';
import { keepAnswer } from './answer-cookie.ts';
import { readCookie, setCookie } from './browser-cookie.ts';
import { type LoginRequest, pickFields } from './login-request.ts';
import { redirectToForm } from './redirect-to-form.ts';
import { rememberCompletion } from './remembered-sign-in.ts';
import { sendRedirect } from './responses.ts';

const LATER_COOKIE = 'usher-passkey';
const LATER_SECONDS = 90 * 24 * 60 * 60;

/** Redirects to the list of passkeys if the person wants it, to the offer of a passkey, or to the application. */
export async function leaveSignedIn(
  request: LoginRequest,
  completion: Pick<Completion, 'redirectUrl' | 'signIn' | 'prompt'>,
  { offersPasskey }: { readonly offersPasskey: boolean },
): Promise<void> {
  const { context, fields, parts } = request;
  keepAnswer(request);
  await rememberCompletion(request, completion);
  const { redirectUrl, prompt } = completion;
  if (!parts.methods.includes('passkey')) sendRedirect(context, redirectUrl);
  else if (fields.next || prompt === 'PASSKEYS') redirectToForm(request, 'passkeys');
  else if (offersPasskey && (await isOfferDue(request).catch(() => false))) redirectToForm(request, 'passkey/new');
  else sendRedirect(context, redirectUrl);
}

/** Whether this device can save a passkey, and the person has none and has not declined the offer in the last 90 days. */
async function isOfferDue(request: LoginRequest): Promise<boolean> {
  const { call, browser, context, fields, parts } = request;
  // The script of the page sends it if the browser can save a passkey on this device.
  if (pickFields(request, 'passkey').passkey !== '1' || readCookie(context, LATER_COOKIE) !== undefined) return false;
  const signIn = await requireRecentSignIn(call, browser, fields);
  return !(await hasPasskey(call, signIn, parts.relyingParty));
}

/** Suppresses the offer in this browser for 90 days. */
export function postponeOffer({ context, browser }: LoginRequest): void {
  setCookie(context, LATER_COOKIE, 'later', LATER_SECONDS, browser.isSecure);
}
