/** Wallets, as a part of the login page and the account page. */
import { allowsMethod } from '../../domain/applications/branding.ts';
import type { PageOffer } from '../../login-page/page-offer.ts';
import type { WayView } from '../../login-page/pages/view.ts';
import { createAccountWalletActions, WALLET_NOTES, WALLET_SECTION } from './account-wallet.ts';
import { renderWalletNotes, renderWalletSignIn, WALLET_SCRIPT } from './pages/wallet-form.ts';
import type { WalletConfig } from './settings.ts';
import { createWalletActions } from './wallet-actions.ts';

/** What the pages of a login show of wallets. */
export const WALLET_VIEW: WayView = {
  renderForms: renderWalletSignIn,
  renderNotes: ({ language, methods }) => renderWalletNotes(language, { isOnlyWay: !methods.includes('email') }),
  scripts: [WALLET_SCRIPT],
};

export function createWalletOffer({ ethereumChainId, loginMethods }: WalletConfig): PageOffer {
  const shared: PageOffer = {
    createActions: (account) => [
      ...createWalletActions(ethereumChainId),
      ...(account ? createAccountWalletActions(account, ethereumChainId) : []),
    ],
    accountSection: { notes: WALLET_NOTES },
  };
  if (!loginMethods.includes('wallet')) return shared;
  return {
    ...shared,
    accountSection: WALLET_SECTION,
    signInWay: {
      isLast: true,
      view: (login) => (allowsMethod(login, 'wallet') ? WALLET_VIEW : undefined),
    },
  };
}
