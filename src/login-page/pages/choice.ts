import { domainToUnicode } from 'node:url';
import { showEmail } from '../../config/email-address.ts';
import { type Html, html, readScript } from '../../http/html.ts';
import { renderTerms } from './branding.ts';
import type { PageContent } from './document.ts';
import {
  ADDRESS_FIELD,
  formScriptsOf,
  renderAlert,
  renderCancel,
  renderFooter,
  renderHeading,
  renderHidden,
  renderMark,
  renderOtherWay,
  renderReturn,
} from './parts.ts';
import type { FormView } from './view.ts';

/** Renders the choice of how to sign in. */
export function renderChoice(view: FormView): PageContent {
  const { language, applicationName: application, methods, ways } = view;
  const hasEmail = methods.includes('email');
  const hasOthers = ways.length > 0;
  const title = view.allowSignUp ? 'choice.title.signUp' : 'choice.title';
  const email = hasEmail && html`${renderEmailForm(view, 'email')}\n`;
  const or = hasEmail && hasOthers && html`<div class="or" aria-hidden="true">${language.text('choice.or')}</div>\n`;
  const others =
    hasOthers &&
    html`<div class="ways">
${ways.map(({ renderForms }) => renderForms(view))}
</div>
${ways.flatMap(({ renderNotes }) => renderNotes?.(view) ?? [])}`;
  return {
    language,
    title: language.text(title, { application }),
    body: html`${renderMark(view)}
${renderHeading(language.html(title, { application }), renderReturn(view))}
${renderDemand(view)}
${renderAlert(view.alert)}
${view.demand ? html`${others}\n${or}${email}` : html`${email}${or}${others}`}
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
  if (!accountPath || !demand || demand === 'assurance.unmet') return undefined;
  return html`<p class="also">${language.text('assurance.passkey.question')} <a href="${accountPath}">${language.text('assurance.passkey.link')}</a></p>`;
}

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

/** Fills in the address that an application has appended to the `authUrl`. */
const EMAIL_SCRIPT = readScript(new URL('../scripts/email.js', import.meta.url));

/** Renders the form that asks for a code. */
function renderEmailForm(view: FormView, action: 'email' | 'link'): Html {
  const { language, path, email, alert, allowSignUp, ways } = view;
  const autocomplete = ways.find(({ emailAutocomplete }) => emailAutocomplete)?.emailAutocomplete ?? 'email';
  const domains = renderDomains(view);
  return html`<form method="post" action="${path}/${action}" data-busy="${language.text('email.busy')}">
${renderHidden(view)}<label for="email">${language.text('email.field')}</label>
<input id="email" name="email" ${ADDRESS_FIELD} enterkeyhint="go" autocomplete="${autocomplete}" value="${showEmail(email)}"${domains && html` aria-describedby="domains"`}${!email && !alert && html` autofocus`}>
${domains}${renderTerms(view)}<button>${language.text(allowSignUp ? 'email.submit.signUp' : 'email.submit')}</button>
</form>`;
}

const SHOWN_DOMAINS = 5;

/**
 * Says whose addresses may sign up, to everybody: to refuse an address would tell whether it has a user.
 */
function renderDomains({ language, allowSignUp, signUpEmailDomains: domains }: FormView): Html | undefined {
  if (!allowSignUp || domains.length === 0) return undefined;
  const shown = domains.slice(0, SHOWN_DOMAINS).map((domain) => html`<bdi>${domainToUnicode(domain) || domain}</bdi>`);
  const list = html`${shown.map((domain, index) => html`${index > 0 && ', '}${domain}`)}${domains.length > SHOWN_DOMAINS && ' …'}`;
  return html`<p class="small soft" id="domains">${language.html('email.domains', { domains: list })}</p>\n`;
}
