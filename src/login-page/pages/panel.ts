/** Parts of pages with panels, such as the account page. */
import { type Html, html } from '../../http/html.ts';
import { isolate } from '../../texts/isolate.ts';
import type { Language, TextKey } from '../../texts/texts.ts';

/** A page whose forms are sent below its path. */
interface PanelView {
  readonly language: Language;
  readonly path: string;
  readonly formToken: string;
}

export function renderAccountPanel(id: string, title: string, items: Html, button?: Html | false): Html {
  return html`<section class="panel" aria-labelledby="${id}">
<header class="bar"><h2 id="${id}">${title}</h2>${button}</header>
${items}
</section>`;
}

export function renderItem(name: string | Html, text: string | Html, button?: Html | false, tag?: Html | false): Html {
  return html`<div class="item"><div><strong>${name}</strong>${tag}<p>${text}</p></div>${button}</div>`;
}

export function renderToken({ formToken }: Pick<PanelView, 'formToken'>): Html {
  return html`<input type="hidden" name="token" value="${formToken}">`;
}

export function renderDevice(language: Language, isHere: boolean): Html | false {
  return isHere && html` <span class="tag good">${language.text('account.thisDevice')}</span>`;
}

/** @param what completes the short label for screen readers */
export function renderAccountLink(view: PanelView, to: string, label: TextKey, what?: TextKey, kind = 'second'): Html {
  const { language, path } = view;
  return html`<a class="button ${kind}" href="${path}/${to}">${language.text(label)}${what && html`<span class="hide"> ${language.text(what)}</span>`}</a>`;
}

/** Renders a button that asks for a new sign-in. @param what completes the label for screen readers */
export function renderLoginButton(view: PanelView, prompt: 'LOGIN' | 'PASSKEYS', label: TextKey, what?: string): Html {
  return html`<form method="post" action="${view.path}/login">${renderToken(view)}<input type="hidden" name="prompt" value="${prompt}"><button class="second">${view.language.text(label)}${what && html`<span class="hide"> ${isolate(what)}</span>`}</button></form>`;
}
