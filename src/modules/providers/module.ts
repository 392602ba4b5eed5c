/** Other providers at which people sign in: those of OpenID Connect, and GitHub. */
import type { Config } from '../../config/config.ts';
import type { Module } from '../module.ts';
import { createProviderOffer } from './page-offer.ts';
import { ofProviders, type ProvidersConfig } from './settings.ts';

export const providersModule: Module<Config & ProvidersConfig> = {
  ...ofProviders,
  name: 'providers',
  offer: (config, early) => ({ pages: createProviderOffer(config, early) }),
};
