/** Signing in with an Ethereum wallet. */
import type { Module } from '../module.ts';
import { createWalletOffer } from './page-offer.ts';
import { ofWallets, type WalletConfig } from './settings.ts';

export const walletsModule: Module<WalletConfig> = {
  ...ofWallets,
  name: 'wallets',
  offer: (config) => ({ pages: createWalletOffer(config) }),
};
