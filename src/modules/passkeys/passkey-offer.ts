/** The offer of a passkey, after a sign-in without one. */
import { requireRecentSignIn } from '../../domain/login/recent-sign-in.ts';
import { readCookie, setCookie } from '../../login-page/browser/browser-cookie.ts';
import { type LoginContext, pickFields } from '../../login-page/offer/login-context.ts';
import { listOwnPasskeys } from './domain/list-own-passkeys.ts';
import type { RelyingParty } from './domain/relying-party.ts';

const LATER_COOKIE = 'usher-passkey';
const LATER_SECONDS = 90 * 24 * 60 * 60;

/** Whether this device can save a passkey, and the person has none and has not declined the offer in the last 90 days. */
export async function isOfferDue(request: LoginContext, relyingParty: RelyingParty): Promise<boolean> {
  const { call, browser, context, fields } = request;
  // The script of the page sends it if the browser can save a passkey on this device.
  if (pickFields(request, 'passkey').passkey !== '1' || readCookie(context, LATER_COOKIE) !== undefined) return false;
  const signIn = await requireRecentSignIn(call, browser, fields);
  return (await listOwnPasskeys(call, signIn, relyingParty)).length === 0;
}

/** Suppresses the offer in this browser for 90 days. */
export function postponeOffer({ context, browser }: LoginContext): void {
  setCookie(context, LATER_COOKIE, 'later', LATER_SECONDS, browser.isSecure);
}
