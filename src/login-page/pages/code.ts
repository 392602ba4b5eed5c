import { showEmail } from '../../config/email-address.ts';
import { isOneEditAway } from '../../config/is-one-edit-away.ts';
import { LOGIN_CODE_MINUTES } from '../../domain/login/login-code.ts';
import { type Html, html, readScript } from '../../http/html.ts';
import { isolate } from '../../texts/isolate.ts';
import { renderTerms } from './branding.ts';
import type { PageContent } from './document.ts';
import {
  formScriptsOf,
  renderAlert,
  renderCancel,
  renderFooter,
  renderHeading,
  renderHidden,
  renderLogin,
  renderMark,
  renderOtherWay,
} from './parts.ts';
import type { FormView } from './view.ts';

const CODE_SCRIPT = readScript(new URL('../scripts/code.js', import.meta.url));

/** The places of the digits stand in the middle until they are typed: then they are below them. */
const EMPTY_FIELD = '.code:placeholder-shown{background-position:0 50%}';

export function renderCode(view: FormView): PageContent {
  const { language, applicationName: application } = view;
  return {
    language,
    title: language.text('code.titleBar', { application }),
    body: html`${renderMark(view)}
${renderHeading(language.html('code.title'), html`<p>${renderWhere(view)}</p>`)}
${renderAlert(view.alert)}
${renderHint(view)}
${renderCodeForm(view)}
<div class="rows">
${renderAgain(view)}
${renderChange(view)}
${view.methods.length > 1 && renderOtherWay(view)}
</div>`,
    footer: renderFooter(view),
    style: EMPTY_FIELD,
    scripts: [CODE_SCRIPT, ...formScriptsOf(view)],
  };
}

function renderWhere({ language, allowSignUp, email: address, applicationName: application }: FormView): Html {
  const email = html`<strong>${isolate(showEmail(address))}</strong>`;
  const duration = language.duration(LOGIN_CODE_MINUTES, 'minute');
  return html`${language.html(allowSignUp ? 'code.sent' : 'code.sent.ifKnown', { email })} ${language.html('code.text', { application, duration })}`;
}

function renderCodeForm(view: FormView): Html {
  const { language, path, alert, figures } = view;
  const fault = html` aria-describedby="alert"${figures.left > 0 && html` aria-invalid="true"`}`;
  return html`<form method="post" action="${path}/code" data-busy="${language.text('code.busy')}">
${renderCodeHidden(view)}<label for="code">${language.text('code.field')}</label>
<input id="code" class="code" name="code" inputmode="numeric" autocomplete="one-time-code" pattern="[\\p{Nd}\\s\\-]*" title="${language.text('code.field.title')}" data-digits="${String(figures.digits)}" dir="ltr" placeholder=" " required${alert && fault}${(!alert || figures.left > 0) && html` autofocus`}>
<button>${language.text('code.submit')}</button>
</form>`;
}

/** Renders the question whether the address has a typing error. The button asks for a code to the suggested address. */
function renderHint(view: FormView): Html | undefined {
  const { language, path, email, link } = view;
  const suggested = suggestAddress(email);
  if (!suggested) return undefined;
  const button = html`<button class="quiet">${isolate(suggested)}</button>`;
  return html`<form class="alert note" method="post" action="${path}/${link ? 'link' : 'email'}" data-busy="${language.text('email.busy')}">
${renderHidden(view)}<input type="hidden" name="email" value="${suggested}">
<p>${language.html('code.hint', { email: button })}</p>
</form>`;
}

/** Renders the form that asks Usher to send the code again. The script counts down until that is possible. */
function renderAgain(view: FormView): Html {
  const { language, path, figures } = view;
  const countdown = html` <span id="wait" data-seconds="${String(figures.wait)}" data-ready="${language.text('code.again.ready')}" aria-hidden="true" hidden>${language.html('code.again.in', { time: '' })}</span>`;
  return html`<form class="also" method="post" action="${path}/email/again" data-busy="${language.text('email.busy')}">
${renderCodeHidden(view)}${language.text('code.again.question')} <span><button class="quiet">${language.text('code.again')}</button>${figures.wait > 0 && countdown}</span>
</form>`;
}

function renderCodeHidden(view: FormView): Html {
  const { email, figures } = view;
  return html`${renderHidden(view)}<input type="hidden" name="email" value="${email}"><input type="hidden" name="digits" value="${String(figures.digits)}">
`;
}

/** Renders the form that leads back to the form for the address, where the address is still filled in. */
function renderChange(view: FormView): Html {
  const { language, path, link } = view;
  return html`<form class="also" method="get" action="${path}${link && '/link'}">${renderLogin(view)}${link && html`<input type="hidden" name="link" value="${link}">`}
${language.text('code.change.question')} <button class="quiet">${language.text('code.change')}</button>
</form>`;
}

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

/** Large providers. A domain that differs from one of them by one edit is more likely a typing error than another provider. */
const PROVIDERS = [
  'aol.com',
  'gmail.com',
  'gmx.de',
  'gmx.net',
  'googlemail.com',
  'hotmail.com',
  'icloud.com',
  'mail.com',
  'outlook.com',
  'proton.me',
  'web.de',
  'yahoo.com',
];

/**
 * Returns the address at the large provider whose domain is one edit away: `ada@gmail.com` for `ada@gmial.com`. Returns
 * undefined unless there is exactly one, and if the domain is that of a large provider itself. Usher cannot say that an
 * address is unknown: that would reveal who is a user.
 */
export function suggestAddress(email: string): string | undefined {
  const at = email.lastIndexOf('@');
  const domain = email.slice(at + 1).toLowerCase();
  if (at < 1 || PROVIDERS.includes(domain)) return undefined;
  const [provider, other] = PROVIDERS.filter((candidate) => isOneEditAway(domain, candidate));
  return provider && !other ? email.slice(0, at + 1) + provider : undefined;
}
