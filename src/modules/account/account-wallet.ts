/** The wallet of the account page: adding one with a signature, and removing it. */

import { ServiceError } from '../../domain/core/errors.ts';
import { findRecentSignIn } from '../../domain/login/recent-sign-in.ts';
import { updateUser } from '../../domain/users/update-user.ts';
import type { User } from '../../domain/users/user.ts';
import { html } from '../../http/html.ts';
import { alertFor, alertKeyOf } from '../../login-page/alerts.ts';
import { pickFields } from '../../login-page/login-context.ts';
import type { Account, AccountFormView, ShownSection } from '../../login-page/page-offer.ts';
import { renderAccountLink, renderItem } from '../../login-page/pages/panel.ts';
import { sendPage, sendScriptResponse } from '../../login-page/responses.ts';
import { type AccountRequest, readAccount, redirect, viewOf } from './account-request.ts';
import { addWallet, createLinkMessage } from './domain/add-wallet.ts';
import { renderAccountForm } from './render-account-form.ts';
import { renderNewWallet } from './render-new-wallet.ts';

/** Renders the wallet of the user, or the button that adds one. */
export function renderOwnWallet(
  view: AccountFormView,
  { walletAddress }: Pick<User, 'walletAddress'>,
  { hasEmail }: { readonly hasEmail: boolean },
): ShownSection {
  if (!walletAddress) return { ways: html``, buttons: renderAccountLink(view, 'wallet/new', 'account.wallet.add') };
  const ways = renderItem(
    view.language.text('account.wallet'),
    html`<code><bdi>${`${walletAddress.slice(0, 6)}…${walletAddress.slice(-4)}`}</bdi></code>`,
    hasEmail && renderAccountLink(view, 'wallet', 'account.remove', 'account.wallet', 'danger'),
  );
  return { ways };
}

export async function showWallet(request: AccountRequest): Promise<void> {
  const view = viewOf(request);
  const text = html`${view.language.text('account.wallet.text')}`;
  const form = { action: 'wallet', title: 'account.wallet.title', text, submit: 'account.wallet.submit' } as const;
  sendPage(request.context, 200, renderAccountForm(view, { ...form, isDangerous: true }));
}

/** Refuses if people cannot sign in with codes: the wallet may be the only way to sign in. */
export async function removeWallet(request: AccountRequest, { user }: Account): Promise<void> {
  if (!request.parts.methods.includes('email')) throw new ServiceError('LOGIN_METHOD_NOT_ENABLED');
  await updateUser(request.call, { userId: user.id, walletAddress: null });
  redirect(request, '', { done: 'wallet' });
}

/** Asks for a new sign-in first if the last one was continued or is old, as the page of passkeys does. */
export async function showNewWallet(request: AccountRequest, { user, signIn }: Account): Promise<void> {
  if (user.walletAddress) return redirect(request, '');
  const { call, browser, context } = request;
  const isRecent = (await findRecentSignIn(call, browser, signIn)) !== undefined;
  sendPage(context, 200, renderNewWallet(viewOf(request), { isRecent }));
}

/** Answers the script of the page, which asks the wallet for a signature of the message. */
export async function challengeNewWallet(request: AccountRequest): Promise<void> {
  const { call, browser, context, languages, parts } = request;
  const account = await readAccount(request);
  try {
    const asked = { ...pickFields(request, 'address'), loginIntentId: account?.signIn.loginIntentId };
    sendScriptResponse(context, 200, await createLinkMessage(call, parts, browser, asked));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    sendScriptResponse(context, 400, { error: alertFor(alertKeyOf(error), languages.languageFor()) });
  }
}

export async function addNewWallet(request: AccountRequest, { user, signIn }: Account): Promise<void> {
  if (user.walletAddress) return redirect(request, '');
  const { call, browser, parts } = request;
  const { loginIntentId } = signIn;
  await addWallet(call, parts, browser, { loginIntentId, ...pickFields(request, 'signature') });
  redirect(request, '', { done: 'walletAdded' });
}
