/** The pages of the account with one card each: forms, the sign-in, and messages. */
import type { AccountRow } from '../../../domain/notices/notice-row.ts';
import { html } from '../../../http/html.ts';
import type { AccountForm, AccountFormView } from '../../../login-page/offer/page-offer.ts';
import type { PageContent } from '../../../login-page/pages/document.ts';
import { renderAlert, renderFooter, renderHeading, renderToken } from '../../../login-page/pages/parts.ts';
import type { TextKey } from '../../../texts/texts.ts';

export function renderAccountForm(view: AccountFormView, form: AccountForm): PageContent {
  const { language, path, alert } = view;
  const { action, title, text, fields, submit, isDangerous = false } = form;
  return {
    language,
    title: language.text(title),
    body: html`${renderHeading(html`${language.text(title)}`, text && html`<p>${text}</p>`)}
${renderAlert(alert)}
<form method="post" action="${path}/${action}">${renderToken(view)}${fields}
<button${isDangerous && html` class="danger"`}>${language.text(submit)}</button>
</form>
<p class="also"><a href="${path}">${language.text('account.back')}</a></p>`,
    footer: renderFooter(view),
  };
}

/**
 * Renders the account page of a person who is not signed in: a button, because nobody is redirected without a click.
 *
 * @param row to which the sign-in leads
 */
export function renderAccountSignIn(view: AccountFormView, note = '', row?: AccountRow): PageContent {
  const { language, path, host, alert } = view;
  return {
    language,
    title: language.text('account.title'),
    body: html`${renderHeading(html`${language.text('account.title')}`, html`<p>${language.html('account.text', { host })}</p>`)}
${renderAlert(alert)}
${note && html`<p class="alert note">${note}</p>`}
<form method="post" action="${path}/login">${renderToken(view)}${row && html`<input type="hidden" name="row" value="${row}">`}<button>${language.text('account.signIn')}</button></form>`,
    footer: renderFooter(view),
  };
}

/** Renders a message that a change was made, or why it was not. */
export function renderAccountMessage(view: AccountFormView, title: TextKey, text: TextKey): PageContent {
  const { language, path } = view;
  return {
    language,
    title: language.text(title),
    body: html`${renderHeading(html`${language.text(title)}`, html`<p>${language.text(text)}</p>`)}
${renderAlert()}
<p class="also"><a href="${path}">${language.text('account.title')}</a></p>`,
    footer: renderFooter(view),
  };
}
