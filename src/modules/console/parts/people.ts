/** Renders addresses, browsers, IDs and names of RPCs for tables and links. */
import { showEmail } from '../../../config/email-address.ts';
import { type Html, html } from '../../../http/html.ts';
import { describeBrowser } from '../../../login-page/account/describe-browser.ts';
import { isolate, withoutDirectionControls } from '../../../texts/isolate.ts';

/** Renders an e-mail address. Lines may break after its @. */
export function renderAddress(email: string): Html {
  const text = withoutDirectionControls(showEmail(email));
  const at = text.indexOf('@') + 1;
  return html`<bdi>${text.slice(0, at)}${at > 0 && html`<wbr>`}${text.slice(at)}</bdi>`;
}

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

/** Renders a shortened ID for a table. A click copies the whole ID. */
export function renderShortId(id: string, short: string): Html {
  return html`<button type="button" class="quiet copy" data-copy="${id}" disabled><code title="${id}">${isolate(short)}</code><span class="hide"> Copy</span></button>`;
}

/** Renders the name of an RPC. Lines may break between its words. */
export function renderAction(action: string): Html {
  const name = withoutDirectionControls(action.split('/').at(-1) ?? action);
  return html`<span title="${action}">${name.split(/(?<=[a-z])(?=[A-Z])/).map((word, index) => html`${index > 0 && html`<wbr>`}${word}`)}</span>`;
}
