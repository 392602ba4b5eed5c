import { html } from '../../http/html.ts';
import { renderTerms } from './branding.ts';
import type { PageContent } from './document.ts';
import { renderFooter } from './footer.ts';
import { formScriptsOf, renderAlert, renderCancel, renderHeading, renderHidden, renderMark } from './parts.ts';
import type { FormView } from './view.ts';

export function renderName(view: FormView): PageContent {
  const { language, applicationName: application } = view;
  return {
    language,
    title: language.text('name.titleBar', { application }),
    body: html`${renderMark(view)}
${renderHeading(language.html('name.title'))}
${renderAlert(view.alert)}
<form method="post" action="${view.path}/name" data-busy="${language.text('name.busy')}">
${renderHidden(view)}<label for="name">${language.text('name.field')}</label>
<input id="name" name="name" dir="auto" autocomplete="name" required maxlength="255"${!view.alert && html` autofocus`}>
${renderTerms(view)}<button>${language.text('name.submit')}</button>
</form>
${renderCancel(view)}`,
    footer: renderFooter(view),
    scripts: formScriptsOf(view),
  };
}
