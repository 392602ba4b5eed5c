import { Html, html } from '../../http/html.ts';
import { readScript } from '../../http/inline-files.ts';
import { renderHidden } from './parts.ts';
import type { FormView } from './view.ts';

export const WALLET_SCRIPT = readScript(new URL('../scripts/wallet.js', import.meta.url));

const ICON = new Html(
  '<svg width="20" height="20" viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linejoin="round" aria-hidden="true">' +
    '<path d="M15.5 6V3.5H4A1.8 1.8 0 0 0 4 7h13.5v9.5H4.5a2.3 2.3 0 0 1-2.3-2.3V5.3M17.5 10h-4a1.8 1.8 0 0 0 0 3.6h4"/></svg>',
);

/** Renders the form for a wallet, which the script shows and sends. */
export function renderWalletForm(view: FormView): Html {
  const { language, path, methods } = view;
  const isSecond = methods.includes('email');
  return html`<form id="wallet" method="post" action="${path}/wallet" data-challenge="${path}/wallet/challenge"${renderTexts(view)} hidden>
${renderHidden(view)}<input type="hidden" name="address"><input type="hidden" name="signature">
<button${isSecond && html` class="second"`}>${ICON}${language.text('wallet.submit')}</button>
</form>
<noscript><p>${language.text('wallet.noScript')}</p></noscript>`;
}

/** Renders the texts of the script, for its `dataset`. */
function renderTexts({ language }: FormView): Html {
  return html` data-missing="${language.text('wallet.missing')}"
data-connecting="${language.text('wallet.busy.connecting')}"
data-signing="${language.text('wallet.busy.signing')}"
data-sending="${language.text('wallet.busy.sending')}"
data-declined="${language.text('wallet.declined')}"
data-failed="${language.text('wallet.failed')}"
data-unavailable="${language.text('wallet.unavailable')}"`;
}
