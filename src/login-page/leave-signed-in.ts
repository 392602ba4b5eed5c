/** Where a person goes on after a sign-in. The login is complete by then, so nothing that fails here can lose it. */
import type { Completion } from '../domain/login/complete-login.ts';
import { hasPasskey } from '../domain/passkeys/list-passkeys.ts';
import { requireRecentSignIn } from '../domain/passkeys/recent-sign-in.ts';
import { readCookie, setCookie } from './browser-cookie.ts';
import type { LoginRequest } from './login-request.ts';
import { redirectToForm } from './redirect-to-form.ts';
import { rememberCompletion } from './remembered-sign-in.ts';
import { sendRedirect } from './responses.ts';

const LATER_COOKIE = 'usher-passkey';
const LATER_SECONDS = 90 * 24 * 60 * 60;

/** Redirects to the passkeys that the person wants to see, to the offer of one, or to the application. */
export async function leaveSignedIn(
  request: LoginRequest,
  completion: Pick<Completion, 'redirectUrl' | 'signIn' | 'prompt'>,
  { offersPasskey }: { readonly offersPasskey: boolean },
): Promise<void> {
  const { context, fields, parts } = request;
  await rememberCompletion(request, completion);
  const { redirectUrl, prompt } = completion;
  if (!parts.methods.includes('passkey')) sendRedirect(context, redirectUrl);
  else if (fields.next || prompt === 'PASSKEYS') redirectToForm(request, 'passkeys');
  else if (offersPasskey && (await isOfferDue(request).catch(() => false))) redirectToForm(request, 'passkey/new');
  else sendRedirect(context, redirectUrl);
}

/** Whether this device can save a passkey, the person has none, and has not refused the offer for 90 days. */
async function isOfferDue({ call, browser, context, fields, parts }: LoginRequest): Promise<boolean> {
  if (fields.passkey !== '1' || readCookie(context, LATER_COOKIE) !== undefined) return false;
  const signIn = await requireRecentSignIn(call, browser, fields);
  return !(await hasPasskey(call, signIn, parts.relyingParty));
}

/** Stores that the person wants no offer for 90 days. */
export function postponeOffer({ context, browser }: LoginRequest): void {
  setCookie(context, LATER_COOKIE, 'later', LATER_SECONDS, browser.isSecure);
}
