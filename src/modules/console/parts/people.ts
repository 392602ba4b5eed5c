/** Renders addresses, browsers and IDs for tables and links. */
import { type Html, html } from '../../../http/html.ts';
import { describeBrowser } from '../../../login-page/describe-browser.ts';
import { isolate } from '../../../texts/isolate.ts';

export function renderWallet(address: string): Html {
  if (address === '') return html`–`;
  const text = address.length > 14 ? `${address.slice(0, 6)}…${address.slice(-4)}` : address;
  return html`<code title="${address}">${isolate(text)}</code>`;
}

/** Renders the browser and the system of a user agent. The title has the whole text. */
export function renderBrowser(userAgent: string): Html {
  return html`<span title="${userAgent}">${isolate(describeBrowser(userAgent) || '–')}</span>`;
}

/** Renders an ID in full, with a button that copies it. */
export function renderId(id: string): Html {
  return renderCopied(id, html`<code>${isolate(id)}</code>`);
}

/** Renders `shown` with a button that copies the text. The button is hidden without JavaScript, which it needs. */
export function renderCopied(text: string, shown: Html): Html {
  return html`${shown} <button type="button" class="quiet copy" data-copy="${text}" hidden>Copy<span class="hide"> ${isolate(text)}</span></button>`;
}
