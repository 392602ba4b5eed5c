/** Passkeys on the account page: their list, and the page behind the link in the notice of a new one. */

import type { Call } from '../../domain/core/call.ts';
import type { DerivedKeys } from '../../domain/crypto/derived-keys.ts';
import { toPasskeyRow } from '../../domain/notices/notice-row.ts';
import { type Passkey, selectPasskeys } from '../../domain/passkeys/list-passkeys.ts';
import { html } from '../../http/html.ts';
import type { Action } from '../../login-page/offer/login-request.ts';
import type { AccountFormView, AccountPage, ShownSection } from '../../login-page/offer/page-offer.ts';
import { renderLoginButton } from '../../login-page/pages/parts.ts';
import { readPasskeyToken, removeAddedPasskey } from './domain/passkey-link.ts';
import { renderPasskey } from './pages/view.ts';

/** Returns the fields of the export of a user's data. */
export async function exportPasskeys(call: Call, userId: string) {
  const passkeys = await call.run(selectPasskeys, { userId });
  return {
    passkeys: passkeys.map(({ credentialId, ...passkey }) => ({
      ...passkey,
      credentialId: credentialId.toString('base64url'),
    })),
  };
}

export function renderPasskeyWays(view: AccountFormView, passkeys: readonly Passkey[]): ShownSection {
  const { language } = view;
  const items = passkeys.map(
    (passkey) =>
      html`<div class="item" id="${toPasskeyRow(passkey.id)}">${renderPasskey(language, passkey)}${renderLoginButton(view, 'PASSKEYS', 'account.change', passkey.name)}</div>`,
  );
  return { ways: html`${items}`, buttons: renderLoginButton(view, 'PASSKEYS', 'account.passkeys.manage') };
}

/** @param keys of the links */
export function createAddedPasskeyActions(page: AccountPage, keys: DerivedKeys): readonly Action[] {
  return page.createNoticeLinkActions({
    path: 'passkey',
    read: ({ call }, token) => readPasskeyToken(keys, token, call.now),
    text: (language) => html`${language.text('account.passkey.text')}`,
    submit: 'passkey.list.remove',
    isDangerous: true,
    async follow({ call, parts }, added) {
      await removeAddedPasskey(call, added);
      parts.onSignedOut(added.userId);
    },
    done: ['account.passkey.removed', 'account.undo.done.text'],
    invalid: 'account.passkey.invalid',
  });
}
