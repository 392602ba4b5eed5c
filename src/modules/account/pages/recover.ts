/** The pages of a recovery link. Each holds what was entered before in hidden fields, so that no address has it. */
import { showEmail } from '../../../config/email-address.ts';
import { LOGIN_CODE_MINUTES } from '../../../domain/login/login-code.ts';
import { type Html, html, MARK, readScript, readStyle } from '../../../http/html.ts';
import type { AccountFormView } from '../../../login-page/offer/page-offer.ts';
import type { PageContent } from '../../../login-page/pages/document.ts';
import {
  ADDRESS_FIELD,
  renderAlert,
  renderFooter,
  renderHeading,
  renderToken,
} from '../../../login-page/pages/parts.ts';
import { isolate, isolateAll, renderAddress } from '../../../texts/isolate.ts';
import type { TextKey } from '../../../texts/texts.ts';

const STYLE = readStyle(new URL('recover.css', import.meta.url));
const SCRIPT = readScript(new URL('../scripts/recover.js', import.meta.url));

export interface RecoverView extends AccountFormView {
  /** The path of these pages in the public URL. */
  readonly recoverPath: string;
  /** What was entered on the pages before, by the names of the fields. */
  readonly entered: Readonly<Record<string, string>>;
}

/** Renders the first page, whose script posts the token of the link. Without a script, the link is pasted. */
export function renderLinkForm(view: RecoverView): PageContent {
  const { language } = view;
  const text = html`<p>${language.text('recover.link.text')}</p>`;
  return render(view, { title: 'recover.title', text, scripts: [SCRIPT] }, renderLinkField(view));
}

/** Renders the page for a link that opens nothing, whatever the reason. */
export function renderDeadLink(view: RecoverView): PageContent {
  const text = html`<p>${view.language.text('recover.dead.text')}</p>`;
  return render(view, { title: 'recover.dead.title', text }, renderLinkField(view));
}

export function renderEarlyLink(view: RecoverView, usableAt: Date): PageContent {
  const { language } = view;
  const at = html`<strong><bdi><time datetime="${usableAt.toISOString()}">${language.moment(usableAt)}</time></bdi></strong>`;
  return render(view, { title: 'recover.title', text: html`<p>${language.html('recover.early', { date: at })}</p>` });
}

export function renderDigits(view: RecoverView): PageContent {
  const { alert, language } = view;
  const fault = html` aria-describedby="alert" aria-invalid="true"`;
  const form = html`<label for="code">${language.text('recover.digits')}</label>
<input id="code" class="code" name="code" inputmode="numeric" autocomplete="off" pattern="[\\p{Nd}\\s\\-]*" title="${language.text('recover.digits.title')}" data-digits="8" dir="ltr" placeholder=" " required autofocus${alert ? fault : html` aria-describedby="code-note"`}>
<p class="small soft" id="code-note">${language.text('recover.digits.note')}</p>
<button>${language.text('device.submit')}</button>`;
  const text = html`<p>${language.text('recover.digits.text')}</p>`;
  const question = html`<div class="rows"><p class="also">${language.text('recover.digits.none')}</p></div>`;
  return render(view, { title: 'recover.title', text, below: question }, { action: '/code', fields: form });
}

export function renderNewAddress(view: RecoverView): PageContent {
  const { language } = view;
  const fields = html`<label for="email">${language.text('account.address.field')}</label>
<input id="email" name="email" ${ADDRESS_FIELD} autocomplete="email" autofocus>
<button>${language.text('account.address.submit')}</button>`;
  const text = html`<p>${language.text('recover.address.text')}</p>`;
  return render(view, { title: 'account.address.field', text }, { action: '/address', fields });
}

export function renderAddressCode(view: RecoverView, address: string): PageContent {
  const { language } = view;
  const email = html`<strong>${isolate(showEmail(address))}</strong>`;
  const duration = language.duration(LOGIN_CODE_MINUTES, 'minute');
  const fields = html`<label for="proof">${language.text('code.field')}</label>
<input id="proof" class="code" name="proof" inputmode="numeric" autocomplete="one-time-code" pattern="[\\p{Nd}\\s\\-]*" title="${language.text('code.field.title')}" dir="ltr" required autofocus>
<button>${language.text('device.submit')}</button>`;
  const text = html`<p>${language.html('account.address.sent', { email, duration })}</p>`;
  return render(view, { title: 'code.title', text }, { action: '/address/code', fields });
}

