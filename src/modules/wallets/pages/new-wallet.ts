import { RECENT_MINUTES } from '../../../domain/login/sign-in-age.ts';
import { html } from '../../../http/html.ts';
import type { AccountFormView } from '../../../login-page/page-offer.ts';
import type { PageContent } from '../../../login-page/pages/document.ts';
import { renderFooter } from '../../../login-page/pages/footer.ts';
import { renderLoginButton, renderToken } from '../../../login-page/pages/panel.ts';
import { renderAlert, renderHeading } from '../../../login-page/pages/parts.ts';
import { renderWalletForm, renderWalletNotes, WALLET_SCRIPT } from './wallet-form.ts';

/** Renders the page that asks a wallet for a signature, or for a new sign-in first. */
export function renderNewWallet(view: AccountFormView, { isRecent }: { readonly isRecent: boolean }): PageContent {
  const { language, path, alert } = view;
  const title = language.text('account.wallet.add');
  const form = renderWalletForm(language, {
    action: `${path}/wallet/new`,
    challenge: `${path}/wallet/challenge`,
    isSecond: false,
    hidden: renderToken(view),
  });
  const duration = language.duration(RECENT_MINUTES, 'minute');
  return {
    language,
    title,
    body: html`${renderHeading(html`${title}`, html`<p>${language.text('account.wallet.add.text')}</p>`)}
${renderAlert(alert)}
${
  isRecent
    ? html`${form}${renderWalletNotes(language, { isOnlyWay: true })}`
    : html`<p>${language.text('account.stale', { duration })}</p>
${renderLoginButton(view, 'LOGIN', 'account.signInAgain')}`
}
<p class="also"><a href="${path}">${language.text('account.back')}</a></p>`,
    footer: renderFooter(view),
    scripts: isRecent ? [WALLET_SCRIPT] : [],
  };
}
