import { type Html, html } from '../../http/html.ts';
import { isolate } from '../../texts/isolate.ts';
import type { AccountView } from './account-view.ts';
import { renderItem, renderToken } from './render-parts.ts';

export function renderIdentities(view: AccountView): Html {
  const { hasEmail, identities, language, path, providers } = view;
  return html`${identities.map(({ issuer, subject, provider, createdAt }) => {
    const name = isolate(providers.find(({ id }) => id === provider)?.name ?? provider);
    const remove = html`<form method="post" action="${path}/providers/unlink">${renderToken(view)}<input type="hidden" name="issuer" value="${issuer}"><input type="hidden" name="subject" value="${subject}">
<button class="danger">${language.text('account.remove')}<span class="hide"> ${name}</span></button></form>`;
    return renderItem(name, language.html('account.since', { date: language.date(createdAt) }), hasEmail && remove);
  })}`;
}

/** Renders a button for each provider at which the person has not linked an account. */
export function renderLinkButtons(view: AccountView): Html {
  const { identities, language, path, providers } = view;
  const others = providers.filter(({ id }) => !identities.some(({ provider }) => provider === id));
  return html`${others.map(
    ({
      id,
      name,
    }) => html`<form method="post" action="${path}/providers/link">${renderToken(view)}<input type="hidden" name="provider" value="${id}">
<button class="second">${language.html('account.provider.link', { provider: name })}</button></form>`,
  )}`;
}
