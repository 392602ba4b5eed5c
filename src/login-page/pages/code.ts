import { type Html, html } from '../../http/html.ts';
import type { PageContent } from './document.ts';
import { renderFooter } from './footer.ts';
import { renderAlert, renderHeading, renderHidden, renderMark, renderOtherWay } from './parts.ts';
import type { FormView } from './view.ts';

/** Renders the form for the code from the e-mail. */
export function renderCode(view: FormView): PageContent {
  const { language, applicationName: application } = view;
  return {
    language,
    title: language.text('code.titleBar', { application }),
    body: html`${renderMark(view)}
${renderHeading(language.html('code.title'), html`<p>${renderWhere(view)}</p>`)}
${renderAlert(view.alert)}
${renderCodeForm(view)}
<div class="rows">
${renderAgain(view)}
${renderOtherWay(view)}
</div>`,
    footer: renderFooter(view),
  };
}

function renderWhere({ language, allowSignUp, email: address, applicationName: application }: FormView): Html {
  const email = html`<strong><bdi>${address}</bdi></strong>`;
  const duration = language.duration(10, 'minute');
  return html`${language.html(allowSignUp ? 'code.sent' : 'code.sent.ifKnown', { email })} ${language.html('code.text', { application, duration })}`;
}

function renderCodeForm(view: FormView): Html {
  const { language, path, alert, email } = view;
  return html`<form method="post" action="${path}/code" data-busy="${language.text('code.busy')}">
${renderHidden(view)}<input type="hidden" name="email" value="${email}">
<label for="code">${language.text('code.field')}</label>
<input id="code" class="code" name="code" inputmode="numeric" autocomplete="one-time-code" pattern="\\s*(\\d\\s*){6,8}" title="${language.text('code.field.title')}" dir="ltr" required maxlength="20"${alert ? html` aria-invalid="true" aria-describedby="alert"` : html` autofocus`}>
<button>${language.text('code.submit')}</button>
</form>`;
}

function renderAgain(view: FormView): Html {
  const { language, path, email } = view;
  return html`<form class="also" method="post" action="${path}/email/again" data-busy="${language.text('email.busy')}">
${renderHidden(view)}<input type="hidden" name="email" value="${email}">
${language.text('code.again.question')} <button class="quiet">${language.text('code.again')}</button>
</form>`;
}
