import type { Passkey } from '../../../domain/passkeys/list-passkeys.ts';
import { type Html, html } from '../../../http/html.ts';
import { renderCountsFrom } from '../../../login-page/pages/parts.ts';
import type { LoginView } from '../../../login-page/pages/view.ts';
import { isolate } from '../../../texts/isolate.ts';
import type { Language } from '../../../texts/texts.ts';
import type { CreationOptions } from '../domain/creation-options.ts';

/** The request that the script makes to a passkey. */
export interface PasskeyView {
  readonly challenge: string;
  readonly rpId: string;
  /** Whether the passkey must verify the person. Otherwise it does if it can. */
  readonly needsVerification?: boolean;
  /** Why the previous passkey was refused: `unknown` if Usher has no such passkey. */
  readonly problem: 'invalid' | 'unknown' | undefined;
}

/** The data of the pages that show and add passkeys after a sign-in. */
export interface PasskeysView extends LoginView {
  /** Whether the person has nothing yet, and may add an authenticator app instead. */
  readonly mayAddApp: boolean;
  readonly host: string;
  readonly passkeys: readonly Passkey[];
  readonly options: CreationOptions;
}

/** Renders the facts by which a person recognizes a passkey: its name, where it works, when it was added and used. */
export function renderPasskey(
  language: Language,
  { name, isBackedUp, createdAt, countsFrom, lastUsedAt }: Passkey,
): Html {
  const kind = language.text(isBackedUp ? 'passkey.list.synced' : 'passkey.list.local');
  const added = language.date(createdAt);
  const dates = lastUsedAt
    ? language.html('passkey.list.item', { added, used: language.date(lastUsedAt) })
    : language.html('passkey.list.unused', { added });
  return html`<div><strong>${isolate(name)}</strong> <span class="tag">${kind}</span>
<p class="small soft">${dates}${renderCountsFrom(language, countsFrom, ' ')}</p></div>`;
}
