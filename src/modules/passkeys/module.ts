/** Passkeys: signing in with a touch. */
import type { Config } from '../../config/config.ts';
import type { Module } from '../module.ts';
import { ofPasskeys, type PasskeySettings } from './settings.ts';
import { createPasskeyWay } from './sign-in-way.ts';

export const passkeysModule: Module<Config & PasskeySettings> = {
  ...ofPasskeys,
  name: 'passkeys',
  createSignInWay: createPasskeyWay,
};