export interface Losses {
  /** Whether the person has never signed in: the link then removes nothing. */
  readonly isNew: boolean;
  readonly name: string | null;
  /** The proved address that replaces the lost one. Null if the person keeps the address. */
  readonly newEmail: string | null;
  /** Null for what stays, like the wallet. */
  readonly email: string | null;
  readonly passkeys: readonly string[];
  readonly providers: readonly string[];
  readonly walletAddress: string | null;
}

/** Renders the last question, with all that the button takes away. */
export function renderConfirm(view: RecoverView, losses: Losses, once: string): PageContent {
  const { language, path } = view;
  const { isNew, name, newEmail, email, passkeys, providers, walletAddress } = losses;
  const items = [
    email !== null && [language.html('recover.ends.address', { email: renderAddress(email) })],
    passkeys.length > 0 && [html`${language.text('recover.ends.passkeys')}`, isolateAll(passkeys)],
    ...providers.map((provider) => [language.html('recover.ends.provider', { provider })]),
    walletAddress && [html`${language.text('recover.ends.wallet')}`, isolate(walletAddress)],
    [html`${language.text('recover.ends.everywhere')}`],
  ].flatMap((item) => (item ? [item] : []));
  const text = html`<p>${language.html('recover.confirm.right', { name: html`<strong>${isolate(name ?? '')}</strong>` })}</p>`;
  const kept =
    newEmail !== null &&
    html`<p>${language.html('recover.confirm.email', { email: html`<strong>${isolate(showEmail(newEmail))}</strong>` })}</p>`;
  const list =
    !isNew &&
    html`<ul class="ends-here">
${items.map(([what, which]) => html`<li><strong>${what}</strong>${which && html`<br><span class="soft small">${which}</span>`}</li>\n`)}</ul>
<p class="soft">${language.text('recover.confirm.stays')}</p>`;
  const fields = html`<input type="hidden" name="once" value="${once}"><button>${language.text(isNew ? 'device.submit' : 'recover.submit')}</button>`;
  const below = html`<form class="also" method="get" action="${path}">${language.text('recover.cancel.question')} <button class="quiet">${language.text('recover.cancel')}</button></form>`;
  const title: TextKey = isNew ? 'passkey.list.add' : 'recover.confirm.title';
  const heading = { title, text: html`${name !== null && text}${kept}`, above: list, below };
  return render(view, heading, { action: '/use', fields });
}

/** Renders the end where nobody can add a passkey. */
export function renderRecovered(view: RecoverView): PageContent {
  const { language, path } = view;
  const below = html`<div class="ways"><a class="button" href="${path}">${language.text('account.signIn')}</a></div>`;
  const text = html`<p>${language.text('account.undo.done.text')}</p>`;
  return render(view, { title: 'recover.done.title', text, below });
}

function renderLinkField({ language }: RecoverView) {
  const fields = html`<label for="link">${language.text('recover.link')}</label>
<input id="link" name="link" dir="ltr" autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="2048" required>
<button>${language.text('device.submit')}</button>`;
  return { action: '', fields };
}

interface Parts {
  readonly title: TextKey;
  readonly text: Html;
  readonly above?: Html | false;
  readonly below?: Html;
  readonly scripts?: readonly string[];
}

function render(
  view: RecoverView,
  { title, text, above, below, scripts = [] }: Parts,
  form?: { readonly action: string; readonly fields: Html },
): PageContent {
  const { alert, entered, language, recoverPath } = view;
  const hidden = Object.entries(entered).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
  return {
    language,
    title: language.text(title),
    body: html`<span class="mark" aria-hidden="true">${MARK}</span>
${renderHeading(html`${language.text(title)}`, text)}
${renderAlert(alert)}
${above}
${form && html`<form method="post" action="${recoverPath}${form.action}">${renderToken(view)}${hidden}${form.fields}</form>`}
${below}`,
    footer: renderFooter(view),
    style: STYLE,
    scripts,
  };
}
