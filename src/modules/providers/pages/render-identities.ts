import type { UserIdentity } from '../../../domain/identities/list-identities.ts';
import type { ProviderNames } from '../../../domain/identities/provider-names.ts';
import { toProviderRow } from '../../../domain/notices/notice-row.ts';
import { type Html, html } from '../../../http/html.ts';
import type { AccountFormView, ShownSection } from '../../../login-page/offer/page-offer.ts';
import { renderCountsFrom, renderItem, renderToken } from '../../../login-page/pages/parts.ts';
import { isolate } from '../../../texts/isolate.ts';

/** The accounts at other providers that a person has linked, for the account page. */
interface Identities {
  readonly identities: readonly UserIdentity[];
  /** The providers at which people can sign in. */
  readonly providers: ProviderNames['all'];
  /** Whether people can sign in with codes: then they may remove their other ways to sign in. */
  readonly hasEmail: boolean;
}

export function renderIdentities(view: AccountFormView, data: Identities): ShownSection {
  return { ways: renderItems(view, data), buttons: renderLinkButtons(view, data) };
}

function renderItems(
  { language, path, ...view }: AccountFormView,
  { hasEmail, identities, providers }: Identities,
): Html {
  return html`${identities.map(({ issuer, subject, provider, createdAt, countsFrom }) => {
    const name = isolate(providers.find(({ id }) => id === provider)?.name ?? provider);
    const remove = html`<form method="post" action="${path}/providers/unlink">${renderToken(view)}<input type="hidden" name="issuer" value="${issuer}"><input type="hidden" name="subject" value="${subject}">
<button class="danger">${language.text('account.remove')}<span class="hide"> ${name}</span></button></form>`;
    const date = language.date(createdAt);
    const since = html`${language.html('account.since', { date })}${renderCountsFrom(language, countsFrom)}`;
    return renderItem(name, since, hasEmail && remove, undefined, toProviderRow(provider));
  })}`;
}

/** Renders a button for each provider at which the person has not linked an account. */
function renderLinkButtons({ language, path, ...view }: AccountFormView, { identities, providers }: Identities): Html {
  const others = providers.filter(({ id }) => !identities.some(({ provider }) => provider === id));
  return html`${others.map(
    ({
      id,
      name,
    }) => html`<form method="post" action="${path}/providers/link">${renderToken(view)}<input type="hidden" name="provider" value="${id}">
<button class="second">${language.html('account.provider.link', { provider: name })}</button></form>`,
  )}`;
}
