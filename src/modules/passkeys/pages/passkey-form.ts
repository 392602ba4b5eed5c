import { Html, html, readScript } from '../../../http/html.ts';
import { renderHidden, renderLogin, renderOwnLogin } from '../../../login-page/pages/parts.ts';
import type { FormView } from '../../../login-page/pages/view.ts';
import type { PasskeysView, PasskeyView } from './view.ts';

export const PASSKEY_SIGN_IN_SCRIPT = readScripts('passkey.js', 'passkey-sign-in.js');
export const PASSKEY_CREATION_SCRIPT = readScripts('passkey.js', 'passkey-creation.js');
/** For pages that may lead to the offer of a passkey. */
export const PASSKEY_OFFER_SCRIPT = readScripts('passkey-offer.js');

const KEY =
  'fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">' +
  '<circle cx="7" cy="6.5" r="3.5"/><path d="M1.5 17c0-3.3 2.3-5.5 5.5-5.5 1 0 1.9.2 2.7.6"/>' +
  '<circle cx="15" cy="10" r="2.5"/><path d="M15 12.5V18l1.7-1.5"/></svg>';
const ICON = new Html(`<svg width="20" height="20" viewBox="0 0 20 20" ${KEY}`);
/** The large icon above a heading. */
export const PASSKEY_MARK = new Html(
  `<span class="mark" aria-hidden="true"><svg width="26" height="26" viewBox="0 0 20 20" ${KEY}</span>`,
);

/** Renders the form that signs in with a passkey. The script shows and submits it. */
export function renderPasskeyForm(view: FormView, passkey: PasskeyView): Html {
  const { language, path, methods } = view;
  const isSecond = methods.includes('email');
  return html`<form id="passkey" method="post" action="${path}/passkey" data-challenge="${passkey.challenge}" data-rp-id="${passkey.rpId}"
data-problem="${passkey.problem}"${passkey.needsVerification && html` data-verification="required"`}
data-waiting="${language.text('passkey.busy')}"
data-sending="${language.text('code.busy')}"
data-cancelled="${language.text('passkey.cancelled')}"
data-unavailable="${language.text('passkey.unavailable')}" hidden>
${renderHidden(view)}<input type="hidden" name="credential">
<button${isSecond && html` class="second"`}>${ICON}${language.text('passkey.submit')}</button>
</form>`;
}

/** Renders the form that adds a new passkey. The script shows and submits it. */
export function renderNewPasskey(view: PasskeysView, next: 'passkeys' | ''): Html {
  const { language, path, options } = view;
  return html`<form id="new-passkey" method="post" action="${path}/passkey/new" data-options="${JSON.stringify(options)}"
data-waiting="${language.text('passkey.busy')}"
data-sending="${language.text('passkey.new.busy')}"
data-cancelled="${language.text('passkey.new.cancelled')}"
data-exists="${language.text('alert.passkeyAlreadyExists')}"
data-unavailable="${language.text('passkey.new.unavailable')}" hidden>
${renderOwnLogin({ ...view, next })}<input type="hidden" name="credential">
<button>${language.text(next ? 'passkey.list.add' : 'passkey.offer.submit')}</button>
</form>`;
}

/** Renders the link to a sign-in after which the list of passkeys is shown. */
export function renderManagePasskeys(view: FormView): Html {
  const { language, path, next } = view;
  if (next) return html``;
  return html`<form method="get" action="${path}">${renderLogin({ ...view, next: 'passkeys' })}
<button class="quiet">${language.text('footer.passkeys')}</button></form>`;
}

function readScripts(...names: readonly string[]): string {
  return names.map((name) => readScript(new URL(`../scripts/${name}`, import.meta.url))).join('\n');
}
