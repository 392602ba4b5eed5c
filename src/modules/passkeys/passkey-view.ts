import { allowsMethod } from '../../domain/applications/branding.ts';
import { ONE_FACTOR } from '../../domain/core/assurance.ts';
import { html } from '../../http/html.ts';
import type { LoginContext } from '../../login-page/login-context.ts';
import type { WayView } from '../../login-page/pages/view.ts';
import type { AskedSignIn } from '../../login-page/sign-in-way.ts';
import { createChallenge } from './domain/challenge.ts';
import type { RelyingParty } from './domain/relying-party.ts';
import {
  PASSKEY_OFFER_SCRIPT,
  PASSKEY_SIGN_IN_SCRIPT,
  renderManagePasskeys,
  renderPasskeyForm,
} from './pages/passkey-form.ts';
import type { PasskeyView } from './pages/view.ts';

const PROBLEMS: ReadonlyMap<string, PasskeyView['problem']> = new Map([
  ['INVALID_PASSKEY', 'invalid'],
  ['UNKNOWN_PASSKEY', 'unknown'],
] as const);

/** Returns the request for a passkey, or undefined if people cannot sign in to the application with one. */
export function viewPasskey(
  { call, browser, fields }: Pick<LoginContext, 'call' | 'browser' | 'fields'>,
  { keys, rpId }: RelyingParty,
  { loginMethods, requiredAssurance }: AskedSignIn,
): WayView | undefined {
  if (!allowsMethod({ loginMethods }, 'passkey')) return undefined;
  const { loginIntentId, problem } = fields;
  const challenge = createChallenge(keys, { purpose: 'passkey get', loginIntentId, browser }, call.now);
  const needsVerification = requiredAssurance > ONE_FACTOR;
  return toWayView({ challenge, rpId, needsVerification, problem: PROBLEMS.get(problem) });
}

export function toWayView(passkey: PasskeyView): WayView {
  return {
    renderForms: (view) => renderPasskeyForm(view, passkey),
    renderLinks: renderManagePasskeys,
    scripts: [PASSKEY_SIGN_IN_SCRIPT],
    // The script fills it in if this device can save a passkey.
    hidden: html`<input type="hidden" name="passkey">`,
    formScripts: [PASSKEY_OFFER_SCRIPT],
    emailAutocomplete: 'username webauthn',
  };
}
