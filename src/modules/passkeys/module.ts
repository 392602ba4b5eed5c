/** Passkeys: signing in with a touch. */
import type { Config } from '../../config/config.ts';
import type { OperatorSettings } from '../../config/operators.ts';
import type { Module } from '../module.ts';
import { createPasskeyOffer } from './page-offer.ts';
import { ofPasskeys, type PasskeySettings } from './settings.ts';

export const passkeysModule: Module<Config & OperatorSettings & PasskeySettings> = {
  ...ofPasskeys,
  name: 'passkeys',
  offer: (config, early) => ({ pages: createPasskeyOffer(config, early) }),
};
