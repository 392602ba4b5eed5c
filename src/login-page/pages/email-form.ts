import { domainToUnicode } from 'node:url';
import { showEmail } from '../../config/email-address.ts';
import { type Html, html } from '../../http/html.ts';
import { readScript } from '../../http/inline-files.ts';
import { renderTerms } from './branding.ts';
import { renderHidden } from './parts.ts';
import type { FormView } from './view.ts';

/** Fills in the address that an application has appended to the `authUrl`. */
export const EMAIL_SCRIPT = readScript(new URL('../scripts/email.js', import.meta.url));

/** Attributes of a field for an address. Browsers refuse `jörg@example.com` in `type="email"`, which Usher accepts. */
export const ADDRESS_FIELD = html`inputmode="email" autocapitalize="none" autocorrect="off" spellcheck="false" dir="ltr" maxlength="254" required`;

/** Renders the form that asks for a code. */
export function renderEmailForm(view: FormView, action: 'email' | 'link'): Html {
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
