/** Other providers at which people sign in: those of OpenID Connect, and GitHub. */
import type { Module } from '../module.ts';
import { createProviderWay } from './sign-in-way.ts';

export const providersModule: Module = {
  name: 'providers',
  settings: {},
  createSignInWay: createProviderWay,
};
