import { type Html, html } from '../../http/html.ts';
import type { AccountFormView } from './account-view.ts';

export function renderItem(name: string | Html, text: string | Html, button?: Html | false, tag?: Html | false): Html {
  return html`<div class="item"><div><strong>${name}</strong>${tag}<p>${text}</p></div>${button}</div>`;
}

export function renderToken({ formToken }: AccountFormView): Html {
  return html`<input type="hidden" name="token" value="${formToken}">`;
}
