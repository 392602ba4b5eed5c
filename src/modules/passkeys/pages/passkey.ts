import type { Passkey } from '../../../domain/passkeys/passkey.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import type { Language } from '../../../texts/texts.ts';

/** Renders the facts by which a person recognizes a passkey: its name, where it works, when it was added and used. */
export function renderPasskey(language: Language, { name, isBackedUp, createdAt, lastUsedAt }: Passkey): Html {
  const kind = language.text(isBackedUp ? 'passkey.list.synced' : 'passkey.list.local');
  const added = language.date(createdAt);
  const dates = lastUsedAt
    ? language.html('passkey.list.item', { added, used: language.date(lastUsedAt) })
    : language.html('passkey.list.unused', { added });
  return html`<div><strong>${isolate(name)}</strong> <span class="tag">${kind}</span>
<p class="small soft">${dates}</p></div>`;
}
