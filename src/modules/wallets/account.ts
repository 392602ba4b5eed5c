/** The wallet of the account page: adding one with a signature, and removing it. */

import { ServiceError } from '../../domain/core/errors.ts';
import { findRecentSignIn } from '../../domain/login/recent-sign-in.ts';
import { updateUser } from '../../domain/users/update-user.ts';
import type { User } from '../../domain/users/user.ts';
import { html } from '../../http/html.ts';
import { pickFields } from '../../login-page/offer/login-context.ts';
import type { Action, LoginRequest } from '../../login-page/offer/login-request.ts';
import type {
  Account,
  AccountFormView,
  AccountPage,
  AccountSection,
  ShownSection,
} from '../../login-page/offer/page-offer.ts';
import { alertFor, alertKeyOf } from '../../login-page/pages/alerts.ts';
import { renderAccountLink, renderItem } from '../../login-page/pages/parts.ts';
import { sendPage, sendScriptResponse } from '../../login-page/pages/responses.ts';
import { createLinkMessage } from './domain/create-wallet-challenge.ts';
import { addWallet } from './domain/redeem-wallet-signature.ts';
import { renderNewWallet } from './pages/wallet-form.ts';

export const WALLET_NOTES: NonNullable<AccountSection['notes']> = {
  wallet: 'account.note.wallet',
  walletAdded: 'account.note.walletAdded',
};

export const WALLET_SECTION: AccountSection = {
  notes: WALLET_NOTES,
  show: async ({ parts: { methods } }, view, user) =>
    renderOwnWallet(view, user, { hasEmail: methods.includes('email') }),
};

export function createAccountWalletActions(page: AccountPage, chainId: number): readonly Action[] {
  const needs = 'wallet';
  return [
    { method: 'GET', path: '/account/wallet', form: 'choice', run: page.showing(showWallet) },
    { method: 'POST', path: '/account/wallet', form: 'choice', run: page.changing('', removeWallet) },
    { method: 'GET', path: '/account/wallet/new', needs, form: 'choice', run: page.showing(showNewWallet) },
    { method: 'POST', path: '/account/wallet/challenge', needs, form: 'script', run: challengeNewWallet },
    {
      method: 'POST',
      path: '/account/wallet/new',
      needs,
      form: 'choice',
      run: page.changing('wallet/new', addNewWallet),
    },
  ];

  async function showWallet(request: LoginRequest, _: Account, { language }: AccountFormView): Promise<void> {
    const text = html`${language.text('account.wallet.text')}`;
    const form = { action: 'wallet', title: 'account.wallet.title', text, submit: 'account.wallet.submit' } as const;
    page.sendForm(request, { ...form, isDangerous: true });
  }

  /** Refuses if people cannot sign in with codes: the wallet may be the only way to sign in. */
  async function removeWallet(request: LoginRequest, { user }: Account): Promise<void> {
    if (!request.parts.methods.includes('email')) throw new ServiceError('LOGIN_METHOD_NOT_ENABLED');
    await updateUser(request.call, { userId: user.id, walletAddress: null });
    page.redirect(request, '', { done: 'wallet' });
  }

  /** Asks for a new sign-in first if the last one was continued or is old, as the page of passkeys does. */
  async function showNewWallet(request: LoginRequest, { user, signIn }: Account, view: AccountFormView): Promise<void> {
    if (user.walletAddress) return page.redirect(request, '');
    const { call, browser, context } = request;
    const isRecent = (await findRecentSignIn(call, browser, signIn)) !== undefined;
    sendPage(context, 200, renderNewWallet(view, { isRecent }));
  }

  /** Answers the script of the page, which asks the wallet for a signature of the message. */
  async function challengeNewWallet(request: LoginRequest): Promise<void> {
    const { call, browser, context, languages, parts } = request;
    const account = await page.read(request);
    try {
      const asked = { ...pickFields(request, 'address'), loginIntentId: account?.signIn.loginIntentId };
      const { authPageUrl } = parts;
      sendScriptResponse(context, 200, await createLinkMessage(call, { authPageUrl, chainId }, browser, asked));
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      sendScriptResponse(context, 400, { error: alertFor(alertKeyOf(error), languages.languageFor()) });
    }
  }

  async function addNewWallet(request: LoginRequest, { user, signIn }: Account): Promise<void> {
    if (user.walletAddress) return page.redirect(request, '');
    const { call, browser } = request;
    const { loginIntentId } = signIn;
    await addWallet(call, browser, { loginIntentId, ...pickFields(request, 'signature') });
    page.redirect(request, '', { done: 'walletAdded' });
  }
}

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
    undefined,
    'wallet',
  );
  return { ways };
}
