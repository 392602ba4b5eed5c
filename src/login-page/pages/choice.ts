import { type Html, html } from '../../http/html.ts';
import type { PageContent } from './document.ts';
import { EMAIL_SCRIPT, renderEmailForm } from './email-form.ts';
import { renderFooter } from './footer.ts';
import { renderAlert, renderCancel, renderHeading, renderMark, renderReturn } from './parts.ts';
import type { FormView } from './view.ts';

/** Renders the choice of how to sign in. */
export function renderChoice(view: FormView): PageContent {
  const { language, applicationName: application, methods, ways } = view;
  const hasEmail = methods.includes('email');
  const hasOthers = ways.length > 0;
  const title = view.allowSignUp ? 'choice.title.signUp' : 'choice.title';
  return {
    language,
    title: language.text(title, { application }),
    body: html`${renderMark(view)}
${renderHeading(language.html(title, { application }), renderReturn(view))}
${renderDemand(view)}
${renderAlert(view.alert)}
${hasEmail && renderEmailForm(view, 'email')}
${hasEmail && hasOthers && html`<div class="or" aria-hidden="true">${language.text('choice.or')}</div>`}
${
  hasOthers &&
  html`<div class="ways">
${ways.map(({ renderForms }) => renderForms(view))}
</div>
${ways.flatMap(({ renderNotes }) => renderNotes?.(view) ?? [])}`
}
${renderAccount(view)}
${renderCancel(view)}`,
    footer: renderFooter(view, html`${ways.flatMap(({ renderLinks }) => renderLinks?.(view) ?? [])}`),
    scripts: [
      ...(hasEmail ? [EMAIL_SCRIPT] : []),
      ...ways.flatMap(({ scripts = [], formScripts = [] }) => [...scripts, ...formScripts]),
    ],
  };
}

function renderDemand({ language, applicationName: application, demand }: FormView): Html | undefined {
  return demand && html`<p>${language.html(demand, { application })}</p>`;
}

/** Leads people without a passkey to the page where they can add one. */
function renderAccount({ language, accountPath, demand }: FormView): Html | undefined {
  if (!accountPath || demand !== 'assurance.text') return undefined;
  return html`<p class="also">${language.text('assurance.passkey.question')} <a href="${accountPath}">${language.text('assurance.passkey.link')}</a></p>`;
}
