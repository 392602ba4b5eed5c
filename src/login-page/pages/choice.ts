import { html } from '../../http/html.ts';
import type { PageContent } from './document.ts';
import { EMAIL_SCRIPT, renderEmailForm } from './email-form.ts';
import { renderFooter } from './footer.ts';
import { renderAlert, renderCancel, renderHeading, renderMark, renderReturn } from './parts.ts';
import {
  PASSKEY_OFFER_SCRIPT,
  PASSKEY_SIGN_IN_SCRIPT,
  renderManagePasskeys,
  renderPasskeyForm,
} from './passkey-form.ts';
import { renderProviderForms } from './provider-buttons.ts';
import type { FormView } from './view.ts';
import { renderWalletNotes, renderWalletSignIn, WALLET_SCRIPT } from './wallet-form.ts';

/** Renders the choice of how to sign in. */
export function renderChoice(view: FormView): PageContent {
  const { language, applicationName: application, methods } = view;
  const hasEmail = methods.includes('email');
  const hasWallet = methods.includes('wallet');
  const hasPasskey = view.passkey !== undefined;
  const hasOthers = hasWallet || hasPasskey || view.providers.length > 0;
  const title = view.allowSignUp ? 'choice.title.signUp' : 'choice.title';
  return {
    language,
    title: language.text(title, { application }),
    body: html`${renderMark(view)}
${renderHeading(language.html(title, { application }), renderReturn(view))}
${renderAlert(view.alert)}
${hasEmail && renderEmailForm(view, 'email')}
${hasEmail && hasOthers && html`<div class="or" aria-hidden="true">${language.text('choice.or')}</div>`}
${
  hasOthers &&
  html`<div class="ways">
${renderProviderForms(view)}${hasPasskey && renderPasskeyForm(view)}
${hasWallet && renderWalletSignIn(view)}
</div>
${hasWallet && renderWalletNotes(language, { isOnlyWay: !hasEmail })}`
}
${renderCancel(view)}`,
    footer: renderFooter(view, renderManagePasskeys(view)),
    scripts: [
      ...(hasEmail ? [EMAIL_SCRIPT] : []),
      ...(hasWallet ? [WALLET_SCRIPT] : []),
      ...(hasPasskey ? [PASSKEY_SIGN_IN_SCRIPT, PASSKEY_OFFER_SCRIPT] : []),
    ],
  };
}
