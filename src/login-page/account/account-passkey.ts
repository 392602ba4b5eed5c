/** The page behind the link in the notice of a new passkey. */
import { ServiceError } from '../../domain/core/errors.ts';
import { readPasskeyToken, removeAddedPasskey } from '../../domain/passkeys/passkey-link.ts';
import { html } from '../../http/html.ts';
import { type LoginRequest, pickFields } from '../login-request.ts';
import { sendPage } from '../responses.ts';
import { viewOf } from './account-request.ts';
import { renderAccountForm, renderAccountMessage } from './render-account-form.ts';

/** Shows a button. To open the link changes nothing, because scanners of e-mails open links. */
export async function showAddedPasskey(request: LoginRequest): Promise<void> {
  const { call, context, parts } = request;
  const { t: token } = pickFields(request, 't');
  const view = viewOf(request);
  if (!readPasskeyToken(parts.accountKeys, token, call.now)) return sendInvalid(request);
  const form = {
    action: 'passkey',
    title: 'account.undo.title',
    text: html`${view.language.text('account.passkey.text')}`,
    fields: html`<input type="hidden" name="t" value="${token}">`,
    submit: 'passkey.list.remove',
  } as const;
  sendPage(context, 200, renderAccountForm(view, { ...form, isDangerous: true }));
}

export async function dropAddedPasskey(request: LoginRequest): Promise<void> {
  const { call, context, parts } = request;
  const { t: token } = pickFields(request, 't');
  const added = readPasskeyToken(parts.accountKeys, token, call.now);
  try {
    if (!added) throw new ServiceError('USER_NOT_FOUND');
    await removeAddedPasskey(call, added);
    parts.onSignedOut(added.userId);
    sendPage(context, 200, renderAccountMessage(viewOf(request), 'account.passkey.removed', 'account.undo.done.text'));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    sendInvalid(request);
  }
}

function sendInvalid(request: LoginRequest): void {
  const page = renderAccountMessage(viewOf(request), 'account.undo.invalid', 'account.passkey.invalid');
  sendPage(request.context, 200, page);
}
