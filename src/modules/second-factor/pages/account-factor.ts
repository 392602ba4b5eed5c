/** The pages of the account page about the authenticator app. */

import { FRESH_MINUTES, RECENT_MINUTES } from '../../../domain/login/sign-in-age.ts';
import type { SecondFactor } from '../../../domain/second-factor/find-second-factor.ts';
import { isYoung } from '../../../domain/users/counts-from.ts';
import { type Html, html } from '../../../http/html.ts';
import type { AccountFormView } from '../../../login-page/offer/page-offer.ts';
import type { PageContent } from '../../../login-page/pages/document.ts';
import {
  renderAccountLink,
  renderAlert,
  renderFooter,
  renderHeading,
  renderLoginButton,
  renderToken,
} from '../../../login-page/pages/parts.ts';
import type { Language, TextKey } from '../../../texts/texts.ts';

const STYLE = 'label:has(input){display:flex;gap:var(--s2);font-weight:400}';

export function describeFactor(
  language: Language,
  { countsFrom, createdAt, lastUsedAt, ...factor }: SecondFactor,
  now: Date,
): Html {
  const added = language.date(createdAt);
  const used = lastUsedAt
    ? language.html('passkey.list.item', { added, used: language.date(lastUsedAt) })
    : language.html('passkey.list.unused', { added });
  const from = isYoung(countsFrom, now) ? language.date(countsFrom) : undefined;
  return html`${used}<br>${language.text('secondFactor.codes.left', { count: factor.recoveryCodesLeft })}${
    from && html`<br>${language.html('secondFactor.counts', { date: from })}`
  }`;
}

/** Renders what can be changed about the app of the user, or a button that asks for a sign-in with it first. */
export function renderManageFactor(
  view: AccountFormView,
  factor: SecondFactor,
  { mayChange, now }: { readonly mayChange: boolean; readonly now: Date },
): PageContent {
  const { language, path } = view;
  const duration = language.duration(FRESH_MINUTES, 'minute');
  const changes = html`<form method="post" action="${path}/second-factor/codes">${renderToken(view)}
<p class="small soft">${language.text('secondFactor.codes.new.text')}</p>
<button class="second">${language.text('secondFactor.codes.new')}</button>
</form>
<div class="ways">${renderAccountLink(view, 'second-factor/new', 'secondFactor.replace')}</div>
<form method="post" action="${path}/second-factor/remove">${renderToken(view)}
<label><input type="checkbox" name="everywhere" value="1" checked> ${language.text('secondFactor.remove.everywhere')}</label>
<button class="danger">${language.text('secondFactor.remove')}</button>
</form>`;
  return renderPage(view, 'secondFactor.name', describeFactor(language, factor, now), [
    mayChange ? changes : renderSignInAgain(view, language.text('secondFactor.stale', { duration })),
  ]);
}

/** Renders the page that asks for a new sign-in before the set-up. */
export function renderStartSetUp(view: AccountFormView): PageContent {
  const { language } = view;
  const duration = language.duration(RECENT_MINUTES, 'minute');
  return renderPage(view, 'secondFactor.new.title', undefined, [
    renderSignInAgain(view, language.text('account.stale', { duration })),
  ]);
}

function renderSignInAgain(view: AccountFormView, text: string): Html {
  return html`<p>${text}</p>
${renderLoginButton(view, 'LOGIN', 'account.signInAgain')}`;
}

function renderPage(
  view: AccountFormView,
  title: TextKey,
  text: Html | undefined,
  parts: readonly Html[],
): PageContent {
  const { language, path, alert } = view;
  return {
    language,
    title: language.text(title),
    body: html`${renderHeading(html`${language.text(title)}`, text && html`<p>${text}</p>`)}
${renderAlert(alert)}
${parts}
<p class="also"><a href="${path}">${language.text('account.back')}</a></p>`,
    footer: renderFooter(view),
    style: STYLE,
  };
}
