import { RECENT_MINUTES } from '../../../domain/login/sign-in-age.ts';
import { Html, html, readScript } from '../../../http/html.ts';
import type { AccountFormView } from '../../../login-page/offer/page-offer.ts';
import type { PageContent } from '../../../login-page/pages/document.ts';
import {
  renderAlert,
  renderFooter,
  renderHeading,
  renderHidden,
  renderLoginButton,
  renderToken,
} from '../../../login-page/pages/parts.ts';
import type { FormView } from '../../../login-page/pages/view.ts';
import type { Language } from '../../../texts/texts.ts';
import { MAX_SIGNATURE_BYTES } from '../domain/ethereum.ts';

export const WALLET_SCRIPT = readScript(new URL('../scripts/wallet.js', import.meta.url));

const ICON = new Html(
  '<svg width="20" height="20" viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linejoin="round" aria-hidden="true">' +
    '<path d="M15.5 6V3.5H4A1.8 1.8 0 0 0 4 7h13.5v9.5H4.5a2.3 2.3 0 0 1-2.3-2.3V5.3M17.5 10h-4a1.8 1.8 0 0 0 0 3.6h4"/></svg>',
);

interface WalletForm {
  /** Where the signature is sent. */
  readonly action: string;
  /** Where the script asks for the message. */
  readonly challenge: string;
  /** Whether another form of the page comes first. */
  readonly isSecond: boolean;
  readonly hidden: Html;
}

/** Renders the form for wallets. The script shows it once the browser has a wallet, with a button for each. */
function renderWalletForm(language: Language, { action, challenge, isSecond, hidden }: WalletForm): Html {
  return html`<form id="wallet" method="post" action="${action}" data-challenge="${challenge}"${renderTexts(language)} hidden>
${hidden}<input type="hidden" name="address"><input type="hidden" name="signature">
<button${isSecond && html` class="second"`}>${ICON}${language.text('wallet.submit')}</button>
</form>`;
}

export function renderWalletSignIn(view: FormView): Html {
  const { language, path, methods } = view;
  return renderWalletForm(language, {
    action: `${path}/wallet`,
    challenge: `${path}/wallet/challenge`,
    isSecond: methods.includes('email'),
    hidden: renderHidden(view),
  });
}

/** Renders notes for browsers without a wallet or without JavaScript. The first appears only if there is no other way. */
export function renderWalletNotes(language: Language, { isOnlyWay }: { readonly isOnlyWay: boolean }): Html {
  return html`${isOnlyWay && html`<p id="no-wallet" hidden>${language.text('wallet.missing')}</p>`}
<noscript><p>${language.text('wallet.noScript')}</p></noscript>`;
}

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

/** Renders the texts of the script as data attributes. */
function renderTexts(language: Language): Html {
  // The script replaces `{wallet}`. The text isolates it, so that a name cannot change the direction around it.
  return html` data-longest="${String(2 + 2 * MAX_SIGNATURE_BYTES)}"
data-named="${language.text('wallet.submit.named', { wallet: '{wallet}' })}"
data-connecting="${language.text('wallet.busy.connecting')}"
data-signing="${language.text('wallet.busy.signing')}"
data-sending="${language.text('wallet.busy.sending')}"
data-declined="${language.text('wallet.declined')}"
data-pending="${language.text('wallet.pending')}"
data-failed="${language.text('wallet.failed')}"
data-unsupported="${language.text('wallet.contract.unsupported')}"
data-unavailable="${language.text('wallet.unavailable')}"`;
}
