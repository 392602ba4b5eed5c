import { html } from '../../http/html.ts';
import type { PageContent } from './document.ts';
import { renderEmailForm } from './email-form.ts';
import { renderFooter } from './footer.ts';
import { renderAlert, renderHeading, renderMark, renderOtherWay } from './parts.ts';
import { PASSKEY_OFFER_SCRIPT } from './passkey-form.ts';
import type { FormView } from './view.ts';

/** Renders the form for the e-mail address to which a new wallet is linked. */
export function renderLink(view: FormView): PageContent {
  const { language, applicationName: application } = view;
  return {
    language,
    title: language.text('link.titleBar', { application }),
    body: html`${renderMark(view)}
${renderHeading(language.html('link.title'), html`<p>${language.text('link.text')}</p>`)}
${renderAlert(view.alert)}
${renderEmailForm(view, 'link')}
${renderOtherWay(view)}`,
    footer: renderFooter(view),
    scripts: view.passkey ? [PASSKEY_OFFER_SCRIPT] : [],
  };
}
