import { html } from '../../http/html.ts';
import type { PageContent } from './document.ts';
import { renderFooter } from './footer.ts';
import { renderAlert, renderCancel, renderHeading, renderLogin, renderMark } from './parts.ts';
import type { FormView } from './view.ts';

/** Renders the page for a deactivated user who has entered the right code. */
export function renderClosed(view: FormView): PageContent {
  const { language, path, application } = view;
  const support = application?.supportUri ?? undefined;
  return {
    language,
    title: language.text('closed.title'),
    body: html`${renderMark(view)}
${renderHeading(language.html('closed.title'), html`<p>${language.text('closed.text')}</p>`)}
${renderAlert()}
<div class="ways">
<form method="get" action="${path}">${renderLogin(view)}
<button>${language.text('continue.other')}</button>
</form>
${support && html`<a class="button second" href="${support}">${language.text('footer.help')}</a>`}
</div>
${renderCancel(view)}`,
    footer: renderFooter(view),
  };
}
