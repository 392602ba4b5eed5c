import { type Html, html } from '../../http/html.ts';
import { renderHidden } from './parts.ts';
import type { FormView } from './view.ts';

/** Renders the form that asks for a code. */
export function renderEmailForm(view: FormView, action: 'email' | 'link'): Html {
  const { language, path, email } = view;
  return html`<form method="post" action="${path}/${action}" data-busy="${language.text('email.busy')}">
${renderHidden(view)}<label for="email">${language.text('email.field')}</label>
<input id="email" name="email" type="email" inputmode="email" autocapitalize="none" spellcheck="false" dir="ltr" enterkeyhint="go" autocomplete="email" required maxlength="254" value="${email}">
<button>${language.text('email.submit')}</button>
</form>`;
}
