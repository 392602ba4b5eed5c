import type { Passkey } from '../../domain/passkeys/passkey.ts';
import { type Html, html } from '../../http/html.ts';
import { isolate } from '../../texts/isolate.ts';
import type { Language } from '../../texts/texts.ts';

/** Renders the passkeys of the account page, one item each. What can be done to them is on the page of passkeys. */
export function renderPasskeys(language: Language, passkeys: readonly Passkey[]): Html {
  return html`${passkeys.map((passkey) => renderPasskey(language, passkey))}`;
}

function renderPasskey(language: Language, { name, isBackedUp, createdAt, lastUsedAt }: Passkey): Html {
  const added = language.date(createdAt);
  const dates = lastUsedAt
    ? language.html('passkey.list.item', { added, used: language.date(lastUsedAt) })
    : language.html('passkey.list.unused', { added });
  const kind = language.text(isBackedUp ? 'passkey.list.synced' : 'passkey.list.local');
  return html`<div class="item"><div><strong>${isolate(name)}</strong> <span class="tag">${kind}</span><p>${dates}</p></div></div>
`;
}
