import { html } from '../../http/html.ts';
import type { PageContent } from './document.ts';
import { renderEmailForm } from './email-form.ts';
import { renderFooter } from './footer.ts';
import { renderAlert, renderCancel, renderHeading, renderMark } from './parts.ts';
import type { FormView } from './view.ts';
import { renderWalletForm, WALLET_SCRIPT } from './wallet-form.ts';

/** Renders the choice of how to sign in. */
export function renderChoice(view: FormView): PageContent {
  const { language, applicationName: application, methods } = view;
  const hasEmail = methods.includes('email');
  const hasWallet = methods.includes('wallet');
  return {
    language,
    title: language.text('choice.title', { application }),
    body: html`${renderMark(view)}
${renderHeading(language.html('choice.title', { application }))}
${renderAlert(view.alert)}
${hasEmail && renderEmailForm(view, 'email')}
${hasEmail && hasWallet && html`<div class="or" aria-hidden="true">${language.text('choice.or')}</div>`}
${
  hasWallet &&
  html`<div class="ways">
${renderWalletForm(view)}
</div>`
}
${renderCancel(view)}`,
    footer: renderFooter(view),
    scripts: hasWallet ? [WALLET_SCRIPT] : [],
  };
}
