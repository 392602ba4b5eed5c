/** Passkeys on the account page: their list, and the page behind the link in the notice of a new one. */

import type { Call } from '../../domain/core/call.ts';
import { ServiceError } from '../../domain/core/errors.ts';
import type { DerivedKeys } from '../../domain/crypto/derived-keys.ts';
import { toPasskeyRow } from '../../domain/notices/notice-row.ts';
import { type Passkey, selectPasskeys } from '../../domain/passkeys/list-passkeys.ts';
import { html } from '../../http/html.ts';
import { pickFields } from '../../login-page/offer/login-context.ts';
import type { Action, LoginRequest } from '../../login-page/offer/login-request.ts';
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
export function createAddedPasskeyActions(account: AccountPage, keys: DerivedKeys): readonly Action[] {
  return [
    { method: 'GET', path: '/account/passkey', form: 'choice', run: showAdded },
    { method: 'POST', path: '/account/passkey', form: 'choice', run: dropAdded },
  ];

  /** Shows a button. To open the link changes nothing, because scanners of e-mails open links. */
  async function showAdded(request: LoginRequest): Promise<void> {
    const { call, languages } = request;
    const { t: token } = pickFields(request, 't');
    if (!readPasskeyToken(keys, token, call.now)) return sendInvalid(request);
    account.sendForm(request, {
      action: 'passkey',
      title: 'account.undo.title',
      text: html`${languages.languageFor().text('account.passkey.text')}`,
      fields: html`<input type="hidden" name="t" value="${token}">`,
      submit: 'passkey.list.remove',
      isDangerous: true,
    });
  }

  async function dropAdded(request: LoginRequest): Promise<void> {
    const { call, parts } = request;
    const { t: token } = pickFields(request, 't');
    const added = readPasskeyToken(keys, token, call.now);
    try {
      if (!added) throw new ServiceError('USER_NOT_FOUND');
      await removeAddedPasskey(call, added);
      parts.onSignedOut(added.userId);
      account.sendMessage(request, 'account.passkey.removed', 'account.undo.done.text');
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      sendInvalid(request);
    }
  }

  function sendInvalid(request: LoginRequest): void {
    account.sendMessage(request, 'account.undo.invalid', 'account.passkey.invalid');
  }
}
