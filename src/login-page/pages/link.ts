import { html } from '../../http/html.ts';
import type { PageContent } from './document.ts';
import { renderEmailForm } from './email-form.ts';
import { renderFooter } from './footer.ts';
import { formScriptsOf, renderAlert, renderHeading, renderMark, renderOtherWay } from './parts.ts';
import type { FormView } from './view.ts';

/** Renders the form for the e-mail address of the user to whom a wallet, or an account at a provider, is linked. */
export function renderLink(view: FormView): PageContent {
  const { language, applicationName: application, linkedProvider: provider } = view;
  const title = provider ? language.html('link.provider.title', { provider }) : language.html('link.title');
  const text = provider ? language.text('link.provider.text') : language.text('link.text');
  return {
    language,
    title: provider
      ? language.text('link.provider.title', { provider })
      : language.text('link.titleBar', { application }),
    body: html`${renderMark(view)}
${renderHeading(title, html`<p>${text}</p>`)}
${renderAlert(view.alert)}
${renderEmailForm(view, 'link')}
${renderOtherWay(view)}`,
    footer: renderFooter(view),
    scripts: formScriptsOf(view),
  };
}
