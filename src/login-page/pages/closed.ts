import { html } from '../../http/html.ts';
import type { TextKey } from '../../texts/texts.ts';
import type { PageContent } from './document.ts';
import { renderFooter } from './footer.ts';
import { renderAlert, renderCancel, renderHeading, renderLogin, renderMark } from './parts.ts';
import type { FormView } from './view.ts';

/** Renders the page for a deactivated user who has entered the right code. */
export function renderClosed(view: FormView): PageContent {
  return render(view, 'closed.title', 'closed.text');
}

/** Renders the page for a user who has signed in, but whom nobody has let into the application. */
export function renderRefused(view: FormView): PageContent {
  return render(view, 'refused.title', 'refused.text');
}

function render(view: FormView, title: TextKey, text: TextKey): PageContent {
  const { language, path, application } = view;
  const values = { application: view.applicationName };
  const support = application?.supportUri ?? undefined;
  return {
    language,
    title: language.text(title, values),
    body: html`${renderMark(view)}
${renderHeading(language.html(title, values), html`<p>${language.html(text, values)}</p>`)}
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
