/** Signing in with an Ethereum wallet. */
import { allowsMethod } from '../../domain/applications/branding.ts';
import { pickFields } from '../../login-page/offer/login-context.ts';
import type { Action } from '../../login-page/offer/login-request.ts';
import type { PageOffer } from '../../login-page/offer/page-offer.ts';
import { sendScriptResponse } from '../../login-page/pages/responses.ts';
import type { WayView } from '../../login-page/pages/view.ts';
import { continueAfter } from '../../login-page/redirect-to-form.ts';
import type { Module } from '../module.ts';
import { createAccountWalletActions, WALLET_NOTES, WALLET_SECTION } from './account.ts';
import { createWalletChallenge } from './domain/create-wallet-challenge.ts';
import { redeemWalletSignature } from './domain/redeem-wallet-signature.ts';
import { renderWalletNotes, renderWalletSignIn, WALLET_SCRIPT } from './pages/wallet-form.ts';
import { ofWallets, type WalletConfig } from './settings.ts';

export const walletsModule: Module<WalletConfig> = {
  ...ofWallets,
  name: 'wallets',
  offer: (config) => ({ pages: createWalletOffer(config) }),
};

/** What the pages of a login show of wallets. */
export const WALLET_VIEW: WayView = {
  renderForms: renderWalletSignIn,
  renderNotes: ({ language, methods }) => renderWalletNotes(language, { isOnlyWay: !methods.includes('email') }),
  scripts: [WALLET_SCRIPT],
};

function createWalletOffer({ ethereumChainId, loginMethods }: WalletConfig): PageOffer {
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

const needs = 'wallet';

/** Creates the actions of the login page: the message to sign, and its signature. */
function createWalletActions(chainId: number): readonly Action[] {
  return [
    {
      method: 'POST',
      path: '/login/wallet/challenge',
      needs,
      form: 'script',
      async run(request) {
        const { call, parts, browser, context, fields } = request;
        const asked = { ...fields, ...pickFields(request, 'address') };
        const { authPageUrl } = parts;
        sendScriptResponse(context, 200, await createWalletChallenge(call, { authPageUrl, chainId }, browser, asked));
      },
    },
    {
      method: 'POST',
      path: '/login/wallet',
      needs,
      form: 'choice',
      signsInBy: 'wallet',
      async run(request) {
        const { call, parts, browser, fields } = request;
        const walletParts = { ...parts, hasEmail: parts.methods.includes('email') };
        const signed = { ...fields, ...pickFields(request, 'signature') };
        await continueAfter(request, await redeemWalletSignature(call, walletParts, browser, signed), 'link');
      },
    },
  ];
}
