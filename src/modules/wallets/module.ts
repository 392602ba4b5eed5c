/** Signing in with an Ethereum wallet, by key or by contract. */
import type { Module } from '../module.ts';
import { createWalletOffer } from './page-offer.ts';
import { ofWallets, type WalletConfig } from './settings.ts';

export const walletsModule: Module<WalletConfig> = {
  ...ofWallets,
  name: 'wallets',
  createPageOffer: createWalletOffer,
};
